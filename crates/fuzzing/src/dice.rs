//! Choices: from a seed, or from bytes that a fuzzer improves.

use units::{Rng, Seed};

/// Where choices come from.
#[derive(Debug, Clone)]
pub enum Dice<'a> {
    /// A stream of random numbers.
    Random(Rng),
    /// Bytes, used up one after the other; zeros when there are no more.
    Bytes(&'a [u8]),
}

impl<'a> Dice<'a> {
    /// The choices of a seed.
    pub fn from_seed(seed: u64, name: &str) -> Self {
        Self::Random(Seed::new(seed).rng(name))
    }

    /// The choices that these bytes make.
    pub const fn from_bytes(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }

    /// All bytes are used up.
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Bytes([]))
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        match self {
            Self::Random(rng) => rng.bits(),
            Self::Bytes(_) => self.take(8),
        }
    }

    /// From 0 to `n`, without `n`; 0 where `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        match self {
            Self::Random(rng) => rng.below(n),
            Self::Bytes(_) => {
                let width = if n <= 1 << 8 { 1 } else { 4 };
                self.take(width).checked_rem(n).unwrap_or(0)
            }
        }
    }

    /// From 0 to 1, without 1.
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
