//! Source of random choices: a seeded generator, or the input of a fuzzer.

use units::{Rng, Seed};

/// Source of random choices.
#[derive(Debug, Clone)]
pub enum Dice<'a> {
    /// Random number generator.
    Random(Rng),
    /// Input bytes, consumed from the front; zeros after the end.
    Bytes(&'a [u8]),
}

impl<'a> Dice<'a> {
    /// Choices of a seed and a stream name.
    pub fn from_seed(seed: u64, name: &str) -> Self {
        Self::Random(Seed::new(seed).rng(name))
    }

    /// Choices from input bytes.
    pub const fn from_bytes(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }

    /// True if the input bytes are used up.
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Bytes([]))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        match self {
            Self::Random(rng) => rng.bits(),
            Self::Bytes(_) => self.take(8),
        }
    }

    /// A number from 0 to `n` - 1; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        match self {
            Self::Random(rng) => rng.below(n),
            Self::Bytes(_) => {
                let width = if n <= 1 << 8 { 1 } else { 4 };
                self.take(width).checked_rem(n).unwrap_or(0)
            }
        }
    }

    /// A number from 0 (included) to 1 (excluded).
    pub fn unit(&mut self) -> f64 {
        self.below(1 << 24) as f64 / f64::from(1 << 24)
    }

    fn take(&mut self, width: usize) -> u64 {
        let Self::Bytes(bytes) = self else { return 0 };
        let (now, later) = bytes.split_at(width.min(bytes.len()));
        *bytes = later;
        now.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}
