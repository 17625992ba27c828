//! Probes of subflows on which nothing happens (RFC 9293, section 3.8.4).

use super::Endpoint;
use units::Instant;
use wire::Payload;

impl<P: Payload> Endpoint<P> {
    /// Is the other end of an idle subflow still there? The timer is set anew only where it goes off:
    /// a segment that comes costs no more than noting when.
    pub(super) fn keepalive(&mut self, now: Instant, i: usize) {
        let Some(keepalive) = self.config.keepalive else { return };
        let subflow = &mut self.subflows[i];
        let quiet = now.since(subflow.heard);
        subflow.keepalive_at = Some(if subflow.sender.has_unsent_or_unacked() {
            // The retransmission timer finds out.
            now + keepalive.idle
        } else if quiet < keepalive.idle && subflow.probes == 0 {
            subflow.heard + keepalive.idle
        } else if subflow.probes < keepalive.probes {
            subflow.probes += 1;
            subflow.send_probe = true;
            subflow.receiver.ack_now = true;
            self.work = true;
            now + keepalive.interval
        } else {
            self.give_up(i);
            self.work = true;
            return;
        });
    }
}
