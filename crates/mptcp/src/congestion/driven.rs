//! A subflow whose receiver says how fast it is to send (MPTCP-rec; see [`rec`](crate::rec)).

use super::{Algorithm, CongestionControl, Coupling, View, Window};
use units::Duration;

/// So many round trips' worth of the rate may be in flight: the rate is what bounds, and this only what goes
/// on where no acknowledgement comes.
const ROUND_TRIPS: u64 = 2;
const LEAST_SEGMENTS: u64 = 4;

/// Sends at the rate that it was told, and keeps the algorithm of before for when nobody tells it any more.
#[derive(Debug, Clone)]
pub(crate) struct Driven {
    /// Bytes per second.
    rate: u64,
    before: Algorithm,
}

impl Driven {
    pub(super) fn new(before: Algorithm) -> Self {
        Self { rate: 0, before }
    }
    pub(super) fn into_before(self) -> Algorithm {
        self.before
    }
    pub(super) fn before(&self) -> &Algorithm {
        &self.before
    }
    /// What was told.
    pub(super) fn set_rate(&mut self, rate: u64) {
        self.rate = rate;
    }

    /// The rate in bytes per second: a segment each round trip at least, or it would never be heard that
    /// things are better.
    pub(super) fn rate(&self, mss: u64, srtt: Duration) -> u64 {
        let least = u128::from(mss) * 1_000_000_000 / u128::from(srtt.as_nanos().max(1));
        self.rate.max(u64::try_from(least).unwrap_or(u64::MAX))
    }

    pub(super) fn window(&self, mss: u64, srtt: Duration) -> u64 {
        let bytes = u128::from(self.rate) * u128::from(srtt.as_nanos()) / 1_000_000_000;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX / 4);
        (ROUND_TRIPS * bytes).max(LEAST_SEGMENTS * mss)
    }
}

impl CongestionControl for Driven {
    fn on_ack(&mut self, _: u64, view: &View, _: &Coupling, window: &mut Window) {
        window.cwnd = self.window(view.mss, view.srtt);
        window.ssthresh = window.cwnd;
    }

    fn on_loss(&mut self, _: &View, window: &mut Window) {
        // What losses mean is for the receiver to say.
        window.ssthresh = window.cwnd;
    }

    fn on_timeout(&mut self, view: &View, window: &mut Window) {
        // Nothing comes back, not even what it says.
        window.ssthresh = self.window(view.mss, view.srtt);
        window.cwnd = view.mss;
    }
}
