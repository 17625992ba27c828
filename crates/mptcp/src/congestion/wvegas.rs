//! Weighted Vegas: Cao, Xu, Fu, "Delay-based Congestion Control for Multipath TCP", ICNP 2012;
//! draft-xu-mptcp-congestion-control-05.

use super::{CongestionControl, Coupling, SubflowView, Window};
use units::{Duration, Instant};

/// Segments queued in the network over all paths together.
const TOTAL_ALPHA: f64 = 10.0;
/// Lower bound and initial value of a path's `alpha`, in segments.
const MIN_ALPHA: f64 = 2.0;
/// Queued segments that end slow start.
const GAMMA: f64 = 1.0;

/// Keeps a share of ten segments queued on each path, in proportion to the path's rate, so that all
/// paths come to equal queueing delays.
///
/// Once a round trip, with windows in segments, `RTT` the mean of the round's samples and `baseRTT`
/// the lowest sample ever:
///
/// ```text
/// diff = (w/baseRTT - w/RTT) * baseRTT          segments queued on the path
/// diff >= alpha:  alpha = max(10 * x_r / sum x_p, 2)    with the rates x = w/RTT
/// diff < alpha: w += 1;   diff > alpha: w -= 1
/// ```
///
/// Slow start ends when `diff` exceeds one segment. If the queueing delay has doubled from its
/// lowest value, the window is cut to `w * baseRTT / (2 RTT)` once, which drains the queue and lets
/// `baseRTT` be measured again. A loss halves the window.
///
/// The draft is open or differs in four points: `docs/design/wvegas.md`.
#[derive(Debug, Clone)]
pub(crate) struct WVegas {
    alpha: f64,
    round_ends: Instant,
    /// Sum of the round's samples.
    rtt_sum: Duration,
    /// Number of the round's samples.
    rtt_count: u64,
    /// Lowest of the round's samples.
    rtt_min: Duration,
    /// Lowest queueing delay of a round at `alpha` since the last drain, scaled to the present
    /// `alpha`.
    queue_delay: Option<Duration>,
}

impl Default for WVegas {
    fn default() -> Self {
        Self {
            alpha: MIN_ALPHA,
            round_ends: Instant::ZERO,
            rtt_sum: Duration::ZERO,
            rtt_count: 0,
            rtt_min: Duration::MAX,
            queue_delay: None,
        }
    }
}

impl WVegas {
    /// Adjusts the window at the end of a round.
    fn end_round(&mut self, view: &SubflowView, coupling: &Coupling, window: &mut Window) {
        // A doubling window leaves in bursts, whose segments queue behind one another on an idle
        // path: in slow start only the round's lowest sample shows a queue.
        let measured = if window.in_slow_start() { self.rtt_min } else { self.rtt_sum / self.rtt_count };
        let base = view.min_rtt;
        let rtt = measured.max(base);
        let mss = view.mss as f64;
        let segments = window.cwnd as f64 / mss;
        let base_share = base.as_secs_f64() / rtt.as_secs_f64().max(1e-9);
        let diff = segments * (1.0 - base_share);
        if window.in_slow_start() {
            if diff > GAMMA {
                let without_queue = (segments * base_share * mss) as u64 + view.mss;
                window.cwnd = window.cwnd.min(without_queue).max(2 * view.mss);
                window.ssthresh = window.cwnd;
            }
            return;
        }
        let at_alpha = diff >= self.alpha;
        if at_alpha {
            self.update_alpha(rtt, coupling, window);
        }
        if diff < self.alpha {
            window.cwnd += view.mss;
        } else if diff > self.alpha {
            window.cwnd = window.cwnd.saturating_sub(view.mss);
        }
        if at_alpha {
            self.drain_if_doubled(rtt - base, base_share, window);
        }
        window.cwnd = window.cwnd.max(2 * view.mss);
        // Stay out of slow start.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    /// Sets `alpha` to the path's share of the total, and scales the lowest queueing delay with it.
    fn update_alpha(&mut self, rtt: Duration, coupling: &Coupling, window: &Window) {
        let rate = window.cwnd as f64 / rtt.as_secs_f64().max(1e-9);
        let weight = rate / coupling.total_rate().max(rate);
        let alpha = (TOTAL_ALPHA * weight).max(MIN_ALPHA);
        self.queue_delay = self.queue_delay.map(|delay| delay.mul_f64(alpha / self.alpha));
        self.alpha = alpha;
    }

    /// Cuts the window once if the queueing delay is twice its lowest value.
    fn drain_if_doubled(&mut self, delay: Duration, base_share: f64, window: &mut Window) {
        let lowest = self.queue_delay.map_or(delay, |lowest| lowest.min(delay));
        self.queue_delay = Some(lowest);
        if delay >= lowest * 2 {
            window.cwnd = (window.cwnd as f64 * 0.5 * base_share) as u64;
            self.queue_delay = None;
        }
    }
}

impl CongestionControl for WVegas {
    fn on_ack(&mut self, acked: u64, view: &SubflowView, coupling: &Coupling, window: &mut Window) {
        if let Some(rtt) = view.rtt {
            self.rtt_sum += rtt;
            self.rtt_count += 1;
            self.rtt_min = self.rtt_min.min(rtt);
        }
        if view.now >= self.round_ends && self.rtt_count > 0 {
            self.end_round(view, coupling, window);
            self.round_ends = view.now + view.srtt;
            (self.rtt_sum, self.rtt_count, self.rtt_min) = (Duration::ZERO, 0, Duration::MAX);
        } else if window.in_slow_start() {
            window.slow_start(acked);
        }
    }

    fn on_loss(&mut self, view: &SubflowView, window: &mut Window) {
        window.halve(view);
    }

    fn on_timeout(&mut self, view: &SubflowView, window: &mut Window) {
        window.halve(view);
        window.cwnd = view.mss;
    }

    fn is_coupled(&self) -> bool {
        true
    }
}
