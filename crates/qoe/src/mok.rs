//! MOS of HTTP video by initial load time and stalls (Mok, Chan, Chang 2011).

use units::Duration;

/// Unit of the default model's MOS in tables and on axes: the highest MOS that it gives.
pub const MOS_UNIT: &str = "of 3.31";

/// The model: MOS = 4.23 - 0.0672 L_ti - 0.742 L_fr - 0.106 L_tr.
///
/// Mok, Chan, Chang: Measuring the Quality of Experience of HTTP Video Streaming, IM 2011. Each L
/// is a level of its metric, 1 to 3, so that the MOS goes from 3.3148 down to 1.4844.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mok {
    /// Thresholds of the initial load time: level 1 up to the first, 2 up to the second, 3 above.
    pub initial: [Duration; 2],
    /// Thresholds of the rebuffering frequency, in stalls per second.
    pub frequency: [f64; 2],
    /// Thresholds of the mean stall duration.
    pub stall: [Duration; 2],
    /// Add a level 0 for a metric of zero: no initial load time, no stall. Some implementations do
    /// so, the paper does not. The best MOS is then 4.23.
    pub level_zero: bool,
}

/// Playback of one video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Viewing {
    /// Time from the request to the first frame; not counted as a stall.
    pub initial: Duration,
    /// Number of stalls after the first frame. A stall that lasts until the end counts.
    pub stalls: u32,
    /// Total duration of the stalls.
    pub stalled: Duration,
    /// Duration of the video played, without stalls.
    pub played: Duration,
}

/// The three levels, 1 (best) to 3, or 0 with [`Mok::level_zero`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// L_ti, level of the initial load time.
    pub initial: u8,
    /// L_fr, level of the rebuffering frequency.
    pub frequency: u8,
    /// L_tr, level of the mean stall duration.
    pub stall: u8,
}

impl Default for Mok {
    /// The thresholds of Table I of Kumar, Gupta, Franklin (LTE-WLAN integration): 1 and 5 s, 0.02
    /// and 0.15 stalls a second, 5 and 10 s; without a level 0.
    fn default() -> Self {
        Self {
            initial: [Duration::from_secs(1), Duration::from_secs(5)],
            frequency: [0.02, 0.15],
            stall: [Duration::from_secs(5), Duration::from_secs(10)],
            level_zero: false,
        }
    }
}

impl Mok {
    /// Returns the levels of a viewing.
    pub fn levels(&self, viewing: &Viewing) -> Levels {
        let level = |value: f64, [low, high]: [f64; 2]| {
            if self.level_zero && value <= 0.0 {
                0
            } else if value <= low {
                1
            } else if value <= high {
                2
            } else {
                3
            }
        };
        let seconds = |[low, high]: [Duration; 2]| [low.as_secs_f64(), high.as_secs_f64()];
        Levels {
            initial: level(viewing.initial.as_secs_f64(), seconds(self.initial)),
            frequency: level(viewing.stall_frequency(), self.frequency),
            stall: level(viewing.mean_stall().as_secs_f64(), seconds(self.stall)),
        }
    }

    /// Returns the highest MOS of the model: 3.3148, or 4.23 with [`Mok::level_zero`].
    pub fn max_mos(&self) -> f64 {
        let best = u8::from(!self.level_zero);
        Levels { initial: best, frequency: best, stall: best }.mos()
    }

    /// Returns the MOS of a viewing that showed a picture, on the scale of 1 (bad) to 5 (excellent).
    /// It reaches [`Mok::max_mos`] at most. A viewing without a picture has no MOS.
    pub fn mos(&self, viewing: &Viewing) -> f64 {
        self.levels(viewing).mos()
    }
}

impl Viewing {
    /// Returns stalls per second of video played; infinite if nothing was played.
    pub fn stall_frequency(&self) -> f64 {
        if self.stalls == 0 { 0.0 } else { f64::from(self.stalls) / self.played.as_secs_f64() }
    }
    /// Returns the mean stall duration; zero without stalls.
    pub fn mean_stall(&self) -> Duration {
        if self.stalls == 0 { Duration::ZERO } else { self.stalled / u64::from(self.stalls) }
    }
}

impl Levels {
    /// Returns the MOS of these levels.
    pub fn mos(self) -> f64 {
        4.23 - 0.0672 * f64::from(self.initial)
            - 0.742 * f64::from(self.frequency)
            - 0.106 * f64::from(self.stall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viewing(initial_ms: u64, stalls: u32, stalled_ms: u64) -> Viewing {
        Viewing {
            initial: Duration::from_millis(initial_ms),
            stalls,
            stalled: Duration::from_millis(stalled_ms),
            played: Duration::from_secs(100),
        }
    }

    #[test]
    fn mos_follows_from_the_levels() {
        // Initial load in ms, stalls in 100 s, their sum in ms; levels; MOS.
        let table = [
            ((500, 0, 0), (1, 1, 1), 3.3148),
            ((1_000, 2, 10_000), (1, 1, 1), 3.3148),
            ((1_001, 2, 10_000), (2, 1, 1), 3.2476),
            ((5_000, 3, 15_000), (2, 2, 1), 2.5056),
            ((5_001, 15, 90_000), (3, 2, 2), 2.3324),
            ((500, 16, 80_000), (1, 3, 1), 1.8308),
            ((9_000, 20, 220_000), (3, 3, 3), 1.4844),
        ];
        for ((initial, stalls, stalled), (i, f, s), mos) in table {
            let seen = viewing(initial, stalls, stalled);
            let model = Mok::default();
            assert_eq!(model.levels(&seen), Levels { initial: i, frequency: f, stall: s }, "{seen:?}");
            assert!((model.mos(&seen) - mos).abs() < 1e-9, "{seen:?}");
        }
    }

    #[test]
    fn no_levels_give_more_than_the_maximum() {
        let all = |model: &Mok| {
            let from = u8::from(!model.level_zero);
            let levels = move || from..=3;
            levels().flat_map(move |initial| {
                levels().flat_map(move |frequency| {
                    levels().map(move |stall| Levels { initial, frequency, stall }.mos())
                })
            })
        };
        for model in [Mok::default(), Mok { level_zero: true, ..Mok::default() }] {
            assert_eq!(all(&model).fold(f64::NEG_INFINITY, f64::max), model.max_mos());
        }
        assert!((Mok::default().max_mos() - 3.3148).abs() < 1e-9);
        assert_eq!(MOS_UNIT, format!("of {:.2}", Mok::default().max_mos()));
    }

    #[test]
    fn level_zero_applies_to_zero_metrics_if_enabled() {
        let model = Mok { level_zero: true, ..Mok::default() };
        assert!((model.mos(&viewing(0, 0, 0)) - 4.23).abs() < 1e-9);
        assert_eq!(model.levels(&viewing(1, 0, 0)), Levels { initial: 1, frequency: 0, stall: 0 });
        assert_eq!(model.levels(&viewing(1, 1, 1)), Levels { initial: 1, frequency: 1, stall: 1 });
        assert!((Mok::default().mos(&viewing(0, 0, 0)) - 3.3148).abs() < 1e-9);
    }

    #[test]
    fn video_that_only_stalls_has_the_worst_frequency() {
        let never = Viewing { played: Duration::ZERO, ..viewing(0, 1, 1000) };
        assert_eq!(Mok::default().levels(&never).frequency, 3);
        assert_eq!(Mok::default().levels(&Viewing::default()).frequency, 1);
    }

    #[test]
    fn thresholds_belong_to_the_better_level() {
        // Kumar et al., Table I: T_init 0 to 1 s, to 5 s; f_rebuf 0 to 0.02 /s, to 0.15 /s; T_rebuf
        // 0 to 5 s, to 10 s. With 100 s played, 2 stalls are 0.02 per second.
        let levels = |initial_ms, stalls, stalled_ms| {
            let Levels { initial, frequency, stall } =
                Mok::default().levels(&viewing(initial_ms, stalls, stalled_ms));
            [initial, frequency, stall]
        };
        assert_eq!([1000, 1001, 5000, 5001].map(|ms| levels(ms, 0, 0)[0]), [1, 2, 2, 3]);
        assert_eq!([2, 3, 15, 16].map(|stalls| levels(0, stalls, 0)[1]), [1, 2, 2, 3]);
        assert_eq!([5000, 5001, 10_000, 10_001].map(|ms| levels(0, 1, ms)[2]), [1, 2, 2, 3]);
    }

    #[test]
    fn levels_of_the_papers_4k_video() {
        // Kumar et al., Table III: 66 s of video over Wi-Fi, LTE and both.
        let seen = |stalls: f64, mean: f64| {
            let level =
                |value: f64, [low, high]: [f64; 2]| 1 + u8::from(value > low) + u8::from(value > high);
            let model = Mok::default();
            (level(stalls / 66.0, model.frequency), level(mean, [5.0, 10.0]))
        };
        assert_eq!(seen(5.32, 4.55), (2, 1));
        assert_eq!(seen(6.44, 5.89), (2, 2));
        assert_eq!(seen(2.38, 3.69), (2, 1));
    }
}
