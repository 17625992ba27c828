//! State of all subflows that coupled congestion controls need.

use super::Endpoint;
use crate::congestion::{CoupledSubflow, Coupling};
use crate::subflow::Subflow;
use units::Instant;
use wire::Payload;

impl<P: Payload> Endpoint<P> {
    /// Sets the energy cost of a byte on each path, in joules, by path index. Paths beyond the end
    /// of the slice use its last element; an empty slice makes all costs unknown. A cost that is
    /// not a positive number counts as unknown.
    ///
    /// Congestion controls read it if they
    /// [use energy costs](crate::congestion::CongestionControl::uses_energy_costs).
    pub fn set_energy_costs(&mut self, joules_per_byte: &[f64]) {
        self.energy_costs.clear();
        self.energy_costs.extend_from_slice(joules_per_byte);
    }

    /// Returns the subflows that the algorithm of subflow `i` needs for an acknowledgement up to
    /// `ack`: itself and the others in use. The window that an idle subflow once had says nothing
    /// about the path any more (RFC 5681, section 4.1).
    ///
    /// Give the result back with [`recycle_coupling`](Self::recycle_coupling): the next call then
    /// allocates nothing.
    pub(super) fn coupling(&mut self, now: Instant, i: usize, ack: u64) -> Coupling {
        if !self.subflows[i].sender().needs_coupling(ack) {
            return Coupling::default();
        }
        let mut coupling = core::mem::take(&mut self.coupling);
        let own = self.subflows[i].path();
        let is_used = |s: &&Subflow<P>| s.is_established() && (s.path() == own || !s.sender().is_idle(now));
        coupling.refill(own, self.subflows.iter().filter(is_used).map(|s| self.coupled(s)));
        coupling
    }

    /// Keeps the memory of `coupling` for the next one.
    pub(super) fn recycle_coupling(&mut self, coupling: Coupling) {
        if !coupling.subflows().is_empty() {
            self.coupling = coupling;
        }
    }

    fn coupled(&self, subflow: &Subflow<P>) -> CoupledSubflow {
        let sender = subflow.sender();
        let (cwnd, srtt_secs) = (sender.coupled_window(), sender.srtt().as_secs_f64().max(1e-6));
        CoupledSubflow {
            path: subflow.path(),
            cwnd,
            srtt_secs,
            rate: cwnd as f64 / srtt_secs,
            energy_cost: self.energy_cost(subflow.path().index()),
            shared_value: sender.shared_value(),
        }
    }

    fn energy_cost(&self, path: usize) -> Option<f64> {
        let cost = *self.energy_costs.get(path).or(self.energy_costs.last())?;
        (cost.is_finite() && cost > 0.0).then_some(cost)
    }
}
