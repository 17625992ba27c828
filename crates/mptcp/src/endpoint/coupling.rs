//! What coupled congestion controls see of one another.

use super::Endpoint;
use crate::congestion::Coupling;
use crate::subflow::State;
use wire::Payload;

impl<P: Payload> Endpoint<P> {
    /// What subflow `i` needs of all subflows for an acknowledgement up to `ack`, if it asks (RFC 6356,
    /// section 3.1).
    pub(super) fn coupling(&self, i: usize, ack: u64) -> Coupling {
        if !self.subflows[i].sender.asks_for_coupling(ack) {
            return Coupling::default();
        }
        let (mut total, mut best, mut sum) = (0, 0.0_f64, 0.0);
        for subflow in self.subflows.iter().filter(|s| s.state == State::Established) {
            let window = subflow.sender.coupled_window();
            let rtt = subflow.sender.rtt.srtt().as_secs_f64().max(1e-6);
            total += window;
            best = best.max(window as f64 / (rtt * rtt));
            sum += window as f64 / rtt;
        }
        let alpha = if sum > 0.0 { total as f64 * best / (sum * sum) } else { 1.0 };
        Coupling { total_cwnd: total, alpha }
    }
}
