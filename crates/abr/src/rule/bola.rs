//! By the buffer's level, as BOLA.

use super::{Choice, Chooser, Progress, View, utility};
use units::Duration;

/// γp, the weight of playing without stalls against the utility of bitrates: 5 as in the paper's
/// evaluation.
const GAMMA_P: f64 = 5.0;

/// BOLA: of the levels m it takes the one of the highest (V (υ_m + γp) - Q) / S_m, where Q is the buffer's
/// level, S_m the bitrate, υ_m = ln(S_m / S_1), and V such that a full buffer leaves the highest level
/// at 0.
///
/// Spiteri, Urgaonkar, Sitaraman: BOLA: Near-Optimal Bitrate Adaptation for Online Videos, INFOCOM 2016,
/// BOLA-BASIC and Algorithm 1 (BOLA-FINITE, of which BOLA-U). All levels are in seconds
/// here, in segments there. The bandwidth r of Algorithm 1 is the player's estimate and not that of the
/// last segment alone, as in dash.js. With Algorithm 1 goes the paper's abandonment: a segment that is on
/// its way is given up where a whole one of a lower level is worth more by the bit than the rest of it.
#[derive(Debug, Clone)]
pub(super) struct Bola {
    /// Algorithm 1: a smaller buffer near the beginning and the end, and no climb beyond one level
    /// above the throughput.
    finite: bool,
}

impl Bola {
    pub(super) fn basic() -> Self {
        Self { finite: false }
    }
    pub(super) fn finite() -> Self {
        Self { finite: true }
    }

    /// V in seconds, and what may be in the buffer when a segment is asked for.
    fn v(&self, view: &View<'_>) -> (f64, f64) {
        let room = self.target(view) - view.segment_secs();
        (room / (utility(view.manifest, view.manifest.highest()) + GAMMA_P), room)
    }

    /// Q_max^D in seconds: what the buffer is to hold at most.
    fn target(&self, view: &View<'_>) -> f64 {
        let most = view.max_buffer.as_secs_f64();
        if !self.finite {
            return most;
        }
        let from_the_ends = view.segment.min(view.manifest.segments() - view.segment) as f64;
        most.min((from_the_ends / 2.0).max(3.0) * view.segment_secs())
    }
}

impl Chooser for Bola {
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
                // BOLA-U: of the levels up to the best, one above what the throughput sustains.
                best = best.min((view.sustainable(1.0) + 1).max(last));
            }
        }
        Choice { level: best, wait: Duration::from_secs_f64(level - room) }
    }

    fn instead(&self, view: &View<'_>, progress: &Progress) -> Option<usize> {
        if !self.finite {
            return None;
        }
        let (v, _) = self.v(view);
        let buffer = view.buffer.as_secs_f64();
        let worth = |m: usize| v * (utility(view.manifest, m) + GAMMA_P) - buffer;
        progress.better(view.manifest, progress.left(), worth)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ladder, view};
    use super::*;
    use units::Bytes;

    #[test]
    fn the_thresholds_of_the_buffer_worked_out_by_hand() {
        let manifest = ladder();
        let at = |buffer| Bola::basic().choose(&view(&manifest, buffer, 0, 1.0)).level;
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
    fn a_climb_stops_one_level_above_the_throughput() {
        let manifest = ladder();
        let at = |last, mbps| Bola::finite().choose(&view(&manifest, 21.0, last, mbps)).level;
        assert_eq!([at(0, 5.0), at(0, 6.0), at(0, 16.0), at(0, 0.1)], [3, 3, 5, 1]);
        assert_eq!(at(4, 1.0), 4, "and does not descend for it");
        assert_eq!(at(5, 1.0), 5);
        let low = Bola::finite().choose(&view(&manifest, 2.0, 5, 50.0));
        assert_eq!(low, Choice::now(0), "a small buffer is a small buffer");
    }

    #[test]
    fn the_rest_of_a_segment_is_weighed_against_a_whole_one() {
        let manifest = ladder();
        let instead = |rule: Bola, buffer, got| {
            let (size, span) = (Bytes::new(13_125_000), Duration::from_secs(1));
            let progress =
                Progress { level: 5, size, got: Bytes::new(got), elapsed: span, latency: Duration::ZERO };
            rule.instead(&view(&manifest, buffer, 5, 20.0), &progress)
        };
        // V = 2.57152, so that the levels are worth 12.858, 15.214, 16.996, 18.205, 19.987 and 22, less
        // the buffer. With 8 s in it the whole 105 Mbit are worth 0.133 each, 3 Mbit of the lowest 1.619.
        assert_eq!(instead(Bola::finite(), 8.0, 1_500), Some(0));
        assert_eq!(instead(Bola::basic(), 8.0, 1_500), None);
        // 14 / 1.619 are 8.64 Mbit: where less is left, it is fetched.
        assert_eq!(instead(Bola::finite(), 8.0, 13_125_000 - 1_082_000), Some(0));
        assert_eq!(instead(Bola::finite(), 8.0, 13_125_000 - 1_079_000), None);
        // With 18.5 s 105 Mbit are worth 3.5, the 48 of the level below 1.487: less by the bit.
        assert_eq!(instead(Bola::finite(), 18.5, 1_500), None);
    }

    #[test]
    fn near_the_ends_the_buffer_is_smaller() {
        let manifest = ladder();
        let target = |segment| Bola::finite().target(&View { segment, ..view(&manifest, 0.0, 0, 1.0) });
        assert_eq!(
            [0, 6, 10, 16, 17, 50, 84, 90, 99].map(target),
            [9.0, 9.0, 15.0, 24.0, 25.0, 25.0, 24.0, 15.0, 9.0]
        );
        // 12 s are in it, 6 may be when a segment is asked for.
        let late = View { segment: 98, ..view(&manifest, 12.0, 5, 40.0) };
        assert_eq!(Bola::finite().choose(&late).wait, Duration::from_secs(6));
    }
}
