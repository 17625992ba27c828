//! Loss detection on the scoreboard, and the effect of a timeout.

use super::{DUP_THRESH, LOST, REINJECTED, REPEATED, RETRANSMITTED, SACKED, Scoreboard, Sent};
use units::Instant;
use wire::Payload;

impl<P: Payload> Scoreboard<P> {
    /// The first segment not yet examined for loss.
    pub(in crate::subflow::sender) fn first_unjudged(&self) -> usize {
        if self.judged <= self.una { 0 } else { self.index_of(self.judged) }
    }
    /// Segment `i` and all before it have been examined for loss.
    pub(in crate::subflow::sender) fn set_judged(&mut self, i: usize) {
        self.judged = self.sent[i].end();
    }

    /// IsLost of RFC 6675, section 4: three segments, or more than two full ones in bytes, were
    /// selectively acknowledged above.
    pub(in crate::subflow::sender) fn detect_by_sack(&mut self, mss: u64) {
        if self.sacked == 0 || self.highest_sacked <= self.judged {
            return;
        }
        self.skip_sacked();
        let mut i = self.index_of(self.highest_sacked);
        let (mut segments, mut bytes) = (0, 0);
        while i > 0 {
            i -= 1;
            let sent = &self.sent[i];
            if sent.end() <= self.judged {
                return;
            }
            if sent.has(SACKED) {
                segments += 1;
                bytes += u64::from(sent.len);
            } else if segments >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * mss {
                break;
            }
            if i == 0 {
                return;
            }
        }
        let edge = self.sent[i].end();
        let first = self.index_of(self.judged);
        for at in first..=i {
            self.mark_lost(at);
        }
        self.judged = self.judged.max(edge);
    }

    /// Sacked segments need no judgement. Without this, each acknowledgement of a recovery would walk
    /// over all that were sacked before.
    fn skip_sacked(&mut self) {
        let first = self.index_of(self.judged);
        let sacked = self.sent.range(first..).take_while(|sent| sent.has(SACKED));
        self.judged = sacked.last().map_or(self.judged, Sent::end);
    }

    /// Marks segment `i` as lost unless it is sacked or lost already.
    pub(in crate::subflow::sender) fn mark_lost(&mut self, i: usize) {
        let Some(sent) = self.sent.get_mut(i) else { return };
        if !sent.has(SACKED | LOST) {
            let len = u64::from(sent.len);
            sent.flags |= LOST;
            self.lost += len;
            self.lost_total += len;
        }
        self.judged = self.judged.max(sent.end());
    }

    /// Marks the last transmission of segment `i`, which was sent before, as lost.
    pub(in crate::subflow::sender) fn mark_lost_again(&mut self, i: usize) {
        let sent = &mut self.sent[i];
        let len = u64::from(sent.len);
        if sent.has(RETRANSMITTED) {
            sent.flags &= !RETRANSMITTED;
            self.retransmitting -= len;
        } else {
            sent.flags |= LOST;
            self.lost += len;
        }
        self.lost_total += len;
        self.lost_again.push_back(sent.offset);
    }

    /// After a timeout with RACK: marks the first segment lost, and those for which `expired` is
    /// true.
    pub(in crate::subflow::sender) fn mark_expired_lost(&mut self, expired: impl Fn(Instant) -> bool) {
        for i in 0..self.sent.len() {
            let sent = &mut self.sent[i];
            if i > 0 && !expired(sent.at) || sent.has(SACKED) {
                continue;
            }
            if sent.has(RETRANSMITTED) {
                let len = u64::from(sent.len);
                sent.flags &= !RETRANSMITTED;
                self.retransmitting -= len;
                self.lost_total += len;
            }
            self.mark_lost(i);
        }
        self.lost_again.clear();
    }

    /// The receiver has discarded data that it had sacked (RFC 2018, section 8): otherwise it would
    /// have acknowledged the first segment.
    pub(in crate::subflow::sender) fn has_reneged(&self) -> bool {
        self.sent.front().is_some_and(|first| first.has(SACKED))
    }

    /// After a timeout: marks every segment lost that is not sacked. If the receiver has `reneged`,
    /// its SACK blocks are forgotten first.
    pub(in crate::subflow::sender) fn mark_all_lost(&mut self, reneged: bool) {
        if reneged {
            self.sacked = 0;
            self.sacked_segments = 0;
            self.previous_sack = None;
        }
        self.lost_total += (self.flight() - self.sacked).saturating_sub(self.lost - self.retransmitting);
        self.lost = 0;
        self.retransmitting = 0;
        for sent in &mut self.sent {
            if reneged || !sent.has(SACKED) {
                sent.flags = (sent.flags & (REPEATED | REINJECTED)) | LOST;
                self.lost += u64::from(sent.len);
            }
        }
        self.judged = self.next;
    }

    /// No segment is lost after all: the reduction was spurious.
    pub(in crate::subflow::sender) fn clear_losses(&mut self) {
        for sent in &mut self.sent {
            sent.flags &= !(LOST | RETRANSMITTED);
        }
        (self.lost, self.retransmitting) = (0, 0);
        self.judged = self.una;
        self.retransmit_from = self.una;
        self.lost_again.clear();
    }
}
