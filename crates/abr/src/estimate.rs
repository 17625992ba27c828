//! Estimated throughput and latency of the network.

use units::{Bitrate, Bytes, Duration};

/// Half-lives of the averages, in seconds of download.
const HALF_LIVES_S: [f64; 2] = [3.0, 8.0];

/// Estimates throughput and latency from completed segments, each by two exponentially weighted
/// moving averages. The lower throughput and the higher latency count.
///
/// Spiteri, Sitaraman, Sparacio: From Theory to Practice: Improving Bitrate Adaptation in the DASH
/// Reference Player, MMSys 2018 (the averages of dash.js). A throughput sample has the weight of
/// its download time, a latency sample that of a segment's playing time. The averages start at
/// zero, and their bias towards it is corrected.
#[derive(Debug, Clone)]
pub(crate) struct Estimator {
    segment: f64,
    /// Throughput in bits per second, for each half-life.
    rates: [f64; 2],
    /// Latency in seconds, for each half-life.
    latencies: [f64; 2],
    /// Total download time, in seconds.
    seconds: f64,
    samples: u32,
}

/// Estimate of the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Throughput while data arrives.
    pub throughput: Bitrate,
    /// Time from a request to the first byte.
    pub latency: Duration,
}

impl Estimator {
    pub(crate) fn new(segment: Duration) -> Self {
        let segment = segment.as_secs_f64();
        Self { segment, rates: [0.0; 2], latencies: [0.0; 2], seconds: 0.0, samples: 0 }
    }

    /// Records a download of `size` in `span`, after `latency`. An empty span is ignored.
    pub(crate) fn sample(&mut self, size: Bytes, span: Duration, latency: Duration) {
        if span.is_zero() {
            return;
        }
        let (seconds, rate) = (span.as_secs_f64(), size.get() as f64 * 8.0 / span.as_secs_f64());
        for (at, half_life) in HALF_LIVES_S.into_iter().enumerate() {
            let kept = libm::exp2(-seconds / half_life);
            self.rates[at] = kept * self.rates[at] + (1.0 - kept) * rate;
            let kept = libm::exp2(-self.segment / half_life);
            self.latencies[at] = kept * self.latencies[at] + (1.0 - kept) * latency.as_secs_f64();
        }
        self.seconds += seconds;
        self.samples = self.samples.saturating_add(1);
    }

    /// The estimate; `None` before the first sample.
    pub(crate) fn estimate(&self) -> Option<Estimate> {
        if self.samples == 0 {
            return None;
        }
        let mut throughput = f64::INFINITY;
        let mut latency = 0.0_f64;
        for (at, half_life) in HALF_LIVES_S.into_iter().enumerate() {
            throughput = throughput.min(self.rates[at] / (1.0 - libm::exp2(-self.seconds / half_life)));
            let weight = f64::from(self.samples) * self.segment / half_life;
            latency = latency.max(self.latencies[at] / (1.0 - libm::exp2(-weight)));
        }
        Some(Estimate {
            throughput: Bitrate::from_mbps(throughput * 1e-6),
            latency: Duration::from_secs_f64(latency),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_rate_is_estimated_from_the_first_segment() {
        let mut estimator = Estimator::new(Duration::from_secs(3));
        assert_eq!(estimator.estimate(), None);
        estimator.sample(Bytes::new(1_000), Duration::ZERO, Duration::ZERO);
        assert_eq!(estimator.estimate(), None, "empty span");
        for ms in [100, 2_000, 30] {
            // 8 Mbit/s is one byte per microsecond.
            estimator.sample(Bytes::new(ms * 1_000), Duration::from_millis(ms), Duration::from_millis(40));
            let estimate = estimator.estimate().unwrap();
            assert!((estimate.throughput.as_mbps() - 8.0).abs() < 1e-5);
            assert!((estimate.latency.as_secs_f64() - 0.04).abs() < 1e-8);
        }
    }

    #[test]
    fn averages_match_hand_computed_values() {
        let mut estimator = Estimator::new(Duration::from_secs(3));
        // 3 s at 4 Mbit/s, then 3 s at 12: with a half-life of 3 s, weights 1/4 and 1/2 of 3/4, so
        // (4 + 2 * 12) / 3 = 9.33; with 8 s, 2^(-3/8) = 0.7711, so (0.7711 * 4 + 12) / 1.7711 =
        // 8.5169.
        estimator.sample(Bytes::new(1_500_000), Duration::from_secs(3), Duration::from_millis(10));
        estimator.sample(Bytes::new(4_500_000), Duration::from_secs(3), Duration::from_millis(40));
        let estimate = estimator.estimate().unwrap();
        assert!((estimate.throughput.as_mbps() - 8.5169).abs() < 1e-4, "{estimate:?}");
        // The latencies likewise; the higher one counts: (10 + 2 * 40) / 3 = 30 ms.
        assert!((estimate.latency.as_secs_f64() - 0.030).abs() < 1e-8, "{estimate:?}");
    }
}
