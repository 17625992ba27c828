//! Burst losses: a Markov chain of a good and a bad state (Gilbert 1960, Elliott 1963).

use super::{LossModel, Transmission};
use units::{Probability, Rng, Seed};

/// Transition and loss probabilities of the chain, as in
/// [`Loss::GilbertElliott`](crate::Loss::GilbertElliott).
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameters {
    pub(super) p: Probability,
    pub(super) r: Probability,
    pub(super) loss_good: Probability,
    pub(super) loss_bad: Probability,
}

/// The chain. It starts in its stationary distribution and moves once before each packet.
#[derive(Debug, Clone)]
pub(crate) struct GilbertElliott {
    parameters: Parameters,
    is_bad: bool,
    rng: Rng,
}

impl GilbertElliott {
    pub(super) fn new(parameters: Parameters, seed: Seed) -> Self {
        let mut rng = seed.rng("loss");
        let bad_share = bad_state_share(parameters.p, parameters.r);
        let is_bad = rng.chance(Probability::new(bad_share).unwrap_or_default());
        Self { parameters, is_bad, rng }
    }
}

impl LossModel for GilbertElliott {
    #[inline]
    fn is_lost(&mut self, _packet: &Transmission) -> bool {
        let Parameters { p, r, loss_good, loss_bad } = self.parameters;
        self.is_bad ^= self.rng.chance(if self.is_bad { r } else { p });
        self.rng.chance(if self.is_bad { loss_bad } else { loss_good })
    }
}

/// Returns the stationary probability of the bad state; 0 for a chain that never moves.
pub(super) fn bad_state_share(p: Probability, r: Probability) -> f64 {
    let sum = p.get() + r.get();
    if sum > 0.0 { p.get() / sum } else { 0.0 }
}
