//! Resets to be sent, and limits on answers to unacceptable segments.

use units::{Duration, Instant};
use wire::MptcpSignal;

/// Shortest time between two challenge ACKs (Linux `tcp_invalid_ratelimit`: 500 ms).
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

/// A reset to be sent. It may answer a segment that belongs to no present subflow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reset {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    pub(crate) seq: u32,
    /// Acknowledgement number; `None` without the ACK flag.
    pub(crate) ack: Option<u32>,
    pub(crate) signal: Option<MptcpSignal>,
}

/// Pending reset, and the way in which the subflow ended.
#[derive(Debug, Clone, Default)]
pub(super) struct ResetState {
    pending: Option<Box<Reset>>,
    /// Signal of the reset that ended the subflow; repeated while the peer keeps sending.
    own_signal: Option<Box<MptcpSignal>>,
    last_challenge: Option<Instant>,
    permanently_refused: bool,
}

impl ResetState {
    pub(super) fn queue(&mut self, reset: Reset) {
        self.pending = Some(Box::new(reset));
    }
    pub(super) fn queue_own(&mut self, reset: Reset) {
        self.own_signal = reset.signal.map(Box::new);
        self.queue(reset);
    }
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }
    pub(super) fn take(&mut self) -> Option<Box<Reset>> {
        self.pending.take()
    }
    pub(super) fn own_signal(&self) -> Option<MptcpSignal> {
        self.own_signal.as_deref().copied()
    }
    pub(super) fn is_permanent(&self) -> bool {
        self.permanently_refused
    }
    pub(super) fn set_permanent(&mut self, refused: bool) {
        self.permanently_refused = refused;
    }

    /// Returns true if a challenge ACK may be sent now, and starts the next interval if so.
    pub(super) fn may_challenge(&mut self, now: Instant) -> bool {
        let due = self.last_challenge.is_none_or(|last| now.since(last) >= CHALLENGE_INTERVAL);
        if due {
            self.last_challenge = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_rate_limited() {
        let mut reset = ResetState::default();
        let start = Instant::from_secs(1);
        assert!(reset.may_challenge(start));
        assert!(!reset.may_challenge(start + Duration::from_millis(499)));
        assert!(reset.may_challenge(start + Duration::from_millis(500)));
    }

    #[test]
    fn only_the_own_reset_keeps_its_signal() {
        let signal = Some(MptcpSignal::Reset { transient: true, reason: 1 });
        let reset = Reset { source: 1, destination: 2, seq: 3, ack: Some(4), signal };
        let mut state = ResetState::default();
        state.queue(reset);
        assert_eq!(state.own_signal(), None);
        state.queue_own(reset);
        assert_eq!(state.own_signal(), signal);
        assert!(state.take().is_some() && !state.is_pending());
    }
}
