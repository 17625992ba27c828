//! Energy-aware linked increases, after Le, Hong, Razzaque, Lee, Jung, "ecMTCP: An Energy-Aware
//! Congestion Control Algorithm for Multipath TCP", IEEE Communications Letters 16(2), 2012.
//!
//! The paper moves traffic away from congested paths and from paths with a high energy cost, and
//! stays fair to TCP. Its formula was not available: this is Tandem's own design with these
//! properties, derived in `docs/design/ecmtcp.md`.

use super::{CongestionControl, CoupledSubflow, Coupling, SubflowView, Window};

/// Linked increases (RFC 6356, section 3.1) weighted by the energy cost of a byte.
///
/// With the weight `g = lowest cost / own cost`, an acknowledged segment grows the window by
/// `min(alpha g / sum w, 1 / w)`, in segments. With equal costs this is LIA.
#[derive(Debug, Clone, Default)]
pub(crate) struct EcMtcp {
    /// Increase of less than a byte, carried to the next acknowledgement.
    fraction: f64,
}

/// The weights of a connection's subflows.
struct Weights {
    lowest_cost: f64,
}

impl Weights {
    fn new(coupling: &Coupling) -> Self {
        let costs = coupling.subflows().iter().filter_map(|s| s.energy_cost);
        Self { lowest_cost: costs.fold(f64::MAX, f64::min) }
    }

    /// From 0 to 1, the weight of the cheapest path. An unknown cost counts as the lowest.
    fn of(&self, subflow: &CoupledSubflow) -> f64 {
        subflow.energy_cost.map_or(1.0, |cost| self.lowest_cost / cost)
    }

    /// Aggressiveness: `sum w * max(w / (g rtt²)) / (sum w/rtt)²`.
    fn alpha(&self, coupling: &Coupling) -> f64 {
        let gain = |s: &CoupledSubflow| s.cwnd as f64 / (self.of(s) * s.srtt_secs * s.srtt_secs);
        let best = coupling.subflows().iter().map(gain).fold(0.0, f64::max);
        let sum = coupling.total_rate();
        if sum > 0.0 { coupling.total_cwnd() as f64 * best / (sum * sum) } else { 0.0 }
    }
}

impl CongestionControl for EcMtcp {
    fn on_ack(&mut self, acked: u64, view: &SubflowView, coupling: &Coupling, window: &mut Window) {
        let acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
        let weights = Weights::new(coupling);
        let own = coupling.own().map_or(1.0, |own| weights.of(own));
        let base = acked as f64 * view.mss as f64;
        let total = coupling.total_cwnd().max(window.cwnd) as f64;
        let coupled = weights.alpha(coupling) * own * base / total;
        self.fraction += coupled.min(base / window.cwnd as f64);
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

    fn uses_energy_costs(&self) -> bool {
        true
    }
}
