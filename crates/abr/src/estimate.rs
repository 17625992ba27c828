//! How much a player believes the network to carry.

use units::{Bitrate, Bytes, Duration};

/// Half-lives of the averages, in seconds of download.
const HALF_LIVES: [f64; 2] = [3.0, 8.0];

/// Throughput and latency from the segments that came: of each, an exponentially weighted average with
/// a half-life of 3 s and one with 8 s; the lower throughput and the higher latency hold.
///
/// Spiteri, Sitaraman, Sparacio: From Theory to Practice: Improving Bitrate Adaptation in the DASH
/// Reference Player, MMSys 2018 (the averages of dash.js). A sample of throughput weighs as
/// much as its download took, one of latency as much as a segment lasts; what the zero at the beginning
/// weighs is taken out.
#[derive(Debug, Clone)]
pub(crate) struct Estimator {
    segment: f64,
    /// Of throughput, in bits a second, for each half-life.
    rates: [f64; 2],
    /// Of latency, in seconds.
    latencies: [f64; 2],
    /// Seconds of download in all.
    seconds: f64,
    samples: u32,
}

/// What the network is believed to carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// While bytes come.
    pub throughput: Bitrate,
    /// From a request to its first byte.
    pub latency: Duration,
}

impl Estimator {
    pub(crate) fn new(segment: Duration) -> Self {
        let segment = segment.as_secs_f64();
        Self { segment, rates: [0.0; 2], latencies: [0.0; 2], seconds: 0.0, samples: 0 }
    }

    /// `size` came within `span`, after `latency`. A span of no length says nothing.
    pub(crate) fn sample(&mut self, size: Bytes, span: Duration, latency: Duration) {
        if span.is_zero() {
            return;
        }
        let (seconds, rate) = (span.as_secs_f64(), size.get() as f64 * 8.0 / span.as_secs_f64());
        for (at, half_life) in HALF_LIVES.into_iter().enumerate() {
            let kept = libm::exp2(-seconds / half_life);
            self.rates[at] = kept * self.rates[at] + (1.0 - kept) * rate;
            let kept = libm::exp2(-self.segment / half_life);
            self.latencies[at] = kept * self.latencies[at] + (1.0 - kept) * latency.as_secs_f64();
        }
        self.seconds += seconds;
        self.samples = self.samples.saturating_add(1);
    }

    /// `None` before the first sample.
    pub(crate) fn estimate(&self) -> Option<Estimate> {
        if self.samples == 0 {
            return None;
        }
        let mut throughput = f64::INFINITY;
        let mut latency = 0.0_f64;
        for (at, half_life) in HALF_LIVES.into_iter().enumerate() {
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
    fn a_steady_network_is_known_from_the_first_segment() {
        let mut known = Estimator::new(Duration::from_secs(3));
        assert_eq!(known.estimate(), None);
        known.sample(Bytes::new(1_000), Duration::ZERO, Duration::ZERO);
        assert_eq!(known.estimate(), None, "nothing can be told from no time");
        for ms in [100, 2_000, 30] {
            // 8 Mbit/s are a byte in a microsecond.
            known.sample(Bytes::new(ms * 1_000), Duration::from_millis(ms), Duration::from_millis(40));
            let estimate = known.estimate().unwrap();
            assert!((estimate.throughput.as_mbps() - 8.0).abs() < 1e-5);
            assert!((estimate.latency.as_secs_f64() - 0.04).abs() < 1e-8);
        }
    }

    #[test]
    fn the_lower_average_holds_worked_out_by_hand() {
        let mut known = Estimator::new(Duration::from_secs(3));
        // 3 s at 4 Mbit/s, then 3 s at 12: with a half-life of 3 s, weights 1/4 and 1/2 of 3/4, so
        // (4 + 2 * 12) / 3 = 9.33; with 8 s, 2^(-3/8) = 0.7711, so (0.7711 * 4 + 12) / 1.7711 = 8.5169.
        known.sample(Bytes::new(1_500_000), Duration::from_secs(3), Duration::from_millis(10));
        known.sample(Bytes::new(4_500_000), Duration::from_secs(3), Duration::from_millis(40));
        let estimate = known.estimate().unwrap();
        assert!((estimate.throughput.as_mbps() - 8.5169).abs() < 1e-4, "{estimate:?}");
        // The latencies likewise, and there the higher: (10 + 2 * 40) / 3 = 30 ms.
        assert!((estimate.latency.as_secs_f64() - 0.030).abs() < 1e-8, "{estimate:?}");
    }
}
