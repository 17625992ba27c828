//! Seen ranges of a sequence, with the first carrier of each.

use std::collections::VecDeque;

/// Disjoint ranges in ascending order; neighbours with one owner are joined. Beyond the maximum
/// the lowest range is dropped, and everything up to its end counts as seen.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    runs: VecDeque<Run>,
    most: usize,
    floor: u64,
    forgotten: u64,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    from: u64,
    to: u64,
    owner: u16,
}

/// Earlier state of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// New.
    New,
    /// Carried by this owner.
    Had(u16),
    /// Below the remembered ranges.
    Forgotten,
}

impl Seen {
    pub(crate) const fn new(most: usize) -> Self {
        Self { runs: VecDeque::new(), most, floor: 0, forgotten: 0 }
    }
    /// Bytes that were never seen and count as seen, because ranges were dropped.
    pub(crate) const fn forgotten(&self) -> u64 {
        self.forgotten
    }
    /// Lower bound: everything below counts as seen.
    pub(crate) const fn floor(&self) -> u64 {
        self.floor
    }
    /// End of the runs that cover `at` or follow it without a gap.
    pub(crate) fn contiguous(&self, at: u64) -> u64 {
        let mut end = at.max(self.floor);
        for run in self.runs.range(self.runs.partition_point(|run| run.to <= end)..) {
            if run.from > end {
                break;
            }
            end = run.to;
        }
        end
    }
    /// Bytes seen in `from..to`, dropped ranges excluded.
    pub(crate) fn between(&self, from: u64, to: u64) -> u64 {
        self.runs
            .range(self.runs.partition_point(|run| run.to <= from)..)
            .take_while(|run| run.from < to)
            .map(|run| run.to.min(to) - run.from.max(from))
            .sum()
    }
    /// Records `from..to`; `told` gets each piece in order, with its earlier state.
    #[inline]
    pub(crate) fn insert(&mut self, from: u64, to: u64, owner: u16, mut told: impl FnMut(u64, u64, Before)) {
        if from >= to {
            return;
        }
        match self.runs.back_mut() {
            Some(last) if from == last.to && owner == last.owner => {
                last.to = to;
                told(from, to, Before::New);
                return;
            }
            Some(last) if from < last.to => self.insert_below(from, to, owner, &mut told),
            Some(_) => {
                self.runs.push_back(Run { from, to, owner });
                told(from, to, Before::New);
            }
            None => self.insert_below(from, to, owner, &mut told),
        }
        while self.runs.len() > self.most {
            if let Some(lowest) = self.runs.pop_front() {
                if self.floor > 0 {
                    self.forgotten += lowest.from.saturating_sub(self.floor);
                }
                self.floor = lowest.to;
            }
        }
    }

    #[cold]
    fn insert_below(&mut self, from: u64, to: u64, owner: u16, told: &mut impl FnMut(u64, u64, Before)) {
        let mut at = from;
        if at < self.floor {
            let end = to.min(self.floor);
            told(at, end, Before::Forgotten);
            at = end;
        }
        let mut i = self.runs.partition_point(|run| run.to <= at);
        while at < to {
            let next = self.runs.get(i).copied();
            match next {
                Some(run) if run.from <= at => {
                    let end = run.to.min(to);
                    told(at, end, Before::Had(run.owner));
                    at = end;
                    i += 1;
                }
                _ => {
                    let end = next.map_or(to, |run| run.from.min(to));
                    told(at, end, Before::New);
                    i = self.place(i, Run { from: at, to: end, owner });
                    at = end;
                }
            }
        }
    }

    /// Inserts a run before index `i`, joined with neighbours of the same owner. Returns the index
    /// of the next run.
    fn place(&mut self, i: usize, run: Run) -> usize {
        let joins = |a: &Run, b: &Run| a.to == b.from && a.owner == b.owner;
        let before =
            i.checked_sub(1).and_then(|before| self.runs.get(before)).is_some_and(|b| joins(b, &run));
        let after = self.runs.get(i).is_some_and(|after| joins(&run, after));
        match (before, after) {
            (true, true) => {
                if let Some(after) = self.runs.remove(i) {
                    self.runs[i - 1].to = after.to;
                }
                // The joined run extends beyond the inserted one: continue there.
                i - 1
            }
            (true, false) => {
                self.runs[i - 1].to = run.to;
                i
            }
            (false, true) => {
                self.runs[i].from = run.from;
                i
            }
            (false, false) => {
                self.runs.insert(i, run);
                i + 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    fn pieces(seen: &mut Seen, from: u64, to: u64, owner: u16) -> Vec<(u64, u64, Before)> {
        let mut told = Vec::new();
        seen.insert(from, to, owner, |from, to, before| told.push((from, to, before)));
        told
    }

    #[test]
    fn any_pieces_are_told_as_an_array_of_bytes_would() {
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
                        let had = bytes[byte as usize].map_or(Before::New, Before::Had);
                        assert_eq!(before, had, "seed {seed}, byte {byte}");
                    }
                    at = b;
                }
                assert_eq!(at, from + len);
                for byte in from..from + len {
                    bytes[byte as usize].get_or_insert(owner);
                }
                let ascending = seen.runs.iter().zip(seen.runs.iter().skip(1));
                assert!(
                    ascending.clone().all(|(a, b)| a.to <= b.from && (a.to < b.from || a.owner != b.owner))
                );
                let probe = rng.below(200);
                let end = (probe..200).find(|&byte| bytes[byte as usize].is_none()).unwrap_or(200);
                assert_eq!(seen.contiguous(probe), end);
                let count = bytes[probe as usize / 2..probe as usize].iter().flatten().count();
                assert_eq!(seen.between(probe / 2, probe), count as u64);
            }
        }
    }

    #[test]
    fn the_lowest_is_forgotten_where_there_are_too_many() {
        let mut seen = Seen::new(2);
        for from in [10, 20, 30, 40] {
            pieces(&mut seen, from, from + 5, 0);
        }
        // 10..15 and 20..25 were dropped, and with them the gap between them.
        assert_eq!((seen.floor(), seen.forgotten()), (25, 5));
        assert_eq!(pieces(&mut seen, 12, 28, 1), [(12, 25, Before::Forgotten), (25, 28, Before::New)]);
    }
}
