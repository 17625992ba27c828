//! Data under way: what was sent and has not reached the application.

use std::collections::VecDeque;
use units::Instant;

/// Pieces in the order of the stream, apart from each other, each with when it was first sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Pending {
    pieces: VecDeque<Piece>,
    /// The application has read up to here.
    delivered: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    from: u64,
    to: u64,
    sent: Instant,
}

impl Pending {
    /// The bytes `[from, to)` of the stream leave. Those of them that left before keep their time.
    pub(super) fn sent(&mut self, now: Instant, from: u64, to: u64) {
        let mut from = from.max(self.delivered);
        if from >= to {
            return;
        }
        if self.pieces.back().is_none_or(|last| last.to <= from) {
            self.pieces.push_back(Piece { from, to, sent: now });
            return;
        }
        let mut at = self.pieces.partition_point(|piece| piece.to <= from);
        while from < to {
            match self.pieces.get(at) {
                Some(piece) if piece.from <= from => from = piece.to,
                next => {
                    let end = next.map_or(to, |piece| piece.from.min(to));
                    self.pieces.insert(at, Piece { from, to: end, sent: now });
                    from = end;
                }
            }
            at += 1;
        }
    }

    /// How far the application has read.
    pub(super) fn up_to(&self) -> u64 {
        self.delivered
    }

    /// The application has read up to `upto`: when the next piece that is whole now was first sent. To be
    /// asked until there is none.
    pub(super) fn delivered(&mut self, upto: u64) -> Option<Instant> {
        self.delivered = upto;
        let whole = self.pieces.front().is_some_and(|piece| piece.to <= upto);
        if whole { self.pieces.pop_front().map(|piece| piece.sent) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_secs(seconds)
    }

    fn pieces(pending: &Pending) -> Vec<(u64, u64, Instant)> {
        pending.pieces.iter().map(|piece| (piece.from, piece.to, piece.sent)).collect()
    }

    #[test]
    fn only_what_had_not_left_before_is_new() {
        let mut pending = Pending::default();
        pending.sent(at(1), 100, 200);
        pending.sent(at(2), 300, 400);
        // Across both, with what lies before, between and behind.
        pending.sent(at(3), 50, 450);
        let all =
            [(50, 100, at(3)), (100, 200, at(1)), (200, 300, at(3)), (300, 400, at(2)), (400, 450, at(3))];
        assert_eq!(pieces(&pending), all);
        pending.sent(at(4), 50, 450);
        assert_eq!(pieces(&pending), all);
    }

    #[test]
    fn a_piece_in_part_is_not_delivered() {
        let mut pending = Pending::default();
        pending.sent(at(1), 0, 100);
        pending.sent(at(2), 100, 200);
        assert_eq!(pending.delivered(99), None);
        assert_eq!(pending.delivered(150), Some(at(1)));
        assert_eq!(pending.delivered(150), None);
        // Sent again after it was delivered: nothing is waiting for that.
        pending.sent(at(3), 0, 100);
        assert_eq!(pending.delivered(200), Some(at(2)));
        assert_eq!(pieces(&pending), []);
    }
}
