//! NewReno: RFC 5681 and RFC 6582.

use super::{CongestionControl, Coupling, SubflowView, Window};

/// Additive increase by one segment a round trip, multiplicative decrease by half.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reno {
    /// Bytes acknowledged since the window last grew by a segment (RFC 3465).
    bytes_acked: u64,
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, acked: u64, view: &SubflowView, _: &Coupling, window: &mut Window) {
        self.bytes_acked += window.slow_start(acked);
        // RFC 5681, section 3.1: one full-sized segment for each window of acknowledged bytes.
        if self.bytes_acked >= window.cwnd {
            self.bytes_acked -= window.cwnd;
            window.cwnd += view.mss;
        }
    }

    fn on_loss(&mut self, view: &SubflowView, window: &mut Window) {
        window.halve(view);
        self.bytes_acked = 0;
    }

    fn on_timeout(&mut self, view: &SubflowView, window: &mut Window) {
        window.halve(view);
        window.cwnd = view.mss;
        self.bytes_acked = 0;
    }
}
