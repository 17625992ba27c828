//! How late things were.

use units::Duration;

/// Each power of two is cut into so many parts.
const PARTS: u32 = 32;
const SHIFT: u32 = PARTS.trailing_zeros();

/// Counts of durations, each known to about 3 %, in constant memory.
#[derive(Debug, Clone)]
pub struct Lateness {
    counts: Vec<u64>,
    total: u64,
    longest: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: vec![0; (PARTS * (64 - SHIFT + 1)) as usize], total: 0, longest: 0 }
    }
}

impl Lateness {
    /// Counts one.
    #[inline]
    pub fn add(&mut self, late: Duration) {
        let nanos = late.as_nanos();
        self.counts[slot(nanos)] += 1;
        self.total += 1;
        self.longest = self.longest.max(nanos);
    }

    /// Takes in what another counted.
    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    /// How many there were.
    pub const fn count(&self) -> u64 {
        self.total
    }

    /// The longest.
    pub const fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest)
    }

    /// What a share of them, from 0 to 1, did not exceed: 0.5 gives the median. Zero where there are none.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (slot, &count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && count > 0 {
                return Duration::from_nanos(end(slot).min(self.longest));
            }
        }
        Duration::ZERO
    }
}

/// Below `PARTS` nanoseconds every number has a slot of its own; above, `PARTS` to a power of two.
#[inline]
fn slot(nanos: u64) -> usize {
    if nanos < u64::from(PARTS) {
        return nanos as usize;
    }
    let exponent = nanos.ilog2();
    let part = (nanos >> (exponent - SHIFT)) as u32 - PARTS;
    ((exponent - SHIFT + 1) * PARTS + part) as usize
}

/// The largest number of a slot.
fn end(slot: usize) -> u64 {
    let (row, part) = (slot as u32 / PARTS, slot as u64 % u64::from(PARTS));
    if row == 0 {
        return part;
    }
    let width = 1u64 << (row - 1);
    (u64::from(PARTS) + part).saturating_mul(width).saturating_add(width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_slot_ends_within_a_thirtieth_above_what_it_holds(nanos in 0u64..u64::MAX / 2) {
            let end = end(slot(nanos));
            prop_assert!(end >= nanos && end - nanos <= nanos / u64::from(PARTS));
        }

        #[test]
        fn a_quantile_is_the_one_of_the_sorted_list(mut all in prop::collection::vec(0u64..1_000_000, 1..200), share in 0.0f64..1.0) {
            let mut lateness = Lateness::default();
            for &nanos in &all {
                lateness.add(Duration::from_nanos(nanos));
            }
            all.sort_unstable();
            let exact = all[((all.len() as f64 * share).ceil() as usize).max(1) - 1];
            let found = lateness.quantile(share).as_nanos();
            prop_assert!(found >= exact && found - exact <= exact / u64::from(PARTS));
        }
    }

    #[test]
    fn nothing_counted_is_no_lateness() {
        assert_eq!(Lateness::default().quantile(0.99), Duration::ZERO);
    }
}
