//! Fully coupled windows: algorithm COUPLED of Wischik, Raiciu, Greenhalgh, Handley, "Design,
//! implementation and evaluation of congestion control for multipath TCP", NSDI 2011, section 2.2,
//! after Kelly, Voice, "Stability of end-to-end algorithms for joint routing and rate control", ACM
//! SIGCOMM CCR 35(2), 2005.

use super::{CongestionControl, Coupling, SubflowView, Window};

/// Moves all data to the least congested paths.
///
/// With windows in segments, an acknowledged segment grows the window by `1 / sum w`, and a loss
/// shrinks it by `sum w / 2`. Over one path this is NewReno. The authors' experiments keep a window
/// of one segment; here the threshold is at least two, as for all algorithms.
#[derive(Debug, Clone, Default)]
pub(crate) struct FullyCoupled {
    /// Windows of the other subflows at the last coupled acknowledgement, in bytes.
    others: u64,
    /// Increase of less than a byte, carried to the next acknowledgement.
    fraction: f64,
}

impl FullyCoupled {
    fn reduce(&self, view: &SubflowView, window: &mut Window) {
        let flight = view.in_flight.min(window.cwnd);
        window.ssthresh = flight.saturating_sub(u64::midpoint(flight, self.others)).max(2 * view.mss);
    }
}

impl CongestionControl for FullyCoupled {
    fn on_ack(&mut self, acked: u64, view: &SubflowView, coupling: &Coupling, window: &mut Window) {
        let acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
        self.others = coupling.total_cwnd() - coupling.own().map_or(0, |own| own.cwnd);
        let total = (self.others + window.cwnd) as f64;
        self.fraction += acked as f64 * view.mss as f64 / total;
        window.grow(&mut self.fraction);
    }

    fn on_loss(&mut self, view: &SubflowView, window: &mut Window) {
        self.reduce(view, window);
    }

    fn on_timeout(&mut self, view: &SubflowView, window: &mut Window) {
        self.reduce(view, window);
        window.cwnd = view.mss;
    }

    fn is_coupled(&self) -> bool {
        true
    }
}
