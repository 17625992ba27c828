//! Energy-aware linked increases, after Le, Hong, Razzaque, Lee, Jung, "ecMTCP: An Energy-Aware
//! Congestion Control Algorithm for Multipath TCP", IEEE Communications Letters 16(2), 2012.
//!
//! The paper moves traffic from congested paths to less congested ones and from paths whose energy
//! costs more to those where it costs less, and stays fair to TCP. **Its formula was not at hand: what
//! follows is a design of our own with these three properties**, built as LIA is built (RFC 6356,
//! section 3.1).
//!
//! Let `e_r` be what a byte costs on path `r`, and `g_r = min_p e_p / e_r`, 1 on the cheapest path and
//! less on others. For each acknowledged segment, with windows in segments,
//!
//! ```text
//! w_r += min(alpha g_r / sum w_p, 1 / w_r)
//! ```
//!
//! - Where a loss halves the window the balance is `p_r w_r = 2 alpha g_r / sum w_p`: the window is inverse
//!   to the loss, as in LIA, and to the cost. On paths with equal loss, windows are as `1 / e_r`.
//! - `alpha` is such that all paths together get what a TCP would on the best of them. A TCP's window at
//!   the same loss is `v_r = sqrt(2 / p_r) = sqrt(w_r sum w_p / (alpha g_r))`, and from
//!   `sum w_p / rtt_p = max v_r / rtt_r` follows
//!
//!   ```text
//!   alpha = sum w_p * max(w_r / (g_r rtt_r²)) / (sum w_p / rtt_p)²
//!   ```
//!
//! - The second argument of `min` keeps each path from taking more than a TCP would there.
//!
//! With equal costs all `g_r` are 1 and this is LIA.

use super::{CongestionControl, Coupling, View, Window};

/// Linked increases weighted by what a byte costs.
#[derive(Debug, Clone, Default)]
pub(crate) struct EcMtcp {
    /// Increase not yet a whole byte.
    fraction: f64,
}

impl CongestionControl for EcMtcp {
    fn on_ack(&mut self, acked: u64, view: &View, coupling: &Coupling, window: &mut Window) {
        let acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
        let base = acked as f64 * view.mss as f64;
        let total = coupling.total_cwnd.max(window.cwnd) as f64;
        let coupled = coupling.alpha * coupling.thrift * base / total;
        self.fraction += coupled.min(base / window.cwnd as f64);
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
