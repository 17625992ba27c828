//! Histogram of delivery delays with logarithmic slots.

use units::Duration;

/// Slots per power of two.
const SLOTS_PER_OCTAVE: u32 = 32;
const OCTAVE_BITS: u32 = SLOTS_PER_OCTAVE.trailing_zeros();

/// Distribution of delays, with a resolution of about 3 % in constant memory.
#[derive(Debug, Clone)]
pub struct Lateness {
    counts: Vec<u64>,
    total: u64,
    longest: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: vec![0; (SLOTS_PER_OCTAVE * (64 - OCTAVE_BITS + 1)) as usize], total: 0, longest: 0 }
    }
}

impl Lateness {
    /// Records one delay.
    #[inline]
    pub fn record(&mut self, delay: Duration) {
        let nanos = delay.as_nanos();
        self.counts[slot(nanos)] += 1;
        self.total += 1;
        self.longest = self.longest.max(nanos);
    }

    /// Adds the records of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, added)| *own += added);
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    /// Number of records.
    pub const fn count(&self) -> u64 {
        self.total
    }

    /// Longest delay.
    pub const fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest)
    }

    /// Quantile for a share from 0 to 1 (0.5 is the median), rounded up to the end of its slot.
    /// Zero without records.
    pub fn quantile(&self, share: f64) -> Duration {
        let rank = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (slot, &count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank && count > 0 {
                return Duration::from_nanos(slot_end(slot).min(self.longest));
            }
        }
        Duration::ZERO
    }
}

/// Slot of a delay. Delays below `SLOTS_PER_OCTAVE` nanoseconds have one slot per nanosecond.
#[inline]
fn slot(nanos: u64) -> usize {
    if nanos < u64::from(SLOTS_PER_OCTAVE) {
        return nanos as usize;
    }
    let exponent = nanos.ilog2();
    let part = (nanos >> (exponent - OCTAVE_BITS)) as u32 - SLOTS_PER_OCTAVE;
    ((exponent - OCTAVE_BITS + 1) * SLOTS_PER_OCTAVE + part) as usize
}

/// Largest delay of a slot, in nanoseconds.
fn slot_end(slot: usize) -> u64 {
    let (row, part) = (slot as u32 / SLOTS_PER_OCTAVE, slot as u64 % u64::from(SLOTS_PER_OCTAVE));
    if row == 0 {
        return part;
    }
    let width = 1u64 << (row - 1);
    (u64::from(SLOTS_PER_OCTAVE) + part).saturating_mul(width).saturating_add(width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slot_end_exceeds_its_values_by_at_most_a_32nd(nanos in 0u64..u64::MAX / 2) {
            let end = slot_end(slot(nanos));
            prop_assert!(end >= nanos && end - nanos <= nanos / u64::from(SLOTS_PER_OCTAVE));
        }

        #[test]
        fn quantile_matches_the_sorted_records(
            mut all in prop::collection::vec(0u64..1_000_000, 1..200),
            share in 0.0f64..1.0,
        ) {
            let mut lateness = Lateness::default();
            for &nanos in &all {
                lateness.record(Duration::from_nanos(nanos));
            }
            all.sort_unstable();
            let exact = all[((all.len() as f64 * share).ceil() as usize).max(1) - 1];
            let found = lateness.quantile(share).as_nanos();
            prop_assert!(found >= exact && found - exact <= exact / u64::from(SLOTS_PER_OCTAVE));
        }
    }

    #[test]
    fn quantile_without_records_is_zero() {
        assert_eq!(Lateness::default().quantile(0.99), Duration::ZERO);
    }
}
