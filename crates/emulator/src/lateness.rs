//! Distribution of delivery delays.

use hdrhistogram::Histogram;
use units::Duration;

/// Significant decimal digits of a delay.
const DIGITS: u8 = 2;
/// Longer delays count as this one.
const LONGEST: Duration = Duration::from_secs(3600);

/// Distribution of delays, with a resolution of about 1 % in constant memory.
#[derive(Debug, Clone)]
pub struct Lateness {
    nanos: Histogram<u64>,
}

impl Default for Lateness {
    fn default() -> Self {
        let nanos = Histogram::new_with_bounds(1, LONGEST.as_nanos(), DIGITS);
        Self { nanos: nanos.expect("the bounds and the number of digits are valid") }
    }
}

impl Lateness {
    /// Records one delay.
    #[inline]
    pub fn record(&mut self, delay: Duration) {
        self.nanos.saturating_record(delay.as_nanos());
    }

    /// Adds the records of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.nanos.add(&other.nanos).expect("both have the same bounds");
    }

    /// Number of records.
    pub fn count(&self) -> u64 {
        self.nanos.len()
    }

    /// Longest delay, rounded up by the resolution.
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.nanos.max())
    }

    /// Quantile for a share from 0 to 1 (0.5 is the median), rounded up by the resolution. Zero
    /// without records.
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.nanos.value_at_quantile(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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
            prop_assert!(found >= exact && found - exact <= exact / 100 + 1, "{found} for {exact}");
        }
    }

    #[test]
    fn merged_records_count_together() {
        let mut short = Lateness::default();
        short.record(Duration::from_millis(1));
        let mut long = Lateness::default();
        long.record(Duration::from_secs(10));
        short.merge(&long);
        assert_eq!(short.count(), 2);
        assert!(short.longest() >= Duration::from_secs(10));
    }

    #[test]
    fn quantile_without_records_is_zero() {
        assert_eq!(Lateness::default().quantile(0.99), Duration::ZERO);
    }
}
