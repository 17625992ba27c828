//! Burst losses: a Markov chain of a good and a bad state (Gilbert 1960, Elliott 1963).

use super::{Loss, LossEntry, LossModel, LossModelFactory, Transmission};
use schema::shape::Need::{Absent, Default, Required};
use schema::shape::{Key, Shape, Table};
use units::{Probability, Rng};

pub(super) const ENTRY: LossEntry = LossEntry {
    key: Key {
        name: "gilbert",
        shape: Shape::Table(&PARAMETERS),
        need: Absent("required in this table"),
        doc: "Markov chain of a good and a bad state with one step per packet (Gilbert 1960, \
              Elliott 1963).",
        example: "{ p = 0.01, r = 0.3 }",
    },
    configure: |fields| {
        let p = |key: &str| fields.number(key).and_then(Probability::new).unwrap_or_default();
        Loss::from(GilbertElliott {
            p: p("p"),
            r: p("r"),
            loss_good: p("loss_good"),
            loss_bad: p("loss_bad"),
        })
    },
};

static PARAMETERS: Table = Table {
    name: "a Gilbert-Elliott loss",
    doc: "The bad state has the stationary probability p / (p + r) and a mean length of 1 / r \
          packets.",
    one_of: &[],
    keys: &[
        Key {
            name: "p",
            shape: Shape::Probability,
            need: Required,
            doc: "Probability per packet of moving from good to bad.",
            example: "0.01",
        },
        Key {
            name: "r",
            shape: Shape::Probability,
            need: Required,
            doc: "Probability per packet of moving from bad to good.",
            example: "0.3",
        },
        Key {
            name: "loss_good",
            shape: Shape::Probability,
            need: Default("0.0"),
            doc: "Loss probability in the good state.",
            example: "0.0",
        },
        Key {
            name: "loss_bad",
            shape: Shape::Probability,
            need: Default("1.0"),
            doc: "Loss probability in the bad state.",
            example: "0.8",
        },
    ],
};

/// Burst losses: a Markov chain of two states that moves once before each packet.
///
/// The chain starts in its stationary distribution. The bad state has probability `p / (p + r)`
/// and a mean length of `1 / r` packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// Probability of moving from good to bad.
    pub p: Probability,
    /// Probability of moving from bad to good.
    pub r: Probability,
    /// Loss probability in the good state; zero in Gilbert's model.
    pub loss_good: Probability,
    /// Loss probability in the bad state.
    pub loss_bad: Probability,
}

impl GilbertElliott {
    /// Returns the stationary probability of the bad state; 0 for a chain that never moves.
    fn bad_state_share(&self) -> f64 {
        let sum = self.p.get() + self.r.get();
        if sum > 0.0 { self.p.get() / sum } else { 0.0 }
    }
}

impl LossModelFactory for GilbertElliott {
    fn pattern(&self) -> &'static str {
        "in bursts"
    }

    fn mean(&self) -> f64 {
        let bad = self.bad_state_share();
        bad * self.loss_bad.get() + (1.0 - bad) * self.loss_good.get()
    }

    fn build(&self, mut rng: Rng) -> Box<dyn LossModel> {
        let is_bad = rng.chance(Probability::new(self.bad_state_share()).unwrap_or_default());
        Box::new(Chain { parameters: *self, is_bad, rng })
    }
}

#[derive(Debug, Clone)]
struct Chain {
    parameters: GilbertElliott,
    is_bad: bool,
    rng: Rng,
}

impl LossModel for Chain {
    fn is_lost(&mut self, _packet: &Transmission) -> bool {
        let GilbertElliott { p, r, loss_good, loss_bad } = self.parameters;
        self.is_bad ^= self.rng.chance(if self.is_bad { r } else { p });
        self.rng.chance(if self.is_bad { loss_bad } else { loss_good })
    }
}
