//! A map from numbers to values, in which the first insertion counts.

use std::collections::VecDeque;

/// Numbers from `from` up to `to`, all with the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval<V> {
    /// First number.
    pub from: u64,
    /// Number after the last.
    pub to: u64,
    /// Value of the numbers.
    pub value: V,
}

/// A map from numbers to values, as sorted disjoint intervals. A number keeps its first value.
#[derive(Debug, Clone)]
pub struct IntervalMap<V> {
    intervals: VecDeque<Interval<V>>,
    joins: bool,
}

impl<V: Copy + PartialEq> IntervalMap<V> {
    /// Creates a map in which each insertion adds intervals of its own.
    pub const fn new() -> Self {
        Self { intervals: VecDeque::new(), joins: false }
    }

    /// Creates a map that joins intervals of equal value that touch.
    pub const fn joining() -> Self {
        Self { intervals: VecDeque::new(), joins: true }
    }

    /// Returns the number of intervals.
    pub fn len(&self) -> usize {
        self.intervals.len()
    }

    /// Returns true if no number has a value.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Returns the intervals in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Interval<V>> {
        self.intervals.iter()
    }

    /// Returns the first interval.
    pub fn first(&self) -> Option<&Interval<V>> {
        self.intervals.front()
    }

    /// Removes and returns the first interval.
    pub fn pop_first(&mut self) -> Option<Interval<V>> {
        self.intervals.pop_front()
    }

    /// Returns the end of the intervals that contain `number` or follow it without a gap; `number`
    /// if there are none.
    pub fn contiguous_end(&self, number: u64) -> u64 {
        let mut end = number;
        for interval in self.intervals.range(self.place_after(end)..) {
            if interval.from > end {
                break;
            }
            end = interval.to;
        }
        end
    }

    /// Returns how many numbers of `[from, to)` have a value.
    pub fn count_between(&self, from: u64, to: u64) -> u64 {
        self.intervals
            .range(self.place_after(from)..)
            .take_while(|interval| interval.from < to)
            .map(|interval| interval.to.min(to) - interval.from.max(from))
            .sum()
    }

    /// Gives the numbers of `[from, to)` without a value the value `value`.
    ///
    /// Calls `visit` with each part of `[from, to)` in ascending order, and with the value that the
    /// part had before.
    #[inline]
    pub fn insert(&mut self, from: u64, to: u64, value: V, mut visit: impl FnMut(u64, u64, Option<V>)) {
        if from >= to {
            return;
        }
        match self.intervals.back_mut() {
            Some(last) if self.joins && from == last.to && value == last.value => last.to = to,
            Some(last) if from < last.to => return self.insert_below(from, to, value, &mut visit),
            _ => self.intervals.push_back(Interval { from, to, value }),
        }
        visit(from, to, None);
    }

    /// Inserts an interval that does not begin after all others.
    #[cold]
    fn insert_below(
        &mut self,
        mut from: u64,
        to: u64,
        value: V,
        visit: &mut impl FnMut(u64, u64, Option<V>),
    ) {
        let mut place = self.place_after(from);
        while from < to {
            let next = self.intervals.get(place).copied();
            match next {
                Some(known) if known.from <= from => {
                    let end = known.to.min(to);
                    visit(from, end, Some(known.value));
                    from = end;
                    place += 1;
                }
                _ => {
                    let end = next.map_or(to, |known| known.from.min(to));
                    visit(from, end, None);
                    place = self.put(place, Interval { from, to: end, value });
                    from = end;
                }
            }
        }
    }

    /// Puts an interval before `place` and joins it with its neighbours, if the map joins. Returns
    /// the place from which the next part is found.
    fn put(&mut self, place: usize, new: Interval<V>) -> usize {
        let joins = |a: &Interval<V>, b: &Interval<V>| self.joins && a.to == b.from && a.value == b.value;
        let before = place.checked_sub(1).and_then(|i| self.intervals.get(i)).is_some_and(|b| joins(b, &new));
        let after = self.intervals.get(place).is_some_and(|after| joins(&new, after));
        match (before, after) {
            (true, true) => {
                if let Some(after) = self.intervals.remove(place) {
                    self.intervals[place - 1].to = after.to;
                }
                // The joined interval extends beyond the new part.
                place - 1
            }
            (true, false) => {
                self.intervals[place - 1].to = new.to;
                place
            }
            (false, true) => {
                self.intervals[place].from = new.from;
                place
            }
            (false, false) => {
                self.intervals.insert(place, new);
                place + 1
            }
        }
    }

    /// Returns the place of the first interval that ends after `number`.
    fn place_after(&self, number: u64) -> usize {
        self.intervals.partition_point(|interval| interval.to <= number)
    }
}

impl<V: Copy + PartialEq> Default for IntervalMap<V> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn map_equals_an_array_of_values(
            pieces in prop::collection::vec((0_u64..180, 0_u64..20, 0_u8..3), 1..60),
            probe in 0_u64..200,
            joins in any::<bool>(),
        ) {
            let mut map = if joins { IntervalMap::joining() } else { IntervalMap::new() };
            let mut values = [None; 200];
            for (from, len, value) in pieces {
                let mut at = from;
                map.insert(from, from + len, value, |a, b, before| {
                    assert_eq!(a, at, "parts are in order and without gaps");
                    assert!(values[a as usize..b as usize].iter().all(|&known| known == before));
                    at = b;
                });
                prop_assert_eq!(at, from + len);
                values[from as usize..(from + len) as usize].iter_mut().for_each(|v| _ = v.get_or_insert(value));
                let all: Vec<_> = map.iter().copied().collect();
                for pair in all.windows(2) {
                    let touches = pair[0].to == pair[1].from && pair[0].value == pair[1].value;
                    prop_assert!(pair[0].to <= pair[1].from && !(joins && touches));
                }
                for interval in all {
                    let held = &values[interval.from as usize..interval.to as usize];
                    prop_assert!(!held.is_empty() && held.iter().all(|&value| value == Some(interval.value)));
                }
            }
            let end = (probe..200).find(|&number| values[number as usize].is_none()).unwrap_or(200);
            prop_assert_eq!(map.contiguous_end(probe), end);
            let held = values[probe as usize / 2..probe as usize].iter().flatten().count();
            prop_assert_eq!(map.count_between(probe / 2, probe), held as u64);
            prop_assert_eq!(map.count_between(0, 200), values.iter().flatten().count() as u64);
        }
    }

    #[test]
    fn intervals_join_only_in_a_joining_map() {
        for (mut map, len) in [(IntervalMap::new(), 3), (IntervalMap::joining(), 1)] {
            map.insert(0, 10, 'a', |_, _, _| {});
            map.insert(20, 30, 'a', |_, _, _| {});
            map.insert(10, 20, 'a', |_, _, _| {});
            assert_eq!(map.len(), len);
            assert_eq!(map.pop_first().map(|first| first.from), Some(0));
        }
    }
}
