//! What an acknowledgement does.

use super::pace::Pace;
use super::recovery::Recovery;
use super::scoreboard::{DUP_THRESH, IN_RETRANSMISSION, LOST, REPEATED, SACKED};
use super::undo::Frto;
use super::{Acked, Sender};
use crate::congestion::{CongestionControl, Coupling, View};
use units::{Duration, Instant};
use wire::Payload;

/// Room for so many segments in flight is always kept.
const LEAST_ROOM: usize = 8;

impl<P: Payload> Sender<P> {
    /// An acknowledgement up to `ack` with these blocks (already turned into offsets). `pure` is one
    /// without data that changes no window: only such a one counts as duplicate (RFC 5681, section 2).
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        ack: u64,
        blocks: &[(u64, u64)],
        pure: bool,
        clock_sample: Option<Duration>,
        coupling: &Coupling,
    ) -> Acked {
        if ack > self.next {
            return Acked::default();
        }
        let flight = self.flight();
        let before = (self.una, self.sacked, self.lost_ever);
        let sampled = if self.uses.samples { self.sampler.delivered_so_far() } else { 0 };
        let dsack = dsack_of(blocks, ack.max(self.una));
        let mut outcome = Acked::default();
        if self.uses.rack {
            self.rack.begin();
        }
        if ack > self.una {
            outcome = self.advance(now, ack, clock_sample);
        }
        if self.sack {
            self.mark_sacked(now, blocks);
            if self.uses.rack {
                self.judge_by_time(now, dsack.is_some());
                if self.rack.probe_is_out() {
                    let duplicate = pure && !outcome.advanced && blocks.is_empty();
                    self.hear_of_probe(now, ack, dsack, duplicate);
                }
            } else {
                self.judge_by_sack();
            }
        } else if outcome.advanced {
            self.partial_without_sack(ack, outcome.segments);
        } else if pure && ack == self.una && self.counts_duplicates() {
            self.dup_acks += 1;
            if self.dup_acks == DUP_THRESH && self.recovery.is_none() {
                self.mark_lost_at(0);
            }
        }
        // With what it says of the blocks before, never less than nothing.
        let delivered = (self.una + self.sacked) - (before.0 + before.1);
        if self.uses.undo && self.undo.is_some() {
            let echo = clock_sample.filter(|_| outcome.advanced);
            self.question_reduction(now, echo, dsack);
        }
        let view = self.view(now, flight, outcome.rtt);
        match self.recovery {
            Some(Recovery::Fast { point }) if self.una >= point => {
                // RFC 6675, section 5: at the end of recovery the window is ssthresh.
                self.window.cwnd = self.window.ssthresh.max(2 * self.mss);
                self.recovery = None;
                if self.uses.rack {
                    self.rack.recovered();
                }
            }
            Some(Recovery::Timeout { point }) if self.una >= point => {
                self.recovery = None;
                self.frto = Frto::Off;
                if self.uses.rack {
                    self.rack.recovered();
                }
            }
            Some(Recovery::Timeout { point }) => {
                let duplicate = pure && !self.sack && ack == before.0;
                self.question_timeout(point, outcome.advanced, duplicate, delivered);
            }
            _ => {}
        }
        let fast = matches!(self.recovery, Some(Recovery::Fast { .. }));
        if outcome.advanced && !fast && self.frto != Frto::Holding {
            if self.growth_is_earned(flight) {
                // The acknowledgement that ends a recovery takes in much that was known to have arrived: it
                // counts by RFC 3465, and does not with Linux.
                let news = if self.uses.delivered { delivered } else { u64::MAX };
                self.grow(outcome.bytes.min(news), &view, coupling);
            } else {
                self.algorithm.on_unused(&view);
            }
        }
        if self.recovery.is_none() && self.lost > 0 {
            self.enter_fast(&view, delivered);
        }
        if self.uses.prr && matches!(self.recovery, Some(Recovery::Fast { .. })) {
            let safe = outcome.advanced && self.lost_ever == before.2;
            let (pipe, ssthresh) = (self.pipe(), self.window.ssthresh);
            if let Some(window) = self.prr.window(delivered, safe, pipe, ssthresh, self.mss) {
                self.window.cwnd = window;
            }
        }
        if self.uses.rack {
            if outcome.advanced {
                self.probe_due = false;
            }
            self.arm_probe(now);
        }
        if self.uses.samples {
            let mut sample = self.sampler.sample(sampled, self.rtt.min());
            sample.newly_lost = self.lost_ever - before.2;
            sample.rtt = outcome.rtt;
            sample.in_flight = self.pipe();
            let view = self.view(now, flight, outcome.rtt);
            self.algorithm.on_sample(&sample, &view, &mut self.window);
        }
        if self.uses.pacing {
            self.set_pace();
        }
        outcome
    }

    pub(super) fn set_pace(&mut self) {
        let own = || self.rtt.measured().filter(|_| self.asks_pacing);
        let driven = self.algorithm.driven(self.mss, self.rtt.srtt()).map(|(_, rate)| rate);
        let rate = driven
            .or_else(|| self.algorithm.pacing_rate())
            .or_else(|| own().map(|srtt| Pace::rate_of(&self.window, srtt)));
        self.pace.set(rate);
    }

    /// The peer wants `rate` bytes per second; with `None` the sender goes by its own algorithm again.
    pub(crate) fn set_receiver_rate(&mut self, now: Instant, rate: Option<u64>) {
        self.algorithm.drive(rate);
        self.uses.pacing = rate.is_some() || self.asks_pacing || self.uses.samples;
        match self.algorithm.driven(self.mss, self.rtt.srtt()) {
            // After a timeout an acknowledgement must come first.
            Some((window, rate)) if !matches!(self.recovery, Some(Recovery::Timeout { .. })) => {
                (self.window.cwnd, self.window.ssthresh) = (window, window);
                // What was timed at a lower rate goes out at this one.
                self.release = self.release.map(|at| at.min(now + Pace::burst(rate, self.mss)));
            }
            Some(_) => {}
            None => {
                self.release = self.release.filter(|_| self.uses.pacing);
                self.window.ssthresh = self.window.cwnd;
            }
        }
        self.set_pace();
    }

    /// The peer says how fast to send.
    pub(crate) fn is_receiver_driven(&self) -> bool {
        self.algorithm.is_driven()
    }

    fn grow(&mut self, bytes: u64, view: &View, coupling: &Coupling) {
        let mut bytes = bytes;
        if self.window.in_slow_start() && self.hystart.on {
            let at = (self.una, self.next);
            bytes = self.hystart.on_ack(bytes, at, view.rtt, self.mss, self.uses.pacing, &mut self.window);
        }
        self.algorithm.on_ack(bytes, view, coupling, &mut self.window);
    }

    pub(super) fn view(&self, now: Instant, in_flight: u64, rtt: Option<Duration>) -> View {
        View {
            now,
            mss: self.mss,
            srtt: self.rtt.srtt(),
            in_flight,
            rtt,
            min_rtt: self.rtt.min(),
            una: self.una,
            recovering: self.recovery.is_some(),
        }
    }

    /// After a timeout duplicates come of what was sent twice, and say nothing (RFC 6582, section 4).
    fn counts_duplicates(&self) -> bool {
        !self.sent.is_empty() && !matches!(self.recovery, Some(Recovery::Timeout { .. }))
    }

    /// Slow start grows while half the window is used, congestion avoidance while it holds data back.
    fn growth_is_earned(&self, flight: u64) -> bool {
        if self.window.in_slow_start() && 2 * flight >= self.window.cwnd {
            return true;
        }
        self.una <= self.limited_until
    }

    /// A queue goes round through all the memory that it has, and what the end of slow start took, some
    /// windows later nobody needs. Half of it is given back once less than a quarter is in use, so that it
    /// is never taken again at once.
    #[inline]
    fn trim(&mut self) {
        let room = self.sent.capacity();
        if room > LEAST_ROOM && self.sent.len() < room / 4 {
            self.give_room_back();
        }
    }

    #[cold]
    #[inline(never)]
    fn give_room_back(&mut self) {
        self.sent.shrink_to(self.sent.capacity() / 2);
    }

    fn advance(&mut self, now: Instant, ack: u64, clock_sample: Option<Duration>) -> Acked {
        let mut acked = ack - self.una;
        let mut segments = 0;
        let mut sample = None;
        let mut repeated = false;
        while let Some(front) = self.sent.front_mut() {
            if front.offset >= ack {
                break;
            }
            segments += 1;
            repeated |= front.is(REPEATED);
            let whole = front.end() <= ack;
            if self.uses.rack && whole {
                if front.is(SACKED) {
                    self.rack.sacked -= 1;
                } else {
                    let (at, end, repeated) = (front.at, front.end(), front.is(REPEATED));
                    self.rack.arrived(now, at, end, repeated, self.rtt.min(), clock_sample);
                }
            }
            let len = if whole { u64::from(front.len) } else { ack - front.offset };
            if front.is(SACKED) {
                self.sacked -= len;
            }
            if front.is(LOST) {
                self.lost -= len;
            }
            if front.is(IN_RETRANSMISSION) {
                self.retransmitting -= len;
            }
            if self.uses.samples {
                if !front.is(SACKED) {
                    self.sampler.delivered(now, 0, len, front.at);
                }
                if whole {
                    self.sampler.pop();
                }
            }
            if whole {
                if !front.is(SACKED) {
                    sample = Some(now.since(front.at));
                }
                if front.chunk.fin {
                    acked -= 1;
                }
                self.sent.pop_front();
            } else {
                let rest = front.chunk.payload.slice(len as usize, front.len as usize);
                front.chunk.payload = rest;
                front.chunk.data += len;
                front.offset = ack;
                front.len -= len as u32;
                break;
            }
        }
        if self.una == 0 {
            // The SYN: not data, and its round trip is sampled by the handshake.
            acked -= 1;
        }
        self.una = ack;
        self.judged = self.judged.max(ack);
        self.retransmit_from = self.retransmit_from.max(ack);
        // Behind a hole what was sent once has waited for the repair: where any of it was sent again, only
        // the peer's clock tells (RFC 6298, section 3).
        let rtt = sample.filter(|_| !repeated).or(clock_sample);
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt);
        }
        self.trim();
        self.timeouts = 0;
        // RFC 6298, sections 5.2 and 5.3.
        self.timer = (!self.sent.is_empty()).then(|| now + self.rtt.rto());
        Acked { bytes: acked, segments, advanced: true, rtt }
    }
}

/// A first block below the acknowledgement, or within the second, is of what came twice (RFC 2883,
/// section 4).
fn dsack_of(blocks: &[(u64, u64)], ack: u64) -> Option<(u64, u64)> {
    let &(left, right) = blocks.first()?;
    let known = right <= ack || blocks.get(1).is_some_and(|&(l, r)| l <= left && right <= r);
    (left < right && known).then_some((left, right))
}
