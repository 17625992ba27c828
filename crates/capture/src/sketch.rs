//! Quantiles of durations in bounded memory.

use units::Duration;

/// Buckets per octave: a quantile is within 1/64, about 1.6 %, of its value.
const PER_OCTAVE_BITS: u32 = 5;
/// Shorter durations share one bucket.
const MIN_BITS: u32 = 10;
/// Longer durations, from 2^40 ns (18 minutes), share one bucket.
const MAX_BITS: u32 = 40;

/// Counts in buckets with a width proportional to the value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sketch {
    counts: Vec<u32>,
    count: u64,
    least: u64,
}

/// Distribution of durations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles {
    /// Number of samples.
    pub count: u64,
    /// Minimum, exact.
    pub least: Duration,
    /// Median, within 1.6 %.
    pub median: Duration,
    /// 95th percentile, within 1.6 %.
    pub p95: Duration,
}

impl Sketch {
    pub(crate) fn add(&mut self, value: Duration) {
        let nanos = value.as_nanos();
        self.least = if self.count == 0 { nanos } else { self.least.min(nanos) };
        self.count += 1;
        let bucket = bucket(nanos);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
    }
    /// Returns `None` without samples.
    pub(crate) fn quantiles(&self) -> Option<Quantiles> {
        (self.count > 0).then(|| Quantiles {
            count: self.count,
            least: Duration::from_nanos(self.least),
            median: self.quantile(50),
            p95: self.quantile(95),
        })
    }

    fn quantile(&self, percent: u64) -> Duration {
        let rank = (self.count * percent).div_ceil(100).max(1);
        let mut sum = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            sum += u64::from(*count);
            if sum >= rank {
                return Duration::from_nanos(middle(bucket).max(self.least));
            }
        }
        Duration::from_nanos(self.least)
    }
}

fn bucket(nanos: u64) -> usize {
    let nanos = nanos.clamp(1 << MIN_BITS, 1 << MAX_BITS);
    let octave = nanos.ilog2();
    let within = (nanos >> (octave - PER_OCTAVE_BITS)) & ((1 << PER_OCTAVE_BITS) - 1);
    ((octave - MIN_BITS) << PER_OCTAVE_BITS) as usize + within as usize
}

fn middle(bucket: usize) -> u64 {
    let octave = (bucket >> PER_OCTAVE_BITS) as u32 + MIN_BITS;
    let within = bucket as u64 & ((1 << PER_OCTAVE_BITS) - 1);
    let width = 1 << (octave - PER_OCTAVE_BITS);
    (1 << octave) + within * width + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_known_set() {
        let mut sketch = Sketch::default();
        for millis in (1..=1000).rev() {
            sketch.add(Duration::from_millis(millis));
        }
        let found = sketch.quantiles().expect("there were some");
        assert_eq!((found.count, found.least), (1000, Duration::from_millis(1)));
        for (found, wanted) in [(found.median, 0.5), (found.p95, 0.95)] {
            assert!((found.as_secs_f64() / wanted - 1.0).abs() < 1.0 / 64.0, "{found:?} {wanted}");
        }
        assert_eq!(Sketch::default().quantiles(), None);
    }

    #[test]
    fn any_value_has_a_bucket() {
        let mut sketch = Sketch::default();
        for nanos in [0, 1, u64::MAX] {
            sketch.add(Duration::from_nanos(nanos));
        }
        assert!(sketch.counts.len() <= ((MAX_BITS - MIN_BITS + 1) << PER_OCTAVE_BITS) as usize);
        assert_eq!(sketch.quantiles().map(|found| found.least), Some(Duration::ZERO));
    }
}
