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

/// Start of each interval of a run, and the rate from then on.
pub type Steps = Vec<(Instant, Bitrate)>;

/// Minimum rate, so that every transfer completes.
const MIN_MBPS: f64 = 0.05;
/// Minimum length of an interval, so that no two steps have the same time.
const MIN_INTERVAL_S: f64 = 1e-3;

/// Time average of the rate over runs of this length, in Mbit/s, and its coefficient of variation.
pub fn mean_and_variation(length: Duration, runs: impl Iterator<Item = Steps>) -> (f64, f64) {
    let (mut time, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for steps in runs {
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

impl RateProcess {
    /// Draws one run.
    pub fn draw(&self, length: Duration, seed: Seed) -> Steps {
        let mut rng = seed.rng("rate");
        let factor = libm::exp(self.spread * rng.normal());
        let mut good = rng.unit() * (self.good_s + self.bad_s) < self.good_s;
        let (mut at, mut steps) = (0.0, Vec::new());
        while at < length.as_secs_f64() || steps.is_empty() {
            steps.push((Instant::ZERO + Duration::from_secs_f64(at), self.rate(good, factor)));
            at += rng.exponential(self.mean_s(good)).max(MIN_INTERVAL_S);
            good = !good;
        }
        steps
    }

    fn rate(&self, good: bool, factor: f64) -> Bitrate {
        let mbps = if good { self.good_mbps } else { self.bad_mbps };
        Bitrate::from_mbps((mbps * factor).clamp(MIN_MBPS, self.max_mbps))
    }

    fn mean_s(&self, good: bool) -> f64 {
        if good { self.good_s } else { self.bad_s }
    }

    fn good_share(&self) -> f64 {
        self.good_s / (self.good_s + self.bad_s)
    }
}

/// Draws one run of two links.
///
/// In a common state, both links change together at `coupling` times the lower of their rates of
/// change; all other changes are independent. Each link by itself is the process of
/// [`RateProcess::draw`]. The two factors of a run have a correlation of `coupling`. Without
/// coupling, each link draws from its own seed.
pub fn draw_pair(links: [&RateProcess; 2], coupling: f64, length: Duration, seeds: [Seed; 2]) -> [Steps; 2] {
    if coupling <= 0.0 {
        return [0, 1].map(|i| links[i].draw(length, seeds[i]));
    }
    let mut rng = seeds[0].rng("coupled");
    let normals = [rng.normal(), rng.normal()];
    let second = coupling * normals[0] + (1.0 - coupling * coupling).max(0.0).sqrt() * normals[1];
    let factors = [libm::exp(links[0].spread * normals[0]), libm::exp(links[1].spread * second)];
    let [first, own, common] = [rng.unit(), rng.unit(), rng.unit()];
    let uniforms = [first, if common < coupling { first } else { own }];
    let mut good = [0, 1].map(|i| uniforms[i] < links[i].good_share());
    let mut steps = [0, 1].map(|i| vec![(Instant::ZERO, links[i].rate(good[i], factors[i]))]);
    let mut at = 0.0;
    loop {
        let rates = [0, 1].map(|i| 1.0 / links[i].mean_s(good[i]));
        let common = if good[0] == good[1] { coupling * rates[0].min(rates[1]) } else { 0.0 };
        let total = rates[0] + rates[1] - common;
        at += rng.exponential(1.0 / total).max(MIN_INTERVAL_S);
        if at >= length.as_secs_f64() {
            return steps;
        }
        let which = rng.unit() * total;
        let changes = [which < rates[0], which < common || which >= rates[0]];
        for i in (0..2).filter(|&i| changes[i]) {
            good[i] = !good[i];
            steps[i].push((Instant::ZERO + Duration::from_secs_f64(at), links[i].rate(good[i], factors[i])));
        }
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
        let steps = PLAIN.draw(length, Seed::new(1));
        let (mean, variation) = mean_and_variation(length, [steps.clone()].into_iter());
        assert!((mean - 14.0).abs() < 0.2, "{mean}");
        assert!((variation - 72.0_f64.sqrt() / 14.0).abs() < 0.02, "{variation}");
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

    /// Share of time in which both links are good, and each by itself.
    fn good_shares(coupling: f64, links: [&RateProcess; 2]) -> [f64; 3] {
        let length = Duration::from_secs(200_000);
        let pair = draw_pair(links, coupling, length, [Seed::new(3), Seed::new(4)]);
        let good = |i: usize, at: Instant| {
            let next = pair[i].partition_point(|step| step.0 <= at);
            pair[i][next - 1].1.as_mbps() > 10.0
        };
        let mut shares = [0.0; 3];
        for second in 0..200_000 {
            let now = [0, 1].map(|i| good(i, Instant::from_secs(second)));
            for (share, holds) in shares.iter_mut().zip([now[0] && now[1], now[0], now[1]]) {
                *share += f64::from(u8::from(holds)) / 2e5;
            }
        }
        shares
    }

    #[test]
    fn coupled_links_keep_their_own_process_and_are_good_together() {
        let other = RateProcess { good_s: 5.0, bad_s: 4.0, ..PLAIN };
        let mut before = 0.0;
        for coupling in [0.0, 0.3, 0.6, 1.0] {
            let [both, first, second] = good_shares(coupling, [&PLAIN, &other]);
            assert!(
                (first - 2.0 / 3.0).abs() < 0.01 && (second - 5.0 / 9.0).abs() < 0.01,
                "{first}, {second}"
            );
            let correlation =
                (both - first * second) / (first * (1.0 - first) * second * (1.0 - second)).sqrt();
            assert!(correlation > before - 0.02, "{coupling}: {correlation}");
            before = correlation;
        }
        assert!(before > 0.4, "{before}");
        let [both, first, second] = good_shares(1.0, [&PLAIN, &PLAIN]);
        assert!((both - first).abs() < 1e-9 && (both - second).abs() < 1e-9, "equal links stay together");
    }
}
