//! Keepalive probes of an idle subflow (RFC 9293, section 3.8.4).

use crate::Keepalive;
use units::Instant;

/// Action when the keepalive timer expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeepaliveAction {
    /// The subflow was not idle: the timer runs again.
    Wait,
    /// Send a probe.
    Probe,
    /// All probes went unanswered.
    GiveUp,
}

/// When the peer was last heard, and the probes since.
///
/// The timer is rearmed only when it expires, so that an arriving segment only stores its time.
#[derive(Debug, Clone)]
pub(super) struct Liveness {
    last_heard: Instant,
    /// [`Instant::MAX`] while it does not run.
    timer: Instant,
    /// Unanswered probes in a row.
    unanswered: u32,
    send_probe: bool,
}

impl Default for Liveness {
    fn default() -> Self {
        Self { last_heard: Instant::ZERO, timer: Instant::MAX, unanswered: 0, send_probe: false }
    }
}

impl Liveness {
    pub(super) fn start(&mut self, now: Instant, keepalive: Option<Keepalive>) {
        self.last_heard = now;
        self.timer = keepalive.map_or(Instant::MAX, |keepalive| now + keepalive.idle);
    }
    #[inline]
    pub(super) fn on_heard(&mut self, now: Instant) {
        (self.last_heard, self.unanswered) = (now, 0);
    }
    pub(super) fn last_heard(&self) -> Instant {
        self.last_heard
    }
    #[inline]
    pub(super) fn timer(&self) -> Instant {
        self.timer
    }
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.timer <= now
    }

    /// Returns the action to take now. `sending` if the retransmission timer watches the peer
    /// already.
    pub(super) fn on_timer(&mut self, now: Instant, keepalive: &Keepalive, sending: bool) -> KeepaliveAction {
        if sending {
            self.timer = now + keepalive.idle;
            return KeepaliveAction::Wait;
        }
        if now.since(self.last_heard) < keepalive.idle && self.unanswered == 0 {
            self.timer = self.last_heard + keepalive.idle;
            return KeepaliveAction::Wait;
        }
        if self.unanswered >= keepalive.probes {
            return KeepaliveAction::GiveUp;
        }
        self.unanswered += 1;
        self.send_probe = true;
        self.timer = now + keepalive.interval;
        KeepaliveAction::Probe
    }

    pub(super) fn probe_pending(&self) -> bool {
        self.send_probe
    }
    pub(super) fn take_probe(&mut self) -> bool {
        core::mem::take(&mut self.send_probe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    const KEEPALIVE: Keepalive =
        Keepalive { idle: Duration::from_secs(10), interval: Duration::from_secs(2), probes: 2 };

    fn at(secs: u64) -> Instant {
        Instant::from_secs(secs)
    }

    #[test]
    fn silent_peer_is_probed_then_given_up() {
        let mut liveness = Liveness::default();
        liveness.start(at(0), Some(KEEPALIVE));
        assert!(!liveness.is_due(at(9)) && liveness.is_due(at(10)));
        assert_eq!(liveness.on_timer(at(10), &KEEPALIVE, false), KeepaliveAction::Probe);
        assert!(liveness.take_probe() && !liveness.take_probe());
        assert_eq!(liveness.timer(), at(12));
        assert_eq!(liveness.on_timer(at(12), &KEEPALIVE, false), KeepaliveAction::Probe);
        assert_eq!(liveness.on_timer(at(14), &KEEPALIVE, false), KeepaliveAction::GiveUp);
    }

    #[test]
    fn recent_segment_or_data_in_flight_postpones_the_probe() {
        let mut liveness = Liveness::default();
        liveness.start(at(0), Some(KEEPALIVE));
        liveness.on_heard(at(7));
        assert_eq!(liveness.on_timer(at(10), &KEEPALIVE, false), KeepaliveAction::Wait);
        assert_eq!(liveness.timer(), at(17));
        assert_eq!(liveness.on_timer(at(17), &KEEPALIVE, true), KeepaliveAction::Wait);
        assert_eq!(liveness.timer(), at(27));
    }
}
