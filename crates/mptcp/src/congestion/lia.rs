//! Linked increases: RFC 6356.

use super::{CongestionControl, Coupling, View, Window};

/// Takes no more from a shared bottleneck than one TCP would, and moves load to the better path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lia {
    /// The increase that is smaller than a byte, carried to the next acknowledgement.
    fraction: f64,
}

impl CongestionControl for Lia {
    fn on_ack(&mut self, acked: u64, view: &View, coupling: &Coupling, window: &mut Window) {
        // RFC 6356, section 3: the increase is coupled in congestion avoidance only.
        let acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
        // min(alpha * acked * MSS / cwnd_total, acked * MSS / cwnd_i), section 3.1.
        let base = acked as f64 * view.mss as f64;
        let coupled = coupling.alpha * base / coupling.total_cwnd.max(window.cwnd) as f64;
        let alone = base / window.cwnd as f64;
        self.fraction += coupled.min(alone);
        let whole = self.fraction as u64;
        self.fraction -= whole as f64;
        window.cwnd += whole;
    }

    fn on_loss(&mut self, view: &View, window: &mut Window) {
        window.halve(view);
    }

    fn on_timeout(&mut self, view: &View, window: &mut Window) {
        window.halve(view);
        window.cwnd = view.mss;
    }
}
