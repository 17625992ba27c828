//! Phases of loss recovery, and the timers that start them.

use super::Sender;
use super::timers::Timer;
use crate::congestion::SubflowView;
use tracing::debug;
use units::Instant;
use wire::Payload;

/// How losses are being repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Fast recovery; ends when `point` is acknowledged.
    Fast { point: u64 },
    /// After a timeout.
    Timeout { point: u64 },
}

/// State of the present recovery, and the counters that lead to the next one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recovery {
    phase: Option<Phase>,
    /// The first retransmission is sent regardless of the pipe (RFC 6675, section 5, 4.3).
    must_retransmit: bool,
    /// The rescue retransmission of this recovery was sent.
    rescued: bool,
    /// Duplicate acknowledgements, without SACK.
    duplicates: u32,
    /// Timeouts in a row.
    timeouts: u32,
}

impl Recovery {
    #[inline]
    pub(super) fn phase(&self) -> Option<Phase> {
        self.phase
    }
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.phase.is_some()
    }
    #[inline]
    pub(super) fn is_fast(&self) -> bool {
        matches!(self.phase, Some(Phase::Fast { .. }))
    }
    /// After a timeout nothing was acknowledged yet: another timeout is one of the same segment
    /// (RFC 5681, section 3.1). Later ones are new events of congestion.
    fn awaits_progress(&self) -> bool {
        matches!(self.phase, Some(Phase::Timeout { .. })) && self.timeouts > 0
    }
    pub(super) fn end(&mut self) {
        self.phase = None;
    }
    fn begin_fast(&mut self, point: u64) {
        self.phase = Some(Phase::Fast { point });
        self.must_retransmit = true;
        self.rescued = false;
    }
    fn begin_timeout(&mut self, point: u64) {
        self.phase = Some(Phase::Timeout { point });
        self.must_retransmit = true;
        self.duplicates = 0;
        self.timeouts += 1;
    }

    #[inline]
    pub(super) fn must_retransmit(&self) -> bool {
        self.must_retransmit
    }
    pub(super) fn retransmitted(&mut self) {
        self.must_retransmit = false;
    }
    pub(super) fn is_rescued(&self) -> bool {
        self.rescued
    }
    pub(super) fn set_rescued(&mut self) {
        self.rescued = true;
    }

    #[inline]
    pub(super) fn duplicates(&self) -> u64 {
        u64::from(self.duplicates)
    }
    /// Counts a duplicate acknowledgement. Returns how many there are.
    pub(super) fn count_duplicate(&mut self) -> u32 {
        self.duplicates += 1;
        self.duplicates
    }
    /// A partial acknowledgement covers `count` segments that were counted as duplicates.
    pub(super) fn uncount_duplicates(&mut self, count: u32) {
        self.duplicates = self.duplicates.saturating_sub(count);
    }
    pub(super) fn reset_duplicates(&mut self) {
        self.duplicates = 0;
    }
}

/// Retransmission timer.
impl<P: Payload> Sender<P> {
    /// Starts the retransmission timer.
    #[inline]
    pub(crate) fn arm_retransmission_timer(&mut self, now: Instant) {
        self.set_retransmission_timer(now + self.rtt.rto());
    }
    #[inline]
    pub(crate) fn set_retransmission_timer(&mut self, at: Instant) {
        self.timers.start(Timer::Retransmission, at);
    }
    pub(crate) fn stop_retransmission_timer(&mut self) {
        self.timers.stop(Timer::Retransmission);
    }
    pub(crate) fn has_retransmission_timer(&self) -> bool {
        self.timers.is_running(Timer::Retransmission)
    }
    /// When the first of the retransmission timer, RACK's and the tail loss probe's expires, if one runs.
    pub(crate) fn loss_deadline(&self) -> Option<Instant> {
        Some(self.timers.next_of_losses()).filter(|&at| at < Instant::MAX)
    }
    /// The retransmission timer has expired.
    #[inline]
    pub(crate) fn retransmission_due(&self, now: Instant) -> bool {
        self.timers.is_due(Timer::Retransmission, now)
    }
    /// Restarts the timer if anything is in flight, and stops it otherwise (RFC 6298, section 5.2
    /// and 5.3).
    #[inline]
    pub(super) fn rearm_retransmission_timer(&mut self, now: Instant) {
        if self.scoreboard.is_empty() {
            self.stop_retransmission_timer();
        } else {
            self.arm_retransmission_timer(now);
        }
    }

    /// Timeouts in a row.
    pub(crate) fn timeouts(&self) -> u32 {
        self.recovery.timeouts
    }
    /// Counts a timeout of the handshake. Returns how many came in a row.
    pub(crate) fn count_timeout(&mut self) -> u32 {
        self.recovery.timeouts += 1;
        self.recovery.timeouts
    }
    pub(crate) fn reset_timeouts(&mut self) {
        self.recovery.timeouts = 0;
    }

    /// The retransmission timer expired: all data in flight counts as lost (RFC 6298, section 5.4
    /// to 5.6; RFC 5681, Eq. 4 and section 3.1), or with RACK the data that is old enough.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        let view = self.view(now, self.flight(), None);
        let repeated = self.recovery.awaits_progress();
        debug!(
            parent: &self.log,
            in_flight = self.flight(),
            cwnd = self.cwnd.cwnd(),
            rto = %self.rtt.rto(),
            in_a_row = self.recovery.timeouts + 1,
            "retransmission timeout"
        );
        self.undo.frto_on_timeout(self.recovery.is_active(), repeated);
        if !repeated {
            self.undo.forget();
            if !self.recovery.is_active() {
                self.undo.save(self.cwnd.window(), self.una());
            }
            self.cwnd.on_timeout(&view);
        }
        self.cwnd.set_cwnd(self.mss);
        self.rtt.back_off();
        self.recovery.begin_timeout(self.scoreboard.next());
        self.scoreboard.restart_retransmission();
        self.rearm_retransmission_timer(now);
        let reneged = self.scoreboard.has_reneged();
        if self.rack.is_some() {
            self.stop_rack_timers();
        }
        if let Some(patience) = self.rack_patience().filter(|_| !reneged) {
            self.scoreboard.mark_expired_lost(|sent_at| sent_at + patience <= now);
        } else {
            self.scoreboard.mark_all_lost(reneged);
        }
    }
}

/// Fast recovery and its end.
impl<P: Payload> Sender<P> {
    /// Enters fast recovery: losses were found and no recovery is active. `delivered` bytes arrived
    /// with the same acknowledgement.
    pub(super) fn enter_fast_recovery(&mut self, view: &SubflowView, delivered: u64) {
        self.recovery.begin_fast(self.scoreboard.next());
        let window = self.cwnd.window();
        self.undo.save(window, self.una());
        self.timers.stop(Timer::TailProbe);
        self.tail_probe.cancel_due();
        self.reduce_threshold(view);
        if self.features.prr {
            // RFC 9937 divides by the data in flight, Linux by the window (`prior_cwnd`).
            let flight = self.flight() + delivered - self.scoreboard.sacked();
            self.prr.begin(if self.features.count_delivered { window.cwnd } else { flight });
        } else {
            self.cwnd.reduce_to_ssthresh();
        }
        debug!(
            parent: &self.log,
            una = self.una(),
            lost = self.scoreboard.lost(),
            in_flight = self.flight(),
            cwnd = self.cwnd.cwnd(),
            ssthresh = self.cwnd.ssthresh(),
            "loss detected, fast recovery starts"
        );
    }

    /// Sets the threshold after a loss, unless an ECN mark in the same window has reduced it (RFC
    /// 3168, section 6.1.2).
    pub(super) fn reduce_threshold(&mut self, view: &SubflowView) {
        let ignores_marks = self.sampler.is_some();
        let is_reduced = self.ecn.has_reduced(self.una()) && !self.cwnd.window().in_slow_start();
        if ignores_marks || !is_reduced {
            self.cwnd.on_loss(view);
        }
    }

    /// A loss was repaired outside recovery: reduces the window, unless the congestion control does
    /// that by its model.
    pub(super) fn reduce_window(&mut self) {
        if self.sampler.is_none() {
            self.cwnd.reduce_to_ssthresh();
        }
    }

    /// Undoes the last reduction, which was spurious.
    pub(super) fn undo_reduction(&mut self) {
        let Some(saved) = self.undo.take() else { return };
        self.cwnd.undo(saved, self.recovery.is_active());
        debug!(parent: &self.log, cwnd = self.cwnd.cwnd(), "spurious reduction undone");
        if self.recovery.is_active() {
            self.recovery.end();
            self.scoreboard.clear_losses();
        }
        self.recovery.retransmitted();
    }
}

/// RACK and the timers before the retransmission timer.
impl<P: Payload> Sender<P> {
    /// Earliest timer; [`Instant::MAX`] if none runs.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        self.timers.next()
    }

    /// Stops all timers except the pacer's.
    pub(crate) fn stop_timers(&mut self) {
        self.stop_retransmission_timer();
        self.stop_rack_timers();
    }

    fn stop_rack_timers(&mut self) {
        self.timers.stop(Timer::Reordering);
        self.timers.stop(Timer::TailProbe);
        self.tail_probe.reset();
    }

    /// Handles the timers other than the retransmission timer. Returns true if one was due.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        let pacing_end = self.timers.expiry(Timer::Pacing);
        let mut expired = self.timers.take_due(Timer::Pacing, now);
        if let Some(pacer) = self.pacer.as_mut().filter(|_| expired) {
            pacer.on_expired(now.since(pacing_end));
        }
        if self.timers.take_due(Timer::Reordering, now) {
            expired = true;
            self.detect_losses_by_time(now, false);
            if !self.recovery.is_active() && self.scoreboard.lost() > 0 {
                let view = self.view(now, self.flight(), None);
                self.enter_fast_recovery(&view, 0);
                if self.features.prr {
                    // Nothing was delivered: one segment begins the recovery, as in Linux
                    // (`tcp_rack_reo_timeout`).
                    self.cwnd.set_cwnd(self.pipe() + self.mss);
                }
            }
        } else if self.timers.take_due(Timer::TailProbe, now) {
            expired = true;
            self.tail_probe.set_due();
            self.arm_retransmission_timer(now);
        }
        expired
    }

    fn rack_patience(&self) -> Option<units::Duration> {
        let sacked = self.scoreboard.sacked_segments();
        let (in_recovery, rtt) = (self.recovery.is_active(), &self.rtt);
        Some(self.rack.as_ref()?.patience(in_recovery, sacked, rtt.min(), rtt.srtt()))
    }

    /// Marks lost segments by RACK, and sets the timer if some cannot be judged yet.
    pub(super) fn detect_losses_by_time(&mut self, now: Instant, dsack: bool) {
        let (una, next) = (self.una(), self.scoreboard.next());
        if let Some(rack) = self.rack.as_mut().filter(|_| dsack) {
            rack.on_dsack(una, next);
        }
        let Some(patience) = self.rack_patience() else { return };
        let Self { rack, scoreboard, .. } = self;
        match rack.as_mut().and_then(|rack| rack.detect_losses(now, scoreboard, patience)) {
            Some(at) => {
                self.timers.stop(Timer::TailProbe);
                self.timers.start(Timer::Reordering, at);
            }
            None => self.timers.stop(Timer::Reordering),
        }
    }
}
