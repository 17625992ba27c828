//! Reductions and rates that neither loss nor an acknowledgement brings: ECN, the penalty of
//! opportunistic retransmission, pacing, and the rate of a receiver-driven connection.

use super::Sender;
use super::pacer::Pacer;
use super::recovery::Phase;
use super::timers::Timer;
use tracing::debug;
use units::Instant;
use wire::Payload;

impl<P: Payload> Sender<P> {
    /// An acknowledgement up to `ack` carries ECE: reduces the window, once per window of data.
    pub(crate) fn on_ece(&mut self, now: Instant, ack: u64) {
        // A loss in the same window has reduced it already.
        if self.ecn.on_ece(ack, self.scoreboard.next()) && !self.recovery.is_active() {
            let view = self.view(now, self.flight(), None);
            self.cwnd.on_ecn(&view);
            self.reduce_window();
            debug!(parent: &self.log, cwnd = self.cwnd.cwnd(), "window reduced by ECN");
        }
    }

    /// True once after each reduction by ECN: the next new segment carries CWR.
    pub(crate) fn take_cwr(&mut self) -> bool {
        self.ecn.take_cwr()
    }

    /// Halves the window because the subflow holds up the connection, at most once per round trip.
    pub(crate) fn penalise(&mut self, now: Instant) {
        self.cwnd.penalise(now, self.rtt.srtt(), self.mss);
    }

    /// Updates the pacing rate: that of the receiver, of the congestion control, or of the window.
    pub(super) fn update_pacing_rate(&mut self) {
        let Some(pacer) = &mut self.pacer else { return };
        let by_window = || self.rtt.measured().filter(|_| pacer.is_by_window());
        let target = self.cwnd.receiver_target(self.mss, self.rtt.srtt()).map(|(_, rate)| rate);
        let rate = target
            .or_else(|| self.cwnd.pacing_rate())
            .or_else(|| by_window().map(|srtt| Pacer::rate_of(&self.cwnd.window(), srtt)));
        pacer.set_rate(rate);
    }

    /// Sends at `rate` bytes per second as the receiver asks; with `None`, by the own algorithm.
    pub(crate) fn set_receiver_rate(&mut self, now: Instant, rate: Option<u64>) {
        self.cwnd.set_receiver_rate(rate);
        let by_window = self.pacer.as_ref().is_some_and(|pacer| pacer.is_by_window());
        self.features.pacing = rate.is_some() || by_window || self.sampler.is_some();
        if self.features.pacing {
            self.pacer.get_or_insert_with(|| Box::new(Pacer::new(false)));
        }
        match self.cwnd.receiver_target(self.mss, self.rtt.srtt()) {
            // After a timeout the window stays until an acknowledgement arrives.
            Some(_) if matches!(self.recovery.phase(), Some(Phase::Timeout { .. })) => {}
            Some((window, rate)) => {
                self.cwnd.set_receiver_window(window);
                // A delay that was computed at a lower rate becomes shorter.
                if self.timers.is_running(Timer::Pacing) {
                    let latest = now + Pacer::burst_duration(rate, self.mss);
                    self.timers.start(Timer::Pacing, self.timers.expiry(Timer::Pacing).min(latest));
                }
            }
            None => {
                if !self.features.pacing {
                    self.timers.stop(Timer::Pacing);
                }
                self.cwnd.leave_receiver_rate();
            }
        }
        self.update_pacing_rate();
    }

    /// The receiver sets the sending rate.
    pub(crate) fn is_receiver_driven(&self) -> bool {
        self.cwnd.is_receiver_driven()
    }
}
