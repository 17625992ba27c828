//! eMOS of adaptive video, from quality levels and freezes (Claeys et al. 2014).

use crate::Viewing;

/// Weights of eMOS: of the mean level, of its deviation, of the freezes, and the constant.
const MEAN: f64 = 5.67;
const DEVIATION: f64 = 6.72;
const FREEZES: f64 = 4.95;
const CONSTANT: f64 = 0.17;

/// Highest eMOS: the highest level throughout, without freezes. The lowest is 0.
pub const EMOS_MAX: f64 = MEAN + CONSTANT;

/// Unit of eMOS in tables and on axes: the highest score.
pub const EMOS_UNIT: &str = "of 5.84";

/// Returns the eMOS of a viewing, from 0 to [`EMOS_MAX`]:
/// 5.67 μ - 6.72 σ - 4.95 φ + 0.17, at least 0.
///
/// μ and σ are mean and sample standard deviation of the levels of the played segments, each
/// numbered from 1 (lowest bitrate) and divided by the number of levels. φ is
/// 7/8 max(ln(F)/6 + 1, 0) + 1/8 min(T, 15 s)/15 s with F stalls per second of video played and
/// their mean length T.
///
/// `levels` has the level of each played segment in order, from 0; the video has `count` levels.
/// `None` if nothing was played, or with fewer than two levels: the score would then not depend on
/// the bitrate.
///
/// Claeys, Latré, Famaey, De Turck: Design and Evaluation of a Self-Learning HTTP Adaptive Video
/// Streaming Client, IEEE Communications Letters 18(4), 2014. The terms of the levels come from
/// De Vriendt, De Vleeschauwer, Robinson, IM 2013, for seven levels; the terms of the freezes follow
/// Mok, Chan, Chang 2011. The coefficients are known from the literature, not read in the paper.
pub fn emos(levels: &[usize], count: usize, viewing: &Viewing) -> Option<f64> {
    if levels.is_empty() || count < 2 {
        return None;
    }
    let quality = |level: &usize| (level + 1).min(count) as f64 / count as f64;
    let segments = levels.len() as f64;
    let mean = levels.iter().map(quality).sum::<f64>() / segments;
    let squares: f64 = levels.iter().map(quality).map(|q| (q - mean) * (q - mean)).sum();
    let deviation = if levels.len() > 1 { (squares / (segments - 1.0)).sqrt() } else { 0.0 };
    let score = MEAN * mean - DEVIATION * deviation - FREEZES * freezes(viewing) + CONSTANT;
    Some(score.max(0.0))
}

/// φ: impairment by freezes, 0 without any.
fn freezes(viewing: &Viewing) -> f64 {
    if viewing.stalls == 0 {
        return 0.0;
    }
    let frequency = (libm::log(viewing.stall_frequency()) / 6.0 + 1.0).max(0.0);
    let length = viewing.mean_stall().as_secs_f64().min(15.0) / 15.0;
    7.0 / 8.0 * frequency + length / 8.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    fn viewing(stalls: u32, stalled_ms: u64) -> Viewing {
        let played = Duration::from_secs(100);
        Viewing { initial: Duration::ZERO, stalls, stalled: Duration::from_millis(stalled_ms), played }
    }

    #[test]
    fn scores_match_the_vectors_that_the_page_shares() {
        let vectors: serde_json::Value = serde_json::from_str(include_str!("../tests/emos.json")).unwrap();
        for vector in vectors.as_array().unwrap() {
            let number = |key: &str| vector[key].as_f64().unwrap();
            let levels = vector["levels"].as_array().unwrap().iter();
            let levels: Vec<usize> = levels.map(|level| level.as_u64().unwrap() as usize).collect();
            let viewing = Viewing {
                initial: Duration::ZERO,
                stalls: number("stalls") as u32,
                stalled: Duration::from_secs_f64(number("stalled_s")),
                played: Duration::from_secs_f64(number("played_s")),
            };
            let found = emos(&levels, number("count") as usize, &viewing);
            match vector["score"].as_f64() {
                Some(score) => assert!((found.unwrap() - score).abs() < 1e-9, "{vector}: {found:?}"),
                None => assert_eq!(found, None, "{vector}"),
            }
        }
    }

    #[test]
    fn terms_agree_with_the_models_that_they_come_from() {
        // De Vriendt et al.: 0.81 per level and 0.96 per level of deviation, with seven levels.
        assert!((MEAN - 7.0 * 0.81).abs() < 1e-9 && (DEVIATION - 7.0 * 0.96).abs() < 1e-9);
        // Mok et al.: the thresholds of stall frequency are near thirds of the term, and the
        // thresholds of the mean stall are exact thirds.
        let frequency = |rate: f64| libm::log(rate) / 6.0 + 1.0;
        assert!((frequency(0.02) - 1.0 / 3.0).abs() < 0.02 && (frequency(0.15) - 2.0 / 3.0).abs() < 0.02);
        assert_eq!(EMOS_UNIT, format!("of {EMOS_MAX:.2}"));
    }

    #[test]
    fn score_rises_with_the_bitrate_and_falls_with_stalls() {
        let score =
            |level, stalls| emos(&[level; 10], 4, &viewing(stalls, u64::from(stalls) * 1000)).unwrap();
        assert!(score(0, 0) < score(1, 0) && score(1, 0) < score(3, 0));
        assert!(score(3, 0) > score(3, 1) && score(3, 1) > score(3, 10));
    }
}
