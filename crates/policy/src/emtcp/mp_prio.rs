//! The actuator `mp-prio`: a share held by switching.
//!
//! The one lever that a receiver has over any standard sender is to mark a subflow as backup (RFC
//! 8684, section 3.3.8): the sender then stops using it, all of it, until told otherwise. A share has
//! to be held over time. A fixed duty cycle does not hold it: what was held back while the path was
//! closed hurries through it when it opens (on Linux 6.18, a path that is open for 25 % of each
//! second carries 46 % of what it can). So each costly path has a gate with a first-order
//! sigma-delta loop on what the interface counters show:
//!
//! - The **target** is the path's part of all the bytes that the device carries, the same as the
//!   ideal actuator's: (1 - share)/n of the total on n paths. What the path *would* carry is taken to
//!   be an equal part, as in [`shares`](super::shares); its own rate while open says little, because
//!   it then carries what had piled up too.
//! - The **credit** is the integral of target minus carried, in bytes. It holds the share exactly in
//!   the long run, whatever the lags: an overshoot is paid back later.
//! - The gate **closes** when the credit, less what is already queued on the path, is below minus the
//!   band, and **opens** when the credit is above the band; never before the minimum dwell.
//! - Where the target cannot be reached (the path is open and slower than its part), the credit stops
//!   at the wind-up limit, so that the gate does not stay open for minutes afterwards.

use crate::{Action, DeviceState};
use units::{Duration, Time};

/// Parameters of the actuator `mp-prio`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpPrioParameters {
    /// Least time between two switches of a path. Below some 0.25 s (a period of 0.5 s) switching
    /// does nothing: the sender needs 0.1 s to stop and what is queued still comes.
    pub dwell: Duration,
    /// Half the width of the dead zone around the target, as the time in which the device carries so
    /// many bytes in all. Wider: fewer switches, a coarser share.
    pub band: Duration,
    /// The most that is made up for later, likewise as a time of the whole device's traffic.
    pub windup: Duration,
    /// Time constant of the mean rate that turns the two above into bytes.
    pub rate_window: Duration,
}

impl Default for MpPrioParameters {
    /// Half a second, 100 ms, 4 s, 2 s.
    fn default() -> Self {
        Self {
            dwell: Duration::from_millis(500),
            band: Duration::from_millis(100),
            windup: Duration::from_secs(4),
            rate_window: Duration::from_secs(2),
        }
    }
}

/// The loop of one costly path.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gate {
    /// Bytes of the path and of the device at the last look, and when that was.
    last: Option<(Time, u64, u64)>,
    /// Bytes that the path may still carry; negative: that it has carried too many.
    credit: f64,
    /// Mean rate of the whole device, in bytes a second.
    rate: f64,
    switched: Option<Time>,
}

/// Moves every gate to where it should be.
///
/// `targets` are the paths' parts of the total. Unless `held`, all gates are open: nothing is to be
/// moved, or nowhere to move it to.
#[allow(clippy::too_many_arguments)]
pub(super) fn act(
    parameters: &MpPrioParameters,
    gates: &mut [Gate],
    now: Time,
    state: &DeviceState,
    costly: &[bool],
    targets: &[f64],
    held: bool,
    actions: &mut Vec<Action>,
) {
    let carried = |path: &crate::PathState| path.bytes_down.saturating_add(path.bytes_up);
    let total = state.paths.iter().map(carried).fold(0, u64::saturating_add);
    for (i, (gate, path)) in gates.iter_mut().zip(&state.paths).enumerate() {
        gate.account(parameters, now, carried(path), total, targets[i]);
        let backup = if held && costly[i] {
            gate.closed(parameters, now, path.backup, path.queued, targets[i])
        } else {
            gate.credit = 0.0;
            false
        };
        if backup != path.backup {
            gate.switched = Some(now);
            actions.push(Action::SetBackup { path: i, backup });
        }
    }
}

impl Gate {
    /// Adds what was carried since the last look.
    fn account(&mut self, p: &MpPrioParameters, now: Time, own: u64, total: u64, target: f64) {
        if let Some((then, own_before, total_before)) = self.last {
            let span = now.since(then).as_secs_f64();
            let own = own.saturating_sub(own_before) as f64;
            let total = total.saturating_sub(total_before) as f64;
            if span > 0.0 {
                let window = p.rate_window.as_secs_f64().max(span);
                self.rate += (total / span - self.rate) * span / window;
            }
            let limit = p.windup.as_secs_f64() * self.rate;
            self.credit = (self.credit + target * total - own).min(limit).max(-limit);
        }
        self.last = Some((now, own, total));
    }

    /// Whether the path should be backup now.
    fn closed(&self, p: &MpPrioParameters, now: Time, backup: bool, queued: u64, target: f64) -> bool {
        // Not even a band's worth is due to a path that is to carry nothing.
        if target <= 0.0 {
            return true;
        }
        if self.switched.is_some_and(|at| now.since(at) < p.dwell) {
            return backup;
        }
        let band = p.band.as_secs_f64() * self.rate;
        if backup { self.credit <= band } else { self.credit - (queued as f64) < -band }
    }
}
