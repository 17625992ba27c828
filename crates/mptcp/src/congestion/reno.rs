//! NewReno: RFC 5681 and RFC 6582.

use super::{CongestionControl, Coupling, View, Window};

/// Additive increase by one segment a round trip, multiplicative decrease by half.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reno {
    /// Bytes acknowledged since the window last grew by a segment (RFC 3465).
    counted: u64,
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, acked: u64, view: &View, _: &Coupling, window: &mut Window) {
        self.counted += window.slow_start(acked);
        // RFC 5681, section 3.1: one full-sized segment for each window of acknowledged bytes.
        if self.counted >= window.cwnd {
            self.counted -= window.cwnd;
            window.cwnd += view.mss;
        }
    }

    fn on_loss(&mut self, view: &View, window: &mut Window) {
        window.halve(view);
        self.counted = 0;
    }

    fn on_timeout(&mut self, view: &View, window: &mut Window) {
        window.halve(view);
        window.cwnd = view.mss;
        self.counted = 0;
    }
}
