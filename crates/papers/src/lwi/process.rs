//! Random process of a link's rate.

use units::{Bitrate, Duration, Instant, Seed};

/// A Markov-modulated rate with a good and a bad state of exponential duration.
///
/// A log-normal factor with median 1 scales the rates of a whole run; it models the load at that
/// time of day. The first state is drawn from the stationary distribution. The paper gives the
/// reason for the variation, "load varies with time as users join and leave", for Wi-Fi only, and
/// no model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateProcess {
    /// Rate in the good state, in Mbit/s.
    pub good_mbps: f64,
    /// Rate in the bad state, in Mbit/s.
    pub bad_mbps: f64,
    /// Mean duration of the good state, in seconds.
    pub good_s: f64,
    /// Mean duration of the bad state, in seconds.
    pub bad_s: f64,
    /// Standard deviation of the logarithm of the run's factor.
    pub spread: f64,
    /// Maximum rate of the technology, in Mbit/s, applied after the factor.
    pub max_mbps: f64,
}

/// Minimum rate, so that every transfer completes.
const MIN_MBPS: f64 = 0.05;

impl RateProcess {
    /// Time average of the rate over these runs, in Mbit/s, and its coefficient of variation.
    pub fn mean_and_variation(&self, length: Duration, runs: impl Iterator<Item = Seed>) -> (f64, f64) {
        let (mut time, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for seed in runs {
            let steps = self.draw(length, seed);
            let ends = steps.iter().skip(1).map(|&(at, _)| at).chain([Instant::ZERO + length]);
            for (&(from, rate), to) in steps.iter().zip(ends) {
                let (mbps, span) = (rate.as_mbps(), to.since(from).as_secs_f64());
                time += span;
                sum += mbps * span;
                squares += mbps * mbps * span;
            }
        }
        let mean = sum / time;
        (mean, (squares / time - mean * mean).max(0.0).sqrt() / mean)
    }

    /// Draws one run: the start of each interval and the rate from then on.
    pub fn draw(&self, length: Duration, seed: Seed) -> Vec<(Instant, Bitrate)> {
        let mut rng = seed.rng("rate");
        let factor = libm::exp(self.spread * rng.normal());
        let mut good = rng.unit() * (self.good_s + self.bad_s) < self.good_s;
        let (mut at, mut steps) = (0.0, Vec::new());
        while at < length.as_secs_f64() || steps.is_empty() {
            let (mbps, mean) = if good { (self.good_mbps, self.good_s) } else { (self.bad_mbps, self.bad_s) };
            let rate = Bitrate::from_mbps((mbps * factor).clamp(MIN_MBPS, self.max_mbps));
            steps.push((Instant::ZERO + Duration::from_secs_f64(at), rate));
            // An interval lasts at least 1 ms, so that no two steps have the same time.
            at += rng.exponential(mean).max(1e-3);
            good = !good;
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: RateProcess =
        RateProcess { good_mbps: 20.0, bad_mbps: 2.0, good_s: 3.0, bad_s: 1.5, spread: 0.0, max_mbps: 50.0 };

    #[test]
    fn drawn_rates_have_the_mean_variation_and_durations_of_the_process() {
        let length = Duration::from_secs(100_000);
        // Two thirds of the time at 20, one third at 2: the variance is 324 * 2 / 9.
        let (mean, variation) = PLAIN.mean_and_variation(length, [Seed::new(1)].into_iter());
        assert!((mean - 14.0).abs() < 0.2, "{mean}");
        assert!((variation - 72.0_f64.sqrt() / 14.0).abs() < 0.02, "{variation}");
        let steps = PLAIN.draw(length, Seed::new(1));
        assert_eq!(steps[0].0, Instant::ZERO);
        assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1));
        // A cycle of both states takes 4.5 s: about 22,000 cycles.
        let cycles = steps.len() as f64 / 2.0;
        assert!((100_000.0 / cycles - 4.5).abs() < 0.1, "{cycles}");
    }

    #[test]
    fn run_factor_is_constant_and_rates_stay_below_the_maximum() {
        let busy = RateProcess { spread: 0.5, max_mbps: 25.0, ..PLAIN };
        let mut medians = Vec::new();
        for seed in 1..=400 {
            let steps = busy.draw(Duration::from_secs(60), Seed::new(seed));
            let bad = steps.iter().map(|step| step.1).min().unwrap();
            let good = steps.iter().map(|step| step.1).max().unwrap();
            assert!(steps.iter().all(|step| step.1 == bad || step.1 == good), "two rates in a run");
            assert!(steps.iter().all(|step| step.1 <= Bitrate::from_mbps(25.0)));
            medians.push(bad.as_mbps());
        }
        medians.sort_by(f64::total_cmp);
        assert!((medians[200] - 2.0).abs() < 0.25, "{}", medians[200]);
        // The quantile one standard deviation above the median.
        assert!((medians[336] - 2.0 * libm::exp(0.5)).abs() < 0.5, "{}", medians[336]);
    }

    #[test]
    fn same_seed_draws_the_same_rates() {
        let draw = |seed| PLAIN.draw(Duration::from_secs(60), Seed::new(seed));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
