//! `bola-basic` and `bola`: by the level of the buffer (BOLA).

use super::view::utility;
use super::{AbrRule, Choice, Progress, RuleEntry, View};
use units::Duration;

/// BOLA-BASIC.
pub const BOLA_BASIC: RuleEntry = RuleEntry {
    name: "bola-basic",
    doc: "BOLA-BASIC, by the buffer level alone",
    build: |_, _| Box::new(Bola { finite: false }),
};
/// BOLA-U, for videos of finite length.
pub const BOLA: RuleEntry = RuleEntry {
    name: "bola",
    doc: "BOLA-U, for videos of finite length",
    build: |_, _| Box::new(Bola { finite: true }),
};

/// γp, the weight of playback without stalls against the utility of bitrates (the paper's
/// evaluation).
const GAMMA_P: f64 = 5.0;

/// BOLA: chooses the level m with the highest (V (υ_m + γp) - Q) / S_m, where Q is the buffer's
/// level, S_m the bitrate, υ_m = ln(S_m / S_1), and V such that the highest level has 0 at a full
/// buffer.
///
/// Spiteri, Urgaonkar, Sitaraman: BOLA: Near-Optimal Bitrate Adaptation for Online Videos, INFOCOM
/// 2016, BOLA-BASIC and Algorithm 1 (BOLA-FINITE, of which BOLA-U). Buffer levels are in seconds
/// here, in segments in the paper. The bandwidth r of Algorithm 1 is the player's estimate, as in
/// dash.js, not the last segment's. Algorithm 1 includes the paper's abandonment: a download is
/// replaced if a whole segment of a lower level is worth more per bit than the rest of it.
#[derive(Debug, Clone)]
struct Bola {
    /// Algorithm 1: a smaller buffer near both ends of the video, and at most one level above the
    /// throughput.
    finite: bool,
}

impl Bola {
    /// V, and the highest buffer level at which to request a segment, both in seconds.
    fn v(&self, view: &View<'_>) -> (f64, f64) {
        let room = self.target(view) - view.segment_secs();
        (room / (utility(view.manifest, view.manifest.highest()) + GAMMA_P), room)
    }

    /// Q_max^D in seconds: the target of the buffer.
    fn target(&self, view: &View<'_>) -> f64 {
        let most = view.max_buffer.as_secs_f64();
        if !self.finite {
            return most;
        }
        let from_the_ends = view.segment.min(view.manifest.segments() - view.segment) as f64;
        most.min((from_the_ends / 2.0).max(3.0) * view.segment_secs())
    }
}

impl AbrRule for Bola {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let manifest = view.manifest;
        let (v, room) = self.v(view);
        let level = view.buffer.as_secs_f64();
        let score =
            |m: usize| (v * (utility(manifest, m) + GAMMA_P) - level) / manifest.bitrate(m).as_bps() as f64;
        let mut best = 0;
        for m in 1..=manifest.highest() {
            if score(m) > score(best) {
                best = m;
            }
        }
        if self.finite {
            let last = view.last.unwrap_or(0);
            if best > last {
                // BOLA-U: at most one level above the sustainable one.
                best = best.min((view.sustainable(1.0) + 1).max(last));
            }
        }
        Choice { level: best, wait: Duration::from_secs_f64(level - room) }
    }

    fn replacement(&self, view: &View<'_>, progress: &Progress) -> Option<usize> {
        if !self.finite {
            return None;
        }
        let (v, _) = self.v(view);
        let buffer = view.buffer.as_secs_f64();
        let worth = |m: usize| v * (utility(view.manifest, m) + GAMMA_P) - buffer;
        progress.best_replacement(view.manifest, progress.bits_left(), worth)
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::{ladder, view};
    use super::*;
    use units::Bytes;

    const BASIC: Bola = Bola { finite: false };
    const FINITE: Bola = Bola { finite: true };

    #[test]
    fn thresholds_match_hand_computed_values() {
        let manifest = ladder();
        let at = |buffer| BASIC.clone().choose(&view(&manifest, buffer, 0, 1.0)).level;
        // V = 22 / (ln 35 + 5) = 2.57152. Level m wins over m - 1 above
        // Q = V (5 + (S_m υ_(m-1) - S_(m-1) υ_m) / (S_m - S_(m-1))):
        // 2.5 over 1: V (5 - 0.91629 / 1.5) = 11.287
        // 5 over 2.5: V (5 + (5 * 0.91629 - 2.5 * 1.60944) / 2.5) = 13.432
        // 8 over 5: V (5 + (8 * 1.60944 - 5 * 2.07944) / 3) = 14.982
        // 16 over 8: V (5 + (16 * 2.07944 - 8 * 2.77259) / 8) = 16.422
        // 35 over 16: V (5 + (35 * 2.77259 - 16 * 3.55535) / 19) = 18.292
        for (level, threshold) in [11.287, 13.432, 14.982, 16.422, 18.292].into_iter().enumerate() {
            assert_eq!(at(threshold - 0.002), level, "below {threshold}");
            assert_eq!(at(threshold + 0.002), level + 1, "above {threshold}");
        }
        assert_eq!((at(0.0), at(22.0)), (0, 5));
    }

    #[test]
    fn level_rises_at_most_one_above_the_throughput() {
        let manifest = ladder();
        let at = |last, mbps| FINITE.clone().choose(&view(&manifest, 21.0, last, mbps)).level;
        assert_eq!([at(0, 5.0), at(0, 6.0), at(0, 16.0), at(0, 0.1)], [3, 3, 5, 1]);
        assert_eq!(at(4, 1.0), 4, "no descent for a low throughput");
        assert_eq!(at(5, 1.0), 5);
        let low = FINITE.clone().choose(&view(&manifest, 2.0, 5, 50.0));
        assert_eq!(low, Choice::now(0), "small buffer");
    }

    #[test]
    fn download_is_replaced_if_a_lower_level_is_worth_more_per_bit() {
        let manifest = ladder();
        let replacement = |rule: Bola, buffer, got| {
            let (size, span) = (Bytes::new(13_125_000), Duration::from_secs(1));
            let progress =
                Progress { level: 5, size, got: Bytes::new(got), elapsed: span, latency: Duration::ZERO };
            rule.replacement(&view(&manifest, buffer, 5, 20.0), &progress)
        };
        // V = 2.57152: the levels are worth 12.858, 15.214, 16.996, 18.205, 19.987 and 22, less the
        // buffer. With 8 s in it the 105 Mbit are worth 0.133 each, the 3 Mbit of the lowest 1.619.
        assert_eq!(replacement(FINITE.clone(), 8.0, 1_500), Some(0));
        assert_eq!(replacement(BASIC.clone(), 8.0, 1_500), None);
        // 14 / 1.619 = 8.64 Mbit: with less left, the download goes on.
        assert_eq!(replacement(FINITE.clone(), 8.0, 13_125_000 - 1_082_000), Some(0));
        assert_eq!(replacement(FINITE.clone(), 8.0, 13_125_000 - 1_079_000), None);
        // With 18.5 s the 105 Mbit are worth 3.5, the 48 Mbit of the level below 1.487: less per
        // bit.
        assert_eq!(replacement(FINITE.clone(), 18.5, 1_500), None);
    }

    #[test]
    fn target_buffer_is_smaller_near_both_ends() {
        let manifest = ladder();
        let target = |segment| FINITE.target(&View { segment, ..view(&manifest, 0.0, 0, 1.0) });
        assert_eq!(
            [0, 6, 10, 16, 17, 50, 84, 90, 99].map(target),
            [9.0, 9.0, 15.0, 24.0, 25.0, 25.0, 24.0, 15.0, 9.0]
        );
        // The buffer holds 12 s; the request is due at 6 s.
        let late = View { segment: 98, ..view(&manifest, 12.0, 5, 40.0) };
        assert_eq!(FINITE.clone().choose(&late).wait, Duration::from_secs(6));
    }
}
