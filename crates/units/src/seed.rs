//! Reproducible random numbers.

use crate::Probability;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// The source of all random numbers of a run.
///
/// Each random source derives its own stream by a hash of its name, so that a new source does not
/// change the numbers of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seed(u64);

impl Seed {
    /// Creates the seed with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }
    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// Derives the seed of the part of the run called `name`.
    pub fn derive(self, name: &str) -> Self {
        // FNV-1a over the name, then the finaliser of SplitMix64 (Steele et al. 2014) over both, so
        // that seeds 1, 2, 3 and names that differ in one letter end far apart.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut z = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd) ^ hash;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(z ^ (z >> 31))
    }
    /// Creates the stream of the random source called `name`.
    pub fn rng(self, name: &str) -> Rng {
        Rng(Xoshiro256PlusPlus::seed_from_u64(self.derive(name).0))
    }
}

/// One stream of random numbers: xoshiro256++ (Blackman and Vigna 2019).
#[derive(Debug, Clone)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Draws 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// Draws a uniform number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
    /// Draws a uniform number in [`low`, `high`).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
    /// Draws a uniform whole number in 0..`n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
    /// Draws true with probability `p`. Probabilities 0 and 1 use no random bits.
    pub fn chance(&mut self, p: Probability) -> bool {
        let p = p.get();
        p > 0.0 && (p >= 1.0 || self.unit() < p)
    }
    /// Draws an exponentially distributed number with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }
    /// Draws a standard normal number by Marsaglia's polar method. The second number of each pair
    /// is dropped, so that the stream has no hidden state.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (self.between(-1.0, 1.0), self.between(-1.0, 1.0));
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                return u * libm::sqrt(-2.0 * libm::log(s) / s);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_its_own_repeatable_stream() {
        let seed = Seed::new(1);
        let first: Vec<u64> = (0..4)
            .map({
                let mut r = seed.rng("loss");
                move |_| r.bits()
            })
            .collect();
        let again: Vec<u64> = (0..4)
            .map({
                let mut r = seed.rng("loss");
                move |_| r.bits()
            })
            .collect();
        let other: Vec<u64> = (0..4)
            .map({
                let mut r = seed.rng("delay");
                move |_| r.bits()
            })
            .collect();
        assert_eq!(first, again);
        assert_ne!(first, other);
        assert_ne!(Seed::new(2).rng("loss").bits(), first[0]);
    }

    #[test]
    fn stream_is_pinned() {
        // Results depend on these numbers: they are the same on every machine and in every version.
        let mut rng = Seed::new(1).rng("pin");
        let drawn: Vec<u64> = (0..3).map(|_| rng.bits()).collect();
        assert_eq!(drawn, PINNED);
    }
    const PINNED: [u64; 3] = [8155778362542720349, 16578008244244920995, 6753139807424621751];

    #[test]
    fn moments_match_the_distributions() {
        let mut rng = Seed::new(7).rng("moments");
        let n = 200_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || rng.unit()) - 0.5).abs() < 0.005);
        assert!((mean(&mut || rng.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!(mean(&mut || rng.normal()).abs() < 0.01);
        assert!(
            (mean(&mut || {
                let x = rng.normal();
                x * x
            }) - 1.0)
                .abs()
                < 0.02
        );
        assert!((mean(&mut || rng.below(10) as f64) - 4.5).abs() < 0.05);
    }
}
