//! What a link of the paper's carries, from moment to moment.

use units::{Bitrate, Duration, Instant, Seed};

/// A Markov-modulated rate: a good and a bad state, in each of which a link stays for an exponential time; and a
/// factor for the whole run, log-normal with median 1, for how busy the hour is. The state at the beginning is drawn
/// as it is in the long run.
/// The paper says why it varies, and not how:
/// "load varies with time as users join and leave", on Wi-Fi; nothing of LTE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateProcess {
    /// In the good state, in Mbit/s.
    pub good_mbps: f64,
    /// In the bad one.
    pub bad_mbps: f64,
    /// How long a good spell is in the mean, in seconds.
    pub good_s: f64,
    /// How long a bad one is.
    pub bad_s: f64,
    /// Standard deviation of the logarithm of the run's factor.
    pub spread: f64,
    /// What the technology carries at most, in Mbit/s, whatever the factor.
    pub most_mbps: f64,
}

/// No rate is lower, so that everything arrives at last.
const LEAST_MBPS: f64 = 0.05;

impl RateProcess {
    /// Mean over so many runs and all of their time, and standard deviation over the mean of all moments.
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

    /// One run of it: from when on the link carries how much.
    pub fn draw(&self, length: Duration, seed: Seed) -> Vec<(Instant, Bitrate)> {
        let mut rng = seed.rng("rate");
        let factor = libm::exp(self.spread * rng.normal());
        let mut good = rng.unit() * (self.good_s + self.bad_s) < self.good_s;
        let (mut at, mut steps) = (0.0, Vec::new());
        while at < length.as_secs_f64() || steps.is_empty() {
            let (mbps, mean) = if good { (self.good_mbps, self.good_s) } else { (self.bad_mbps, self.bad_s) };
            let rate = Bitrate::from_mbps((mbps * factor).clamp(LEAST_MBPS, self.most_mbps));
            steps.push((Instant::ZERO + Duration::from_secs_f64(at), rate));
            // A millisecond at least, so that no two steps are at one time.
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
        RateProcess { good_mbps: 20.0, bad_mbps: 2.0, good_s: 3.0, bad_s: 1.5, spread: 0.0, most_mbps: 50.0 };

    #[test]
    fn what_is_drawn_has_the_mean_and_the_spells_that_were_asked_for() {
        let length = Duration::from_secs(100_000);
        // Two thirds of the time at 20, a third at 2: a variance of 324 * 2 / 9.
        let (mean, variation) = PLAIN.mean_and_variation(length, [Seed::new(1)].into_iter());
        assert!((mean - 14.0).abs() < 0.2, "{mean}");
        assert!((variation - 72.0_f64.sqrt() / 14.0).abs() < 0.02, "{variation}");
        let steps = PLAIN.draw(length, Seed::new(1));
        assert_eq!(steps[0].0, Instant::ZERO);
        assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1));
        // A good and a bad spell are 4.5 s together: some 22,000 of them.
        let spells = steps.len() as f64 / 2.0;
        assert!((100_000.0 / spells - 4.5).abs() < 0.1, "{spells}");
    }

    #[test]
    fn a_runs_factor_holds_for_the_run_and_no_link_carries_more_than_it_can() {
        let busy = RateProcess { spread: 0.5, most_mbps: 25.0, ..PLAIN };
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
        // A standard deviation above the median.
        assert!((medians[336] - 2.0 * libm::exp(0.5)).abs() < 0.5, "{}", medians[336]);
    }

    #[test]
    fn one_seed_gives_one_course() {
        let draw = |seed| PLAIN.draw(Duration::from_secs(60), Seed::new(seed));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
