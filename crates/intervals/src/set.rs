//! Set of numbers of type `u64`, stored as intervals.

/// A set of numbers, as sorted half-open intervals that neither overlap nor touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IntervalSet {
    intervals: Vec<(u64, u64)>,
    len: u64,
}

impl IntervalSet {
    /// Returns how many numbers the set holds.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if the set holds no number.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Returns the intervals `(start, end)` in ascending order; `end` is exclusive.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.intervals.iter().copied()
    }

    /// Adds `[from, to)`. Returns false if the set already held all of it.
    pub fn insert(&mut self, mut from: u64, mut to: u64) -> bool {
        if from >= to || self.covers(from, to) {
            return false;
        }
        let first = self.intervals.partition_point(|&(_, end)| end < from);
        let last = self.intervals.partition_point(|&(start, _)| start <= to);
        for (start, end) in self.intervals.drain(first..last) {
            self.len -= end - start;
            (from, to) = (from.min(start), to.max(end));
        }
        self.intervals.insert(first, (from, to));
        self.len += to - from;
        true
    }

    /// Removes all numbers below `bound`.
    pub fn remove_below(&mut self, bound: u64) {
        let below = self.intervals.partition_point(|&(_, end)| end <= bound);
        self.len -= self.intervals.drain(..below).map(|(from, to)| to - from).sum::<u64>();
        if let Some(first) = self.intervals.first_mut().filter(|first| first.0 < bound) {
            self.len -= bound - first.0;
            first.0 = bound;
        }
    }

    /// Returns true if the set holds all of `[from, to)`.
    pub fn covers(&self, from: u64, to: u64) -> bool {
        let at = self.intervals.partition_point(|&(_, end)| end < to);
        from >= to || self.intervals.get(at).is_some_and(|&(start, _)| start <= from)
    }

    /// Returns the exclusive end of the interval that contains `number`; `None` if there is none.
    pub fn end_of(&self, number: u64) -> Option<u64> {
        let at = self.intervals.partition_point(|&(_, end)| end <= number);
        self.intervals.get(at).filter(|interval| interval.0 <= number).map(|interval| interval.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn set_equals_an_array_of_flags(
            steps in prop::collection::vec((0_u64..80, 0_u64..20, 0_u8..8), 1..60),
            probe in (0_u64..100, 0_u64..20),
        ) {
            let (mut set, mut flags) = (IntervalSet::default(), [false; 128]);
            for (from, len, kind) in steps {
                if kind == 0 {
                    set.remove_below(from);
                    flags[..from as usize].fill(false);
                } else {
                    let is_new = flags[from as usize..(from + len) as usize].iter().any(|&held| !held);
                    prop_assert_eq!(set.insert(from, from + len), is_new);
                    flags[from as usize..(from + len) as usize].fill(true);
                }
                prop_assert_eq!(set.len(), flags.iter().filter(|&&held| held).count() as u64);
                prop_assert_eq!(set.is_empty(), !flags.contains(&true));
                let mut last = None;
                for (from, to) in set.iter() {
                    prop_assert!(from < to && last.is_none_or(|end| end < from));
                    last = Some(to);
                }
            }
            let (from, to) = (probe.0, probe.0 + probe.1);
            prop_assert_eq!(set.covers(from, to), flags[from as usize..to as usize].iter().all(|&held| held));
            prop_assert_eq!(set.end_of(from).is_some(), flags[from as usize]);
        }
    }
}
