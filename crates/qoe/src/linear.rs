//! Linear QoE of adaptive streaming (Yin et al. 2015).

use units::{Bitrate, Duration};

/// Weights of the model: sum of R - μ * stall time - λ * sum of |change of R|.
///
/// R is the bitrate of a chunk in Mbit/s, a change of R the difference between two consecutive
/// chunks. The stall time is in seconds.
///
/// Yin, Jindal, Sekar, Sinopoli: A Control-Theoretic Approach for Dynamic Adaptive Video Streaming
/// over HTTP, SIGCOMM 2015. Default weights: Mao, Netravali, Alizadeh: Neural Adaptive Video
/// Streaming with Pensieve, SIGCOMM 2017 (`QoE_lin`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Linear {
    /// μ: penalty per second of stall, in Mbit/s.
    pub stall: f64,
    /// λ: penalty per Mbit/s of a bitrate change.
    pub change: f64,
}

impl Default for Linear {
    /// Pensieve's weights: 4.3 and 1.
    fn default() -> Self {
        Self { stall: 4.3, change: 1.0 }
    }
}

impl Linear {
    /// Returns the score of a session: `chunks` has the bitrate of each played chunk in order,
    /// `stalled` the total stall time. The score is a sum; divide it by the number of chunks to
    /// compare sessions of different lengths.
    pub fn score(&self, chunks: &[Bitrate], stalled: Duration) -> f64 {
        let quality: f64 = chunks.iter().map(|rate| rate.as_mbps()).sum();
        let changes: f64 = chunks.windows(2).map(|pair| (pair[1].as_mbps() - pair[0].as_mbps()).abs()).sum();
        quality - self.stall * stalled.as_secs_f64() - self.change * changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn score_matches_a_calculation_by_hand() {
        let chunks = [0.3, 0.75, 1.85, 1.2].map(Bitrate::from_mbps);
        // 4.1 of quality, 0.45 + 1.1 + 0.65 = 2.2 of changes, 4.3 * 0.5 = 2.15 of stalls.
        let score = |model: Linear, ms| model.score(&chunks, Duration::from_millis(ms));
        assert!((score(Linear::default(), 500) - (4.1 - 2.2 - 2.15)).abs() < 1e-9);
        assert!((score(Linear { stall: 3.0, change: 0.0 }, 1000) - 1.1).abs() < 1e-9);
        assert_eq!(Linear::default().score(&[], Duration::ZERO), 0.0);
        assert_eq!(Linear::default().score(&[Bitrate::from_mbps(4.3)], Duration::from_secs(1)), 0.0);
    }
}
