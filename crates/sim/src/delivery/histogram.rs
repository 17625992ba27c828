//! Histogram with logarithmic bins. Its memory is that of the bins with values.

/// Bins per power of two.
const BINS: u64 = 128;
/// Binary logarithm of [`BINS`].
const BIN_BITS: u32 = BINS.trailing_zeros();
/// Counts of values by bin. Values below 256 have a bin each; above, each power of two has 128
/// bins. A quantile is therefore at most 1/128 below the true one.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    /// Bins with values and their counts, in ascending order.
    bins: Vec<(u32, u64)>,
    count: u64,
}

impl Histogram {
    /// Counts a value.
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    /// Counts a value `times` times.
    pub fn add_many(&mut self, value: u64, times: u64) {
        let bin = bin(value);
        self.count += times;
        match self.bins.binary_search_by_key(&bin, |&(bin, _)| bin) {
            Ok(place) => self.bins[place].1 += times,
            Err(place) => self.bins.insert(place, (bin, times)),
        }
    }

    /// Number of values counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Quantile `q` (0 to 1), rounded down to the lowest value of its bin; `None` without values.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        self.quantiles([q]).next().map(|(lowest, _)| lowest)
    }

    /// Lowest and highest value of the bin of each quantile (0 to 1); the quantiles do not decrease.
    /// Nothing without values.
    pub(crate) fn quantiles(
        &self,
        quantiles: impl IntoIterator<Item = f64>,
    ) -> impl Iterator<Item = (u64, u64)> {
        let mut bins = self.bins.iter().copied();
        let mut below = 0;
        let mut current = None;
        quantiles.into_iter().map_while(move |q| {
            let rank = rank(q, self.count);
            while below < rank
                && let Some((bin, count)) = bins.next()
            {
                below += count;
                current = Some((lowest_value(bin), lowest_value(bin + 1).wrapping_sub(1)));
            }
            current
        })
    }

    /// Counts of the values 0, 1, 2 to 3, 4 to 7 and so on, up to the largest value.
    pub fn by_power_of_two(&self) -> Vec<u64> {
        let mut powers = Vec::new();
        for &(bin, count) in &self.bins {
            let power = (u64::BITS - lowest_value(bin).leading_zeros()) as usize;
            if powers.len() <= power {
                powers.resize(power + 1, 0);
            }
            powers[power] += count;
        }
        powers
    }
}

/// Rank of a quantile among `count` values, from 1.
fn rank(q: f64, count: u64) -> u64 {
    let rank = (q * count as f64).ceil().max(1.0);
    // The product may be above a whole number that is the rank: 0.28 times 25 is 7.000000000000001.
    let lower = rank - 1.0;
    if lower >= 1.0 && lower / count as f64 >= q { lower as u64 } else { rank as u64 }
}

/// Bin of a value.
fn bin(value: u64) -> u32 {
    // Shift that leaves one bit more than the number of a bin.
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BIN_BITS + 1);
    (u64::from(shift) * BINS + (value >> shift)) as u32
}

/// Lowest value of a bin.
fn lowest_value(bin: u32) -> u64 {
    let bin = u64::from(bin);
    let shift = (bin / BINS).saturating_sub(1);
    (bin - shift * BINS) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_values_are_exact() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|value| histogram.add(value));
        let quantiles = [0.0, 0.01, 0.5, 0.95, 0.99, 1.0].map(|q| histogram.quantile(q).unwrap());
        assert_eq!(quantiles, [1, 1, 50, 95, 99, 100]);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn percentiles_have_the_rank_of_exact_arithmetic() {
        for count in [25, 50, 100, 180, 200] {
            let mut histogram = Histogram::default();
            (1..=count).for_each(|value| histogram.add(value));
            for percent in 1..=100 {
                let rank = (percent * count).div_ceil(100);
                assert_eq!(histogram.quantile(percent as f64 / 100.0), Some(rank), "{percent} % of {count}");
            }
        }
    }

    #[test]
    fn values_are_counted_by_power_of_two() {
        let mut histogram = Histogram::default();
        for value in [0, 1, 2, 3, 4, 7, 8, 1424, 2047, 2048] {
            histogram.add(value);
        }
        assert_eq!(histogram.by_power_of_two(), [1, 1, 2, 2, 1, 0, 0, 0, 0, 0, 0, 2, 1]);
    }

    proptest! {
        #[test]
        fn counts_equal_those_of_sorted_values(values in proptest::collection::vec((0..2000_u64, 0..3_u64), 0..300)) {
            let mut histogram = Histogram::default();
            let mut expected = std::collections::BTreeMap::new();
            for (value, times) in values {
                histogram.add_many(value, times);
                *expected.entry(bin(value)).or_insert(0) += times;
            }
            prop_assert_eq!(histogram.count(), expected.values().sum::<u64>());
            prop_assert_eq!(histogram.bins, expected.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn a_bin_starts_at_most_a_128th_below_its_values(value: u64) {
            let lowest = lowest_value(bin(value));
            prop_assert!(lowest <= value && value - lowest <= lowest / BINS);
            prop_assert_eq!(bin(lowest), bin(value));
        }
    }
}
