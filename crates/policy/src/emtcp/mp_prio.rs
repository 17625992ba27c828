//! The actuator `mp-prio`: holds a share by marking costly paths as backup and back.
//!
//! `MP_PRIO` (RFC 8684, section 3.3.8) is the one control that a receiver has over any standard
//! sender, and it switches a subflow off as a whole. Each costly path has a gate with a first-order
//! sigma-delta loop on the interface counters, so that the share holds in the long run.
//! `docs/design/emtcp.md` describes the loop and its parameters.

use crate::{Action, DeviceState, PathState};
use tracing::debug;
use units::{Duration, Instant};

/// Parameters of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MpPrioParameters {
    /// Minimum time for which a path stays closed. Below about 0.5 s a switch has no effect: the
    /// sender needs 0.1 s to stop, and queued data still arrives.
    pub(super) min_closed: Duration,
    /// Minimum time for which a path stays open. Shorter than `min_closed`, since a fast path
    /// carries several seconds' worth of its share in half a second.
    pub(super) min_open: Duration,
    /// Half the width of the dead zone around the target, as a time of the device's traffic. A
    /// wider one means fewer switches and a coarser share.
    pub(super) dead_zone: Duration,
    /// Limit of the credit of a path that carried less than its share, as a time of the device's
    /// traffic.
    pub(super) windup: Duration,
    /// Time constant of the mean rate that converts these times into bytes.
    pub(super) rate_window: Duration,
}

impl Default for MpPrioParameters {
    fn default() -> Self {
        Self {
            min_closed: Duration::from_millis(500),
            min_open: Duration::from_millis(200),
            dead_zone: Duration::from_millis(100),
            windup: Duration::from_secs(4),
            rate_window: Duration::from_secs(2),
        }
    }
}

/// Control loop of one costly path.
#[derive(Debug, Clone, Copy, Default)]
struct Gate {
    /// Time of the last observation, and the bytes of the path and of the device.
    previous: Option<(Instant, u64, u64)>,
    /// Bytes that the path may still carry; negative if it carried too many.
    credit: f64,
    /// Mean rate of the device, in bytes per second.
    rate: f64,
    /// Time of the last switch.
    switched: Option<Instant>,
    /// Credit at the closing and the minimum since; `None` while the path is open.
    closed_credit: Option<(f64, f64)>,
    /// Learned fall of the credit after a closing, in bytes.
    overshoot: f64,
}

/// The shares to hold.
pub(super) struct Order<'a> {
    /// One flag per path; paths that are not costly stay as they are.
    pub(super) costly: &'a [bool],
    /// Each path's share of the device's traffic.
    pub(super) targets: &'a [f64],
    /// False without data to move or a path to move it to: closed paths are opened.
    pub(super) active: bool,
}

/// The actuator: one gate per path.
#[derive(Debug)]
pub(super) struct MpPrio {
    parameters: MpPrioParameters,
    gates: Vec<Gate>,
}

impl MpPrio {
    pub(super) fn new(parameters: MpPrioParameters, paths: usize) -> Self {
        Self { parameters, gates: vec![Gate::default(); paths] }
    }

    /// Opens and closes the costly paths.
    pub(super) fn act(
        &mut self,
        now: Instant,
        state: &DeviceState,
        order: &Order<'_>,
        actions: &mut Vec<Action>,
    ) {
        let parameters = &self.parameters;
        self.gates.resize(state.paths.len(), Gate::default());
        let total = state.paths.iter().map(PathState::bytes).fold(0, u64::saturating_add);
        for (i, (gate, path)) in self.gates.iter_mut().zip(&state.paths).enumerate() {
            let target = order.targets[i];
            gate.account(parameters, now, path.bytes(), total, target);
            let backup = if order.active && order.costly[i] {
                gate.should_close(parameters, now, path, target)
            } else {
                gate.credit = 0.0;
                // A backup that this loop never switched was marked by the user.
                path.backup && gate.switched.is_none()
            };
            if backup != path.backup {
                debug!(path = i, credit = gate.credit, rate = gate.rate, target, "gate switches");
                gate.switched = Some(now);
                gate.learn(backup);
                actions.push(Action::SetBackup { path: i, backup });
            }
        }
    }
}

impl Gate {
    /// Updates rate and credit from the bytes carried since the last observation.
    fn account(&mut self, p: &MpPrioParameters, now: Instant, own: u64, total: u64, target: f64) {
        if let Some((then, own_before, total_before)) = self.previous {
            let span = now.since(then).as_secs_f64();
            let own = own.saturating_sub(own_before) as f64;
            let total = total.saturating_sub(total_before) as f64;
            if span > 0.0 {
                let window = p.rate_window.as_secs_f64().max(span);
                self.rate += (total / span - self.rate) * span / window;
            }
            // Above the threshold of opening: otherwise a gate beside a slow cheap path would never
            // open.
            let limit = p.windup.as_secs_f64() * self.rate + self.overshoot / 2.0;
            self.credit = (self.credit + target * total - own).min(limit);
            if let Some((_, minimum)) = &mut self.closed_credit {
                *minimum = minimum.min(self.credit);
            }
        }
        self.previous = Some((now, own, total));
    }

    /// Learns from a switch: at an opening, how far the credit fell after the closing.
    fn learn(&mut self, closes: bool) {
        if closes {
            self.closed_credit = Some((self.credit, self.credit));
        } else if let Some((begin, minimum)) = self.closed_credit.take() {
            let fell = begin - minimum;
            // The first observation counts fully; later ones form a moving average.
            let weight = if self.overshoot > 0.0 { 0.5 } else { 1.0 };
            self.overshoot += weight * (fell - self.overshoot);
        }
    }

    /// Decides whether the path should be closed, that is, backup.
    fn should_close(&self, p: &MpPrioParameters, now: Instant, path: &PathState, target: f64) -> bool {
        if target <= 0.0 {
            // A path without a share stays closed, for any dead zone.
            return true;
        }
        let min_time = if path.backup { p.min_closed } else { p.min_open };
        // Without a rate the dead zone has no size.
        if self.rate <= 0.0 || self.switched.is_some_and(|at| now.since(at) < min_time) {
            return path.backup;
        }
        let half = p.dead_zone.as_secs_f64() * self.rate + self.overshoot / 2.0;
        if path.backup {
            self.credit <= half
        } else {
            let coming = self.overshoot.max(path.queued as f64);
            self.credit - coming < -half
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use radio::InterfaceKind::{Lte, Wifi};

    /// One observation of Wi-Fi and LTE, and the expected action.
    struct Observation {
        millis: u64,
        bytes: [u64; 2],
        backup: bool,
        wanted: Option<bool>,
    }

    fn check(target: f64, observations: &[Observation]) {
        // The rate is that of the last 100 ms, and the dead zone a tenth of their bytes.
        let parameters = MpPrioParameters {
            dead_zone: Duration::from_millis(10),
            rate_window: Duration::ZERO,
            ..MpPrioParameters::default()
        };
        let mut actuator = MpPrio::new(parameters, 2);
        for seen in observations {
            let path = |kind, bytes_down, backup| PathState { bytes_down, backup, ..PathState::new(kind) };
            let paths = vec![path(Wifi, seen.bytes[0], false), path(Lte, seen.bytes[1], seen.backup)];
            let state = DeviceState::new(paths);
            let order = Order { costly: &[false, true], targets: &[1.0 - target, target], active: true };
            let mut actions = Vec::new();
            let now = Instant::from_millis(seen.millis);
            actuator.act(now, &state, &order, &mut actions);
            let wanted: Vec<_> =
                seen.wanted.map(|backup| Action::SetBackup { path: 1, backup }).into_iter().collect();
            assert_eq!(actions, wanted, "at {} ms", seen.millis);
        }
    }

    #[test]
    fn path_that_carried_too_much_is_closed_until_its_credit_returns() {
        let look =
            |millis, wifi, lte, backup, wanted| Observation { millis, bytes: [wifi, lte], backup, wanted };
        check(
            0.25,
            &[
                look(0, 0, 0, false, None),
                // 25 of 50 kB over LTE, with a share of 12.5 kB: 12.5 kB too many; the dead zone is
                // 5 kB.
                look(100, 25_000, 25_000, false, Some(true)),
                // The rest of the queue: 25 kB too many.
                look(200, 50_000, 50_000, true, None),
                // A quarter of 110 kB: a credit of 2.5 kB, within the dead zone of 2.75 kB.
                look(600, 160_000, 50_000, true, None),
                // A quarter of 40 kB more: a credit of 12.5 kB.
                look(700, 200_000, 50_000, true, Some(false)),
                // 15 kB too many again, but the path was opened only 100 ms ago.
                look(800, 210_000, 90_000, false, None),
                look(900, 220_000, 130_000, false, Some(true)),
                // A credit of 57.5 kB, but the path was closed only 400 ms ago.
                look(1300, 620_000, 130_000, true, None),
                look(1400, 660_000, 130_000, true, Some(false)),
            ],
        );
    }

    #[test]
    fn path_without_a_share_is_closed_at_once_and_stays_closed() {
        let look = |millis, wifi, backup, wanted| Observation { millis, bytes: [wifi, 0], backup, wanted };
        check(
            0.0,
            &[
                look(0, 0, false, Some(true)),
                look(5000, 1_000_000, true, None),
                look(9000, 2_000_000, true, None),
            ],
        );
    }

    #[test]
    fn credit_of_a_slow_path_is_limited() {
        let mut gate = Gate::default();
        let parameters = MpPrioParameters::default();
        for second in 0..1000_u64 {
            gate.account(&parameters, Instant::from_secs(second), 0, second * 100_000, 0.5);
        }
        assert!((gate.credit - 400_000.0).abs() < 1_000.0, "{}", gate.credit);
    }
}
