//! Keepalive probes of idle subflows (RFC 9293, section 3.8.4).

use super::Endpoint;
use crate::subflow::KeepaliveAction;
use units::Instant;
use wire::Payload;

impl<P: Payload> Endpoint<P> {
    /// Handles the keepalive timer of subflow `i`.
    pub(super) fn on_keepalive_timeout(&mut self, now: Instant, i: usize) {
        let Some(keepalive) = self.config.keepalive else { return };
        match self.subflows[i].on_keepalive_timer(now, &keepalive) {
            KeepaliveAction::Wait => {}
            KeepaliveAction::Probe => self.transmit_pending = true,
            KeepaliveAction::GiveUp => {
                self.give_up(i);
                self.transmit_pending = true;
            }
        }
    }
}
