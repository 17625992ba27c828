//! State of all subflows that coupled congestion control needs.

use super::Endpoint;
use crate::congestion::{Coupling, Needs};
use crate::subflow::Subflow;
use wire::Payload;

impl<P: Payload> Endpoint<P> {
    /// Sets the energy cost of a byte on each path, in joules, by path index. Paths beyond the end
    /// of the slice use its last element; an empty slice makes all costs equal. A cost that is not
    /// a positive number counts as the lowest.
    ///
    /// Only [`CongestionKind::EcMtcp`](crate::CongestionKind::EcMtcp) uses it.
    pub fn set_energy_costs(&mut self, joules_per_byte: &[f64]) {
        self.energy_costs.clear();
        self.energy_costs.extend_from_slice(joules_per_byte);
    }

    /// State of all subflows that the algorithm of subflow `i` needs for an acknowledgement up to
    /// `ack`.
    pub(super) fn coupling(&self, i: usize, ack: u64) -> Coupling {
        let sender = self.subflows[i].sender();
        if !sender.needs_coupling(ack) {
            return Coupling::default();
        }
        match sender.coupling_inputs() {
            Needs::Nothing => Coupling::default(),
            Needs::Alpha => self.linked(),
            Needs::Costs => self.linked_by_cost(i),
            Needs::Rates => self.rates(),
            Needs::Shift => self.opportunistic(i),
        }
    }

    /// Window in bytes and round-trip time in seconds of each established subflow.
    fn windows(&self) -> impl Iterator<Item = (&Subflow<P>, u64, f64)> {
        self.subflows.iter().filter(|s| s.is_established()).map(|subflow| {
            let rtt = subflow.sender().srtt().as_secs_f64().max(1e-6);
            (subflow, subflow.sender().coupled_window(), rtt)
        })
    }

    /// Linked increases (RFC 6356, section 3.1).
    fn linked(&self) -> Coupling {
        let (mut total, mut best, mut sum) = (0, 0.0_f64, 0.0);
        for (_, window, rtt) in self.windows() {
            total += window;
            best = best.max(window as f64 / (rtt * rtt));
            sum += window as f64 / rtt;
        }
        let alpha = if sum > 0.0 { total as f64 * best / (sum * sum) } else { 1.0 };
        Coupling { total_cwnd: total, alpha, ..Coupling::default() }
    }

    /// Linked increases weighted by the energy cost of each path (see `congestion/ecmtcp.rs`).
    fn linked_by_cost(&self, i: usize) -> Coupling {
        let lowest =
            self.windows().filter_map(|(s, ..)| self.cost(s.path().index())).fold(f64::MAX, f64::min);
        let thrift = |path: usize| self.cost(path).map_or(1.0, |cost| lowest / cost);
        let (mut total, mut best, mut sum) = (0, 0.0_f64, 0.0);
        for (subflow, window, rtt) in self.windows() {
            total += window;
            best = best.max(window as f64 / (thrift(subflow.path().index()) * rtt * rtt));
            sum += window as f64 / rtt;
        }
        let alpha = if sum > 0.0 { total as f64 * best / (sum * sum) } else { 1.0 };
        let thrift = thrift(self.subflows[i].path().index());
        Coupling { total_cwnd: total, alpha, thrift, ..Coupling::default() }
    }

    fn cost(&self, path: usize) -> Option<f64> {
        let cost = *self.energy_costs.get(path).or(self.energy_costs.last())?;
        (cost.is_finite() && cost > 0.0).then_some(cost)
    }

    fn rates(&self) -> Coupling {
        let (mut total_rate, mut best_rate) = (0.0, 0.0_f64);
        for (_, window, rtt) in self.windows() {
            total_rate += window as f64 / rtt;
            best_rate = best_rate.max(window as f64 / rtt);
        }
        Coupling { total_rate, best_rate, ..Coupling::default() }
    }

    /// Shift of the window between best and largest subflows (see `congestion/olia.rs`).
    fn opportunistic(&self, i: usize) -> Coupling {
        let (mut total_rate, mut largest, mut best) = (0.0, 0, 0.0_f64);
        let quality = |s: &Subflow<P>, rtt: f64| s.sender().bytes_between_losses() as f64 / (rtt * rtt);
        for (subflow, window, rtt) in self.windows() {
            total_rate += window as f64 / rtt;
            largest = largest.max(window);
            best = best.max(quality(subflow, rtt));
        }
        let (mut count, mut in_m, mut in_b_only) = (0, 0, 0);
        let mut shift = Coupling::default().shift;
        let mut own = (false, false);
        for (subflow, window, rtt) in self.windows() {
            let m = window == largest;
            let b = quality(subflow, rtt) >= best;
            count += 1;
            in_m += u32::from(m);
            in_b_only += u32::from(b && !m);
            if subflow.path() == self.subflows[i].path() {
                own = (m, b);
            }
        }
        if in_b_only > 0 {
            shift = match own {
                (true, _) => -1.0 / f64::from(count * in_m),
                (false, true) => 1.0 / f64::from(count * in_b_only),
                (false, false) => 0.0,
            };
        }
        Coupling { total_rate, shift, ..Coupling::default() }
    }
}
