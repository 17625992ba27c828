//! Probes of subflows on which nothing happens (RFC 9293, section 3.8.4).

use super::Endpoint;
use crate::subflow::KeepaliveAction;
use units::Instant;
use wire::Payload;

impl<P: Payload> Endpoint<P> {
    /// Is the other end of an idle subflow still there? The timer is set anew only where it goes off:
    /// a segment that comes costs no more than noting when.
    pub(super) fn keepalive(&mut self, now: Instant, i: usize) {
        let Some(keepalive) = self.config.keepalive else { return };
        match self.subflows[i].on_keepalive_timer(now, &keepalive) {
            KeepaliveAction::Wait => {}
            KeepaliveAction::Probe => self.work = true,
            KeepaliveAction::GiveUp => {
                self.give_up(i);
                self.work = true;
            }
        }
    }
}
