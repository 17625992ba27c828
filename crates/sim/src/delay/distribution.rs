//! Distribution of durations, recorded in constant memory.

use crate::delivery::Histogram;
use serde::Serialize;

/// Number of equal steps between the quantiles of [`Distribution::cdf`].
const CDF_STEPS: u32 = 200;

/// Durations in nanoseconds, in constant memory.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    histogram: Histogram,
    sum: u128,
    /// Shortest and longest.
    range: Option<(u64, u64)>,
}

impl Samples {
    /// Adds a duration in nanoseconds.
    #[inline]
    pub fn add(&mut self, nanos: u64) {
        self.add_many(nanos, 1);
    }

    /// Adds a duration in nanoseconds `times` times.
    pub fn add_many(&mut self, nanos: u64, times: u64) {
        self.histogram.add_many(nanos, times);
        self.sum += u128::from(nanos) * u128::from(times);
        let (shortest, longest) = self.range.unwrap_or((nanos, nanos));
        self.range = Some((shortest.min(nanos), longest.max(nanos)));
    }

    /// Number and sum of the durations.
    pub(crate) fn totals(&self) -> (u64, u128) {
        (self.histogram.count(), self.sum)
    }

    /// Mean, quantiles and distribution function.
    pub fn distribution(&self) -> Distribution {
        let (count, Some((shortest, longest))) = (self.histogram.count(), self.range) else {
            return Distribution::default();
        };
        let seconds = |nanos: f64| nanos / 1e9;
        let value = |(lowest, highest): (u64, u64)| {
            let middle = lowest + (highest - lowest) / 2;
            seconds(middle.clamp(shortest, longest) as f64)
        };
        let quantile = |q: f64| self.histogram.quantiles([q]).next().map(value);
        let steps = (0..=CDF_STEPS).map(|step| f64::from(step) / f64::from(CDF_STEPS));
        let mut cdf: Vec<f64> = self.histogram.quantiles(steps).map(value).collect();
        if let [first, .., last] = &mut cdf[..] {
            (*first, *last) = (seconds(shortest as f64), seconds(longest as f64));
        }
        Distribution {
            count,
            mean_s: Some(seconds(self.sum as f64 / count as f64)),
            min_s: Some(seconds(shortest as f64)),
            p50_s: quantile(0.5),
            p95_s: quantile(0.95),
            p99_s: quantile(0.99),
            max_s: Some(seconds(longest as f64)),
            cdf: cdf.into_iter().collect(),
        }
    }
}

/// Distribution of durations. Without any, all values are `None`.
///
/// Count, mean, minimum and maximum are exact. A quantile is the middle of a bin of the histogram,
/// at most 1/256 (0.4 %) from the true one, and never outside minimum and maximum.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Distribution {
    /// Number of durations; of bytes for head-of-line blocking.
    pub count: u64,
    /// Mean, in seconds.
    pub mean_s: Option<f64>,
    /// Minimum, in seconds.
    pub min_s: Option<f64>,
    /// Median, in seconds.
    pub p50_s: Option<f64>,
    /// 95th percentile, in seconds.
    pub p95_s: Option<f64>,
    /// 99th percentile, in seconds.
    pub p99_s: Option<f64>,
    /// Maximum, in seconds.
    pub max_s: Option<f64>,
    /// Quantiles at 0, 0.5, 1, …, 100 %, in seconds; empty without durations.
    #[serde(skip)]
    pub cdf: Cdf,
}

/// Distribution function as ascending quantiles at equal steps.
///
/// It stores equal quantiles once: in a run of thousands of connections most have few values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cdf {
    values: Box<[f64]>,
    /// Number of quantiles up to the last of each value.
    ends: Box<[u8]>,
}

impl FromIterator<f64> for Cdf {
    /// Collects at most 255 ascending quantiles.
    fn from_iter<I: IntoIterator<Item = f64>>(quantiles: I) -> Self {
        let quantiles: Vec<f64> = quantiles.into_iter().collect();
        let runs = || quantiles.chunk_by(|a, b| a == b);
        let mut end = 0;
        let ends = runs().map(|run| {
            end += run.len() as u8;
            end
        });
        Self { ends: ends.collect(), values: runs().map(|run| run[0]).collect() }
    }
}

impl Cdf {
    /// Number of quantiles.
    pub fn len(&self) -> usize {
        self.ends.last().map_or(0, |&end| usize::from(end))
    }

    /// True without quantiles.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The quantiles in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = f64> {
        let starts = core::iter::once(&0).chain(&*self.ends);
        let lens = starts.zip(&*self.ends).map(|(start, end)| usize::from(end - start));
        self.values.iter().zip(lens).flat_map(|(&value, len)| core::iter::repeat_n(value, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_durations_are_exact() {
        let mut samples = Samples::default();
        samples.add_many(20_841_600, 1000);
        let all = samples.distribution();
        let expected = Some(0.020_841_6);
        assert_eq!([all.mean_s, all.min_s, all.p50_s, all.p95_s, all.p99_s, all.max_s], [expected; 6]);
        assert_eq!((all.count, all.cdf.len()), (1000, 201));
        assert_eq!(Samples::default().distribution(), Distribution::default());
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_256th_of_the_sorted_samples(
            values in proptest::collection::vec(0..5_000_000_000_u64, 1..300)
        ) {
            let mut samples = Samples::default();
            for &value in &values {
                samples.add(value);
            }
            let all = samples.distribution();
            let mut sorted = values;
            sorted.sort_unstable();
            for (q, found) in [(0.5, all.p50_s), (0.95, all.p95_s), (0.99, all.p99_s)] {
                let rank = (q * sorted.len() as f64).ceil() as usize;
                let exact = sorted[rank - 1] as f64 / 1e9;
                let found = found.unwrap();
                prop_assert!((found - exact).abs() <= exact / 256.0 + 1e-9, "{q}: {found}, exact {exact}");
            }
            prop_assert!(all.cdf.iter().is_sorted());
            prop_assert_eq!(all.cdf.iter().count(), all.cdf.len());
            let ordered = [all.min_s, all.p50_s, all.p95_s, all.p99_s, all.max_s];
            prop_assert!(ordered.is_sorted(), "{ordered:?}");
        }
    }
}
