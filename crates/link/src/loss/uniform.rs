//! Independent losses with one probability.

use super::{LossModel, Transmission};
use units::{Probability, Rng};

#[derive(Debug, Clone)]
pub(crate) struct Uniform {
    probability: Probability,
    rng: Rng,
}

impl Uniform {
    pub(super) fn new(probability: Probability, rng: Rng) -> Self {
        Self { probability, rng }
    }
}

impl LossModel for Uniform {
    #[inline]
    fn is_lost(&mut self, _packet: &Transmission) -> bool {
        self.rng.chance(self.probability)
    }
}
