//! One of many connections: a request with a number, and an answer that depends on it.

use crate::progress::bytes_at;

/// Bytes of a request. The first four are its number.
const UP: usize = 4000;
/// Bytes of an answer.
const DOWN: usize = 20_000;
const NUMBER_BYTES: usize = 4;

/// One end of a connection.
#[derive(Debug)]
pub(super) struct Exchange {
    is_client: bool,
    /// Known to the server once the request has begun.
    number: Option<u32>,
    /// Request without a complete number.
    head: Vec<u8>,
    sent: usize,
    received: usize,
    differs: bool,
    has_end: bool,
    is_closed: bool,
}

impl Exchange {
    pub(super) fn client(number: u32) -> Self {
        Self { is_client: true, number: Some(number), ..Self::server() }
    }

    pub(super) fn server() -> Self {
        Self {
            is_client: false,
            number: None,
            head: Vec::new(),
            sent: 0,
            received: 0,
            differs: false,
            has_end: false,
            is_closed: false,
        }
    }

    /// Bytes to be sent now. Half of a request waits until all connections are open; half of an answer
    /// waits for the whole request.
    pub(super) fn pending(&self, all_open: bool) -> Vec<u8> {
        let Some(number) = self.number else { return Vec::new() };
        let total = total(self.is_client);
        let goes_on = if self.is_client { all_open } else { self.received >= UP };
        let until = if goes_on { total } else { total / 2 };
        content(number, self.is_client, self.sent, until.saturating_sub(self.sent))
    }

    pub(super) fn on_sent(&mut self, len: usize) {
        self.sent += len;
    }

    pub(super) fn receive(&mut self, bytes: &[u8]) {
        let from = self.received;
        self.received += bytes.len();
        if let Some(number) = self.number {
            self.compare(number, from, bytes);
            return;
        }
        self.head.extend_from_slice(bytes);
        if let Some(&number) = self.head.first_chunk::<NUMBER_BYTES>() {
            let (number, head) = (u32::from_be_bytes(number), core::mem::take(&mut self.head));
            self.number = Some(number);
            self.compare(number, 0, &head);
        }
    }

    fn compare(&mut self, number: u32, from: usize, bytes: &[u8]) {
        self.differs |= bytes != content(number, !self.is_client, from, bytes.len());
    }

    pub(super) fn on_end(&mut self) {
        self.has_end = true;
    }

    /// All was sent: the own direction is to be closed, once.
    pub(super) fn closes(&mut self) -> bool {
        let closes = !self.is_closed && self.sent == total(self.is_client);
        self.is_closed |= closes;
        closes
    }

    /// Both directions are closed.
    pub(super) fn is_finished(&self) -> bool {
        self.is_closed && self.has_end
    }

    /// What is wrong with the received data.
    pub(super) fn problem(&self) -> Option<String> {
        let expected = total(!self.is_client);
        if self.differs {
            return Some("a byte was changed".to_owned());
        }
        (self.has_end && self.received != expected).then(|| format!("{} of {expected} bytes", self.received))
    }
}

fn total(is_request: bool) -> usize {
    if is_request { UP } else { DOWN }
}

fn content(number: u32, is_request: bool, from: usize, len: usize) -> Vec<u8> {
    let mut bytes = bytes_at(u8::from(is_request), (u64::from(number) << 20) + from as u64, len);
    if is_request {
        for (at, byte) in number.to_be_bytes().into_iter().enumerate() {
            if let Some(place) = at.checked_sub(from).and_then(|at| bytes.get_mut(at)) {
                *place = byte;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(from: &mut Exchange, to: &mut Exchange, all_open: bool, piece: usize) {
        let bytes = from.pending(all_open);
        from.on_sent(bytes.len());
        bytes.chunks(piece).for_each(|piece| to.receive(piece));
    }

    #[test]
    fn request_and_answer_arrive_in_pieces_and_close() {
        let (mut client, mut server) = (Exchange::client(0x0102_0304), Exchange::server());
        assert!(server.pending(true).is_empty(), "the number is unknown");
        transfer(&mut client, &mut server, false, 3);
        assert_eq!(server.received, UP / 2);
        transfer(&mut server, &mut client, false, 1000);
        assert_eq!(client.received, DOWN / 2);
        transfer(&mut client, &mut server, true, 700);
        transfer(&mut server, &mut client, true, 700);
        for end in [&mut client, &mut server] {
            assert!(end.closes() && !end.closes());
            end.on_end();
            assert!(end.is_finished() && end.problem().is_none());
        }
    }

    #[test]
    fn changed_and_missing_bytes_are_problems() {
        let mut server = Exchange::server();
        let mut request = Exchange::client(7).pending(true);
        request[100] ^= 1;
        server.receive(&request);
        assert!(server.problem().is_some());
        let mut server = Exchange::server();
        server.on_end();
        assert!(server.problem().is_some());
    }
}
