//! Impairments on the way: duplication, corruption and reordering.

use crate::config::Impairments;
use units::{Duration, Rng, Seed};

/// Draws the impairments of each packet.
///
/// Each kind has its own random stream and draws for every packet, so that changing one
/// probability leaves the draws of the other kinds unchanged.
#[derive(Debug, Clone)]
pub(crate) struct ImpairmentModel {
    config: Impairments,
    corrupt: Rng,
    duplicate: Rng,
    reorder: Rng,
}

/// Impairments of one packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketImpairments {
    pub(crate) corrupted: bool,
    pub(crate) duplicated: bool,
    /// Extra delay of the packet and of its duplicate, by which others overtake it.
    pub(crate) extra_delay: [Option<Duration>; 2],
}

impl ImpairmentModel {
    /// Returns `None` if no impairment is configured.
    pub(crate) fn new(config: &Impairments, seed: Seed) -> Option<Box<Self>> {
        (*config != Impairments::default()).then(|| {
            Box::new(Self {
                config: *config,
                corrupt: seed.rng("corrupt"),
                duplicate: seed.rng("duplicate"),
                reorder: seed.rng("late"),
            })
        })
    }

    pub(crate) fn draw(&mut self) -> PacketImpairments {
        let reorder = self.config.reorder.unwrap_or_default();
        let mut extra_delay = || self.reorder.chance(reorder.probability).then_some(reorder.extra_delay);
        PacketImpairments {
            extra_delay: [extra_delay(), extra_delay()],
            corrupted: self.corrupt.chance(self.config.corrupt),
            duplicated: self.duplicate.chance(self.config.duplicate),
        }
    }
}
