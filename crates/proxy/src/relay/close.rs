//! Lingering close: ends a connection after the peer has received everything.
//!
//! Closing with unread data, or aborting, makes the kernel send RST and discard the data that it
//! still buffers (RFC 9112, section 9.6). A slow peer may need minutes for that data.

use super::End;
use crate::stream::Stream;
use core::future::poll_fn;
use linux::socket;
use std::io::ErrorKind;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// Interval of queries for unacknowledged data.
const ACK_POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Time for a peer that has received everything to close its side.
const PEER_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Reads of data that the peer sends meanwhile, which is discarded.
const MAX_DISCARDED_READS: usize = 64;
/// The kernel counts a FIN as one unacknowledged byte.
const FIN_BYTES: u64 = 1;

/// Limits of a lingering close.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Linger {
    /// Time in which the peer has to acknowledge a part of the data.
    pub(crate) write: Duration,
    /// Time at which the close ends, even if the peer has not received everything.
    pub(crate) until: Option<Instant>,
}

/// Shuts down the write half, then waits until the peer closes or has received everything. Returns
/// whether the peer has closed; the caller closes the connection.
///
/// # Errors
/// [`End::Stalled`] or [`End::TooLong`] if the peer did not receive everything in time.
pub(crate) async fn lingering_close(stream: &Stream, limits: Linger) -> Result<bool, End> {
    let tcp = stream.tcp();
    let peer_closes = async {
        // Fails if the peer has closed already. TLS waits for space for its `close_notify`.
        _ = poll_fn(|context| stream.poll_shutdown(context)).await;
        // Discards the rest, encrypted or not.
        until_peer_closes(tcp).await;
    };
    tokio::select! {
        () = peer_closes => Ok(true),
        delivered = until_delivered(tcp, limits) => delivered.map(|()| false),
    }
}

/// Closes after a short response of the proxy itself. Resets a peer that does not close its side:
/// otherwise the kernel would keep the half-closed connection for a minute.
pub(crate) async fn close_after_response(stream: &Stream, limits: Linger) {
    if lingering_close(stream, limits).await != Ok(true) {
        _ = socket::abort(stream);
    }
}

/// Discards the data of the peer until its FIN or reset. A peer that keeps sending fills its window:
/// closing the connection then resets it.
async fn until_peer_closes(tcp: &TcpStream) {
    let mut buffer = [0; 1024];
    for _ in 0..MAX_DISCARDED_READS {
        if tcp.readable().await.is_err() {
            return;
        }
        match tcp.try_read(&mut buffer) {
            Ok(1..) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => return,
        }
    }
    // Fails only without a runtime.
    _ = tcp.ready(Interest::ERROR).await;
}

/// Waits until the peer has had everything for a while.
async fn until_delivered(tcp: &TcpStream, limits: Linger) -> Result<(), End> {
    let mut delivery = Delivery { unacknowledged: u64::MAX, since: Instant::now() };
    loop {
        // An error means that the connection is closed.
        let Ok(unacknowledged) = socket::unacknowledged(tcp) else { return Ok(()) };
        if let Some(end) = delivery.update(unacknowledged, Instant::now(), limits) {
            return end;
        }
        sleep(ACK_POLL_INTERVAL).await;
    }
}

/// Progress of the acknowledgements.
#[derive(Debug)]
struct Delivery {
    /// Unacknowledged bytes, with the FIN.
    unacknowledged: u64,
    /// Time of their last change.
    since: Instant,
}

impl Delivery {
    /// End of the wait, if it is over at `now`.
    fn update(&mut self, unacknowledged: u64, now: Instant, limits: Linger) -> Option<Result<(), End>> {
        if unacknowledged != self.unacknowledged {
            (self.unacknowledged, self.since) = (unacknowledged, now);
        }
        let unchanged = now - self.since;
        let is_over = limits.until.is_some_and(|until| until <= now);
        if unacknowledged <= FIN_BYTES {
            (is_over || unchanged >= PEER_CLOSE_TIMEOUT).then_some(Ok(()))
        } else if is_over {
            Some(Err(End::TooLong))
        } else {
            (unchanged >= limits.write).then_some(Err(End::Stalled))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: Duration = Duration::from_secs(60);

    /// End after the given unacknowledged bytes, each `step` after the one before.
    fn ends_after(step: Duration, bytes: &[u64], until: Option<Duration>) -> Option<Result<(), End>> {
        let began = Instant::now();
        let limits = Linger { write: WRITE, until: until.map(|until| began + until) };
        let mut delivery = Delivery { unacknowledged: u64::MAX, since: began };
        let (last, before) = bytes.split_last().unwrap();
        let mut now = began;
        for bytes in before {
            assert_eq!(delivery.update(*bytes, now, limits), None, "{bytes}");
            now += step;
        }
        delivery.update(*last, now, limits)
    }

    #[test]
    fn peer_that_acknowledges_steadily_has_any_time() {
        let falling: Vec<u64> = (0..1000).rev().map(|left| left + 2).collect();
        assert_eq!(ends_after(WRITE / 2, &falling, None), None);
    }

    #[test]
    fn peer_that_acknowledges_nothing_is_stalled_at_the_write_timeout() {
        assert_eq!(ends_after(WRITE, &[9, 9], None), Some(Err(End::Stalled)));
        assert_eq!(ends_after(WRITE / 3, &[9, 8, 8, 8], None), None);
        assert_eq!(ends_after(WRITE / 3, &[9, 8, 8, 8, 8], None), Some(Err(End::Stalled)));
    }

    #[test]
    fn peer_that_has_everything_has_a_second_to_close() {
        for fin in [0, FIN_BYTES] {
            assert_eq!(ends_after(PEER_CLOSE_TIMEOUT / 2, &[9, fin, fin], None), None);
            assert_eq!(ends_after(PEER_CLOSE_TIMEOUT / 2, &[9, fin, fin, fin], None), Some(Ok(())));
        }
    }

    #[test]
    fn lifetime_limit_ends_the_wait() {
        assert_eq!(ends_after(WRITE / 2, &[9, 8], Some(WRITE / 2)), Some(Err(End::TooLong)));
        assert_eq!(ends_after(WRITE / 2, &[9, 0], Some(WRITE / 2)), Some(Ok(())));
    }
}
