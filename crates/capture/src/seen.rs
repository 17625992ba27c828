//! Seen ranges of a sequence, with the first carrier of each.

use intervals::IntervalMap;

/// Sequence numbers seen, with the owner that carried each first. Beyond a number of intervals the
/// lowest is forgotten, and everything up to its end counts as seen.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    runs: IntervalMap<u16>,
    max_runs: usize,
    floor: u64,
    forgotten: u64,
}

/// State of a piece before it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Not seen.
    New,
    /// Carried first by this owner.
    Owned(u16),
    /// Below the forgotten numbers.
    Forgotten,
}

impl Seen {
    pub(crate) const fn new(max_runs: usize) -> Self {
        Self { runs: IntervalMap::joining(), max_runs, floor: 0, forgotten: 0 }
    }
    /// Returns the bytes that count as seen only because the intervals around them were forgotten.
    pub(crate) const fn forgotten(&self) -> u64 {
        self.forgotten
    }
    /// Returns the number below which everything counts as seen.
    pub(crate) const fn floor(&self) -> u64 {
        self.floor
    }
    /// Returns the end of the numbers seen from `at` on without a gap.
    pub(crate) fn contiguous(&self, at: u64) -> u64 {
        self.runs.contiguous_end(at.max(self.floor))
    }
    /// Returns how many numbers of `from..to` were seen, without forgotten ones.
    pub(crate) fn between(&self, from: u64, to: u64) -> u64 {
        self.runs.count_between(from, to)
    }
    /// Records `from..to`. Calls `visit` with each piece of it in order, and the piece's state
    /// before.
    #[inline]
    pub(crate) fn insert(&mut self, from: u64, to: u64, owner: u16, mut visit: impl FnMut(u64, u64, Before)) {
        let mut start = from;
        if from < self.floor && from < to {
            start = to.min(self.floor);
            visit(from, start, Before::Forgotten);
        }
        self.runs.insert(start, to, owner, |from, to, before| {
            visit(from, to, before.map_or(Before::New, Before::Owned));
        });
        while self.runs.len() > self.max_runs {
            if let Some(lowest) = self.runs.pop_first() {
                if self.floor > 0 {
                    self.forgotten += lowest.from.saturating_sub(self.floor);
                }
                self.floor = lowest.to;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    fn pieces(seen: &mut Seen, from: u64, to: u64, owner: u16) -> Vec<(u64, u64, Before)> {
        let mut pieces = Vec::new();
        seen.insert(from, to, owner, |from, to, before| pieces.push((from, to, before)));
        pieces
    }

    #[test]
    fn visited_pieces_equal_a_byte_array() {
        for seed in 0..200 {
            let mut rng = Seed::new(seed).rng("seen");
            let mut seen = Seen::new(1000);
            let mut bytes = [None; 200];
            for _ in 0..60 {
                let (from, len, owner) = (rng.below(180), rng.below(20), rng.below(3) as u16);
                let mut at = from;
                for (a, b, before) in pieces(&mut seen, from, from + len, owner) {
                    assert_eq!(a, at, "in order, without gaps");
                    for byte in a..b {
                        let had = bytes[byte as usize].map_or(Before::New, Before::Owned);
                        assert_eq!(before, had, "seed {seed}, byte {byte}");
                    }
                    at = b;
                }
                assert_eq!(at, from + len);
                for byte in from..from + len {
                    bytes[byte as usize].get_or_insert(owner);
                }
                let mut ascending = seen.runs.iter().zip(seen.runs.iter().skip(1));
                assert!(ascending.all(|(a, b)| a.to <= b.from && (a.to < b.from || a.value != b.value)));
                let probe = rng.below(200);
                let end = (probe..200).find(|&byte| bytes[byte as usize].is_none()).unwrap_or(200);
                assert_eq!(seen.contiguous(probe), end);
                let count = bytes[probe as usize / 2..probe as usize].iter().flatten().count();
                assert_eq!(seen.between(probe / 2, probe), count as u64);
            }
        }
    }

    #[test]
    fn lowest_interval_is_forgotten_beyond_the_limit() {
        let mut seen = Seen::new(2);
        for from in [10, 20, 30, 40] {
            pieces(&mut seen, from, from + 5, 0);
        }
        // 10..15 and 20..25 were dropped, and with them the gap between them.
        assert_eq!((seen.floor(), seen.forgotten()), (25, 5));
        assert_eq!(pieces(&mut seen, 12, 28, 1), [(12, 25, Before::Forgotten), (25, 28, Before::New)]);
    }
}
