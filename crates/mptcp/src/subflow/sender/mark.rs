//! The sender's part of explicit congestion notification (RFC 3168, section 6.1.2).

use super::Sender;
use crate::congestion::CongestionControl;
use units::Instant;
use wire::Payload;

impl<P: Payload> Sender<P> {
    /// An acknowledgement up to `ack` echoes a mark: the window is reduced, once for each window.
    pub(crate) fn on_ece(&mut self, now: Instant, ack: u64) {
        if ack <= self.marked_until {
            return;
        }
        self.marked_until = self.next;
        self.tells_reduced = true;
        // A loss of the same window has reduced it already.
        if self.recovery.is_none() {
            let view = self.view(now, self.flight(), None);
            self.algorithm.on_ecn(&view, &mut self.window);
            if !self.uses.samples {
                self.settle_window();
            }
        }
    }

    /// New data goes out: is it the one to tell that the window was reduced?
    pub(crate) fn take_cwr(&mut self) -> bool {
        core::mem::take(&mut self.tells_reduced)
    }

    /// What went out last had been sent before: it must not be marked (RFC 3168, section 6.1.5).
    pub(crate) fn last_was_retransmission(&self) -> bool {
        self.repeated_last
    }
}
