//! Sending again: what is lost, what may be, and what a timeout does.

use super::scoreboard::{GIVEN, IN_RETRANSMISSION, LOST, REPEATED, SACKED, Sent};
use super::undo::Frto;
use super::{Chunk, Sender};
use crate::congestion::{CongestionControl, View};
use units::Instant;
use wire::{Payload, SackBlocks};

/// How losses are being repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recovery {
    /// After duplicate acknowledgements; ends when `point` is acknowledged.
    Fast { point: u64 },
    /// After a timeout.
    Timeout { point: u64 },
}

impl<P: Payload> Sender<P> {
    /// Something is lost that was not sent again.
    #[inline]
    pub(crate) fn has_retransmission(&self) -> bool {
        self.lost > self.retransmitting || self.force
    }

    /// Is [`rescue`](Self::rescue) worth asking?
    #[inline]
    pub(crate) fn may_need_rescue(&self) -> bool {
        self.recovery.is_some() || self.probe_due || self.uses.samples
    }

    /// The next chunk to send again, if loss and window ask for one.
    pub(crate) fn retransmit(&mut self, now: Instant) -> Option<(u64, Chunk<P>)> {
        if !self.has_retransmission() {
            return None;
        }
        if self.frto == Frto::Holding || self.pacing_holds(now) {
            return None;
        }
        let Some(i) = self.next_lost() else {
            self.retransmit_from = self.judged;
            self.force = false;
            return None;
        };
        if !self.force && self.pipe() > 0 && self.pipe() + u64::from(self.sent[i].len) > self.window.cwnd {
            return None;
        }
        self.force = false;
        Some(self.send_again(now, i))
    }

    /// The next segment that is lost and not on its way again.
    fn next_lost(&mut self) -> Option<usize> {
        let waits = |sent: &Sent<P>| sent.flags & (LOST | IN_RETRANSMISSION) == LOST;
        while let Some(&offset) = self.rack.again.front().filter(|_| self.uses.rack) {
            let i = self.ending_after(offset);
            if self.sent.get(i).is_some_and(|s| s.offset <= offset && waits(s)) {
                return Some(i);
            }
            self.rack.again.pop_front();
        }
        let from = self.index_of(self.retransmit_from);
        let i = (from..self.sent.len())
            .take_while(|&i| self.sent[i].offset < self.judged)
            .find(|&i| waits(&self.sent[i]))?;
        self.retransmit_from = self.sent[i].offset;
        Some(i)
    }

    /// Where nothing else can be sent in recovery: a hole that is not yet judged lost, or once a
    /// recovery the last segment, to bring more acknowledgements (RFC 6675, section 4, NextSeg 3, 4).
    pub(crate) fn rescue(&mut self, now: Instant) -> Option<(u64, Chunk<P>)> {
        if self.pacing_holds(now) {
            return None;
        }
        if self.uses.samples && self.queue.is_empty() && self.lost <= self.retransmitting {
            let pipe = self.pipe();
            if pipe < self.window.cwnd {
                self.sampler.run_dry(pipe);
            }
        }
        if self.probe_due {
            return self.probe_tail(now);
        }
        if self.frto == Frto::Holding {
            return if self.give_up_frto() { self.retransmit(now) } else { None };
        }
        // RACK has its own way for tails.
        let Some(Recovery::Fast { point }) = self.recovery.filter(|_| !self.uses.rack) else { return None };
        if !self.sack || self.rescued || self.pipe() + self.mss > self.window.cwnd {
            return None;
        }
        let unsacked = |s: &Sent<P>| s.flags & (SACKED | IN_RETRANSMISSION | LOST) == 0;
        let hole = self.sent.iter().position(|s| unsacked(s) && s.end() <= self.highest_sacked);
        let i = hole.or_else(|| {
            self.rescued = true;
            self.sent.iter().rposition(|s| unsacked(s) && s.end() <= point)
        })?;
        // Taken for lost, so that one copy of it counts as in the network.
        self.sent[i].flags |= LOST;
        self.lost += u64::from(self.sent[i].len);
        self.lost_ever += u64::from(self.sent[i].len);
        Some(self.send_again(now, i))
    }

    fn send_again(&mut self, now: Instant, i: usize) -> (u64, Chunk<P>) {
        let sent = &mut self.sent[i];
        sent.flags |= IN_RETRANSMISSION | REPEATED;
        sent.at = now;
        let len = u64::from(sent.len);
        self.retransmitting += len;
        self.retransmissions += 1;
        self.last_sent = now;
        let answer = (sent.offset, sent.chunk.clone());
        if self.uses.rack {
            self.rack.sent_again(now, answer.0);
        }
        if self.uses.prr {
            self.prr.sent(len);
        }
        self.note_repeat(now, len);
        self.note_copy(now, i, len);
        // RFC 6298, section 5.1 and RFC 6675, section 5, 6: a retransmission of the first hole restarts it.
        if i == 0 || self.timer.is_none() {
            self.timer = Some(now + self.rtt.rto());
        }
        answer
    }

    /// Something went out that had been sent before.
    pub(super) fn note_copy(&mut self, now: Instant, i: usize, len: u64) {
        self.repeated_last = true;
        if self.uses.pacing {
            self.release = self.pace.sent(now, len, self.mss).or(self.release);
        }
        if self.uses.samples {
            self.sampler.sent_again(now, i);
        }
    }

    /// Losses were found and no recovery is under way. `delivered` bytes came with the news.
    pub(super) fn enter_fast(&mut self, view: &View, delivered: u64) {
        self.recovery = Some(Recovery::Fast { point: self.next });
        self.force = true;
        self.rescued = false;
        self.remember();
        self.quiet_probe();
        self.algorithm.on_loss(view, &mut self.window);
        if self.uses.prr {
            self.prr.begin(self.flight() + delivered - self.sacked);
        } else {
            self.settle_window();
        }
    }

    /// The window after a reduction.
    pub(super) fn settle_window(&mut self) {
        self.window.cwnd = self.window.ssthresh;
    }

    /// The retransmission timer expired: everything in flight counts as lost (RFC 6298, section 5.4
    /// to 5.6; RFC 5681, Eq. 4 and section 3.1).
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        let view = self.view(now, self.flight(), None);
        let again = matches!(self.recovery, Some(Recovery::Timeout { .. }));
        // RFC 5682, sections 2.1 and 3.1, step 1: not within another recovery, but for one of the same segment.
        let same = again && self.frto == Frto::Repeated;
        self.frto =
            if self.asks_frto && (self.recovery.is_none() || same) { Frto::Repeated } else { Frto::Off };
        if !again {
            self.undo = None;
            if self.recovery.is_none() {
                self.remember();
            }
            self.algorithm.on_timeout(&view, &mut self.window);
        }
        self.window.cwnd = self.mss;
        self.timeouts += 1;
        self.rtt.back_off();
        self.recovery = Some(Recovery::Timeout { point: self.next });
        self.dup_acks = 0;
        // Had the first hole arrived, it would have been acknowledged: the receiver has thrown away
        // what it said to have (RFC 2018, section 8).
        let reneged = self.sent.front().is_some_and(|first| first.is(SACKED));
        if reneged {
            self.sacked = 0;
            self.rack.sacked = 0;
            self.previous_sack = SackBlocks::default();
        }
        self.retransmit_from = self.una;
        self.force = true;
        self.timer = (!self.sent.is_empty()).then(|| now + self.rtt.rto());
        if self.uses.rack {
            self.quiet();
            if !reneged {
                self.judge_on_timeout(now);
                return;
            }
        }
        self.lost_ever += (self.flight() - self.sacked).saturating_sub(self.lost - self.retransmitting);
        self.lost = 0;
        self.retransmitting = 0;
        for sent in &mut self.sent {
            if reneged || !sent.is(SACKED) {
                sent.flags = (sent.flags & (REPEATED | GIVEN)) | LOST;
                self.lost += u64::from(sent.len);
            }
        }
        self.judged = self.next;
    }
}
