//! Source of the numbers that a peer or an attacker must not guess.

use units::{Rng, Seed};

/// Source of an endpoint's keys, initial sequence numbers and nonces.
#[derive(Debug, Clone)]
pub enum Randomness {
    /// Reproducible numbers, for simulations and tests. The generator is not cryptographic: a few
    /// numbers reveal the next ones.
    Seeded(Rng),
    /// Numbers of a function of the owner. On a real network they must be unpredictable (RFC 8684,
    /// section 3.1; RFC 9293, section 3.4.1).
    External(fn() -> u64),
}

impl Randomness {
    /// Draws 64 random bits.
    pub fn bits(&mut self) -> u64 {
        match self {
            Self::Seeded(rng) => rng.bits(),
            Self::External(draw) => draw(),
        }
    }

    /// Draws a uniform whole number in 0..`n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
}

impl From<Seed> for Randomness {
    fn from(seed: Seed) -> Self {
        Self::Seeded(seed.rng("endpoint"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Endpoint};
    use wire::Span;

    #[test]
    fn external_source_gives_the_key() {
        let endpoint = Endpoint::<Span>::client(Config::default(), Randomness::External(|| 1));
        assert_eq!(endpoint.token(), crate::crypto::token(1));
    }

    #[test]
    fn numbers_below_a_limit_are_those_of_the_generator() {
        let (mut source, mut rng) = (Randomness::from(Seed::new(4)), Seed::new(4).rng("endpoint"));
        assert!((0..100).all(|n| source.below(n) == rng.below(n)));
    }
}
