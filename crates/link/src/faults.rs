//! What else may happen to a packet on its way: it is doubled, damaged, or late.

use crate::config::Impairments;
use units::{Duration, Rng, Seed};

/// Draws what happens; each kind from a stream of its own, and for every packet, so that one leaves
/// the draws of the others alone.
#[derive(Debug, Clone)]
pub(crate) struct Faults {
    config: Impairments,
    corrupt: Rng,
    duplicate: Rng,
    late: Rng,
}

/// What happens to one packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fate {
    pub(crate) corrupted: bool,
    pub(crate) doubled: bool,
    /// How much later it, and its double, arrive; others overtake them.
    pub(crate) late: [Option<Duration>; 2],
}

impl Faults {
    /// `None` where nothing ever happens.
    pub(crate) fn new(config: &Impairments, seed: Seed) -> Option<Box<Self>> {
        (*config != Impairments::default()).then(|| {
            Box::new(Self {
                config: *config,
                corrupt: seed.rng("corrupt"),
                duplicate: seed.rng("duplicate"),
                late: seed.rng("late"),
            })
        })
    }

    pub(crate) fn draw(&mut self) -> Fate {
        let (chance, by) = self.config.late.map_or_else(Default::default, |late| (late.chance, late.by));
        let mut late = || self.late.chance(chance).then_some(by);
        Fate {
            late: [late(), late()],
            corrupted: self.corrupt.chance(self.config.corrupt),
            doubled: self.duplicate.chance(self.config.duplicate),
        }
    }
}
