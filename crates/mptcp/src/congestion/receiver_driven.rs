//! Sending at the rate that the receiver asks for (MPTCP-rec; see [`rec`](crate::rec)).

use super::{CongestionControl, Coupling, SubflowView, Window};
use units::Duration;

/// Window in round trips of the rate. The rate is the limit; the window only bounds the data sent
/// while no acknowledgement arrives.
const WINDOW_ROUND_TRIPS: u64 = 2;
const MIN_WINDOW_SEGMENTS: u64 = 4;

/// Replaces a subflow's own algorithm while the receiver reports a rate.
#[derive(Debug, Clone)]
pub(super) struct ReceiverDriven {
    /// Rate of the last report, in bytes per second.
    reported_rate: u64,
}

impl ReceiverDriven {
    pub(super) fn new(reported_rate: u64) -> Self {
        Self { reported_rate }
    }

    /// Returns the rate to send at, in bytes per second: at least a segment per round trip, so that
    /// the receiver can notice when the path gets better.
    pub(super) fn rate(&self, mss: u64, srtt: Duration) -> u64 {
        let least = u128::from(mss) * 1_000_000_000 / u128::from(srtt.as_nanos().max(1));
        self.reported_rate.max(u64::try_from(least).unwrap_or(u64::MAX))
    }

    pub(super) fn window(&self, mss: u64, srtt: Duration) -> u64 {
        let bytes = u128::from(self.reported_rate) * u128::from(srtt.as_nanos()) / 1_000_000_000;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX / 4);
        (WINDOW_ROUND_TRIPS * bytes).max(MIN_WINDOW_SEGMENTS * mss)
    }
}

impl CongestionControl for ReceiverDriven {
    fn on_ack(&mut self, _: u64, view: &SubflowView, _: &Coupling, window: &mut Window) {
        window.cwnd = self.window(view.mss, view.srtt);
        window.ssthresh = window.cwnd;
    }

    fn on_loss(&mut self, _: &SubflowView, window: &mut Window) {
        // The receiver judges losses and lowers its rate.
        window.ssthresh = window.cwnd;
    }

    fn on_timeout(&mut self, view: &SubflowView, window: &mut Window) {
        // Nothing arrives from the receiver, no report either.
        window.ssthresh = self.window(view.mss, view.srtt);
        window.cwnd = view.mss;
    }
}
