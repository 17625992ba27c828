//! Opportunistic linked increases: Khalili, Gast, Popovic, Le Boudec, "MPTCP is not Pareto-optimal",
//! IEEE/ACM Transactions on Networking 21(5), 2013; draft-khalili-mptcp-congestion-control-05,
//! section 3.
//!
//! For each acknowledgement on path `r`, with windows `w` in segments:
//!
//! ```text
//! w_r += (w_r / rtt_r²) / (sum w_p / rtt_p)² + a_r / w_r
//! ```
//!
//! The first term is Kelly and Voice's increase with the round trips made good; the second moves
//! window between paths. `l_p` is the greater of what was acknowledged between the last two losses and
//! since the last, `1/l_p` thus the loss that path `p` is presumed to have. `B`, the best paths, have the
//! greatest `l_p / rtt_p²` (the rate of a TCP on them, squared and halved); `M` have the largest window.
//! Of `n` paths, where some are best and have not the largest window, `a_r = 1 / (n |B \ M|)` on those,
//! `a_r = -1 / (n |M|)` on `M`, and zero elsewhere; where none is, `a_r = 0` throughout.
//!
//! A loss halves the window. The draft allows one segment as the least threshold where there are several
//! paths; here it is two, as for all algorithms.

use super::{CongestionControl, Coupling, View, Window};

/// Balances congestion among the best paths and probes the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Olia {
    /// Offset acknowledged when the last loss was seen.
    since: u64,
    /// Bytes between the last two losses.
    before: u64,
    /// Increase not yet a whole byte.
    fraction: f64,
}

impl Olia {
    /// `l` of the path, in bytes, where the acknowledgement stands at `una`.
    pub(crate) fn between_losses(&self, una: u64) -> u64 {
        self.before.max(una.saturating_sub(self.since))
    }

    fn lost(&mut self, view: &View) {
        self.before = view.una.saturating_sub(self.since);
        self.since = view.una;
    }
}

impl CongestionControl for Olia {
    fn on_ack(&mut self, acked: u64, view: &View, coupling: &Coupling, window: &mut Window) {
        let acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
        let (w, mss) = (window.cwnd as f64, view.mss as f64);
        let rtt = view.srtt.as_secs_f64().max(1e-6);
        let base = acked as f64 * mss;
        let rate = coupling.total_rate.max(w / rtt);
        let coupled = base * (w / (rtt * rtt)) / (rate * rate);
        self.fraction += coupled + base * coupling.shift / w;
        // It may shrink too: by whole bytes towards minus infinity.
        let whole = libm::floor(self.fraction);
        self.fraction -= whole;
        window.cwnd = window.cwnd.saturating_add_signed(whole as i64).max(view.mss);
    }

    fn on_loss(&mut self, view: &View, window: &mut Window) {
        self.lost(view);
        window.halve(view);
    }

    fn on_timeout(&mut self, view: &View, window: &mut Window) {
        self.lost(view);
        window.halve(view);
        window.cwnd = view.mss;
    }
}
