//! Balanced linked adaptation: Peng, Walid, Hwang, Low, "Multipath TCP: Analysis, Design, and
//! Implementation", IEEE/ACM Transactions on Networking 24(1), 2016;
//! draft-walid-mptcp-congestion-control-04, section 2.

use super::{CongestionControl, Coupling, SubflowView, Window};

/// A balance between LIA, which is friendly to TCP, and OLIA, which responds slowly.
///
/// With windows in segments, `x_r = w_r / rtt_r` and `a_r = max_k x_k / x_r`, an acknowledgement on
/// path `r` increases the window by
///
/// ```text
/// x_r / (rtt_r (sum x_k)²) * (1 + a_r)/2 * (4 + a_r)/5
/// ```
///
/// and a loss decreases it by `w_r/2 * min(a_r, 1.5)`. Over one path `a_r` is 1 and this is
/// NewReno.
#[derive(Debug, Clone)]
pub(crate) struct Balia {
    /// `a_r` at the last acknowledgement.
    ratio: f64,
    /// Increase of less than a byte, carried to the next acknowledgement.
    fraction: f64,
}

impl Default for Balia {
    fn default() -> Self {
        Self { ratio: 1.0, fraction: 0.0 }
    }
}

impl Balia {
    fn reduce(&self, view: &SubflowView, window: &mut Window) {
        let flight = view.in_flight.min(window.cwnd) as f64;
        let left = flight * (1.0 - self.ratio.min(1.5) / 2.0);
        window.ssthresh = (left as u64).max(2 * view.mss);
    }
}

impl CongestionControl for Balia {
    fn on_ack(&mut self, acked: u64, view: &SubflowView, coupling: &Coupling, window: &mut Window) {
        let acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
        let (w, mss) = (window.cwnd as f64, view.mss as f64);
        let rtt = view.srtt.as_secs_f64().max(1e-6);
        let x = w / rtt;
        let total = coupling.total_rate().max(x);
        self.ratio = coupling.best_rate().max(x) / x;
        let a = self.ratio;
        let increase = x / (rtt * total * total) * f64::midpoint(1.0, a) * ((4.0 + a) / 5.0);
        self.fraction += acked as f64 * mss * increase;
        window.grow(&mut self.fraction);
    }

    fn on_loss(&mut self, view: &SubflowView, window: &mut Window) {
        self.reduce(view, window);
    }

    fn on_timeout(&mut self, view: &SubflowView, window: &mut Window) {
        self.reduce(view, window);
        window.cwnd = view.mss;
    }

    fn is_coupled(&self) -> bool {
        true
    }
}
