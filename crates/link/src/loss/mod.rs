//! Loss models: which packets a link loses. One model per file, behind [`LossModel`].
//!
//! To add one here, write its file and its `mod` line, and append its entry to [`LOSS_MODELS`]:
//! scenario keys, the JSON Schema and the documentation follow. A crate outside this one
//! implements [`LossModel`] and [`LossModelFactory`] and passes the factory by value:
//! [`Loss::from`].

mod gilbert_elliott;
mod outages;
mod uniform;

use core::fmt;
pub use gilbert_elliott::GilbertElliott;
pub(crate) use outages::Outages;
use schema::node::Fields;
use schema::shape::Key;
use std::sync::Arc;
use uniform::Uniform;
use units::{Instant, Probability, Rng, Seed};

/// The loss models that scenarios know, in the order of their documentation.
pub const LOSS_MODELS: &[LossEntry] = &[gilbert_elliott::ENTRY];

/// A loss model in scenarios: `loss = { NAME = { PARAMETERS } }`.
#[derive(Debug)]
pub struct LossEntry {
    /// Name and parameters.
    pub key: Key,
    /// Builds the factory from the parameters.
    pub configure: fn(&Fields) -> Loss,
}

/// A packet on the transmitter of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// Time of the first bit.
    pub begin: Instant,
    /// Time after the last bit.
    pub end: Instant,
    /// Size on the wire, in bytes.
    pub size: u32,
}

/// Decides for each packet of one direction whether it is lost.
///
/// Implementations derive `Clone` and `Debug`. A clone continues with the same random numbers.
pub trait LossModel: CloneLossModel + fmt::Debug + Send + Sync {
    /// Returns true if the packet is lost.
    ///
    /// Called exactly once for each transmitted packet, in order of transmission, also during
    /// outages. The answer may depend only on the packet, on earlier calls and on its random
    /// numbers, so that a run can be repeated.
    fn is_lost(&mut self, packet: &Transmission) -> bool;
}

/// Clones a boxed loss model; implemented for every [`LossModel`] that is `Clone`.
pub trait CloneLossModel {
    /// Returns a copy with the same state.
    fn clone_box(&self) -> Box<dyn LossModel>;
}

impl<T: LossModel + Clone + 'static> CloneLossModel for T {
    fn clone_box(&self) -> Box<dyn LossModel> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn LossModel> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// A loss model with its parameters. Builds one [`LossModel`] for each direction of a link or
/// station of a cell.
///
/// Implementations derive `Debug` and print all parameters: two [`Loss`]es are equal if they print
/// alike.
pub trait LossModelFactory: fmt::Debug + Send + Sync {
    /// Returns the pattern of the losses, to follow their share in reports: "in bursts".
    fn pattern(&self) -> &str;
    /// Returns the long-run share of lost packets, from 0 to 1.
    fn mean(&self) -> f64;
    /// Builds the model of one direction. All its random numbers come from `rng`, which differs
    /// between directions.
    fn build(&self, rng: Rng) -> Box<dyn LossModel>;
}

/// Losses after transmission. A lost packet still occupies the link while it is transmitted.
#[derive(Debug, Clone, Default)]
pub enum Loss {
    /// No losses.
    #[default]
    None,
    /// Independent losses with this probability.
    Uniform(Probability),
    /// A loss model of [`LOSS_MODELS`] or of another crate.
    Model(Arc<dyn LossModelFactory>),
}

impl Loss {
    /// Returns Gilbert's model: every packet is lost in the bad state and none in the good state.
    pub fn gilbert(p: Probability, r: Probability) -> Self {
        Self::from(GilbertElliott { p, r, loss_good: Probability::NEVER, loss_bad: Probability::ALWAYS })
    }

    /// Returns the long-run share of lost packets.
    pub fn mean(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Uniform(p) => p.get(),
            Self::Model(factory) => factory.mean(),
        }
    }
}

impl<F: LossModelFactory + 'static> From<F> for Loss {
    fn from(factory: F) -> Self {
        Self::Model(Arc::new(factory))
    }
}

impl PartialEq for Loss {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Uniform(a), Self::Uniform(b)) => a == b,
            (Self::Model(a), Self::Model(b)) => format!("{a:?}") == format!("{b:?}"),
            _ => false,
        }
    }
}

/// The loss model of one direction.
#[derive(Debug, Clone)]
pub(crate) enum ActiveLoss {
    None,
    Uniform(Uniform),
    Model(Box<dyn LossModel>),
}

impl ActiveLoss {
    /// Random numbers come from the stream `loss` of `seed`.
    pub(crate) fn new(loss: &Loss, seed: Seed) -> Self {
        match loss {
            Loss::None => Self::None,
            Loss::Uniform(probability) => Self::Uniform(Uniform::new(*probability, seed.rng("loss"))),
            Loss::Model(factory) => Self::Model(factory.build(seed.rng("loss"))),
        }
    }

    /// Returns true if the packet is lost.
    // Inlined for the many links without a loss model.
    #[inline]
    pub(crate) fn is_lost(&mut self, packet: &Transmission) -> bool {
        !matches!(self, Self::None) && self.draw(packet)
    }

    fn draw(&mut self, packet: &Transmission) -> bool {
        match self {
            Self::None => false,
            Self::Uniform(model) => model.is_lost(packet),
            Self::Model(model) => model.is_lost(packet),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(p: f64) -> Probability {
        Probability::new(p).unwrap()
    }

    fn draw(loss: &Loss, n: usize) -> Vec<bool> {
        let mut model = ActiveLoss::new(loss, Seed::new(3));
        let packet = Transmission { begin: Instant::ZERO, end: Instant::ZERO, size: 1500 };
        (0..n).map(|_| model.is_lost(&packet)).collect()
    }

    #[test]
    fn uniform_loss_has_its_probability() {
        let n = 200_000;
        let share = draw(&Loss::Uniform(p(0.03)), n).iter().filter(|l| **l).count() as f64 / n as f64;
        assert!((share - 0.03).abs() < 0.002, "{share}");
        assert!(draw(&Loss::None, 100).iter().all(|l| !l));
        assert!(draw(&Loss::Uniform(p(1.0)), 100).iter().all(|l| *l));
    }

    #[test]
    fn gilbert_loss_has_its_stationary_share_and_mean_burst() {
        let (n, loss) = (1_000_000, Loss::gilbert(p(0.02), p(0.25)));
        let lost = draw(&loss, n);
        let count = lost.iter().filter(|l| **l).count() as f64;
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        // p / (p + r) = 0.0741, 1 / r = 4.
        assert!((count / n as f64 - loss.mean()).abs() < 0.003, "{}", count / n as f64);
        assert!((loss.mean() - 0.02 / 0.27).abs() < 1e-12);
        assert!((count / bursts - 4.0).abs() < 0.1, "{}", count / bursts);
    }

    #[test]
    fn elliott_loses_packets_in_both_states() {
        let loss = Loss::from(GilbertElliott { p: p(0.1), r: p(0.3), loss_good: p(0.01), loss_bad: p(0.5) });
        let n = 500_000;
        let share = draw(&loss, n).iter().filter(|l| **l).count() as f64 / n as f64;
        assert!((loss.mean() - (0.75 * 0.01 + 0.25 * 0.5)).abs() < 1e-12);
        assert!((share - loss.mean()).abs() < 0.005, "{share}");
    }
}
