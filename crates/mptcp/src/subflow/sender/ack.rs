//! What an acknowledgement does.

use super::recovery::Recovery;
use super::scoreboard::{DUP_THRESH, IN_RETRANSMISSION, LOST, REPEATED, SACKED};
use super::{Acked, Sender};
use crate::congestion::{CongestionControl, Coupling, View};
use units::{Duration, Time};
use wire::Payload;

impl<P: Payload> Sender<P> {
    /// An acknowledgement up to `ack` with these blocks (already turned into offsets). `pure` is one
    /// without data that changes no window: only such a one counts as duplicate (RFC 5681, section 2).
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
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
        let mut outcome = Acked::default();
        if ack > self.una {
            outcome = self.advance(now, ack, clock_sample);
        }
        if self.sack {
            self.mark_sacked(blocks);
            self.judge_by_sack();
        } else if outcome.advanced {
            self.partial_without_sack(ack, outcome.segments);
        } else if pure && ack == self.una && self.counts_duplicates() {
            self.dup_acks += 1;
            if self.dup_acks == DUP_THRESH && self.recovery.is_none() {
                self.mark_lost_at(0);
            }
        }
        let view = self.view(now, flight, outcome.rtt);
        match self.recovery {
            Some(Recovery::Fast { point }) if self.una >= point => {
                // RFC 6675, section 5: at the end of recovery the window is ssthresh.
                self.window.cwnd = self.window.ssthresh.max(2 * self.mss);
                self.recovery = None;
            }
            Some(Recovery::Timeout { point }) if self.una >= point => self.recovery = None,
            _ => {}
        }
        let fast = matches!(self.recovery, Some(Recovery::Fast { .. }));
        if outcome.advanced && !fast {
            if self.growth_is_earned(flight) {
                self.algorithm.on_ack(outcome.bytes, &view, coupling, &mut self.window);
            } else {
                self.algorithm.on_unused(&view);
            }
        }
        if self.recovery.is_none() && self.lost > 0 {
            self.recovery = Some(Recovery::Fast { point: self.next });
            self.force = true;
            self.rescued = false;
            self.algorithm.on_loss(&view, &mut self.window);
            self.window.cwnd = self.window.ssthresh;
        }
        outcome
    }

    pub(super) fn view(&self, now: Time, in_flight: u64, rtt: Option<Duration>) -> View {
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

    fn advance(&mut self, now: Time, ack: u64, clock_sample: Option<Duration>) -> Acked {
        let mut acked = ack - self.una;
        let mut segments = 0;
        let mut sample = None;
        while let Some(front) = self.sent.front_mut() {
            if front.offset >= ack {
                break;
            }
            segments += 1;
            let whole = front.end() <= ack;
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
            if whole {
                if !front.is(REPEATED) && !front.is(SACKED) {
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
        let rtt = sample.or(clock_sample);
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt);
        }
        self.timeouts = 0;
        // RFC 6298, sections 5.2 and 5.3.
        self.timer = (!self.sent.is_empty()).then(|| now + self.rtt.rto());
        Acked { bytes: acked, segments, advanced: true, rtt }
    }
}
