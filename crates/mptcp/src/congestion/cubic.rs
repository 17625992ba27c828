//! CUBIC: RFC 9438.

use super::{CongestionControl, CongestionSettings, Coupling, SubflowView, Window};
use units::{Duration, Instant};

/// Multiplicative decrease factor (RFC 9438, section 4.6).
const BETA: f64 = 0.7;
/// Scale of the curve, in segments per second cubed (RFC 9438, section 5.1).
const C: f64 = 0.4;
/// Acknowledged segments per segment of growth before the first loss, at most: 5 % a round trip
/// (Linux).
const SEGMENTS_PER_INCREMENT_BEFORE_LOSS: f64 = 20.0;

/// Time for which Linux uses a count of segments while the window stays the same.
const COUNT_LIFETIME: Duration = Duration::from_micros(31_250);
/// Age of a stage from which on round trips are sampled (Linux).
const MIN_STAGE_AGE: Duration = Duration::from_secs(1);

/// The cubic curve of one congestion avoidance stage.
#[derive(Debug, Clone, Copy, Default)]
struct Curve {
    /// Window just before the last reduction, in segments.
    w_max: f64,
    /// Time from the epoch's start to the plateau, in seconds.
    k: f64,
    /// Estimate of Reno's window, in segments (section 4.3).
    w_est: f64,
    /// Window when the threshold was last set, in segments.
    cwnd_prior: f64,
    /// A loss has shown how much the path carries.
    has_seen_loss: bool,
    /// Start of the stage, moved forward by the time in which the window did not limit sending.
    epoch: Option<Instant>,
}

impl Curve {
    /// Returns the window `t` seconds after the epoch, in segments (section 4.2, Eq. 1).
    fn at(&self, t: f64) -> f64 {
        let d = t - self.k;
        C * d * d * d + self.w_max
    }

    /// Begins a stage at a window of `cwnd` segments, unless one is under way; returns its start.
    fn begin(&mut self, now: Instant, cwnd: f64) -> Instant {
        if self.epoch.is_none() {
            self.w_est = cwnd;
            self.w_max = self.w_max.max(cwnd);
            // Section 4.2, Eq. 2.
            self.k = libm::cbrt((self.w_max - cwnd) / C);
        }
        *self.epoch.get_or_insert(now)
    }
}

/// Grows the window along a cubic curve of the time since the last loss.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cubic {
    /// Count as Linux does: whole segments, and an estimate of Reno's window that never grows by a
    /// whole segment per round trip.
    linux_counting: bool,
    /// Follow the curve as Linux does (`tcp_cubic.c`, `bictcp_update`).
    linux_curve: bool,
    curve: Curve,
    /// Curve before the last reduction, restored if that was spurious (section 4.9).
    previous_curve: Curve,
    last_ack: Instant,
    /// Lowest round trip since the start or the last timeout.
    delay_min: Duration,
    /// Increase of less than a byte, carried to the next acknowledgement.
    fraction: f64,
    growth: LinuxGrowth,
}

/// Growth by whole segments as in Linux (`tcp_cubic.c`, `bictcp_update`; `tcp_cong.c`,
/// `tcp_cong_avoid_ai`).
#[derive(Debug, Clone, Copy, Default)]
struct LinuxGrowth {
    /// Acknowledged segments per segment of growth, with the window and the time for which it was
    /// computed.
    count: f64,
    window: f64,
    at: Instant,
    /// Acknowledged segments since the window last grew.
    credit: f64,
}

impl LinuxGrowth {
    /// The count still applies: the window is the same, and it is recent.
    fn is_current(&self, now: Instant, window: f64) -> bool {
        self.count > 0.0 && self.window == window && now.since(self.at) <= COUNT_LIFETIME
    }

    fn set_count(&mut self, now: Instant, window: f64, count: f64) {
        (self.count, self.window, self.at) = (count, window, now);
    }

    /// Returns the growth for `segments` acknowledged ones, in segments.
    fn take(&mut self, segments: f64) -> f64 {
        let mut grown = 0.0;
        // Credit of a higher count is worth one segment.
        if self.credit >= self.count {
            (self.credit, grown) = (0.0, 1.0);
        }
        self.credit += segments;
        let whole = libm::floor(self.credit / self.count);
        self.credit -= whole * self.count;
        grown + whole
    }

    /// The window was reduced.
    fn reset(&mut self) {
        *self = Self::default();
    }
}

impl Cubic {
    pub(super) fn new(settings: &CongestionSettings) -> Self {
        Self {
            linux_counting: settings.linux_counting,
            linux_curve: settings.linux_curve,
            delay_min: Duration::MAX,
            ..Self::default()
        }
    }

    /// Takes the round-trip sample of an acknowledgement, except in the first second of a stage
    /// (`tcp_cubic.c`, `cubictcp_acked`).
    fn sample_delay(&mut self, view: &SubflowView) {
        let is_new = self.curve.epoch.is_some_and(|epoch| view.now.since(epoch) < MIN_STAGE_AGE);
        if let Some(rtt) = view.rtt.filter(|_| !is_new) {
            self.delay_min = self.delay_min.min(rtt);
        }
    }

    fn reduce(&mut self, view: &SubflowView, window: &mut Window) {
        self.previous_curve = self.curve;
        let curve = &mut self.curve;
        let cwnd = window.cwnd as f64 / view.mss as f64;
        curve.cwnd_prior = cwnd;
        curve.has_seen_loss = true;
        // Fast convergence, section 4.7.
        curve.w_max = if cwnd < curve.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        let base = if self.linux_curve { window.cwnd } else { view.in_flight.min(window.cwnd) };
        window.ssthresh = ((base as f64 * BETA) as u64).max(2 * view.mss);
        if self.linux_counting {
            window.ssthresh -= window.ssthresh % view.mss;
        }
        curve.epoch = None;
        self.fraction = 0.0;
        self.growth.reset();
    }

    /// Stops the curve's time for a span in which the window did not limit sending (sections 4.2
    /// and 5.8).
    fn skip(&mut self, span: Duration) {
        if let Some(epoch) = &mut self.curve.epoch {
            *epoch += span;
        }
    }

    /// Updates the estimate of Reno's window for `segments` acknowledged ones and returns it
    /// (section 4.3).
    fn reno_estimate(&mut self, segments: f64, cwnd: f64) -> f64 {
        let curve = &mut self.curve;
        // 3(1-b)/(1+b) until the estimate reaches the window before the loss, then 1.
        let alpha = if curve.w_est >= curve.cwnd_prior && !self.linux_counting {
            1.0
        } else {
            3.0 * (1.0 - BETA) / (1.0 + BETA)
        };
        curve.w_est += alpha * segments / cwnd;
        if self.linux_counting { libm::floor(curve.w_est) } else { curve.w_est }
    }

    /// Acknowledged segments per segment of growth as in Linux (`tcp_cubic.c`, `bictcp_update`), in
    /// whole segments: towards the curve's value one lowest round trip from now, at least by 5 % a
    /// round trip before the first loss, and by at most half a window.
    fn segments_per_increment(&self, t: f64, cwnd: f64, estimate: f64) -> f64 {
        let horizon = if self.delay_min == Duration::MAX { Duration::ZERO } else { self.delay_min };
        let target = libm::floor(self.curve.at(t + horizon.as_secs_f64()));
        let towards = |target: f64| libm::floor(cwnd / (target - cwnd));
        let mut count = if target > cwnd { towards(target) } else { 100.0 * cwnd };
        if !self.curve.has_seen_loss {
            count = count.min(SEGMENTS_PER_INCREMENT_BEFORE_LOSS);
        }
        if estimate > cwnd {
            count = count.min(towards(estimate));
        }
        count.max(2.0)
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, acked: u64, view: &SubflowView, _: &Coupling, window: &mut Window) {
        self.sample_delay(view);
        // Acknowledgements arrive at least once per round trip: any longer gap was idle time.
        let idle = view.now.since(self.last_ack).saturating_sub(view.srtt);
        self.skip(idle);
        self.last_ack = view.now;
        let acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
        let mss = view.mss as f64;
        let cwnd = window.cwnd as f64 / mss;
        let segments = acked as f64 / mss;
        let epoch = self.curve.begin(view.now, cwnd);
        let t = view.now.since(epoch).as_secs_f64();
        let estimate = self.reno_estimate(segments, cwnd);
        if self.linux_curve {
            let cwnd = libm::floor(cwnd);
            if !self.growth.is_current(view.now, cwnd) {
                let count = self.segments_per_increment(t, cwnd, estimate);
                self.growth.set_count(view.now, cwnd, count);
            }
            window.cwnd += self.growth.take(segments) as u64 * view.mss;
            return;
        }
        let increase = if self.curve.at(t) < estimate {
            (estimate - cwnd).max(0.0)
        } else {
            // Sections 4.4 and 4.5: towards the curve's value a round trip from now.
            let target = self.curve.at(t + view.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            (target - cwnd) / cwnd * segments
        };
        self.fraction += increase * mss;
        window.grow(&mut self.fraction);
    }

    fn on_loss(&mut self, view: &SubflowView, window: &mut Window) {
        self.reduce(view, window);
    }

    fn on_timeout(&mut self, view: &SubflowView, window: &mut Window) {
        self.reduce(view, window);
        window.cwnd = view.mss;
        // Section 4.8: the next congestion avoidance starts on its own plateau, K = 0.
        self.curve.w_max = 0.0;
        self.curve.has_seen_loss = false;
        self.delay_min = Duration::MAX;
    }

    fn on_limited_ack(&mut self, view: &SubflowView) {
        self.sample_delay(view);
        if self.linux_curve {
            // Only an idle sender stops the time of Linux's curve.
            self.skip(view.now.since(self.last_ack).saturating_sub(view.srtt));
            self.last_ack = view.now;
            return;
        }
        let span = view.now.since(self.last_ack);
        self.skip(span);
        self.last_ack = view.now;
    }

    fn on_spurious_reduction(&mut self, regrown: bool) {
        // RFC 9438, section 4.9.2: above the old window the newer curve is the better one.
        if !regrown {
            self.curve = self.previous_curve;
        }
    }
}
