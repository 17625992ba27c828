//! `emtcp`: moves a share of the costly paths' data to the cheap ones (Chen et al. 2013, section
//! III).
//!
//! [`Detector`] observes which interface receives, [`table_one`] decides whether to offload,
//! [`shares`] how much. An actuator applies it: `ideal` sets the sender's exact shares, `mp-prio`
//! marks costly paths as backup and back, which works with any sender.
//!
//! Parameters: `share` (0 to 1) of the costly paths' data, and `actuator`.
//! Differences from the paper and the control loop: `docs/design/emtcp.md`.

mod controller;
mod costs;
mod detector;
mod mp_prio;

pub use controller::{Verdict, shares, table_one};
pub use detector::Detector;

use crate::registry::parameters;
use crate::{
    Action, DeviceState, InterfaceKind, PathState, Policy, PolicyConfig, PolicyEntry, PolicyError,
    PolicyFactory,
};
use core::fmt::Write as _;
use costs::Costs;
use mp_prio::{MpPrio, MpPrioParameters, Order};
use schema::shape::{Choice, Key, Need, Shape};
use tracing::debug;
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
                    Choice {
                        name: "ideal",
                        doc: "the sender's scheduler applies the exact share, as in the paper's model",
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
                doc: "For `emtcp`: the share of the costly paths' data to move, from 0 to 1.",
                example: "0.4",
            },
        ],
    ),
    positional: &["actuator", "share"],
    configure: |fields| {
        let actuator = if fields.text("actuator") == Some(Actuator::MpPrio.name()) {
            Actuator::MpPrio
        } else {
            Actuator::Ideal
        };
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
    /// The sender splits the data exactly, as in the paper's model.
    #[default]
    Ideal,
    /// The device marks costly paths as backup and back, so that an unmodified sender uses them for
    /// a part of the time.
    MpPrio,
}

impl Actuator {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ideal => "ideal",
            Self::MpPrio => "mp-prio",
        }
    }
}

impl Emtcp {
    /// The share at the peak of energy efficiency (Chen et al. 2013, Fig. 4).
    pub const DEFAULT_SHARE: f64 = 0.24;
    /// The paper's policy: its share, applied by the sender.
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
            Actuator::MpPrio => ActuatorState::MpPrio(MpPrio::new(MpPrioParameters::default(), kinds.len())),
        };
        Box::new(EmtcpPolicy {
            share: if self.share.is_nan() { 0.0 } else { self.share.clamp(0.0, 1.0) },
            detector: Detector::new(kinds.len()),
            costs: Costs::new(kinds),
            offload: true,
            actuator,
        })
    }
    /// A device cannot set its sender's shares, so it holds the share by `MP_PRIO`.
    fn for_device(&self) -> Option<PolicyConfig> {
        let ideal = self.actuator == Actuator::Ideal;
        ideal.then(|| Self { actuator: Actuator::MpPrio, ..*self }.into())
    }
}

#[derive(Debug)]
struct EmtcpPolicy {
    share: f64,
    detector: Detector,
    costs: Costs,
    /// The standing order of the offload controller: move data to the cheap paths.
    offload: bool,
    actuator: ActuatorState,
}

#[derive(Debug)]
enum ActuatorState {
    /// The shares that the sender applies.
    Ideal {
        applied: Vec<f64>,
    },
    MpPrio(MpPrio),
}

impl EmtcpPolicy {
    /// Evaluates Table I for every costly path and updates the standing order.
    fn update_order(&mut self, state: &DeviceState) {
        let costly = self.costs.costly();
        // With several cheap paths, Wi-Fi is idle if one of them is, and its window is their sum.
        let window = |path: &PathState| if path.up { path.cwnd.unwrap_or(u64::MAX) } else { 0 };
        let (mut cheap_window, mut idle) = (0_u64, false);
        for (i, path) in state.paths.iter().enumerate().filter(|(i, _)| !costly[*i]) {
            cheap_window = cheap_window.saturating_add(window(path));
            // A path that is down counts as idle, with a window of 0.
            idle |= self.detector.is_idle(i) || !path.up;
        }
        for (i, path) in state.paths.iter().enumerate().filter(|(i, _)| costly[*i]) {
            let t_rx = self.detector.about_to_receive(i);
            match table_one(t_rx, idle, path.queued, cheap_window, window(path)) {
                Verdict::Offload(_) => self.offload = true,
                Verdict::Keep(_) => self.offload = false,
                Verdict::CongestionControl | Verdict::Nothing => {}
            }
        }
    }
}

impl Policy for EmtcpPolicy {
    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        self.detector.observe(now, state);
        self.costs.observe(now, state);
        let had_order = self.offload;
        self.update_order(state);
        if self.offload != had_order {
            debug!(offload = self.offload, "order changed by Table I");
        }
        let up: Vec<bool> = state.paths.iter().map(|path| path.up).collect();
        let share = if self.offload { self.share } else { 0.0 };
        let wanted = shares(share, self.costs.costly(), &up);
        match &mut self.actuator {
            ActuatorState::Ideal { applied } => {
                // Without a path no sender can be reached.
                if *applied != wanted && up.contains(&true) {
                    applied.clone_from(&wanted);
                    actions.push(Action::Share { path_shares: wanted });
                }
            }
            ActuatorState::MpPrio(mp_prio) => {
                // A backup carries everything while no regular path is up.
                let cheap_up = up.iter().zip(self.costs.costly()).any(|(up, costly)| *up && !costly);
                let active = cheap_up && share > 0.0;
                let order = Order { costly: self.costs.costly(), targets: &wanted, active };
                mp_prio.act(now, state, &order, actions);
            }
        }
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }
}
