//! CUBIC: RFC 9438.

use super::{CongestionControl, Coupling, View, Window};
use units::{Duration, Instant};

/// RFC 9438, section 4.6.
const BETA: f64 = 0.7;
/// RFC 9438, section 5.1, in segments per second cubed.
const C: f64 = 0.4;

/// Grows along a cubic curve of the time since the last loss.
#[derive(Debug, Clone, Copy, Default)]
struct Curve {
    /// Window just before the last reduction, in segments.
    w_max: f64,
    /// Time from the epoch's start to the plateau, in seconds.
    k: f64,
    /// What Reno would have, in segments (section 4.3).
    w_est: f64,
    /// Window when the threshold was last set, in segments.
    cwnd_prior: f64,
    /// When the present congestion avoidance began, later by what of it did not need the window.
    epoch: Option<Instant>,
}

/// The algorithm.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cubic {
    /// As Linux has it, and not as RFC 9438 has: the estimate of Reno's window never grows by a whole
    /// segment a round trip, and windows are counted in whole segments. At windows of ten segments the
    /// two together cost some fifth of the throughput.
    as_linux: bool,
    curve: Curve,
    /// Before the last reduction, should that turn out to be wrong (section 4.9).
    before: Curve,
    /// The last acknowledgement.
    seen: Instant,
    /// Increase not yet a whole byte.
    fraction: f64,
}

impl Cubic {
    pub(super) fn new(as_linux: bool) -> Self {
        Self { as_linux, ..Self::default() }
    }

    fn reduce(&mut self, view: &View, window: &mut Window) {
        self.before = self.curve;
        let curve = &mut self.curve;
        let cwnd = window.cwnd as f64 / view.mss as f64;
        curve.cwnd_prior = cwnd;
        // Fast convergence, section 4.7.
        curve.w_max = if cwnd < curve.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        let flight = view.in_flight.min(window.cwnd) as f64;
        window.ssthresh = ((flight * BETA) as u64).max(2 * view.mss);
        if self.as_linux {
            window.ssthresh -= window.ssthresh % view.mss;
        }
        curve.epoch = None;
        self.fraction = 0.0;
    }

    /// The curve's time stands still while the window is not needed (sections 4.2 and 5.8).
    fn stand_still(&mut self, span: Duration) {
        if let Some(epoch) = &mut self.curve.epoch {
            *epoch += span;
        }
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, acked: u64, view: &View, _: &Coupling, window: &mut Window) {
        // Acknowledgements come at least once a round trip: what is longer was idle.
        let idle = view.now.since(self.seen).saturating_sub(view.srtt);
        self.stand_still(idle);
        self.seen = view.now;
        let acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
        let curve = &mut self.curve;
        let mss = view.mss as f64;
        let cwnd = window.cwnd as f64 / mss;
        let segments = acked as f64 / mss;
        if curve.epoch.is_none() {
            curve.w_est = cwnd;
            curve.w_max = curve.w_max.max(cwnd);
            // Section 4.2, Eq. 2.
            curve.k = libm::cbrt((curve.w_max - cwnd) / C);
        }
        let epoch = *curve.epoch.get_or_insert(view.now);
        let t = view.now.since(epoch).as_secs_f64();
        let cube = |t: f64| {
            let d = t - curve.k;
            C * d * d * d + curve.w_max
        };
        // Section 4.3: alpha is 3(1-b)/(1+b) until the estimate reaches the window before the loss, then 1.
        let alpha = if curve.w_est >= curve.cwnd_prior && !self.as_linux {
            1.0
        } else {
            3.0 * (1.0 - BETA) / (1.0 + BETA)
        };
        curve.w_est += alpha * segments / cwnd;
        let estimate = if self.as_linux { libm::floor(curve.w_est) } else { curve.w_est };
        let increase = if cube(t) < estimate {
            (estimate - cwnd).max(0.0)
        } else {
            // Sections 4.4 and 4.5: towards where the curve is a round trip from now.
            let target = cube(t + view.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            (target - cwnd) / cwnd * segments
        };
        self.fraction += increase * mss;
        let whole = self.fraction as u64;
        self.fraction -= whole as f64;
        window.cwnd += whole;
    }

    fn on_loss(&mut self, view: &View, window: &mut Window) {
        self.reduce(view, window);
    }

    fn on_timeout(&mut self, view: &View, window: &mut Window) {
        self.reduce(view, window);
        window.cwnd = view.mss;
        // Section 4.8: the next congestion avoidance starts on its own plateau, K = 0.
        self.curve.w_max = 0.0;
    }

    fn on_unused(&mut self, view: &View) {
        let span = view.now.since(self.seen);
        self.stand_still(span);
        self.seen = view.now;
    }

    fn on_undo(&mut self, overtaken: bool) {
        // RFC 9438, section 4.9.2: above the old window the newer curve is the better one.
        if !overtaken {
            self.curve = self.before;
        }
    }
}
