//! Latency histograms; lock-free, so that connections do not wait for each other.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds of the buckets in seconds; a further bucket has no bound.
pub const BOUNDS_S: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Live histogram.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BOUNDS_S.len() + 1],
    sum_us: AtomicU64,
}

/// Snapshot of a histogram.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Distribution {
    /// Observations by bucket of [`BOUNDS_S`], not cumulated.
    pub buckets: Vec<u64>,
    /// Sum of all observations in seconds.
    pub sum_s: f64,
}

impl Histogram {
    /// Counts one observation.
    pub(crate) fn observe(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let bucket = BOUNDS_S.partition_point(|bound| *bound < seconds);
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.sum_us.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    fn snapshot(&self) -> Distribution {
        Distribution {
            buckets: self.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect(),
            sum_s: self.sum_us.load(Relaxed) as f64 * 1e-6,
        }
    }
}

impl Distribution {
    /// Number of observations.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Mean in seconds; `None` without observations.
    pub fn mean_s(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_s / count as f64)
    }

    /// Upper bound in seconds of the bucket with the quantile `share`; infinite for the last bucket,
    /// `None` without observations.
    pub fn quantile_bound_s(&self, share: f64) -> Option<f64> {
        let rank = self.count() as f64 * share;
        let mut below = 0;
        let bucket = self.buckets.iter().position(|bucket| {
            below += bucket;
            *bucket > 0 && below as f64 >= rank
        })?;
        Some(BOUNDS_S.get(bucket).copied().unwrap_or(f64::INFINITY))
    }
}

macro_rules! latencies {
    ($($(#[doc = $doc:literal])+ $name:ident),+ $(,)?) => {
        /// Live histograms.
        #[derive(Debug, Default)]
        pub(crate) struct LiveLatencies { $(pub(crate) $name: Histogram),+ }

        /// Snapshot of the histograms.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Latencies { $($(#[doc = $doc])+ pub $name: Distribution),+ }

        impl LiveLatencies {
            /// Takes a snapshot.
            pub(crate) fn snapshot(&self) -> Latencies {
                Latencies { $($name: self.$name.snapshot()),+ }
            }
        }

        impl Latencies {
            /// Name, description and distribution of each histogram.
            pub fn each(&self) -> Vec<(&'static str, &'static str, &Distribution)> {
                vec![$((stringify!($name), concat!($($doc),+).trim_ascii(), &self.$name)),+]
            }
        }
    };
}

latencies! {
    /// Time to resolve a name and to connect to a server or through the upstream proxy.
    connect,
    /// Time from an HTTP request to the first byte of its response.
    first_byte,
    /// Time from an HTTP request to the end of its response.
    request,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_fall_into_their_buckets() {
        let histogram = Histogram::default();
        assert_eq!(histogram.snapshot().quantile_bound_s(0.5), None);
        for ms in [1, 1, 2, 700, 60_000] {
            histogram.observe(Duration::from_millis(ms));
        }
        let snapshot = histogram.snapshot();
        assert_eq!(snapshot.buckets, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
        assert_eq!((snapshot.count(), snapshot.sum_s), (5, 60.704));
        assert_eq!(snapshot.quantile_bound_s(0.5), Some(0.0025));
        assert_eq!(snapshot.quantile_bound_s(0.99), Some(f64::INFINITY));
    }
}
