//! State of all subflows of a connection, for coupled congestion controls.

use crate::PathId;

/// One subflow in use, as the algorithms of its connection see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoupledSubflow {
    /// Path of the subflow.
    pub path: PathId,
    /// Congestion window in bytes; `ssthresh` during fast recovery (RFC 6356, section 3).
    pub cwnd: u64,
    /// Smoothed round-trip time in seconds, at least a microsecond.
    pub srtt_secs: f64,
    /// `cwnd / srtt`, in bytes per second.
    pub rate: f64,
    /// Energy cost of a byte on the path, in joules and above 0; `None` if unknown.
    pub energy_cost: Option<f64>,
    /// [`CongestionControl::shared_value`](super::CongestionControl::shared_value) of its
    /// algorithm.
    pub shared_value: u64,
}

/// The established subflows of a connection that are in use: data is in flight, or was sent within
/// the last retransmission timeout.
///
/// Empty for an algorithm that is not [coupled](super::CongestionControl::is_coupled), and for an
/// acknowledgement within slow start, where no coupled increase takes place.
#[derive(Debug, Clone, Default)]
pub struct Coupling {
    own: usize,
    subflows: Vec<CoupledSubflow>,
}

impl Coupling {
    /// Couples `subflows`, of which the algorithm's own one runs over `path`.
    pub fn new(path: PathId, subflows: Vec<CoupledSubflow>) -> Self {
        let mut coupling = Self { own: 0, subflows };
        coupling.set_own(path);
        coupling
    }

    /// Replaces the subflows, without a new allocation once there have been as many.
    pub(crate) fn refill(&mut self, path: PathId, subflows: impl Iterator<Item = CoupledSubflow>) {
        self.subflows.clear();
        self.subflows.extend(subflows);
        self.set_own(path);
    }

    fn set_own(&mut self, path: PathId) {
        self.own = self.subflows.iter().position(|s| s.path == path).unwrap_or(usize::MAX);
    }

    /// Returns all subflows in use, the own one included, in the order of their paths.
    pub fn subflows(&self) -> &[CoupledSubflow] {
        &self.subflows
    }

    /// Returns the algorithm's own subflow, unless the coupling is empty.
    pub fn own(&self) -> Option<&CoupledSubflow> {
        self.subflows.get(self.own)
    }

    /// Returns the sum of the congestion windows, in bytes.
    pub fn total_cwnd(&self) -> u64 {
        self.subflows.iter().map(|s| s.cwnd).sum()
    }

    /// Returns the sum of the rates, in bytes per second.
    pub fn total_rate(&self) -> f64 {
        self.subflows.iter().map(|s| s.rate).sum()
    }

    /// Returns the highest rate, in bytes per second; 0 without subflows.
    pub fn best_rate(&self) -> f64 {
        self.subflows.iter().map(|s| s.rate).fold(0.0, f64::max)
    }
}
