//! Beta distribution between two durations, by its mean and standard deviation.

use units::{Duration, Rng};

/// Jöhnk's method accepts at least one of six pairs up to this shape; the share falls towards zero
/// above it.
const MAX_JOHNK_SHAPE: f64 = 2.0;

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

    /// Draws a duration. Returns the mean if no distribution has these figures.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Duration {
        if !self.shapes.iter().all(|shape| shape.is_finite() && *shape > 0.0) {
            return self.mean;
        }
        let [x, y] = if self.shapes.iter().all(|shape| *shape <= MAX_JOHNK_SHAPE) {
            johnk(self.shapes, rng)
        } else {
            self.shapes.map(|shape| gamma(shape, rng))
        };
        self.min + Duration::from_secs_f64(self.range.as_secs_f64() * x / (x + y))
    }
}

/// Two numbers of which the first has a beta-distributed share (Jöhnk 1964).
fn johnk(shapes: [f64; 2], rng: &mut Rng) -> [f64; 2] {
    loop {
        let uniform = shapes.map(|_| rng.unit());
        let [x, y] = [0, 1].map(|i| libm::pow(uniform[i], 1.0 / shapes[i]));
        if x + y > 1.0 {
            continue;
        }
        if (x + y).is_normal() {
            return [x, y];
        }
        // Both powers underflow: the smaller one is nothing beside the other.
        let [log_x, log_y] = [0, 1].map(|i| libm::log(uniform[i]) / shapes[i]);
        return if log_x > log_y { [1.0, 0.0] } else { [0.0, 1.0] };
    }
}

/// Draws from the gamma distribution of scale 1 (Marsaglia and Tsang 2000).
fn gamma(shape: f64, rng: &mut Rng) -> f64 {
    if shape < 1.0 {
        return gamma(shape + 1.0, rng) * libm::pow(rng.unit(), 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let z = rng.normal();
        let root = 1.0 + c * z;
        let v = root * root * root;
        if v > 0.0 && libm::log(1.0 - rng.unit()) < z * z / 2.0 + d * (1.0 - v + libm::log(v)) {
            return d * v;
        }
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
    fn draws_of_every_shape_have_the_given_mean_and_deviation() {
        for given in [[10.0, 20.0, 30.0, 2.0], [10.0, 15.0, 25.0, 1.5], [10.0, 20.0, 30.0, 0.001]] {
            assert_mean_and_deviation(given);
        }
        // Most draws near the lower bound, and nearly all of them at a bound.
        for given in [[10.0, 20.0, 1000.0, 12.0], [0.0, 5.0, 10.0, 4.99], [0.0, 5.0, 10.0, 4.999_999]] {
            assert_mean_and_deviation(given);
        }
    }

    fn assert_mean_and_deviation(given: [f64; 4]) {
        let [min, mean, max, sd] = given;
        let [low, found_mean, high, found_sd] = figures(min, mean, max, sd);
        assert!(low > min - 1e-6 && high < max + 1e-6, "{given:?}: {low} to {high}");
        assert!((found_mean / mean - 1.0).abs() < 0.03, "{given:?}: {found_mean}");
        assert!((found_sd / sd - 1.0).abs() < 0.03, "{given:?}: {found_sd}");
    }

    #[test]
    fn impossible_figures_give_the_mean() {
        for (min, mean, max, sd) in [(5.0, 5.0, 5.0, 0.0), (1.0, 2.0, 3.0, 5.0), (1.0, 5.0, 3.0, 1.0)] {
            let [low, average, high, _] = figures(min, mean, max, sd);
            assert!((average - mean).abs() < 1e-6 && (high - low).abs() < 1e-6);
        }
    }
}
