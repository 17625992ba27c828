//! What is known of each segment in flight: sacked, lost, sent again.

use super::recovery::Recovery;
use super::{Chunk, Sender};
use units::Instant;
use wire::{Payload, SackBlocks};

/// Duplicate acknowledgements that mean loss (RFC 5681, section 3.2; RFC 6675, section 2).
pub(super) const DUP_THRESH: u32 = 3;

pub(super) const SACKED: u8 = 1;
pub(super) const LOST: u8 = 2;
/// Sent again, and neither acknowledged nor given up since.
pub(super) const IN_RETRANSMISSION: u8 = 4;
/// Was ever sent again: no round-trip sample from it (Karn).
pub(super) const REPEATED: u8 = 8;
/// Another subflow has it too, and answers for it.
pub(super) const GIVEN: u8 = 16;

#[derive(Debug, Clone)]
pub(super) struct Sent<P> {
    pub(super) offset: u64,
    pub(super) len: u32,
    pub(super) flags: u8,
    pub(super) at: Instant,
    pub(super) chunk: Chunk<P>,
}

impl<P> Sent<P> {
    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
    pub(super) fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

impl<P: Payload> Sender<P> {
    pub(super) fn mark_sacked(&mut self, now: Instant, blocks: &[(u64, u64)]) {
        if blocks.is_empty() && !self.remembers_sack {
            return;
        }
        let previous = self.previous_sack;
        let mut remembered = SackBlocks::default();
        for &(left, right) in blocks {
            if right > self.next || left >= right || right <= self.una {
                continue;
            }
            remembered.push(left as u32, right as u32);
            // A block mostly repeats one of the acknowledgement before, grown at its right.
            let known = previous.as_slice().iter().find(|&&(l, r)| l == left as u32 && r <= right as u32);
            let from = known.map_or(left, |&(l, r)| left + u64::from(r.wrapping_sub(l)));
            self.mark_range(now, left, from.max(self.una), right);
        }
        self.remembers_sack = !remembered.is_empty();
        self.previous_sack = remembered;
    }

    /// Marks what lies whole within `[left, right)`; up to `from` it has been done before.
    fn mark_range(&mut self, now: Instant, left: u64, from: u64, right: u64) {
        let from = self.ending_after(from);
        for (i, sent) in (from..).zip(self.sent.range_mut(from..)) {
            if sent.end() > right {
                break;
            }
            if sent.offset < left || sent.is(SACKED) {
                continue;
            }
            let len = u64::from(sent.len);
            if sent.is(LOST) {
                self.lost -= len;
            }
            if sent.is(IN_RETRANSMISSION) {
                self.retransmitting -= len;
            }
            if self.uses.rack {
                self.rack.sacked += 1;
                self.rack.arrived(now, sent.at, sent.end(), sent.is(REPEATED), self.rtt.min(), None);
            }
            if self.uses.samples {
                self.sampler.delivered(now, i, len, sent.at);
            }
            sent.flags = (sent.flags & (REPEATED | GIVEN)) | SACKED;
            self.sacked += len;
            self.highest_sacked = self.highest_sacked.max(sent.end());
        }
    }

    /// IsLost of RFC 6675, section 4: three segments, or more than two full ones in bytes, were
    /// selectively acknowledged above.
    pub(super) fn judge_by_sack(&mut self) {
        if self.sacked == 0 || self.highest_sacked <= self.judged {
            return;
        }
        let mut i = self.index_of(self.highest_sacked);
        let (mut segments, mut bytes) = (0, 0);
        while i > 0 {
            i -= 1;
            let sent = &self.sent[i];
            if sent.end() <= self.judged {
                return;
            }
            if sent.is(SACKED) {
                segments += 1;
                bytes += u64::from(sent.len);
            } else if segments >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * self.mss {
                break;
            }
            if i == 0 {
                return;
            }
        }
        let edge = self.sent[i].end();
        let first = self.index_of(self.judged);
        for at in first..=i {
            self.mark_lost_at(at);
        }
        self.judged = self.judged.max(edge);
    }

    pub(super) fn mark_lost_at(&mut self, i: usize) {
        let Some(sent) = self.sent.get_mut(i) else { return };
        if sent.flags & (SACKED | LOST) == 0 {
            let len = u64::from(sent.len);
            sent.flags |= LOST;
            self.lost += len;
            self.lost_ever += len;
        }
        self.judged = self.judged.max(sent.end());
    }

    /// NewReno, RFC 6582, section 3.2, step 3: a partial acknowledgement means that the next segment
    /// is lost too. Of the `segments` acknowledged all but the retransmitted one had been counted as
    /// duplicates when they arrived.
    pub(super) fn partial_without_sack(&mut self, ack: u64, segments: u32) {
        match self.recovery {
            Some(Recovery::Fast { point }) if ack < point => {
                self.dup_acks = self.dup_acks.saturating_sub(segments.saturating_sub(1));
                self.mark_lost_at(0);
            }
            _ => self.dup_acks = 0,
        }
    }

    /// The first segment in flight that does not begin before `offset`.
    pub(super) fn index_of(&self, offset: u64) -> usize {
        let i = self.ending_after(offset);
        i + usize::from(self.sent.get(i).is_some_and(|sent| sent.offset < offset))
    }

    /// The first segment in flight that ends after `offset`. Mostly all are as long as the first, and it is where
    /// that says, so that none in between has to be fetched from memory.
    pub(super) fn ending_after(&self, offset: u64) -> usize {
        let Some(first) = self.sent.front() else { return 0 };
        let guess = (offset.saturating_sub(first.offset) / u64::from(first.len.max(1))) as usize;
        let ends_before = |i: usize| self.sent.get(i).is_some_and(|sent| sent.end() <= offset);
        let is_it = (guess == 0 || ends_before(guess - 1)) && guess <= self.sent.len() && !ends_before(guess);
        if is_it { guess } else { self.sent.partition_point(|sent| sent.end() <= offset) }
    }
}
