//! Choice of the segments to be sent again.

use super::{LOST, REPEATED, RETRANSMITTED, Scoreboard, Sent};
use units::Instant;
use wire::Payload;

impl<P: Payload> Scoreboard<P> {
    /// Searches for lost segments from the first one again.
    pub(in crate::subflow::sender) fn restart_retransmission(&mut self) {
        self.retransmit_from = self.una;
    }

    /// The next segment that is lost and not sent again.
    pub(in crate::subflow::sender) fn next_lost(&mut self) -> Option<usize> {
        while let Some(&offset) = self.lost_again.front() {
            let i = self.ending_after(offset);
            if self.sent.get(i).is_some_and(|sent| sent.offset <= offset && sent.is_unrepaired()) {
                return Some(i);
            }
            self.lost_again.pop_front();
        }
        let from = self.index_of(self.retransmit_from);
        let found = (from..self.sent.len())
            .take_while(|&i| self.sent[i].offset < self.judged)
            .find(|&i| self.sent[i].is_unrepaired());
        self.retransmit_from = found.map_or(self.judged, |i| self.sent[i].offset);
        found
    }

    /// Segment `i` is sent again.
    pub(in crate::subflow::sender) fn mark_retransmitted(&mut self, now: Instant, i: usize) -> &Sent<P> {
        let sent = &mut self.sent[i];
        sent.flags |= RETRANSMITTED | REPEATED;
        sent.at = now;
        self.retransmitting += u64::from(sent.len);
        sent
    }

    /// The last segment is sent again as a tail loss probe.
    pub(in crate::subflow::sender) fn mark_probed(&mut self, now: Instant) -> Option<&Sent<P>> {
        let tail = self.sent.back_mut()?;
        tail.at = now;
        tail.flags |= REPEATED;
        Some(tail)
    }

    /// The first hole below a sacked segment that is not judged lost yet (RFC 6675, NextSeg 3).
    pub(in crate::subflow::sender) fn first_hole(&self) -> Option<usize> {
        self.sent.iter().position(|sent| sent.is_plain() && sent.end() <= self.highest_sacked)
    }
    /// The last segment that ends at or before `point` (RFC 6675, NextSeg 4).
    pub(in crate::subflow::sender) fn last_plain_before(&self, point: u64) -> Option<usize> {
        self.sent.iter().rposition(|sent| sent.is_plain() && sent.end() <= point)
    }
    /// Counts segment `i` as lost, so that only its next copy counts as in the network.
    pub(in crate::subflow::sender) fn mark_rescued(&mut self, i: usize) {
        let sent = &mut self.sent[i];
        sent.flags |= LOST;
        self.lost += u64::from(sent.len);
        self.lost_total += u64::from(sent.len);
    }
}
