//! Data that was sent and that the application has not read yet.

use intervals::IntervalMap;
use units::Instant;

/// Disjoint pieces of the stream in order, each with the time of its first transmission.
#[derive(Debug, Clone, Default)]
pub(super) struct Pending {
    pieces: IntervalMap<Instant>,
    /// Stream offset up to which the application has read.
    delivered: u64,
}

impl Pending {
    /// Bytes `[from, to)` of the stream are sent. Bytes sent before keep their first time.
    pub(super) fn on_send(&mut self, now: Instant, from: u64, to: u64) {
        self.pieces.insert(from.max(self.delivered), to, now, |_, _, _| {});
    }

    /// Stream offset up to which the application has read.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The application has read up to stream offset `to`. Takes the next piece that it has read in
    /// full and returns the time of its first transmission; call again until it returns `None`.
    pub(super) fn take_delivered(&mut self, to: u64) -> Option<Instant> {
        self.delivered = to;
        let is_complete = self.pieces.first().is_some_and(|piece| piece.to <= to);
        if is_complete { self.pieces.pop_first().map(|piece| piece.value) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_secs(seconds)
    }

    fn pieces(pending: &Pending) -> Vec<(u64, u64, Instant)> {
        pending.pieces.iter().map(|piece| (piece.from, piece.to, piece.value)).collect()
    }

    #[test]
    fn bytes_sent_again_keep_their_first_time() {
        let mut pending = Pending::default();
        pending.on_send(at(1), 100, 200);
        pending.on_send(at(2), 300, 400);
        // Overlaps both pieces and the gaps before, between and after them.
        pending.on_send(at(3), 50, 450);
        let all =
            [(50, 100, at(3)), (100, 200, at(1)), (200, 300, at(3)), (300, 400, at(2)), (400, 450, at(3))];
        assert_eq!(pieces(&pending), all);
        pending.on_send(at(4), 50, 450);
        assert_eq!(pieces(&pending), all);
    }

    #[test]
    fn a_partly_read_piece_is_not_delivered() {
        let mut pending = Pending::default();
        pending.on_send(at(1), 0, 100);
        pending.on_send(at(2), 100, 200);
        assert_eq!(pending.take_delivered(99), None);
        assert_eq!(pending.take_delivered(150), Some(at(1)));
        assert_eq!(pending.take_delivered(150), None);
        // A retransmission after delivery is ignored.
        pending.on_send(at(3), 0, 100);
        assert_eq!(pending.take_delivered(200), Some(at(2)));
        assert_eq!(pieces(&pending), []);
    }
}
