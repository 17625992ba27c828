//! Linked increases: RFC 6356.

use super::{CongestionControl, Coupling, SubflowView, Window};

/// Takes no more from a shared bottleneck than one TCP would, and moves load to the better path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lia {
    /// Drops the bound of a window's increase by that of one TCP.
    without_cap: bool,
    /// Increase of less than a byte, carried to the next acknowledgement.
    fraction: f64,
}

impl Lia {
    /// "Linked increases" before the bound was added as "RTT compensator": Raiciu, Wischik,
    /// Handley, "Practical congestion control for multipath transport protocols", UCL, 2009.
    pub(crate) fn without_cap() -> Self {
        Self { without_cap: true, ..Self::default() }
    }
}

/// Aggressiveness (RFC 6356, section 3.1): `total * max(w/rtt²) / (sum w/rtt)²`.
fn alpha(coupling: &Coupling) -> f64 {
    let best =
        coupling.subflows().iter().map(|s| s.cwnd as f64 / (s.srtt_secs * s.srtt_secs)).fold(0.0, f64::max);
    let sum = coupling.total_rate();
    if sum > 0.0 { coupling.total_cwnd() as f64 * best / (sum * sum) } else { 0.0 }
}

impl CongestionControl for Lia {
    fn on_ack(&mut self, acked: u64, view: &SubflowView, coupling: &Coupling, window: &mut Window) {
        // RFC 6356, section 3: the increase is coupled in congestion avoidance only.
        let acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
        // min(alpha * acked * MSS / cwnd_total, acked * MSS / cwnd_i), section 3.1.
        let base = acked as f64 * view.mss as f64;
        let coupled = alpha(coupling) * base / coupling.total_cwnd().max(window.cwnd) as f64;
        let alone = base / window.cwnd as f64;
        self.fraction += if self.without_cap { coupled } else { coupled.min(alone) };
        window.grow(&mut self.fraction);
    }

    fn on_loss(&mut self, view: &SubflowView, window: &mut Window) {
        window.halve(view);
    }

    fn on_timeout(&mut self, view: &SubflowView, window: &mut Window) {
        window.halve(view);
        window.cwnd = view.mss;
    }

    fn is_coupled(&self) -> bool {
        true
    }
}
