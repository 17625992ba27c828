//! Weighted Vegas: Cao, Xu, Fu, "Delay-based Congestion Control for Multipath TCP", ICNP 2012;
//! draft-xu-mptcp-congestion-control-05.
//!
//! A connection keeps about ten segments waiting in queues, in all, and divides them over its paths as
//! it divides its rate: paths come to equal queueing delays, which is where congestion is balanced.
//!
//! Once a round trip, with `RTT` the mean of what it measured, `baseRTT` the lowest ever, and windows in
//! segments:
//!
//! ```text
//! diff = (w/baseRTT - w/RTT) * baseRTT          what the path keeps waiting
//! diff >= alpha:  alpha = max(10 * x_r / sum x_p, 2)    with x = w/RTT, the rates
//! diff < alpha: w += 1;   diff > alpha: w -= 1
//! ```
//!
//! Slow start ends where `diff` exceeds one segment. Where the queueing delay has become twice the lowest
//! that it was, the queue is drained once, so that `baseRTT` can be seen again: `w *= baseRTT / (2 RTT)`.
//! A loss halves the window.
//!
//! Four things here are our reading. A round lasts one smoothed round trip. In slow start `RTT` is the
//! round's lowest, for a window that doubles goes out in bursts, whose segments wait for one another on a
//! path that has no queue otherwise. For the rates of the other paths, which the draft keeps from when each
//! was last at its `alpha`, their present rates stand. And the queueing delays that are compared are those of
//! rounds in which the path keeps its `alpha` waiting, in proportion to it, or its own growth would count as
//! somebody else's queue.

use super::{CongestionControl, Coupling, View, Window};
use units::{Duration, Instant};

/// Segments waiting in queues, over all paths.
const TOTAL_ALPHA: f64 = 10.0;
/// The least `alpha` of a path, and where it starts, in segments.
const LEAST_ALPHA: f64 = 2.0;
/// What may wait before slow start ends, in segments.
const GAMMA: f64 = 1.0;

/// Keeps a share of ten segments waiting on its path.
#[derive(Debug, Clone)]
pub(crate) struct WVegas {
    alpha: f64,
    round_ends: Instant,
    /// Sum and number of the round trips measured in this round.
    sum: Duration,
    count: u64,
    /// The lowest of them.
    lowest: Duration,
    /// The lowest queueing delay at `alpha` since the queue was last drained, as of the present `alpha`.
    queue_delay: Option<Duration>,
}

impl Default for WVegas {
    fn default() -> Self {
        Self {
            alpha: LEAST_ALPHA,
            round_ends: Instant::ZERO,
            sum: Duration::ZERO,
            count: 0,
            lowest: Duration::MAX,
            queue_delay: None,
        }
    }
}

impl WVegas {
    fn round(&mut self, base: Duration, view: &View, coupling: &Coupling, window: &mut Window) {
        let measured = if window.in_slow_start() { self.lowest } else { self.sum / self.count };
        let rtt = measured.max(base);
        let waiting = rtt - base;
        let mss = view.mss as f64;
        let segments = window.cwnd as f64 / mss;
        let share = base.as_secs_f64() / rtt.as_secs_f64().max(1e-9);
        let diff = segments * (1.0 - share);
        if window.in_slow_start() {
            if diff > GAMMA {
                let without_queue = (segments * share * mss) as u64 + view.mss;
                window.cwnd = window.cwnd.min(without_queue).max(2 * view.mss);
                window.ssthresh = window.cwnd;
            }
            return;
        }
        let at_alpha = diff >= self.alpha;
        if at_alpha {
            let rate = window.cwnd as f64 / rtt.as_secs_f64().max(1e-9);
            let weight = rate / coupling.total_rate.max(rate);
            let alpha = (TOTAL_ALPHA * weight).max(LEAST_ALPHA);
            self.queue_delay = self.queue_delay.map(|delay| delay.mul_f64(alpha / self.alpha));
            self.alpha = alpha;
        }
        if diff < self.alpha {
            window.cwnd += view.mss;
        } else if diff > self.alpha {
            window.cwnd = window.cwnd.saturating_sub(view.mss);
        }
        if at_alpha {
            let lowest = self.queue_delay.map_or(waiting, |lowest| lowest.min(waiting));
            self.queue_delay = Some(lowest);
            if waiting >= lowest * 2 {
                window.cwnd = (window.cwnd as f64 * 0.5 * share) as u64;
                self.queue_delay = None;
            }
        }
        window.cwnd = window.cwnd.max(2 * view.mss);
        // So that it stays out of slow start.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }
}

impl CongestionControl for WVegas {
    fn on_ack(&mut self, acked: u64, view: &View, coupling: &Coupling, window: &mut Window) {
        if let Some(rtt) = view.rtt {
            self.sum += rtt;
            self.count += 1;
            self.lowest = self.lowest.min(rtt);
        }
        if view.now >= self.round_ends && self.count > 0 {
            self.round(view.min_rtt, view, coupling, window);
            self.round_ends = view.now + view.srtt;
            (self.sum, self.count, self.lowest) = (Duration::ZERO, 0, Duration::MAX);
        } else if window.in_slow_start() {
            window.slow_start(acked);
        }
    }

    fn on_loss(&mut self, view: &View, window: &mut Window) {
        window.halve(view);
    }

    fn on_timeout(&mut self, view: &View, window: &mut Window) {
        window.halve(view);
        window.cwnd = view.mss;
    }
}
