//! Sets of data offsets, as disjoint ranges in order.

/// Disjoint ranges `[from, to)` that do not touch, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges {
    ranges: Vec<(u64, u64)>,
    bytes: u64,
}

impl Ranges {
    /// How much they hold.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }

    /// Adds `[from, to)`. False if all of it was there.
    pub(crate) fn add(&mut self, mut from: u64, mut to: u64) -> bool {
        if from >= to || self.covers(from, to) {
            return false;
        }
        let first = self.ranges.partition_point(|&(_, end)| end < from);
        let last = self.ranges.partition_point(|&(start, _)| start <= to);
        for (start, end) in self.ranges.drain(first..last) {
            self.bytes -= end - start;
            (from, to) = (from.min(start), to.max(end));
        }
        self.ranges.insert(first, (from, to));
        self.bytes += to - from;
        true
    }

    /// Forgets what lies before `offset`.
    pub(crate) fn trim(&mut self, offset: u64) {
        let gone = self.ranges.partition_point(|&(_, end)| end <= offset);
        self.bytes -= self.ranges.drain(..gone).map(|(from, to)| to - from).sum::<u64>();
        if let Some(first) = self.ranges.first_mut().filter(|first| first.0 < offset) {
            self.bytes -= offset - first.0;
            first.0 = offset;
        }
    }

    /// Is all of `[from, to)` in it?
    pub(crate) fn covers(&self, from: u64, to: u64) -> bool {
        let at = self.ranges.partition_point(|&(_, end)| end < to);
        from >= to || self.ranges.get(at).is_some_and(|&(start, _)| start <= from)
    }

    /// The end of the range that `offset` lies in.
    pub(crate) fn end_of(&self, offset: u64) -> Option<u64> {
        let at = self.ranges.partition_point(|&(_, end)| end <= offset);
        self.ranges.get(at).filter(|range| range.0 <= offset).map(|range| range.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_a_set_of_offsets(
            steps in prop::collection::vec((0_u64..80, 0_u64..20, 0_u8..8), 1..60),
            probe in (0_u64..100, 0_u64..20),
        ) {
            let (mut ranges, mut set) = (Ranges::default(), [false; 128]);
            for (from, len, kind) in steps {
                if kind == 0 {
                    ranges.trim(from);
                    set[..from as usize].fill(false);
                } else {
                    let new = set[from as usize..(from + len) as usize].iter().any(|&there| !there);
                    prop_assert_eq!(ranges.add(from, from + len), new);
                    set[from as usize..(from + len) as usize].fill(true);
                }
                prop_assert_eq!(ranges.bytes(), set.iter().filter(|&&there| there).count() as u64);
                let mut at = None;
                for (from, to) in ranges.iter() {
                    prop_assert!(from < to && at.is_none_or(|end| end < from));
                    at = Some(to);
                }
            }
            let (from, to) = (probe.0, probe.0 + probe.1);
            prop_assert_eq!(ranges.covers(from, to), set[from as usize..to as usize].iter().all(|&there| there));
            prop_assert_eq!(ranges.end_of(from).is_some(), set[from as usize]);
        }
    }
}
