//! Timer table of a sender.

use units::Instant;

/// Timers of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// Retransmission timeout, of the handshake too (RFC 6298).
    Retransmission,
    /// RACK's reordering window ends (RFC 8985, section 6.3).
    Reordering,
    /// Tail loss probe (RFC 8985, section 7.2). Does not run together with `Reordering`.
    TailProbe,
    /// The pacer lets the next segment go.
    Pacing,
}

/// Expiry times; [`Instant::MAX`] for a timer that does not run.
#[derive(Debug, Clone)]
pub(super) struct TimerTable([Instant; 4]);

impl TimerTable {
    pub(super) fn new() -> Self {
        Self([Instant::MAX; 4])
    }
    #[inline]
    pub(super) fn start(&mut self, timer: Timer, at: Instant) {
        self.0[timer as usize] = at;
    }
    #[inline]
    pub(super) fn stop(&mut self, timer: Timer) {
        self.0[timer as usize] = Instant::MAX;
    }
    #[inline]
    pub(super) fn is_running(&self, timer: Timer) -> bool {
        self.0[timer as usize] != Instant::MAX
    }
    /// Expiry of `timer`; [`Instant::MAX`] if it does not run.
    #[inline]
    pub(super) fn expiry(&self, timer: Timer) -> Instant {
        self.0[timer as usize]
    }
    #[inline]
    pub(super) fn is_due(&self, timer: Timer, now: Instant) -> bool {
        self.0[timer as usize] <= now
    }
    /// Stops `timer` if it is due. Returns true if it was.
    pub(super) fn take_due(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.is_due(timer, now);
        if due {
            self.stop(timer);
        }
        due
    }
    /// Earliest expiry of the timers that find losses; [`Instant::MAX`] if none runs.
    #[inline]
    pub(super) fn next_of_losses(&self) -> Instant {
        let [retransmission, reordering, tail_probe, _] = self.0;
        retransmission.min(reordering).min(tail_probe)
    }
    /// Earliest expiry; [`Instant::MAX`] if no timer runs.
    #[inline]
    pub(super) fn next(&self) -> Instant {
        self.next_of_losses().min(self.expiry(Timer::Pacing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_running_timer_is_next() {
        let mut timers = TimerTable::new();
        assert_eq!(timers.next(), Instant::MAX);
        timers.start(Timer::Retransmission, Instant::from_secs(3));
        timers.start(Timer::Pacing, Instant::from_secs(2));
        assert_eq!(timers.next(), Instant::from_secs(2));
        assert!(!timers.take_due(Timer::Pacing, Instant::from_secs(1)));
        assert!(timers.take_due(Timer::Pacing, Instant::from_secs(2)));
        assert!(!timers.is_running(Timer::Pacing));
        assert_eq!(timers.next(), timers.expiry(Timer::Retransmission));
    }
}
