//! Acknowledgements: delivered data, losses, and changes of the window.

use super::Sender;
use super::recovery::Phase;
use super::scoreboard::{DUP_THRESH, REPEATED, SACKED};
use super::undo::{FrtoAck, FrtoVerdict};
use crate::congestion::{Coupling, SubflowView};
use tracing::{debug, trace};
use units::{Duration, Instant};
use wire::Payload;

/// An incoming acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledgement<'a> {
    /// First offset not acknowledged.
    pub(crate) offset: u64,
    /// SACK blocks as offsets.
    pub(crate) blocks: &'a [(u64, u64)],
    /// It has no data and the same window as before: only then can it be a duplicate (RFC 5681,
    /// section 2).
    pub(crate) pure: bool,
    /// Round-trip time by the echoed timestamp.
    pub(crate) clock_sample: Option<Duration>,
}

/// Effect of an acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acked {
    /// Bytes newly acknowledged in order, without the FIN.
    bytes: u64,
    /// Segments that they filled, wholly or in part.
    segments: u32,
    /// The acknowledgement moved forward.
    pub(crate) advanced: bool,
    /// Round-trip sample.
    rtt: Option<Duration>,
}

/// State of the sender before an acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Before {
    flight: u64,
    una: u64,
    sacked: u64,
    lost_total: u64,
    /// Bytes delivered, by the rate sampler.
    delivered: u64,
    /// Range that the acknowledgement reports as a duplicate.
    dsack: Option<(u64, u64)>,
}

impl<P: Payload> Sender<P> {
    /// Handles an acknowledgement. One of data that was never sent has no effect.
    pub(crate) fn on_ack(&mut self, now: Instant, ack: &Acknowledgement<'_>, coupling: &Coupling) -> Acked {
        if ack.offset > self.scoreboard.next() {
            return Acked::default();
        }
        let before = self.before(ack);
        if let Some(rack) = &mut self.rack {
            rack.begin_ack();
        }
        let acked = if ack.offset > self.una() { self.advance(now, ack) } else { Acked::default() };
        self.detect_losses(now, ack, &acked, before.dsack);
        let delivered = (self.una() + self.scoreboard.sacked()) - (before.una + before.sacked);
        if self.features.undo && self.undo.has_saved() {
            self.undo_if_spurious(now, ack, &acked, before.dsack);
        }
        let view = self.view(now, before.flight, acked.rtt);
        let limit = self.growth_limit(delivered);
        self.update_recovery(ack, &acked, before.una, delivered);
        self.grow_window(&acked, &view, limit, coupling);
        if !self.recovery.is_active() && self.scoreboard.lost() > 0 {
            self.enter_fast_recovery(&view, delivered);
        }
        if self.features.prr && self.recovery.is_fast() {
            self.apply_prr(&acked, before.lost_total, delivered);
        }
        if self.rack.is_some() {
            if acked.advanced {
                self.tail_probe.cancel_due();
            }
            self.arm_tail_probe(now);
        }
        self.sample_rate(now, &acked, &before);
        if self.features.pacing {
            self.update_pacing_rate();
        }
        trace!(
            parent: &self.log,
            una = self.una(),
            in_flight = self.flight(),
            cwnd = self.cwnd.cwnd(),
            ssthresh = self.cwnd.ssthresh(),
            srtt = %self.rtt.srtt(),
            "acknowledgement"
        );
        acked
    }

    #[inline]
    fn before(&self, ack: &Acknowledgement<'_>) -> Before {
        Before {
            flight: self.flight(),
            una: self.una(),
            sacked: self.scoreboard.sacked(),
            lost_total: self.scoreboard.lost_total(),
            delivered: self.sampler.as_ref().map_or(0, |sampler| sampler.delivered()),
            dsack: dsack_of(ack.blocks, ack.offset),
        }
    }

    /// Removes acknowledged segments, and takes a round-trip sample.
    #[inline]
    fn advance(&mut self, now: Instant, ack: &Acknowledgement<'_>) -> Acked {
        let Self { scoreboard, rack, sampler, rtt, .. } = self;
        let advance = scoreboard.acknowledge(ack.offset, |sent, len, whole| {
            let new = !sent.has(SACKED);
            if let Some(rack) = rack.as_mut().filter(|_| whole && new) {
                rack.on_delivered(now, sent, rtt.min(), ack.clock_sample);
            }
            if let Some(sampler) = sampler {
                if new {
                    sampler.on_delivered(now, 0, len, sent.at);
                }
                if whole {
                    sampler.pop();
                }
            }
        });
        // If any segment was sent again, segments behind it may have waited for the repair: only
        // the timestamp is a valid sample then (RFC 6298, section 3).
        let by_time = advance.sent_at.filter(|_| !advance.repeated);
        let by_time = by_time.map(|(first, last)| (now.since(first), now.since(last)));
        if let Some((first, last)) = by_time {
            self.rtt.sample_of(first, last);
        } else if let Some(rtt) = ack.clock_sample {
            self.rtt.sample_of_clock(rtt);
        }
        self.reset_timeouts();
        self.rearm_retransmission_timer(now);
        let rtt = by_time.map(|(_, last)| last);
        Acked { bytes: advance.bytes, segments: advance.segments, advanced: true, rtt }
    }

    /// Applies SACK blocks or duplicate acknowledgements, and marks lost segments.
    #[inline]
    fn detect_losses(
        &mut self,
        now: Instant,
        ack: &Acknowledgement<'_>,
        acked: &Acked,
        dsack: Option<(u64, u64)>,
    ) {
        if !self.features.sack {
            self.detect_losses_without_sack(ack, acked);
            return;
        }
        let Self { scoreboard, rack, sampler, rtt, .. } = self;
        scoreboard.apply_sack(ack.blocks, |i, sent| {
            if let Some(rack) = rack {
                rack.on_delivered(now, sent, rtt.min(), None);
            }
            if let Some(sampler) = sampler {
                sampler.on_delivered(now, i, u64::from(sent.len), sent.at);
            }
        });
        if self.rack.is_none() {
            self.scoreboard.detect_by_sack(self.mss);
            return;
        }
        self.detect_losses_by_time(now, dsack.is_some());
        if self.tail_probe.is_outstanding() {
            let duplicate = ack.pure && !acked.advanced && ack.blocks.is_empty();
            if self.tail_probe.on_ack(ack.offset, dsack, duplicate) && !self.recovery.is_active() {
                let view = self.view(now, self.flight(), None);
                self.reduce_threshold(&view);
                self.reduce_window();
            }
        }
    }

    /// NewReno (RFC 6582, section 3.2).
    fn detect_losses_without_sack(&mut self, ack: &Acknowledgement<'_>, acked: &Acked) {
        if acked.advanced {
            match self.recovery.phase() {
                // Step 3: after a partial acknowledgement the next segment is lost too. Of the
                // segments acknowledged all but the retransmitted one had been counted as
                // duplicates.
                Some(Phase::Fast { point }) if ack.offset < point => {
                    self.recovery.uncount_duplicates(acked.segments.saturating_sub(1));
                    self.scoreboard.mark_lost(0);
                }
                _ => self.recovery.reset_duplicates(),
            }
        } else if ack.pure
            && ack.offset == self.una()
            && self.counts_duplicates()
            && self.recovery.count_duplicate() == DUP_THRESH
            && !self.recovery.is_active()
        {
            self.scoreboard.mark_lost(0);
        }
    }

    /// After a timeout, duplicates answer segments that were sent twice (RFC 6582, section 4).
    fn counts_duplicates(&self) -> bool {
        !self.scoreboard.is_empty() && !matches!(self.recovery.phase(), Some(Phase::Timeout { .. }))
    }

    fn undo_if_spurious(
        &mut self,
        now: Instant,
        ack: &Acknowledgement<'_>,
        acked: &Acked,
        dsack: Option<(u64, u64)>,
    ) {
        let rtt = ack.clock_sample.filter(|_| acked.advanced);
        if self.undo.eifel_check(now, rtt, dsack, self.recovery.is_active()) {
            self.undo_reduction();
        }
    }

    /// Ends the recovery if its end is acknowledged; otherwise F-RTO judges the timeout.
    #[inline]
    fn update_recovery(&mut self, ack: &Acknowledgement<'_>, acked: &Acked, old_una: u64, delivered: u64) {
        match self.recovery.phase() {
            None => {}
            Some(Phase::Fast { point }) if self.una() >= point => {
                self.cwnd.leave_recovery(self.mss);
                self.end_recovery();
            }
            Some(Phase::Fast { .. }) => {}
            Some(Phase::Timeout { point }) if self.una() >= point => {
                self.undo.stop_frto();
                self.end_recovery();
            }
            Some(Phase::Timeout { point }) => {
                let verdict = self.undo.frto_on_ack(FrtoAck {
                    advanced: acked.advanced,
                    duplicate: ack.pure && !self.features.sack && ack.offset == old_una,
                    first_repeated: self.scoreboard.first().is_some_and(|first| first.has(REPEATED)),
                    beyond: self.una() > point || self.scoreboard.highest_sacked() > point,
                    delivered,
                });
                match verdict {
                    FrtoVerdict::Undecided => {}
                    FrtoVerdict::SendNewData => self.cwnd.set_cwnd(2 * self.mss),
                    FrtoVerdict::Spurious => self.undo_reduction(),
                }
            }
        }
    }

    fn end_recovery(&mut self) {
        self.recovery.end();
        debug!(parent: &self.log, una = self.una(), cwnd = self.cwnd.cwnd(), "recovery ends");
        if let Some(rack) = &mut self.rack {
            rack.on_recovered();
        }
    }

    /// Most bytes by which an acknowledgement that delivered `delivered` counts for the window. In
    /// Linux those are all. By RFC 3465, section 2.3, slow start after a timeout counts one segment,
    /// because data may have arrived long before; SACK tells which did.
    #[inline]
    fn growth_limit(&self, delivered: u64) -> u64 {
        let after_timeout = self.recovery.is_active() && self.cwnd.window().in_slow_start();
        if self.features.count_delivered || after_timeout && self.features.sack {
            delivered
        } else if after_timeout {
            self.mss
        } else {
            u64::MAX
        }
    }

    #[inline]
    fn grow_window(&mut self, acked: &Acked, view: &SubflowView, limit: u64, coupling: &Coupling) {
        if !acked.advanced || self.recovery.is_fast() || self.undo.frto_holds() {
            return;
        }
        let next = self.scoreboard.next();
        self.cwnd.on_ack(acked.bytes.min(limit), view, next, self.features.pacing, coupling);
    }

    fn apply_prr(&mut self, acked: &Acked, old_lost_total: u64, delivered: u64) {
        let safe = acked.advanced && self.scoreboard.lost_total() == old_lost_total;
        let (pipe, ssthresh) = (self.pipe(), self.cwnd.ssthresh());
        if let Some(cwnd) = self.prr.window(delivered, safe, pipe, ssthresh, self.mss) {
            self.cwnd.set_cwnd(cwnd);
        }
    }

    fn sample_rate(&mut self, now: Instant, acked: &Acked, before: &Before) {
        let Some(sampler) = &mut self.sampler else { return };
        let mut sample = sampler.sample(before.delivered, self.rtt.min());
        sample.newly_lost = self.scoreboard.lost_total() - before.lost_total;
        sample.rtt = acked.rtt;
        sample.in_flight = self.pipe();
        let view = self.view(now, before.flight, acked.rtt);
        self.cwnd.on_rate_sample(&sample, &view);
        if let Some(sampler) = self.sampler.as_mut().filter(|_| self.cwnd.limits_itself()) {
            sampler.set_app_limited(sample.in_flight);
        }
    }
}

/// The duplicate SACK block of an acknowledgement up to `ack`: a first block below it, or within
/// the second block (RFC 2883, section 4).
fn dsack_of(blocks: &[(u64, u64)], ack: u64) -> Option<(u64, u64)> {
    let &(left, right) = blocks.first()?;
    let known = right <= ack || blocks.get(1).is_some_and(|&(l, r)| l <= left && right <= r);
    (left < right && known).then_some((left, right))
}

#[cfg(test)]
mod tests {
    use super::dsack_of;

    #[test]
    fn dsack_is_below_the_acknowledgement_or_within_the_second_block() {
        assert_eq!(dsack_of(&[(1, 5)], 5), Some((1, 5)));
        assert_eq!(dsack_of(&[(1, 6)], 5), None);
        assert_eq!(dsack_of(&[(10, 12), (8, 20)], 5), Some((10, 12)));
        assert_eq!(dsack_of(&[(10, 12), (30, 40)], 5), None);
        assert_eq!(dsack_of(&[(4, 4)], 5), None);
    }
}
