//! CUBIC: RFC 9438.

use super::{CongestionControl, Coupling, View, Window};
use units::Time;

/// RFC 9438, section 4.6.
const BETA: f64 = 0.7;
/// RFC 9438, section 5.1, in segments per second cubed.
const C: f64 = 0.4;

/// Grows along a cubic curve of the time since the last loss.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cubic {
    /// Window just before the last reduction, in segments.
    w_max: f64,
    /// Time from the epoch's start to the plateau, in seconds.
    k: f64,
    /// What Reno would have, in segments (section 4.3).
    w_est: f64,
    /// Window when the threshold was last set, in segments.
    cwnd_prior: f64,
    /// When the present congestion avoidance began.
    epoch: Option<Time>,
    /// Increase not yet a whole byte.
    fraction: f64,
}

impl Cubic {
    fn reduce(&mut self, view: &View, window: &mut Window) {
        let mss = view.mss as f64;
        let cwnd = window.cwnd as f64 / mss;
        self.cwnd_prior = cwnd;
        // Fast convergence, section 4.7.
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        let flight = view.in_flight.min(window.cwnd) as f64;
        window.ssthresh = ((flight * BETA) as u64).max(2 * view.mss);
        self.epoch = None;
        self.fraction = 0.0;
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, acked: u64, view: &View, _: &Coupling, window: &mut Window) {
        let acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
        let mss = view.mss as f64;
        let cwnd = window.cwnd as f64 / mss;
        let segments = acked as f64 / mss;
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.w_est = cwnd;
            if self.w_max < cwnd {
                self.w_max = cwnd;
            }
            // Section 4.2, Eq. 2.
            self.k = libm::cbrt((self.w_max - cwnd) / C);
            view.now
        });
        let t = view.now.since(epoch).as_secs_f64();
        let cube = |t: f64| {
            let d = t - self.k;
            C * d * d * d + self.w_max
        };
        // Section 4.3: alpha is 3(1-b)/(1+b) until the estimate reaches the window before the loss, then 1.
        let alpha = if self.w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - BETA) / (1.0 + BETA) };
        self.w_est += alpha * segments / cwnd;
        let increase = if cube(t) < self.w_est {
            (self.w_est - cwnd).max(0.0)
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
        self.w_max = 0.0;
    }
}
