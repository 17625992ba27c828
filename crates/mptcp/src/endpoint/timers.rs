//! Timers of the connection. Timers of a subflow belong to the subflow.

use units::Instant;

/// A timer of the connection as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// Retransmit the DATA_FIN.
    DataFin,
    /// Probe the peer's closed receive window.
    WindowProbe,
    /// Retransmit data that a subflow acknowledged and the connection did not.
    DataAck,
    /// Repeat an unanswered MP_FAIL.
    MpFail,
    /// Repeat an ADD_ADDR or a REMOVE_ADDR.
    Address,
    /// Give up a subflow after in-order data has waited too long for its mapping.
    Mapping,
    /// Give up a connection without a subflow.
    SubflowWait,
    /// Repeat the first unacknowledged data, as in Linux.
    DataRetransmission,
}

/// Running timers of the connection, and the earliest deadline.
#[derive(Debug, Clone)]
pub(super) struct TimerTable {
    /// Few or none at a time, so a list is smaller and faster than a slot for each.
    running: Vec<(Timer, Instant)>,
    /// [`Instant::MAX`] while no timer runs.
    earliest: Instant,
    disabled: bool,
}

impl TimerTable {
    pub(super) fn new() -> Self {
        Self { running: Vec::new(), earliest: Instant::MAX, disabled: false }
    }

    /// Starts or moves a timer. Does nothing after [`disable`](Self::disable).
    pub(super) fn set(&mut self, timer: Timer, deadline: Instant) {
        if self.disabled {
            return;
        }
        self.running.retain(|&(running, _)| running != timer);
        self.running.push((timer, deadline));
        self.update_earliest();
    }

    /// Starts, moves or stops a timer.
    pub(super) fn set_or_stop(&mut self, timer: Timer, deadline: Option<Instant>) {
        match deadline {
            Some(deadline) => self.set(timer, deadline),
            None => self.stop(timer),
        }
    }

    #[inline]
    pub(super) fn stop(&mut self, timer: Timer) {
        if self.is_set(timer) {
            self.running.retain(|&(running, _)| running != timer);
            self.update_earliest();
        }
    }

    #[inline]
    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.running.iter().any(|&(running, _)| running == timer)
    }

    /// Stops the timer if it has expired; returns true if it had.
    #[inline]
    pub(super) fn take_expired(&mut self, timer: Timer, now: Instant) -> bool {
        let expired = self.running.iter().any(|&(running, at)| running == timer && at <= now);
        if expired {
            self.stop(timer);
        }
        expired
    }

    /// Earliest deadline; [`Instant::MAX`] if no timer runs.
    #[inline]
    pub(super) fn earliest(&self) -> Instant {
        self.earliest
    }

    /// Stops all timers for good: the connection has ended.
    pub(super) fn disable(&mut self) {
        *self = Self { disabled: true, ..Self::new() };
    }

    fn update_earliest(&mut self) {
        self.earliest = self.running.iter().map(|&(_, at)| at).min().unwrap_or(Instant::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_deadline_follows_every_change() {
        let at = Instant::from_millis;
        let mut timers = TimerTable::new();
        assert_eq!(timers.earliest(), Instant::MAX);
        timers.set(Timer::DataFin, at(50));
        timers.set(Timer::Address, at(20));
        assert_eq!(timers.earliest(), at(20));
        timers.set(Timer::Address, at(70));
        assert_eq!(timers.earliest(), at(50));
        timers.set_or_stop(Timer::DataFin, None);
        assert_eq!(timers.earliest(), at(70));
        assert!(!timers.is_set(Timer::DataFin) && timers.is_set(Timer::Address));
    }

    #[test]
    fn expired_timer_is_taken_once() {
        let mut timers = TimerTable::new();
        timers.set(Timer::WindowProbe, Instant::from_millis(5));
        assert!(!timers.take_expired(Timer::WindowProbe, Instant::from_millis(4)));
        assert!(timers.take_expired(Timer::WindowProbe, Instant::from_millis(5)));
        assert!(!timers.take_expired(Timer::WindowProbe, Instant::from_millis(6)));
        assert_eq!(timers.earliest(), Instant::MAX);
    }

    #[test]
    fn disabled_table_starts_no_timer() {
        let mut timers = TimerTable::new();
        timers.set(Timer::MpFail, Instant::from_millis(5));
        timers.disable();
        timers.set(Timer::DataFin, Instant::from_millis(9));
        assert_eq!(timers.earliest(), Instant::MAX);
    }
}
