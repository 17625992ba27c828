//! Latin hypercube samples (McKay, Beckman and Conover 1979): each axis has one point in each of N
//! equal parts of its range, in a random order.

use units::Seed;

/// The sample of one axis.
#[derive(Debug, Clone)]
pub(crate) struct Strata {
    /// The part of the range of each point.
    order: Vec<u32>,
    seed: Seed,
}

impl Strata {
    /// Draws the order of the parts. The axis is named by its key, so that another axis leaves its
    /// sample unchanged.
    pub(crate) fn draw(seed: u64, key: &str, points: u32) -> Self {
        let seed = Seed::new(seed).derive("latin hypercube").derive(key);
        let mut rng = seed.rng("order");
        let mut order: Vec<u32> = (0..points).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, rng.below(last as u64 + 1) as usize);
        }
        Self { order, seed }
    }

    /// Place of a point in the range, from 0 to 1.
    pub(crate) fn share(&self, point: u64) -> f64 {
        let part = self.order.get(point as usize).copied().unwrap_or(0);
        let within = self.seed.rng(&point.to_string()).unit();
        (f64::from(part) + within) / self.order.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_range_has_one_point() {
        for points in [1, 2, 7, 100] {
            let strata = Strata::draw(5, "path.wifi.down.rate", points);
            let mut parts: Vec<u64> = (0..u64::from(points))
                .map(|point| (strata.share(point) * f64::from(points)) as u64)
                .collect();
            parts.sort_unstable();
            assert_eq!(parts, (0..u64::from(points)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn axes_have_samples_of_their_own() {
        let shares = |key: &str| (0..10).map(|i| Strata::draw(1, key, 10).share(i)).collect::<Vec<_>>();
        assert_eq!(shares("a"), shares("a"));
        assert_ne!(shares("a"), shares("b"));
    }
}
