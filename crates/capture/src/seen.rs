//! Seen ranges of a sequence, with the first carrier of each.

use core::ops::Range;
use intervals::IntervalMap;

/// Number of intervals that every sequence may remember.
const MIN_RUNS: usize = 256;
/// Maximum number of intervals of one sequence. An insertion below others takes time in proportion.
const MAX_RUNS: usize = 1 << 16;

/// Sequence numbers seen, with the owner that carried each first. Beyond a number of intervals the
/// lowest is forgotten, with the gap before it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    runs: IntervalMap<u16>,
    max_runs: usize,
    /// Numbers seen without a gap whose owners were forgotten. Whether lower ones were seen is
    /// unknown.
    ownerless: Range<u64>,
    forgotten: u64,
}

/// State of a piece before it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Not seen, or too old to be remembered.
    New,
    /// Carried first by this owner.
    Owned(u16),
    /// Carried by an owner that was forgotten.
    Ownerless,
}

impl Seen {
    pub(crate) const fn new() -> Self {
        Self { runs: IntervalMap::joining(), max_runs: MIN_RUNS, ownerless: 0..0, forgotten: 0 }
    }
    /// Doubles the limit of intervals if more than half are in use and `spare`, which all sequences
    /// share, has as many.
    pub(crate) fn reserve(&mut self, spare: &mut usize) {
        if self.runs.len() > self.max_runs / 2 && self.max_runs < MAX_RUNS && *spare >= self.max_runs {
            *spare -= self.max_runs;
            self.max_runs *= 2;
        }
    }
    /// Returns the bytes of the forgotten gaps.
    pub(crate) const fn forgotten(&self) -> u64 {
        self.forgotten
    }
    /// Returns the number below which no gap is remembered.
    pub(crate) const fn floor(&self) -> u64 {
        self.ownerless.end
    }
    /// Returns the end of the numbers seen from `at` on without a gap.
    pub(crate) fn contiguous(&self, at: u64) -> u64 {
        self.runs.contiguous_end(at.max(self.floor()))
    }
    /// Returns how many numbers of `from..to` were seen, without forgotten ones.
    pub(crate) fn between(&self, from: u64, to: u64) -> u64 {
        self.runs.count_between(from, to)
    }
    /// Records `from..to`. Calls `visit` with each piece of it in order, and the piece's state
    /// before.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        mut from: u64,
        to: u64,
        owner: u16,
        mut visit: impl FnMut(u64, u64, Before),
    ) {
        for (end, before) in [(self.ownerless.start, Before::New), (self.ownerless.end, Before::Ownerless)] {
            let end = to.min(end);
            if from < end {
                visit(from, end, before);
                from = end;
            }
        }
        self.runs.insert(from, to, owner, |from, to, before| {
            visit(from, to, before.map_or(Before::New, Before::Owned));
        });
        while self.runs.len() > self.max_runs {
            self.forget_lowest();
        }
    }

    /// Forgets the owner of the lowest interval, and the gap before it.
    fn forget_lowest(&mut self) {
        let Some(lowest) = self.runs.pop_first() else { return };
        let is_first = self.ownerless.end == 0;
        if lowest.from > self.ownerless.end {
            self.forgotten += if is_first { 0 } else { lowest.from - self.ownerless.end };
            self.ownerless.start = lowest.from;
        }
        self.ownerless.end = lowest.to;
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
            let mut seen = Seen::new();
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
    fn gap_before_a_forgotten_interval_counts_as_new() {
        let mut seen = Seen { max_runs: 2, ..Seen::new() };
        for from in [10, 20, 30, 40] {
            pieces(&mut seen, from, from + 5, 0);
        }
        // 10..15 and 20..25 were dropped, and with them the gap between them.
        assert_eq!((seen.floor(), seen.forgotten()), (25, 5));
        let expected = [(12, 20, Before::New), (20, 25, Before::Ownerless), (25, 28, Before::New)];
        assert_eq!(pieces(&mut seen, 12, 28, 1), expected);
    }

    #[test]
    fn owner_is_forgotten_without_a_gap() {
        let mut seen = Seen { max_runs: 2, ..Seen::new() };
        for (from, owner) in [(10, 0), (15, 1), (20, 0), (25, 1)] {
            pieces(&mut seen, from, from + 5, owner);
        }
        assert_eq!((seen.floor(), seen.forgotten()), (20, 0));
        assert_eq!(pieces(&mut seen, 8, 12, 1), [(8, 10, Before::New), (10, 12, Before::Ownerless)]);
    }

    #[test]
    fn limit_grows_while_others_leave_some() {
        let (mut seen, mut spare) = (Seen::new(), 3 * MIN_RUNS);
        for i in 0..8 * MIN_RUNS as u64 {
            seen.reserve(&mut spare);
            pieces(&mut seen, 10 * i, 10 * i + 5, 0);
        }
        assert_eq!((seen.runs.len(), spare), (4 * MIN_RUNS, 0));
        let mut all = usize::MAX;
        for i in 0..2 * MAX_RUNS as u64 {
            seen.reserve(&mut all);
            pieces(&mut seen, 1_000_000 + 10 * i, 1_000_005 + 10 * i, 0);
        }
        assert_eq!(seen.runs.len(), MAX_RUNS);
    }
}
