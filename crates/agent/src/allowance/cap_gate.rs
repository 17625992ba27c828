//! Decides when an interface stops for its allowance, and when a precaution ends.
//!
//! An interface stops ahead of the limit: by half a second and one sampling interval at its present
//! rate. A short burst shows a high rate too, so the precaution ends when the rate has fallen and
//! enough of the allowance is left. An interface that has less left at the start stays stopped.

use super::{Allowance, CapAction};
use units::{Bitrate, Bytes, Duration, Instant};

/// Time from the decision to close an interface until its last byte: MP_PRIO or a reset in transit,
/// and the send queue.
const REACTION_TIME: Duration = Duration::from_millis(500);

/// Minimum time for which an interface stays stopped.
const MIN_STOP: Duration = Duration::from_secs(10);
/// Part of the allowance below which a precaution does not end: 1/100.
const MIN_REST_SHARE: u64 = 100;

/// State of the allowance of one interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CapGate {
    stopped: Option<Stopped>,
    /// Highest rate in this period.
    peak: Bitrate,
    has_started: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stopped {
    at: Instant,
    /// Remaining allowance at that time.
    left: Bytes,
}

impl CapGate {
    /// True when the interface must stop.
    pub const fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Highest rate in this period.
    pub const fn peak(&self) -> Bitrate {
        self.peak
    }

    /// Updates the gate with the remaining allowance and the rate of all interfaces that share it.
    /// `interval` is the time between two samples. Returns true on a change.
    pub fn update(
        &mut self,
        now: Instant,
        allowance: &Allowance,
        (left, rate): (Bytes, Bitrate),
        interval: Duration,
    ) -> bool {
        self.peak = self.peak.max(rate);
        // The next decision is one interval away.
        let time_ahead = REACTION_TIME + interval;
        let min_rest = Bytes::new(allowance.data.get() / MIN_REST_SHARE);
        let Some(stopped) = self.stopped else {
            let is_start = !std::mem::replace(&mut self.has_started, true);
            let is_exhausted = match allowance.at_cap {
                // The interface goes on, so there is nothing to do ahead.
                CapAction::Warn => left == Bytes::ZERO,
                CapAction::Close | CapAction::Backup => {
                    left <= rate.over(time_ahead) || (is_start && left < min_rest)
                }
            };
            if is_exhausted {
                self.stopped = Some(Stopped { at: now, left });
            }
            return self.stopped.is_some();
        };
        // More is left than before: a new period, or a larger allowance.
        let is_new = left > stopped.left;
        let reserve = rate.over(time_ahead * 4).max(self.peak.over(interval * 2));
        let is_calm =
            now.since(stopped.at) >= MIN_STOP && left > reserve && left >= min_rest && left > Bytes::ZERO;
        if is_new {
            self.peak = rate;
        }
        if is_new || is_calm {
            self.stopped = None;
        }
        self.stopped.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allowance::Period;

    const TICK: Duration = Duration::from_millis(50);

    fn allowance(at_cap: CapAction) -> Allowance {
        Allowance { data: Bytes::new(30_000_000), period: Period::Day, at_cap }
    }

    #[test]
    fn precaution_after_a_burst_ends_when_the_rate_has_fallen() {
        let close = allowance(CapAction::Close);
        let mut gate = CapGate::default();
        // 20 MB at once: the average over half a second is 320 Mbit/s.
        let (left, burst) = (Bytes::new(10_000_000), Bitrate::from_mbps(320.0));
        assert!(gate.update(Instant::from_secs(1), &close, (left, burst), TICK));
        assert!(gate.is_stopped(), "half a second at this rate would exceed it");
        assert!(!gate.update(Instant::from_secs(5), &close, (left, Bitrate::ZERO), TICK));
        assert!(gate.update(Instant::from_secs(11), &close, (left, Bitrate::ZERO), TICK));
        assert!(!gate.is_stopped(), "a third of the allowance is left");
    }

    #[test]
    fn limit_holds_at_a_steady_rate_with_every_sampling_interval() {
        let close = allowance(CapAction::Close);
        for millis in [10, 50, 500, 2_000] {
            let interval = Duration::from_millis(millis);
            let mut gate = CapGate::default();
            let rate = Bitrate::from_mbps(64.0);
            let (mut now, mut left) = (Instant::ZERO, close.data);
            while !gate.update(now, &close, (left, rate), interval) {
                now += interval;
                left = left - rate.over(interval);
            }
            assert!(left >= rate.over(REACTION_TIME), "{left} left, sampled every {interval}");
        }
    }

    #[test]
    fn used_up_allowance_stays_so_until_the_next_period() {
        let close = allowance(CapAction::Close);
        let mut gate = CapGate::default();
        gate.update(Instant::ZERO, &close, (Bytes::new(100_000), Bitrate::from_mbps(10.0)), TICK);
        for second in 1..100 {
            let calm = (Bytes::new(100_000), Bitrate::ZERO);
            assert!(!gate.update(Instant::from_secs(second), &close, calm, TICK), "too little is left");
        }
        let next = (close.data, Bitrate::ZERO);
        assert!(gate.update(Instant::from_secs(100), &close, next, TICK) && !gate.is_stopped());
    }

    #[test]
    fn interface_starts_stopped_if_little_is_left() {
        let start = |at_cap, left| {
            let mut gate = CapGate::default();
            gate.update(Instant::ZERO, &allowance(at_cap), (Bytes::new(left), Bitrate::ZERO), TICK);
            gate.is_stopped()
        };
        assert!(start(CapAction::Close, 299_999) && start(CapAction::Backup, 299_999));
        assert!(!start(CapAction::Close, 300_000) && !start(CapAction::Warn, 1));
        let mut gate = CapGate::default();
        for left in [400_000, 1] {
            let state = (Bytes::new(left), Bitrate::ZERO);
            assert!(!gate.update(Instant::ZERO, &allowance(CapAction::Close), state, TICK), "{left}");
        }
    }

    #[test]
    fn warning_comes_at_the_limit_only() {
        let warn = allowance(CapAction::Warn);
        let mut gate = CapGate::default();
        let rate = Bitrate::from_mbps(500.0);
        assert!(!gate.update(Instant::ZERO, &warn, (Bytes::new(1), rate), TICK));
        assert!(gate.update(Instant::ZERO, &warn, (Bytes::ZERO, rate), TICK) && gate.is_stopped());
        assert!(!gate.update(Instant::from_secs(60), &warn, (Bytes::ZERO, Bitrate::ZERO), TICK));
    }
}
