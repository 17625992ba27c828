//! Source of keys, sequence numbers and ports.

use mptcp::Randomness;
use units::Seed;

/// Source of the random numbers of a stack: keys, initial sequence numbers, nonces and ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entropy {
    /// The kernel's generator (`getrandom`), for real networks.
    System,
    /// Reproducible numbers, for tests. An attacker could compute the keys of a connection from what
    /// others reveal.
    Seeded(Seed),
}

impl Entropy {
    /// Source of the part of the stack called `name`.
    pub(crate) fn derive(self, name: &str) -> Randomness {
        match self {
            Self::System => Randomness::External(system_bits),
            Self::Seeded(seed) => seed.derive(name).into(),
        }
    }
}

impl From<Seed> for Entropy {
    fn from(seed: Seed) -> Self {
        Self::Seeded(seed)
    }
}

fn system_bits() -> u64 {
    getrandom::u64().expect("Linux has getrandom since version 3.17")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_seeded_numbers_repeat() {
        let draw = |entropy: Entropy| entropy.derive("connection 1").bits();
        let seeded = Entropy::from(Seed::new(1));
        assert_eq!(draw(seeded), draw(seeded));
        assert_ne!(draw(Entropy::System), draw(Entropy::System));
    }
}
