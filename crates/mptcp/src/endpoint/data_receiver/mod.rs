//! Receiving half of the data level: reordering, receive window, autotuning, the peer's DATA_FIN.

mod autotune;
mod reorder;

use crate::Config;
use autotune::Autotune;
use reorder::Reorder;
use units::{Duration, Instant};
use wire::Payload;

/// Largest window in a SYN, where it is not scaled (RFC 7323, section 2.2).
pub(super) const MAX_UNSCALED_WINDOW: u64 = 65_535;

/// Default MSS of IPv4 (RFC 9293, section 3.7.1): segments are smaller only if a peer or a middlebox
/// cuts them.
const SMALL_SEGMENT_BYTES: u64 = 536;
/// Pieces beyond a gap that are always held.
const MIN_WAITING_PIECES: u64 = 1024;

/// Received data, and the window offered to the peer. Positions are data offsets; the first byte is
/// 1.
#[derive(Debug, Clone)]
pub(super) struct DataReceiver<P> {
    /// The peer was told that data before this offset is accepted.
    advertised: u64,
    reorder: Reorder<P>,
    autotune: Autotune,
    /// Data beyond a gap takes from the window offered.
    counts_out_of_order: bool,
    /// Data offset of the peer's DATA_FIN.
    peer_fin: Option<u64>,
    peer_closed: bool,
    /// Offset of the data inserted last.
    latest: u64,
    mss: u64,
    /// Most pieces beyond a gap: a full window of small segments.
    max_waiting_pieces: usize,
}

impl<P: Payload> DataReceiver<P> {
    pub(super) fn new(config: &Config) -> Self {
        let autotune = Autotune::new(config);
        Self {
            advertised: 1 + autotune.buffer().min(MAX_UNSCALED_WINDOW),
            reorder: Reorder::new(),
            autotune,
            counts_out_of_order: config.count_out_of_order,
            peer_fin: None,
            peer_closed: false,
            latest: 0,
            mss: u64::from(config.mss),
            max_waiting_pieces: (config.recv_buffer / SMALL_SEGMENT_BYTES).max(MIN_WAITING_PIECES) as usize,
        }
    }

    /// Next offset expected in order: the DATA_ACK.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.reorder.next()
    }

    /// Offset after the last byte received.
    pub(super) fn end(&self) -> u64 {
        self.reorder.end()
    }

    /// In-order bytes that the application has not read.
    #[inline]
    pub(super) fn unread(&self) -> u64 {
        self.reorder.unread()
    }

    /// Bytes beyond a gap.
    pub(super) fn out_of_order(&self) -> u64 {
        self.reorder.out_of_order()
    }

    /// Window for a SYN, in bytes: as far as it has opened.
    pub(super) fn initial_window(&self) -> u64 {
        self.autotune.opened()
    }

    /// Takes the next in-order piece of at most `limit` bytes.
    #[expect(
        clippy::inline_always,
        reason = "returned through memory, the piece is read before its stores have completed"
    )]
    #[inline(always)]
    pub(super) fn read(&mut self, limit: usize) -> Option<P> {
        let piece = self.reorder.read(limit)?;
        self.autotune.on_read(piece.len() as u64);
        Some(piece)
    }

    /// Pieces of received data held.
    pub(super) fn pieces(&self) -> usize {
        self.reorder.pieces()
    }

    /// Inserts received data as [`insert`](Self::insert) does, but refuses more pieces beyond a gap
    /// than a full window has: tiny ones cost more memory and time than their bytes.
    #[inline]
    pub(super) fn accept(&mut self, data: u64, piece: P) -> bool {
        if data > self.next() && self.reorder.waiting_pieces() >= self.max_waiting_pieces {
            return false;
        }
        self.insert(data, piece)
    }

    /// Largest receive buffer, in bytes.
    #[inline]
    pub(super) fn max_buffer(&self) -> u64 {
        self.autotune.max_buffer()
    }

    /// The buffer is not full.
    pub(super) fn has_room(&self) -> bool {
        self.reorder.unread() + self.reorder.out_of_order() < self.autotune.buffer()
    }

    /// Most pieces that may wait beyond a gap.
    #[inline]
    pub(super) fn max_waiting_pieces(&self) -> usize {
        self.max_waiting_pieces
    }

    /// Inserts received data. Returns false if it lies outside the advertised window or beyond the
    /// peer's DATA_FIN.
    #[inline]
    pub(super) fn insert(&mut self, data: u64, piece: P) -> bool {
        let end = data.saturating_add(piece.len() as u64);
        let beyond_fin = self.peer_fin.is_some_and(|fin| end > fin);
        if data == 0 || end > self.advertised || beyond_fin {
            return false;
        }
        self.latest = data;
        self.reorder.insert(data, piece);
        true
    }

    /// Contiguous ranges beyond the gap, the one received last first.
    pub(super) fn out_of_order_ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.reorder.ranges_from(self.latest)
    }

    /// Returns true if all of `[from, to)` was received.
    pub(super) fn has(&self, from: u64, to: u64) -> bool {
        let next = self.next();
        to <= next || self.reorder.has(from.max(next), to)
    }
}

/// Receive window.
impl<P: Payload> DataReceiver<P> {
    /// The peer was told that data before this offset is accepted.
    #[inline]
    pub(super) fn advertised(&self) -> u64 {
        self.advertised
    }

    /// Right edge of the window for the next acknowledgement. It moves by at least a segment or
    /// half the buffer, to avoid silly windows (RFC 9293, section 3.8.6.2.2).
    #[inline]
    pub(super) fn window_to_offer(&self) -> u64 {
        let (unread, buffer) = (self.reorder.unread(), self.autotune.buffer());
        let used = unread + if self.counts_out_of_order { self.reorder.out_of_order() } else { 0 };
        let edge = self.reorder.next() + buffer.saturating_sub(used).min(self.autotune.opened());
        let min_step = (buffer / 2).min(self.mss);
        if unread > 0 && edge < self.advertised.saturating_add(min_step) {
            return self.advertised;
        }
        edge.max(self.advertised)
    }

    /// More data is offered in order than the buffer has room for, by the rounding of windows.
    #[inline]
    pub(super) fn exceeds_buffer(&self) -> bool {
        self.advertised > self.next() + self.autotune.buffer().saturating_sub(self.reorder.unread())
    }

    /// Records the right edge of a window that was sent.
    #[inline]
    pub(super) fn advertise(&mut self, edge: u64) {
        self.advertised = self.advertised.max(edge);
    }

    /// Returns true if reading has opened a nearly closed window far enough to be worth a segment
    /// (RFC 9293, section 3.8.6.2.2).
    #[inline]
    pub(super) fn needs_window_update(&self) -> bool {
        let largest = self.autotune.buffer().min(self.autotune.opened());
        let gain = self.window_to_offer() - self.advertised;
        let min_gain = (largest / 2).min(2 * self.mss);
        let nearly_closed = self.advertised.saturating_sub(self.reorder.next()) < largest / 2;
        nearly_closed && gain >= min_gain.max(1)
    }

    /// Autotuning is configured.
    #[inline]
    pub(super) fn is_autotuned(&self) -> bool {
        self.autotune.is_enabled()
    }

    /// The window may grow with the data received.
    #[inline]
    pub(super) fn may_grow(&self) -> bool {
        self.autotune.may_grow()
    }

    /// Opens the window for a segment received, if it is smaller than the buffer. Returns true if
    /// it grew: the acknowledgement is then due at once, as in Linux.
    pub(super) fn open_window(&mut self) -> bool {
        self.autotune.may_grow() && self.autotune.open(self.mss)
    }

    /// Grows the buffer of a TCP connection by the span of the data beyond a gap, which takes from
    /// the window.
    pub(super) fn cover_gap(&mut self) {
        if self.counts_out_of_order && self.autotune.is_enabled() {
            self.autotune.cover(self.reorder.end() - self.reorder.next());
        }
    }

    /// Grows the buffer once per round trip of `rtt`.
    pub(super) fn tune(&mut self, now: Instant, rtt: Duration) {
        self.autotune.adjust(now, rtt);
    }
}

/// End of the peer's stream.
impl<P: Payload> DataReceiver<P> {
    /// Data offset of the peer's DATA_FIN, once received.
    #[inline]
    pub(super) fn peer_fin(&self) -> Option<u64> {
        self.peer_fin
    }

    /// Records the peer's DATA_FIN, unless data lies beyond it or it lies beyond the window.
    pub(super) fn set_peer_fin(&mut self, fin: u64) {
        if self.reorder.end() <= fin && fin <= self.advertised {
            self.peer_fin.get_or_insert(fin);
        }
    }

    /// Consumes the peer's DATA_FIN if all data before it was received.
    #[inline]
    pub(super) fn consume_peer_fin(&mut self) -> bool {
        let reached = self.peer_fin == Some(self.reorder.next());
        if reached {
            self.reorder.consume_fin();
        }
        reached
    }

    /// The peer sends nothing more, and everything before was received.
    #[inline]
    pub(super) fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Marks the peer's stream as ended. Returns false if it was.
    pub(super) fn set_peer_closed(&mut self) -> bool {
        !core::mem::replace(&mut self.peer_closed, true)
    }

    pub(super) fn check(&self) -> Result<(), &'static str> {
        self.reorder.check()?;
        if self.unread() + self.out_of_order() <= self.advertised {
            Ok(())
        } else {
            Err("received more data than was advertised")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Span;

    fn receiver(recv_buffer: u64) -> DataReceiver<Span> {
        DataReceiver::new(&Config { recv_buffer, mss: 1000, ..Config::default() })
    }

    #[test]
    fn data_outside_the_window_is_refused() {
        let mut receiver = receiver(5000);
        assert_eq!(receiver.advertised(), 5001);
        assert!(receiver.insert(4001, Span::new(4000, 1000)));
        assert!(!receiver.insert(4002, Span::new(4001, 1000)));
        assert!(!receiver.insert(0, Span::new(0, 1)));
        assert_eq!(receiver.out_of_order(), 1000);
    }

    #[test]
    fn window_opens_by_steps_worth_a_segment() {
        let mut receiver = receiver(4000);
        assert!(receiver.insert(1, Span::new(0, 4000)));
        assert_eq!(receiver.window_to_offer(), 4001, "the buffer is full");
        receiver.read(500);
        assert_eq!(receiver.window_to_offer(), 4001, "too small a step");
        receiver.read(1500);
        assert_eq!(receiver.window_to_offer(), 6001);
        assert!(receiver.needs_window_update());
        receiver.advertise(6001);
        assert!(!receiver.needs_window_update());
    }

    #[test]
    fn window_that_has_not_opened_to_the_buffer_is_not_nearly_closed() {
        let config = Config { gradual_window: true, recv_buffer: 300_000, mss: 1000, ..Config::default() };
        let mut receiver = DataReceiver::new(&config);
        assert!(receiver.insert(1, Span::new(0, 10_000)));
        receiver.read(10_000);
        assert!(receiver.window_to_offer() >= receiver.advertised() + 2000);
        assert!(!receiver.needs_window_update(), "five sixths of the window are open");
        assert!(receiver.insert(10_001, Span::new(10_000, 30_000)));
        receiver.read(30_000);
        assert!(receiver.needs_window_update());
    }

    #[test]
    fn peer_fin_is_consumed_after_all_data() {
        let mut receiver = receiver(5000);
        receiver.set_peer_fin(11);
        assert!(!receiver.consume_peer_fin());
        assert!(!receiver.insert(5, Span::new(4, 10)), "data beyond the DATA_FIN");
        assert!(receiver.insert(1, Span::new(0, 10)));
        assert!(receiver.consume_peer_fin() && !receiver.consume_peer_fin());
        assert_eq!(receiver.next(), 12);
        assert!(receiver.set_peer_closed() && !receiver.set_peer_closed());
    }
}
