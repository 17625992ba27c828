//! `emtcp`: moves a share of the costly paths' data to the cheap ones (Chen et al. 2013, section
//! III).
//!
//! An actuator moves the data: `table1` has the sender decide for each segment by the paper's Table
//! I, `ideal` sets the sender's exact shares, `mp-prio` marks costly paths as backup and back, which
//! works with any sender. Table I itself is `tandem_mptcp::scheduler::table_one`.
//!
//! Parameters: `share` (0 to 1) of the costly paths' data, and `actuator`. Costly are cellular and
//! satellite networks, by their kind.
//! Differences from the paper and the control loop: `docs/design/emtcp.md`.

mod mp_prio;
mod shares;

pub use shares::shares;

use crate::registry::parameters;
use crate::state::is_preferred;
use crate::{
    Action, DeviceState, InterfaceKind, Policy, PolicyConfig, PolicyEntry, PolicyError, PolicyFactory,
};
use core::fmt::Write as _;
use mp_prio::{MpPrio, MpPrioParameters, Order};
use schema::shape::{Choice, Key, Need, Shape};
use units::{Duration, Instant};

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "emtcp",
    doc: "moves a share of the costly paths' data to the cheap ones (Chen et al. 2013)",
    parameters: parameters(
        "emtcp",
        &[
            Key {
                name: "actuator",
                shape: Shape::Choice(&[
                    Choice { name: "ideal", doc: "the sender divides the data exactly by the share" },
                    Choice {
                        name: "table1",
                        doc: "the sender moves each segment for which the cheap path has a window, up to \
                              the share, by the paper's Table I",
                    },
                    Choice {
                        name: "mp-prio",
                        doc: "the device marks costly paths as backup and back (RFC 8684, section 3.3.8), \
                              which works with any sender",
                    },
                ]),
                need: Need::Default("\"ideal\""),
                doc: "For `emtcp`: how the share is applied.",
                example: "\"mp-prio\"",
            },
            Key {
                name: "share",
                shape: Shape::Probability,
                need: Need::Default("0.24"),
                doc: "For `emtcp`: the share of the costly paths' data to move, from 0 to 1. Data counts as \
                      offered in equal parts to n paths, so a costly one may carry (1 - share)/n of all.",
                example: "0.4",
            },
        ],
    ),
    positional: &["actuator", "share"],
    configure: |fields| {
        let named = |actuator: &Actuator| fields.text("actuator") == Some(actuator.name());
        let actuator = Actuator::ALL.into_iter().find(named).unwrap_or_default();
        PolicyConfig::from(Emtcp { share: fields.number("share").unwrap_or(Emtcp::DEFAULT_SHARE), actuator })
    },
};

/// Time between observations: data leaves a path about 0.1 s after it becomes backup.
const INTERVAL: Duration = Duration::from_millis(100);

/// The policy `emtcp`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Emtcp {
    /// Share of the costly paths' data to move to the cheap ones, from 0 to 1.
    pub share: f64,
    /// How the share is applied.
    pub actuator: Actuator,
}

/// How eMTCP moves data from one path to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Actuator {
    /// The sender divides the data exactly.
    #[default]
    Ideal,
    /// The sender decides for each segment by Table I of the paper.
    TableOne,
    /// The device marks costly paths as backup and back, so that an unmodified sender uses them for
    /// a part of the time.
    MpPrio,
}

impl Actuator {
    /// All actuators.
    pub const ALL: [Self; 3] = [Self::Ideal, Self::TableOne, Self::MpPrio];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ideal => "ideal",
            Self::TableOne => "table1",
            Self::MpPrio => "mp-prio",
        }
    }
}

impl Emtcp {
    /// The share at the peak of energy efficiency (Chen et al. 2013, Fig. 4).
    pub const DEFAULT_SHARE: f64 = 0.24;
    /// The paper's share as an exact division by the sender.
    pub const PAPER: Self = Self { share: Self::DEFAULT_SHARE, actuator: Actuator::Ideal };
}

impl Default for Emtcp {
    fn default() -> Self {
        Self::PAPER
    }
}

impl PolicyFactory for Emtcp {
    fn name(&self) -> &str {
        ENTRY.name
    }
    fn text(&self) -> String {
        let mut text = ENTRY.name.to_owned();
        if self.actuator != Actuator::default() {
            let _ = write!(text, ":{}", self.actuator.name());
        }
        if self.share != Self::DEFAULT_SHARE {
            let _ = write!(text, ":{}", self.share);
        }
        text
    }
    fn check(&self, _kinds: &[InterfaceKind]) -> Result<(), PolicyError> {
        if (0.0..=1.0).contains(&self.share) {
            return Ok(());
        }
        let value = self.share.to_string();
        Err(PolicyError::NotAFraction { policy: ENTRY.name, parameter: "share", value })
    }
    fn build(&self, kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        let actuator = match self.actuator {
            Actuator::Ideal => ActuatorState::Ideal { applied: Vec::new() },
            Actuator::TableOne => ActuatorState::TableOne { ordered: None },
            Actuator::MpPrio => ActuatorState::MpPrio(MpPrio::new(MpPrioParameters::default(), kinds.len())),
        };
        Box::new(EmtcpPolicy {
            share: if self.share.is_nan() { 0.0 } else { self.share.clamp(0.0, 1.0) },
            actuator,
        })
    }
    /// A device has no say in its sender's scheduler, so it holds the share by `MP_PRIO`.
    fn for_device(&self) -> Option<PolicyConfig> {
        let needs_sender = self.actuator != Actuator::MpPrio;
        needs_sender.then(|| Self { actuator: Actuator::MpPrio, ..*self }.into())
    }
}

#[derive(Debug)]
struct EmtcpPolicy {
    share: f64,
    actuator: ActuatorState,
}

#[derive(Debug)]
enum ActuatorState {
    /// The shares that the sender applies.
    Ideal {
        applied: Vec<f64>,
    },
    /// Flags of the costly paths for which the sender has its rule.
    TableOne {
        ordered: Option<Vec<bool>>,
    },
    MpPrio(MpPrio),
}

impl Policy for EmtcpPolicy {
    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        let up: Vec<bool> = state.paths.iter().map(|path| path.up).collect();
        let costly: Vec<bool> = state.paths.iter().map(|path| !is_preferred(path.kind)).collect();
        let wanted = shares(self.share, &costly, &up);
        match &mut self.actuator {
            ActuatorState::Ideal { applied } => {
                // Without a path no sender can be reached.
                if *applied != wanted && up.contains(&true) {
                    applied.clone_from(&wanted);
                    actions.push(Action::Share { path_shares: wanted });
                }
            }
            ActuatorState::TableOne { ordered } => {
                if ordered.as_ref() != Some(&costly) && !costly.is_empty() {
                    *ordered = Some(costly.clone());
                    actions.push(Action::Offload { costly, share: self.share });
                }
            }
            ActuatorState::MpPrio(mp_prio) => {
                // A backup carries everything while no regular path is up.
                let cheap_up = up.iter().zip(&costly).any(|(up, costly)| *up && !costly);
                let order = Order { costly: &costly, targets: &wanted, active: cheap_up && self.share > 0.0 };
                mp_prio.act(now, state, &order, actions);
            }
        }
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }
}
