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
//!   the long run, whatever the lags: an overshoot is paid back later, in full.
//! - The gate **closes** when the credit, less what will still come, is below minus the band, and **opens**
//!   when the credit is above the band; never before the least time in its state.
//! - What will still come after closing is what is queued on the path, where that is known; a receiver does
//!   not know what the sender has already given to its subflow, and so the gate **learns** it from how far
//!   the credit fell after it had closed before. Both thresholds are moved up by half of that, so that the
//!   credit swings around zero and not below it: over some seconds, too, the path then has its part.
//! - Where the target cannot be reached (the path is open and carries less than its part), the credit
//!   stops at the wind-up limit, so that the gate does not stay open for minutes afterwards.
//!
//! A sender that has more to send than the cheap paths take is held back by this, as it is by the
//! ideal actuator: a share of the whole leaves the costly path no more than the cheap ones allow.

use crate::{Action, DeviceState, PathState};
use units::{Duration, Instant};

/// Parameters of the actuator `mp-prio`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpPrioParameters {
    /// Least time that a path stays closed. With `least_open` it makes the shortest period; periods
    /// under some 0.5 s do nothing, since the sender needs 0.1 s to stop and what is queued still comes.
    pub least_closed: Duration,
    /// Least time that a path stays open. Shorter than `least_closed`, since a fast path with much
    /// to catch up on carries several seconds' worth of its part in half a second.
    pub least_open: Duration,
    /// Half the width of the dead zone around the target, as the time in which the device carries so
    /// many bytes in all. Wider: fewer switches, a coarser share.
    pub band: Duration,
    /// The most that a path which fell short of its part may make up for, likewise as a time of the
    /// whole device's traffic.
    pub windup: Duration,
    /// Time constant of the mean rate that turns the two above into bytes.
    pub rate_window: Duration,
}

impl Default for MpPrioParameters {
    /// 500 ms closed, 200 ms open, a band of 100 ms, 4 s of wind-up, 2 s of rate.
    fn default() -> Self {
        Self {
            least_closed: Duration::from_millis(500),
            least_open: Duration::from_millis(200),
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
    last: Option<(Instant, u64, u64)>,
    /// Bytes that the path may still carry; negative: that it has carried too many.
    credit: f64,
    /// Mean rate of the whole device, in bytes a second.
    rate: f64,
    switched: Option<Instant>,
    /// The credit when the path was last closed, and the least since; none while it is open.
    fall: Option<(f64, f64)>,
    /// How far the credit falls after closing, learned; in bytes.
    overshoot: f64,
}

/// What the loop is to hold.
pub(super) struct Order<'a> {
    /// The costly paths; the others are not touched.
    pub(super) costly: &'a [bool],
    /// Each path's part of the total.
    pub(super) targets: &'a [f64],
    /// False: there is nothing to move, or nowhere to move it to. Then what was closed is opened.
    pub(super) held: bool,
}

/// Moves every gate to where it should be.
pub(super) fn act(
    parameters: &MpPrioParameters,
    gates: &mut [Gate],
    now: Instant,
    state: &DeviceState,
    order: &Order<'_>,
    actions: &mut Vec<Action>,
) {
    let carried = |path: &PathState| path.bytes_down.saturating_add(path.bytes_up);
    let total = state.paths.iter().map(carried).fold(0, u64::saturating_add);
    for (i, (gate, path)) in gates.iter_mut().zip(&state.paths).enumerate() {
        let target = order.targets[i];
        gate.account(parameters, now, carried(path), total, target);
        let backup = if order.held && order.costly[i] {
            gate.closed(parameters, now, path, target)
        } else {
            gate.credit = 0.0;
            // What this loop never switched is as the user wants it.
            path.backup && gate.switched.is_none()
        };
        if backup != path.backup {
            gate.switched = Some(now);
            gate.learn(backup);
            actions.push(Action::SetBackup { path: i, backup });
        }
    }
}

impl Gate {
    /// Adds what was carried since the last look.
    fn account(&mut self, p: &MpPrioParameters, now: Instant, own: u64, total: u64, target: f64) {
        if let Some((then, own_before, total_before)) = self.last {
            let span = now.since(then).as_secs_f64();
            let own = own.saturating_sub(own_before) as f64;
            let total = total.saturating_sub(total_before) as f64;
            if span > 0.0 {
                let window = p.rate_window.as_secs_f64().max(span);
                self.rate += (total / span - self.rate) * span / window;
            }
            // Above where it opens, or where the cheap path is slow and much comes after closing it never would.
            let limit = p.windup.as_secs_f64() * self.rate + self.overshoot / 2.0;
            self.credit = (self.credit + target * total - own).min(limit);
            if let Some((_, least)) = &mut self.fall {
                *least = least.min(self.credit);
            }
        }
        self.last = Some((now, own, total));
    }

    /// The path is closed now, or opened: what came after closing is known when it opens again.
    fn learn(&mut self, closes: bool) {
        if closes {
            self.fall = Some((self.credit, self.credit));
        } else if let Some((begin, least)) = self.fall.take() {
            let fell = begin - least;
            // The first tells more than nothing; later ones are a mean of the last few.
            let weight = if self.overshoot > 0.0 { 0.5 } else { 1.0 };
            self.overshoot += weight * (fell - self.overshoot);
        }
    }

    /// Whether the path should be backup now.
    fn closed(&self, p: &MpPrioParameters, now: Instant, path: &PathState, target: f64) -> bool {
        if target <= 0.0 {
            // Not even a band's worth is due to a path that is to carry nothing.
            return true;
        }
        let least = if path.backup { p.least_closed } else { p.least_open };
        // Without a rate there is no scale for what is much and what is little.
        if self.rate <= 0.0 || self.switched.is_some_and(|at| now.since(at) < least) {
            return path.backup;
        }
        let half = p.band.as_secs_f64() * self.rate + self.overshoot / 2.0;
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

    /// One look at Wi-Fi and LTE, and what comes of it.
    struct Look {
        millis: u64,
        bytes: [u64; 2],
        backup: bool,
        wanted: Option<bool>,
    }

    fn check(target: f64, looks: &[Look]) {
        // The rate is that of the last look, and the band a tenth of what comes in 100 ms.
        let parameters = MpPrioParameters {
            band: Duration::from_millis(10),
            rate_window: Duration::ZERO,
            ..MpPrioParameters::default()
        };
        let mut gates = vec![Gate::default(); 2];
        for look in looks {
            let path = |kind, bytes_down, backup| PathState { bytes_down, backup, ..PathState::new(kind) };
            let paths = vec![path(Wifi, look.bytes[0], false), path(Lte, look.bytes[1], look.backup)];
            let state = DeviceState { paths, app: None };
            let order = Order { costly: &[false, true], targets: &[1.0 - target, target], held: true };
            let mut actions = Vec::new();
            let now = Instant::from_millis(look.millis);
            act(&parameters, &mut gates, now, &state, &order, &mut actions);
            let wanted: Vec<_> =
                look.wanted.map(|backup| Action::SetBackup { path: 1, backup }).into_iter().collect();
            assert_eq!(actions, wanted, "at {} ms", look.millis);
        }
    }

    #[test]
    fn a_path_that_carried_too_much_is_closed_until_it_is_owed_again() {
        let look = |millis, wifi, lte, backup, wanted| Look { millis, bytes: [wifi, lte], backup, wanted };
        check(
            0.25,
            &[
                look(0, 0, 0, false, None),
                // 25 of 50 kB over LTE, which is due 12.5 kB: 12.5 kB too many, for a band of 5 kB.
                look(100, 25_000, 25_000, false, Some(true)),
                // The rest of the queue: 25 kB too many.
                look(200, 50_000, 50_000, true, None),
                // A quarter of 110 kB: 2.5 kB are owed, within the band of 2.75 kB.
                look(600, 160_000, 50_000, true, None),
                // A quarter of 40 kB more: 12.5 kB are owed.
                look(700, 200_000, 50_000, true, Some(false)),
                // 15 kB too many again, but it was opened only 100 ms ago.
                look(800, 210_000, 90_000, false, None),
                look(900, 220_000, 130_000, false, Some(true)),
                // 57.5 kB are owed, but it was closed only 400 ms ago.
                look(1300, 620_000, 130_000, true, None),
                look(1400, 660_000, 130_000, true, Some(false)),
            ],
        );
    }

    #[test]
    fn a_path_that_is_to_carry_nothing_is_closed_at_once_and_for_good() {
        let look = |millis, wifi, backup, wanted| Look { millis, bytes: [wifi, 0], backup, wanted };
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
    fn what_a_slow_path_missed_is_made_up_for_within_limits() {
        let mut gate = Gate::default();
        let parameters = MpPrioParameters::default();
        for second in 0..1000_u64 {
            gate.account(&parameters, Instant::from_secs(second), 0, second * 100_000, 0.5);
        }
        assert!((gate.credit - 400_000.0).abs() < 1_000.0, "{}", gate.credit);
    }
}
