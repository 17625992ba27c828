//! Opportunistic linked increases: Khalili, Gast, Popovic, Le Boudec, "MPTCP is not
//! Pareto-optimal", IEEE/ACM Transactions on Networking 21(5), 2013;
//! draft-khalili-mptcp-congestion-control-05, section 3.

use super::{CongestionControl, CoupledSubflow, Coupling, SubflowView, Window};

/// Balances congestion among the best paths and probes the others.
///
/// With windows in segments, an acknowledgement on path `r` changes the window by
///
/// ```text
/// (w_r / rtt_r²) / (sum w_p / rtt_p)² + a_r / w_r
/// ```
///
/// The first term is Kelly and Voice's increase, compensated for different round trips. The second
/// moves window between paths; see [`transfer`]. A loss halves the window. The draft allows a
/// threshold of one segment with several paths; here it is at least two, as for all algorithms.
#[derive(Debug, Clone, Default)]
pub(crate) struct Olia {
    /// Offset acknowledged at the last loss.
    last_loss_una: u64,
    /// Bytes acknowledged between the last two losses.
    last_interval: u64,
    /// Increase of less than a byte, carried to the next acknowledgement.
    fraction: f64,
}

impl Olia {
    /// `l` of the draft in bytes, shared with the other subflows: the larger of the bytes
    /// acknowledged between the last two losses and of those since the last. `1 / l` estimates the
    /// loss rate.
    fn loss_interval(&self, una: u64) -> u64 {
        self.last_interval.max(una.saturating_sub(self.last_loss_una))
    }

    fn end_interval(&mut self, view: &SubflowView) {
        self.last_interval = view.una.saturating_sub(self.last_loss_una);
        self.last_loss_una = view.una;
    }
}

/// `a_r` of the draft, in segments per round trip: the window that path `r` takes from other paths,
/// or gives to them if negative.
///
/// The best paths have the highest `l / rtt²`. If some of them do not have the largest window,
/// these share a gain of `1/n`, and the paths with the largest window share the same loss; `n` is
/// the number of paths. Otherwise no window moves.
fn transfer(coupling: &Coupling) -> f64 {
    let quality = |s: &CoupledSubflow| s.shared_value as f64 / (s.srtt_secs * s.srtt_secs);
    let largest = coupling.subflows().iter().map(|s| s.cwnd).max().unwrap_or(0);
    let best = coupling.subflows().iter().map(quality).fold(0.0, f64::max);
    let class = |s: &CoupledSubflow| (s.cwnd == largest, quality(s) >= best);
    let count_of = |wanted: (bool, bool)| coupling.subflows().iter().filter(|s| class(s) == wanted).count();
    let count = coupling.subflows().len();
    let with_largest = count_of((true, true)) + count_of((true, false));
    let best_only = count_of((false, true));
    if best_only == 0 {
        return 0.0;
    }
    match coupling.own().map(class) {
        Some((true, _)) => -1.0 / (count * with_largest) as f64,
        Some((false, true)) => 1.0 / (count * best_only) as f64,
        Some((false, false)) | None => 0.0,
    }
}

impl CongestionControl for Olia {
    fn on_ack(&mut self, acked: u64, view: &SubflowView, coupling: &Coupling, window: &mut Window) {
        let acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
        let (w, mss) = (window.cwnd as f64, view.mss as f64);
        let rtt = view.srtt.as_secs_f64().max(1e-6);
        let base = acked as f64 * mss;
        let rate = coupling.total_rate().max(w / rtt);
        let coupled = base * (w / (rtt * rtt)) / (rate * rate);
        self.fraction += coupled + base * transfer(coupling) / w;
        // The window may shrink too: round towards minus infinity.
        let whole = libm::floor(self.fraction);
        self.fraction -= whole;
        window.cwnd = window.cwnd.saturating_add_signed(whole as i64).max(view.mss);
        // Stay out of slow start.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    fn on_loss(&mut self, view: &SubflowView, window: &mut Window) {
        self.end_interval(view);
        window.halve(view);
    }

    fn on_timeout(&mut self, view: &SubflowView, window: &mut Window) {
        self.end_interval(view);
        window.halve(view);
        window.cwnd = view.mss;
    }

    fn is_coupled(&self) -> bool {
        true
    }

    fn shared_value(&self, una: u64) -> u64 {
        self.loss_interval(una)
    }
}
