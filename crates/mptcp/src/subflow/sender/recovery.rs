//! Sending again: what is lost, what may be, and what a timeout does.

use super::scoreboard::{GIVEN, IN_RETRANSMISSION, LOST, REPEATED, SACKED, Sent};
use super::{Chunk, Sender};
use crate::congestion::CongestionControl;
use units::Time;
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
    /// The next chunk to send again, if loss and window ask for one.
    pub(crate) fn retransmit(&mut self, now: Time) -> Option<(u64, Chunk<P>)> {
        if self.lost <= self.retransmitting && !self.force {
            return None;
        }
        let from = self.index_of(self.retransmit_from);
        let found = (from..self.sent.len())
            .take_while(|&i| self.sent[i].offset < self.judged)
            .find(|&i| self.sent[i].flags & (LOST | IN_RETRANSMISSION) == LOST);
        let Some(i) = found else {
            self.retransmit_from = self.judged;
            self.force = false;
            return None;
        };
        self.retransmit_from = self.sent[i].offset;
        if !self.force && self.pipe() > 0 && self.pipe() + u64::from(self.sent[i].len) > self.window.cwnd {
            return None;
        }
        self.force = false;
        Some(self.send_again(now, i))
    }

    /// Where nothing else can be sent in recovery: a hole that is not yet judged lost, or once a
    /// recovery the last segment, to bring more acknowledgements (RFC 6675, section 4, NextSeg 3, 4).
    pub(crate) fn rescue(&mut self, now: Time) -> Option<(u64, Chunk<P>)> {
        let Some(Recovery::Fast { point }) = self.recovery else { return None };
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
        Some(self.send_again(now, i))
    }

    fn send_again(&mut self, now: Time, i: usize) -> (u64, Chunk<P>) {
        let sent = &mut self.sent[i];
        sent.flags |= IN_RETRANSMISSION | REPEATED;
        sent.at = now;
        self.retransmitting += u64::from(sent.len);
        self.retransmissions += 1;
        self.last_sent = now;
        let answer = (sent.offset, sent.chunk.clone());
        // RFC 6298, section 5.1 and RFC 6675, section 5, 6: a retransmission of the first hole restarts it.
        if i == 0 || self.timer.is_none() {
            self.timer = Some(now + self.rtt.rto());
        }
        answer
    }

    /// The retransmission timer expired: everything in flight counts as lost (RFC 6298, section 5.4
    /// to 5.6; RFC 5681, Eq. 4 and section 3.1).
    pub(crate) fn on_timeout(&mut self, now: Time) {
        let view = self.view(now, self.flight(), None);
        if !matches!(self.recovery, Some(Recovery::Timeout { .. })) {
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
            self.previous_sack = SackBlocks::default();
        }
        self.lost = 0;
        self.retransmitting = 0;
        for sent in &mut self.sent {
            if reneged || !sent.is(SACKED) {
                sent.flags = (sent.flags & (REPEATED | GIVEN)) | LOST;
                self.lost += u64::from(sent.len);
            }
        }
        self.judged = self.next;
        self.retransmit_from = self.una;
        self.force = true;
        self.timer = (!self.sent.is_empty()).then(|| now + self.rtt.rto());
    }
}
