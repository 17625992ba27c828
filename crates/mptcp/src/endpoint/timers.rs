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

const TIMER_COUNT: usize = Timer::DataRetransmission as usize + 1;

/// Deadlines of all connection timers and the earliest of them.
#[derive(Debug, Clone)]
pub(super) struct TimerTable {
    /// By timer; [`Instant::MAX`] while a timer is stopped.
    deadlines: [Instant; TIMER_COUNT],
    earliest: Instant,
    disabled: bool,
}

impl TimerTable {
    pub(super) fn new() -> Self {
        Self { deadlines: [Instant::MAX; TIMER_COUNT], earliest: Instant::MAX, disabled: false }
    }

    /// Starts or moves a timer. Does nothing after [`disable`](Self::disable).
    pub(super) fn set(&mut self, timer: Timer, deadline: Instant) {
        if !self.disabled {
            self.update(timer, deadline);
        }
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
            self.update(timer, Instant::MAX);
        }
    }

    #[inline]
    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.deadlines[timer as usize] < Instant::MAX
    }

    /// Returns true if the timer has expired, and stops it.
    #[inline]
    pub(super) fn take_expired(&mut self, timer: Timer, now: Instant) -> bool {
        let expired = self.deadlines[timer as usize] <= now;
        if expired {
            self.stop(timer);
        }
        expired
    }

    /// Earliest deadline; [`Instant::MAX`] while all timers are stopped.
    #[inline]
    pub(super) fn earliest(&self) -> Instant {
        self.earliest
    }

    /// Stops all timers for good.
    pub(super) fn disable(&mut self) {
        *self = Self { disabled: true, ..Self::new() };
    }

    fn update(&mut self, timer: Timer, deadline: Instant) {
        self.deadlines[timer as usize] = deadline;
        self.earliest = self.deadlines.iter().copied().fold(Instant::MAX, Instant::min);
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
