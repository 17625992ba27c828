//! Congestion window of a subflow, and the algorithm that sets it.

use super::hystart::HyStart;
use super::hystart_original::OriginalHyStart;
use crate::congestion::{ActiveCongestion, CongestionSettings, Coupling, RateSample, SubflowView, Window};
use crate::{Config, HyStartMode};
use units::{Duration, Instant};

/// Window, threshold and the congestion control that moves them.
#[derive(Debug, Clone)]
pub(super) struct CongestionWindow {
    window: Window,
    /// Initial window (RFC 6928), which an idle subflow returns to.
    initial: u64,
    /// Halve the window for each timeout of idle time, as Linux does.
    decays_when_idle: bool,
    /// The window limited sending up to this offset. Growth needs that: an unused window says
    /// nothing about the path (RFC 9438, section 5.8; RFC 7661).
    limited_until: u64,
    /// When the window was last halved because the subflow held up the connection.
    penalised_at: Option<Instant>,
    congestion: ActiveCongestion,
    hystart: Option<Box<HyStart>>,
    original_hystart: Option<Box<OriginalHyStart>>,
}

impl CongestionWindow {
    pub(super) fn new(config: &Config, mss: u64) -> Self {
        let initial = u64::from(config.initial_window) * mss;
        let settings =
            CongestionSettings { linux_counting: config.linux_counting, linux_curve: config.linux_curve };
        let congestion = ActiveCongestion::new(&config.congestion, &settings);
        let mode = if congestion.inner().uses_rate_samples() { HyStartMode::Off } else { config.hystart };
        Self {
            window: Window { cwnd: initial, ssthresh: u64::MAX },
            initial,
            decays_when_idle: config.linux_counting,
            limited_until: 0,
            penalised_at: None,
            hystart: (mode == HyStartMode::Rfc9406).then(|| Box::new(HyStart::new())),
            original_hystart: (mode == HyStartMode::Original)
                .then(|| Box::new(OriginalHyStart::new(config.pacing))),
            congestion,
        }
    }

    /// The handshake changed the maximum segment size: keeps the windows in segments.
    pub(super) fn rescale(&mut self, old_mss: u64, mss: u64) {
        self.window.cwnd = self.window.cwnd / old_mss * mss;
        self.initial = self.initial / old_mss * mss;
    }

    #[inline]
    pub(super) fn window(&self) -> Window {
        self.window
    }
    #[inline]
    pub(super) fn cwnd(&self) -> u64 {
        self.window.cwnd
    }
    #[inline]
    pub(super) fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }
    pub(super) fn set_cwnd(&mut self, cwnd: u64) {
        self.window.cwnd = cwnd;
    }

    /// The acknowledgement clock has stopped for `idle`, longer than the timeout `rto`: sending
    /// restarts with the initial window (RFC 5681, section 4.1). Linux halves the window for each
    /// further timeout down to that, and slow start leads back to three quarters of it
    /// (`tcp_cwnd_restart`, after RFC 2861).
    pub(super) fn restart_after_idle(&mut self, idle: Duration, rto: Duration) {
        let restart = self.window.cwnd.min(self.initial);
        if !self.decays_when_idle {
            self.window.cwnd = restart;
            return;
        }
        self.window.ssthresh = self.window.ssthresh.max(self.window.cwnd / 4 * 3);
        let mut left = idle.saturating_sub(rto);
        while !left.is_zero() && self.window.cwnd > restart {
            self.window.cwnd /= 2;
            left = left.saturating_sub(rto);
        }
        self.window.cwnd = self.window.cwnd.max(restart);
    }
    /// The window limits sending at the offset `next`.
    pub(super) fn set_limited(&mut self, next: u64) {
        self.limited_until = next;
    }
    /// The window may grow: in slow start if half of it was in flight, later if it limited sending.
    fn is_growth_earned(&self, una: u64, flight: u64) -> bool {
        self.window.in_slow_start() && 2 * flight >= self.window.cwnd || una <= self.limited_until
    }

    /// Grows the window for an acknowledgement of `bytes` that is outside fast recovery. `view` has
    /// the bytes in flight before it, `next` is the next offset to be sent.
    #[inline]
    pub(super) fn on_ack(
        &mut self,
        bytes: u64,
        view: &SubflowView,
        next: u64,
        paced: bool,
        coupling: &Coupling,
    ) {
        if let Some(hystart) = &mut self.original_hystart {
            hystart.on_ack(view, next, &mut self.window);
        }
        if !self.is_growth_earned(view.una, view.in_flight) {
            self.congestion.inner_mut().on_limited_ack(view);
            return;
        }
        let mut bytes = bytes;
        if let Some(hystart) = self.hystart.as_mut().filter(|hystart| hystart.is_active())
            && self.window.in_slow_start()
        {
            bytes = hystart.on_ack(bytes, view, next, paced, &mut self.window);
        }
        self.congestion.inner_mut().on_ack(bytes, view, coupling, &mut self.window);
    }
    /// Reacts to the first loss of a window: sets the threshold.
    pub(super) fn on_loss(&mut self, view: &SubflowView) {
        self.congestion.inner_mut().on_loss(view, &mut self.window);
    }
    pub(super) fn on_timeout(&mut self, view: &SubflowView) {
        if let Some(hystart) = &mut self.original_hystart {
            **hystart = hystart.restarted();
        }
        self.congestion.inner_mut().on_timeout(view, &mut self.window);
    }
    pub(super) fn on_ecn(&mut self, view: &SubflowView) {
        self.congestion.inner_mut().on_ecn(view, &mut self.window);
    }
    pub(super) fn on_restart(&mut self) {
        self.congestion.inner_mut().on_restart();
    }
    pub(super) fn on_rate_sample(&mut self, sample: &RateSample, view: &SubflowView) {
        self.congestion.inner_mut().on_rate_sample(sample, view, &mut self.window);
    }

    /// Completes a reduction: the window becomes the threshold.
    pub(super) fn reduce_to_ssthresh(&mut self) {
        self.window.cwnd = self.window.ssthresh;
    }
    /// Fast recovery is over: the window is the threshold (RFC 6675, section 5).
    pub(super) fn leave_recovery(&mut self, mss: u64) {
        self.window.cwnd = self.window.ssthresh.max(2 * mss);
    }
    /// A reduction was spurious: restores the window `saved` before it.
    pub(super) fn undo(&mut self, saved: Window, in_recovery: bool) {
        let regrown = !in_recovery && self.window.cwnd >= saved.cwnd;
        self.window.cwnd = self.window.cwnd.max(saved.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(saved.ssthresh);
        self.congestion.inner_mut().on_spurious_reduction(regrown);
    }
    /// Halves the window without a slow start back to it, at most once per round trip (Raiciu et
    /// al., NSDI 2012, section 4.2).
    pub(super) fn penalise(&mut self, now: Instant, srtt: Duration, mss: u64) {
        if self.penalised_at.is_some_and(|last| now.since(last) < srtt) {
            return;
        }
        self.penalised_at = Some(now);
        self.window.cwnd = (self.window.cwnd / 2).max(2 * mss).min(self.window.cwnd);
        self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
    }

    /// The algorithm models the path by rate samples, and needs no help from other mechanisms.
    pub(super) fn uses_rate_samples(&self) -> bool {
        self.congestion.inner().uses_rate_samples()
    }
    /// The algorithm itself keeps the window small.
    pub(super) fn limits_itself(&self) -> bool {
        self.congestion.inner().limits_itself()
    }
    /// Pacing rate of the algorithm, in bytes per second.
    pub(super) fn pacing_rate(&self) -> Option<u64> {
        self.congestion.inner().pacing_rate()
    }
    /// An acknowledgement of `acked` bytes will grow the window by a coupled increase.
    pub(super) fn needs_coupling(&self, acked: u64) -> bool {
        acked > 0 && self.congestion.is_coupled() && self.window.cwnd + acked > self.window.ssthresh
    }
    /// Value that the algorithm shares with those of the other subflows.
    pub(super) fn shared_value(&self, una: u64) -> u64 {
        self.congestion.shared_value(una)
    }

    pub(super) fn is_receiver_driven(&self) -> bool {
        self.congestion.is_receiver_driven()
    }
    /// Sends at `rate` bytes per second as the receiver asks; with `None`, by the own algorithm.
    pub(super) fn set_receiver_rate(&mut self, rate: Option<u64>) {
        self.congestion.set_receiver_rate(rate);
    }
    /// Window and pacing rate that the receiver asks for.
    pub(super) fn receiver_target(&self, mss: u64, srtt: Duration) -> Option<(u64, u64)> {
        self.congestion.receiver_target(mss, srtt)
    }
    /// Sets window and threshold to the receiver's target.
    pub(super) fn set_receiver_window(&mut self, window: u64) {
        self.window = Window { cwnd: window, ssthresh: window };
    }
    /// The receiver no longer sets the rate: continues with the present window in congestion
    /// avoidance.
    pub(super) fn leave_receiver_rate(&mut self) {
        self.window.ssthresh = self.window.cwnd;
    }

    /// State of the algorithm, for comparison in tests.
    #[cfg(test)]
    pub(super) fn algorithm_state(&self) -> String {
        format!("{:?}", self.congestion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionKind;

    const MSS: u64 = 1000;

    fn window() -> CongestionWindow {
        let config =
            Config { congestion: CongestionKind::Reno.into(), initial_window: 10, ..Config::default() };
        CongestionWindow::new(&config, MSS)
    }

    #[test]
    fn idle_time_halves_the_window_for_each_further_timeout_as_in_linux() {
        let config = Config { initial_window: 10, linux_counting: true, ..Config::default() };
        let after = |idle_ms| {
            let mut window = CongestionWindow::new(&config, MSS);
            window.window = Window { cwnd: 100 * MSS, ssthresh: 60 * MSS };
            window.restart_after_idle(Duration::from_millis(idle_ms), Duration::from_millis(200));
            (window.cwnd() / MSS, window.ssthresh() / MSS)
        };
        assert_eq!([201, 401, 5000].map(after), [(50, 75), (25, 75), (10, 75)]);
    }

    #[test]
    fn rescaling_keeps_the_window_in_segments() {
        let mut window = window();
        window.rescale(MSS, 700);
        assert_eq!(window.cwnd(), 7000);
        window.set_cwnd(20_000);
        window.restart_after_idle(Duration::from_secs(1), Duration::from_secs(1));
        assert_eq!(window.cwnd(), 7000);
    }

    #[test]
    fn penalty_halves_once_per_round_trip() {
        let mut window = window();
        let (start, rtt) = (Instant::from_secs(1), Duration::from_millis(100));
        window.penalise(start, rtt, MSS);
        window.penalise(start + Duration::from_millis(99), rtt, MSS);
        assert_eq!((window.cwnd(), window.ssthresh()), (5000, 5000));
        window.penalise(start + rtt, rtt, MSS);
        assert_eq!(window.cwnd(), 2500);
    }

    #[test]
    fn growth_needs_a_window_that_limits() {
        let mut window = window();
        assert!(window.is_growth_earned(1, 5000) && !window.is_growth_earned(1, 4999));
        window.set_limited(10);
        assert!(window.is_growth_earned(10, 0) && !window.is_growth_earned(11, 0));
    }

    #[test]
    fn undo_restores_the_larger_window() {
        let mut window = window();
        window.set_cwnd(3000);
        window.undo(Window { cwnd: 8000, ssthresh: u64::MAX }, true);
        assert_eq!((window.cwnd(), window.ssthresh()), (8000, u64::MAX));
    }
}
