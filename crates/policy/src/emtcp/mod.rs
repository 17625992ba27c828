//! `emtcp`: moves part of what the costly paths would carry to the cheap ones (Chen et al. 2013).
//!
//! Beside the paper's section III one finds here:
//!
//! - the **Sub-flow Interface State Detector**, [`Detector`]: which interface receives, which is
//!   idle, and `T_RX`, when the costly one is about to receive;
//! - the **Offload Controller**, [`table_one`]: Table I, what to do then; and [`shares`]: how much
//!   goes over;
//! - two **actuators**, which the paper leaves open: `ideal` tells the sender its exact shares,
//!   `mp-prio` does what a device can do against any sender.
//!
//! Table I runs for ever and decides about every piece of data; a device looks ten times a second.
//! So its verdict is a standing order here: *offload* holds from the start (Wi-Fi is idle before the
//! first byte) until the cheap paths are gone or congested, and again from the next offload on.
//! Where Wi-Fi receives, Table I orders nothing, and the order that stands goes on.

mod controller;
mod costs;
mod detector;
mod mp_prio;

pub use controller::{Verdict, shares, table_one};
pub use detector::Detector;
pub use mp_prio::MpPrioParameters;

use crate::{Action, Actuator, DeviceState, PathState, Policy};
use costs::Costs;
use mp_prio::{Gate, Order};
use radio::InterfaceKind;
use units::{Duration, Instant};

/// The policy `emtcp`.
#[derive(Debug, Clone)]
pub struct Emtcp {
    share: f64,
    detector: Detector,
    costs: Costs,
    /// The order that stands: move data to the cheap paths.
    offload: bool,
    actuator: Moving,
}

#[derive(Debug, Clone)]
enum Moving {
    Ideal { told: Vec<f64> },
    MpPrio { parameters: MpPrioParameters, gates: Vec<Gate> },
}

impl Emtcp {
    /// How often the paths are looked at: data leaves a path about 0.1 s after it becomes backup.
    pub const INTERVAL: Duration = Duration::from_millis(100);

    /// Moves `share` of the costly paths' data (clamped to 0 to 1; not a number counts as 0) on a
    /// device with `kinds`.
    pub fn new(share: f64, actuator: Actuator, kinds: &[InterfaceKind]) -> Self {
        let actuator = match actuator {
            Actuator::Ideal => Moving::Ideal { told: Vec::new() },
            Actuator::MpPrio => Moving::MpPrio {
                parameters: MpPrioParameters::default(),
                gates: vec![Gate::default(); kinds.len()],
            },
        };
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        Self {
            share,
            detector: Detector::new(kinds.len()),
            costs: Costs::new(kinds),
            offload: true,
            actuator,
        }
    }

    /// Replaces the parameters of the actuator `mp-prio`; nothing where the actuator is another.
    #[must_use]
    pub fn with_mp_prio(mut self, new: MpPrioParameters) -> Self {
        if let Moving::MpPrio { parameters, .. } = &mut self.actuator {
            *parameters = new;
        }
        self
    }

    /// Gives the offload controller what it asks for in Table I and keeps its order.
    fn take_orders(&mut self, state: &DeviceState) {
        let costly = self.costs.costly();
        // With several cheap paths, "Wi-Fi is idle" is that one of them is, and its window theirs.
        let window = |path: &PathState| if path.up { path.cwnd.unwrap_or(u64::MAX) } else { 0 };
        let (mut cheap_window, mut idle) = (0_u64, false);
        for (i, path) in state.paths.iter().enumerate().filter(|(i, _)| !costly[*i]) {
            cheap_window = cheap_window.saturating_add(window(path));
            // A path that is down receives nothing and counts as idle, with a window of 0.
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

impl Policy for Emtcp {
    fn name(&self) -> &'static str {
        "emtcp"
    }

    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        self.detector.observe(now, state);
        self.costs.observe(now, state);
        self.take_orders(state);
        let up: Vec<bool> = state.paths.iter().map(|path| path.up).collect();
        let share = if self.offload { self.share } else { 0.0 };
        let wanted = shares(share, self.costs.costly(), &up);
        match &mut self.actuator {
            Moving::Ideal { told } => {
                // With no path up there is nobody to tell.
                if *told != wanted && up.contains(&true) {
                    told.clone_from(&wanted);
                    actions.push(Action::Share { path_shares: wanted });
                }
            }
            Moving::MpPrio { parameters, gates } => {
                gates.resize(state.paths.len(), Gate::default());
                // Backup means nothing while no regular path is up.
                let relieved = up.iter().zip(self.costs.costly()).any(|(up, costly)| *up && !costly);
                let held = relieved && share > 0.0;
                let order = Order { costly: self.costs.costly(), targets: &wanted, held };
                mp_prio::act(parameters, gates, now, state, &order, actions);
            }
        }
    }

    fn interval(&self) -> Option<Duration> {
        Some(Self::INTERVAL)
    }
}
