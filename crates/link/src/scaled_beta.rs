//! Beta distribution between two durations, by its mean and standard deviation.

use units::{Duration, Rng};

/// Draws before the mean is returned instead: shapes far above 1 are rarely accepted.
const MAX_DRAWS: usize = 1000;

/// A scaled beta distribution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaledBeta {
    min: Duration,
    range: Duration,
    mean: Duration,
    /// The two shape parameters; not positive if there is no such distribution.
    shapes: [f64; 2],
}

impl ScaledBeta {
    /// The distribution between `min` and `max` with this mean and deviation.
    pub(crate) fn new(min: Duration, mean: Duration, max: Duration, sd: Duration) -> Self {
        let range = max.saturating_sub(min);
        let scale = range.as_secs_f64();
        let centre = mean.saturating_sub(min).as_secs_f64() / scale;
        let variance = sd.as_secs_f64() * sd.as_secs_f64() / (scale * scale);
        let sum = centre * (1.0 - centre) / variance - 1.0;
        Self { min, range, mean, shapes: [centre * sum, (1.0 - centre) * sum] }
    }

    /// Draws by Jöhnk's method, which suits shapes near 1. Returns the mean if no distribution has
    /// these figures.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Duration {
        if !self.shapes.iter().all(|shape| shape.is_finite() && *shape > 0.0) {
            return self.mean;
        }
        for _ in 0..MAX_DRAWS {
            let [x, y] = self.shapes.map(|shape| libm::pow(rng.unit(), 1.0 / shape));
            if x + y > 0.0 && x + y <= 1.0 {
                return self.min + Duration::from_secs_f64(self.range.as_secs_f64() * x / (x + y));
            }
        }
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    /// Smallest, mean, largest value and deviation of 20,000 draws, in milliseconds.
    fn figures(min: f64, mean: f64, max: f64, sd: f64) -> [f64; 4] {
        let [min, mean, max, sd] = [min, mean, max, sd].map(|ms| Duration::from_secs_f64(ms * 1e-3));
        let beta = ScaledBeta::new(min, mean, max, sd);
        let mut rng = Seed::new(1).rng("beta");
        let all: Vec<f64> = (0..20_000).map(|_| beta.draw(&mut rng).as_secs_f64() * 1e3).collect();
        let mean = all.iter().sum::<f64>() / 2e4;
        let square = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 2e4;
        let (low, high) = all.iter().fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
        [low, mean, high, square.sqrt()]
    }

    #[test]
    fn draws_have_the_given_range_mean_and_deviation() {
        // Round trips of a Wi-Fi and an LTE network as measured by ping (Kumar et al. 2017).
        for given in [[2.67, 11.686, 30.562, 6.893], [12.052, 17.51, 26.19, 3.87]] {
            let [min, mean, max, sd] = given;
            for (found, given) in figures(min, mean, max, sd).iter().zip(given) {
                assert!((found / given - 1.0).abs() < 0.03, "{found}, {given}");
            }
        }
    }

    #[test]
    fn impossible_figures_give_the_mean() {
        for (min, mean, max, sd) in [(5.0, 5.0, 5.0, 0.0), (1.0, 2.0, 3.0, 5.0), (1.0, 5.0, 3.0, 1.0)] {
            let [low, average, high, _] = figures(min, mean, max, sd);
            assert!((average - mean).abs() < 1e-6 && (high - low).abs() < 1e-6);
        }
    }
}
