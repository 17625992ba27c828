//! Scalable TCP (Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks",
//! 2003).

use mptcp::congestion::{
    CongestionControl, CongestionFactory, CongestionSettings, Coupling, SubflowView, Window,
};

/// Acknowledged bytes for each byte by which the window grows.
const ACKED_BYTES_PER_GROWN_BYTE: u64 = 100;

/// Grows the window by a hundredth of the acknowledged bytes, and reduces it by an eighth on loss.
///
/// A coupled algorithm would return true from `is_coupled` and read the windows, round-trip times
/// and rates of the connection's other subflows from `Coupling`.
#[derive(Debug, Clone, Default)]
pub struct Scalable {
    /// Acknowledged bytes that have not yet grown the window.
    bytes_acked: u64,
}

impl Scalable {
    fn reduce(view: &SubflowView, window: &mut Window) {
        let flight = view.in_flight.min(window.cwnd);
        window.ssthresh = (flight - flight / 8).max(2 * view.mss);
    }
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, acked: u64, _view: &SubflowView, _coupling: &Coupling, window: &mut Window) {
        // `slow_start` doubles the window up to the threshold; the bytes beyond are ours to use.
        self.bytes_acked += window.slow_start(acked);
        window.cwnd += self.bytes_acked / ACKED_BYTES_PER_GROWN_BYTE;
        self.bytes_acked %= ACKED_BYTES_PER_GROWN_BYTE;
    }

    fn on_loss(&mut self, view: &SubflowView, window: &mut Window) {
        // Set the threshold only: the sender brings the window down to it during recovery.
        Self::reduce(view, window);
    }

    fn on_timeout(&mut self, view: &SubflowView, window: &mut Window) {
        Self::reduce(view, window);
        window.cwnd = view.mss;
    }
}

/// Builds a [`Scalable`] for each subflow.
#[derive(Debug)]
pub struct ScalableFactory;

impl CongestionFactory for ScalableFactory {
    fn name(&self) -> &'static str {
        "scalable"
    }

    fn build(&self, _settings: &CongestionSettings) -> Box<dyn CongestionControl> {
        Box::<Scalable>::default()
    }
}
