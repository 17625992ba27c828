//! Requests and heads of answers as HTTP/1.1 (RFC 9112), of a length that is known beforehand: what is counted
//! in simulation and what is written on a real connection are the same bytes.

use crate::{Request, Video};
use units::Bytes;

/// The line that ends a head, and the one before it.
const END: &[u8] = b"\r\n\r\n";
/// More than this is no head.
const LONGEST: usize = 64 * 1024;

impl Request {
    /// The request as it is written, `length` bytes with its headers: a GET for the range of the whole
    /// segment (RFC 9110, section 14.2). A length below [`Video::LEAST_REQUEST`] counts as that.
    pub fn to_http(&self, length: Bytes) -> Vec<u8> {
        let Self { segment, level, size } = *self;
        let last = size.get().saturating_sub(1);
        let head = format!("GET /{segment}/{level} HTTP/1.1\r\nHost: server\r\nRange: bytes=0-{last}\r\n");
        padded(head, length.max(Video::LEAST_REQUEST))
    }

    /// The head of the answer to it, [`Video::HEAD`] bytes.
    pub fn answer_head(&self) -> Vec<u8> {
        answer_head(self.size)
    }
}

/// The head of an answer with so many bytes after it.
fn answer_head(size: Bytes) -> Vec<u8> {
    let (size, last) = (size.get(), size.get().saturating_sub(1));
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Type: video/mp4\r\nContent-Length: {size}\r\n\
         Content-Range: bytes 0-{last}/{size}\r\n"
    );
    padded(head, Video::HEAD)
}

/// A head of exactly this length: what it lacks is a header that says nothing.
fn padded(mut head: String, length: Bytes) -> Vec<u8> {
    const FILL: &str = "X-Padding: ";
    let more = (length.get() as usize).saturating_sub(head.len() + FILL.len() + END.len());
    head.push_str(FILL);
    head.extend(core::iter::repeat_n('-', more));
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(END);
    bytes
}

/// A server that reads requests from a stream, in pieces of any size.
#[derive(Debug, Default)]
pub struct Server {
    unread: Vec<u8>,
}

impl Server {
    /// More of the stream has come.
    pub fn hear(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// The next request that is whole: the head of its answer, and how many bytes come after that. Nothing
    /// while more is to come.
    ///
    /// # Errors
    /// Says what is no request for a range from the first byte on. What follows it is not looked at.
    pub fn poll(&mut self) -> Result<Option<(Vec<u8>, Bytes)>, String> {
        let Some(end) = self.unread.windows(END.len()).position(|window| window == END) else {
            if self.unread.len() > LONGEST {
                return Err(format!("a request of more than {LONGEST} bytes"));
            }
            return Ok(None);
        };
        let head = String::from_utf8_lossy(&self.unread[..end]).into_owned();
        self.unread.drain(..end + END.len());
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap_or_default();
        if !(line.starts_with("GET ") && line.ends_with(" HTTP/1.1")) {
            return Err(format!("`{}` is no request", line.chars().take(40).collect::<String>()));
        }
        let range = lines.find_map(|line| line.strip_prefix("Range: bytes=0-"));
        let last: u64 = range.and_then(|last| last.parse().ok()).ok_or("a request without a range")?;
        let size = Bytes::new(last.saturating_add(1));
        Ok(Some((answer_head(size), size)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Request = Request { segment: 7, level: 2, size: Bytes::new(1_000_000) };

    #[test]
    fn heads_are_as_long_as_they_are_said_to_be_whatever_the_numbers() {
        let largest = Request { segment: usize::MAX, level: usize::MAX, size: Bytes::new(u64::MAX) };
        let smallest = Request { segment: 0, level: 0, size: Bytes::new(1) };
        for request in [REQUEST, smallest, largest] {
            for length in [Video::LEAST_REQUEST, Video::REQUEST, Bytes::new(5_000)] {
                assert_eq!(request.to_http(length).len() as u64, length.get());
            }
            assert_eq!(request.answer_head().len() as u64, Video::HEAD.get());
        }
    }

    #[test]
    fn what_is_written_is_read_in_pieces_of_any_size() {
        let other = Request { size: Bytes::new(17), ..REQUEST };
        let mut stream = REQUEST.to_http(Video::REQUEST);
        stream.extend(other.to_http(Video::LEAST_REQUEST));
        for size in [1, 3, 159, 400, 1000] {
            let mut server = Server::default();
            let mut heard = Vec::new();
            for piece in stream.chunks(size) {
                server.hear(piece);
                while let Some(answer) = server.poll().unwrap() {
                    heard.push(answer);
                }
            }
            let expected = [REQUEST, other].map(|request| (request.answer_head(), request.size));
            assert_eq!(heard, expected);
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for (text, wrong) in [
            ("PUT / HTTP/1.1\r\n\r\n", "`PUT / HTTP/1.1` is no request"),
            ("GET / HTTP/1.1\r\nHost: server\r\n\r\n", "a request without a range"),
            ("GET / HTTP/1.1\r\nRange: bytes=0-x\r\n\r\n", "a request without a range"),
        ] {
            let mut server = Server::default();
            server.hear(text.as_bytes());
            assert_eq!(server.poll().unwrap_err(), wrong);
        }
        let mut server = Server::default();
        server.hear(&vec![b'-'; LONGEST + 1]);
        assert_eq!(server.poll().unwrap_err(), "a request of more than 65536 bytes");
    }
}
