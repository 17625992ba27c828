//! Scoreboard: every segment in flight, and whether it is sacked, lost or sent again.
//!
//! Counters keep [`pipe`](Scoreboard::pipe) current, so that no event walks the whole queue.

mod loss;
mod reinjection;
mod retransmission;
#[cfg(test)]
mod tests;

use super::queue::Chunk;
use std::collections::VecDeque;
use units::Instant;
use wire::{Payload, SackBlocks};

/// Duplicate acknowledgements that mean loss (RFC 5681, section 3.2; RFC 6675, section 2).
pub(super) const DUP_THRESH: u32 = 3;
/// Capacity of the queue that is never given back, in segments.
const MIN_CAPACITY: usize = 8;

pub(super) const SACKED: u8 = 1;
pub(super) const LOST: u8 = 2;
/// Sent again, and neither acknowledged nor lost again since.
pub(super) const RETRANSMITTED: u8 = 4;
/// Sent again at least once: gives no round-trip sample (Karn).
pub(super) const REPEATED: u8 = 8;
/// Another subflow carries the data too, and is responsible for it.
pub(super) const REINJECTED: u8 = 16;

/// A segment in flight.
#[derive(Debug, Clone)]
pub(super) struct Sent<P> {
    pub(super) offset: u64,
    pub(super) len: u32,
    flags: u8,
    /// When it was last sent.
    pub(super) at: Instant,
    pub(super) chunk: Chunk<P>,
}

impl<P> Sent<P> {
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
    #[inline]
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
    /// Lost, and not sent again since.
    fn is_unrepaired(&self) -> bool {
        self.flags & (LOST | RETRANSMITTED) == LOST
    }
    /// Neither delivered, lost nor sent again.
    fn is_plain(&self) -> bool {
        self.flags & (SACKED | LOST | RETRANSMITTED) == 0
    }
}

/// Result of a cumulative acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Advance {
    /// Bytes newly acknowledged, SYN and FIN not counted.
    pub(super) bytes: u64,
    /// Segments that they filled, wholly or in part.
    pub(super) segments: u32,
    /// When the first and the last segment were sent that were acknowledged whole and not sacked before.
    pub(super) sent_at: Option<(Instant, Instant)>,
    /// One of the segments was sent more than once.
    pub(super) repeated: bool,
}

/// Segments in flight, in subflow offsets (see [`crate::seq`]).
#[derive(Debug, Clone)]
pub(super) struct Scoreboard<P> {
    /// First offset not acknowledged.
    una: u64,
    /// Next offset to be sent.
    next: u64,
    sent: VecDeque<Sent<P>>,
    /// Bytes of the segments with the flags `SACKED`, `LOST`, `RETRANSMITTED`.
    sacked: u64,
    lost: u64,
    retransmitting: u64,
    sacked_segments: u32,
    /// Bytes found lost, ever.
    lost_total: u64,
    /// Everything below has been examined for loss.
    judged: u64,
    /// No lost segment below waits for retransmission.
    retransmit_from: u64,
    highest_sacked: u64,
    /// Blocks of the previous acknowledgement, as the low 32 bits of their offsets.
    previous_sack: Option<Box<SackBlocks>>,
    /// Offsets of retransmissions that were lost too; these are sent first.
    lost_again: VecDeque<u64>,
}

impl<P: Payload> Scoreboard<P> {
    pub(super) fn new() -> Self {
        Self {
            una: 0,
            next: 0,
            sent: VecDeque::new(),
            sacked: 0,
            lost: 0,
            retransmitting: 0,
            sacked_segments: 0,
            lost_total: 0,
            judged: 0,
            retransmit_from: 0,
            highest_sacked: 0,
            previous_sack: None,
            lost_again: VecDeque::new(),
        }
    }

    /// A SYN was sent: it takes offset 0.
    pub(super) fn on_syn_sent(&mut self) {
        self.next = 1;
    }
    pub(super) fn on_syn_acked(&mut self) {
        self.una = 1;
    }
    /// Drops all segments in flight. Only the next offset stays.
    pub(super) fn discard(&mut self) {
        *self = Self { una: self.next, next: self.next, ..Self::new() };
    }

    #[inline]
    pub(super) fn una(&self) -> u64 {
        self.una
    }
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }
    /// Bytes sent and not acknowledged.
    #[inline]
    pub(super) fn flight(&self) -> u64 {
        self.next - self.una
    }
    /// Bytes believed to be in the network (RFC 6675, section 4).
    #[inline]
    pub(super) fn pipe(&self) -> u64 {
        (self.flight() + self.retransmitting).saturating_sub(self.sacked + self.lost)
    }
    #[inline]
    pub(super) fn sacked(&self) -> u64 {
        self.sacked
    }
    #[inline]
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
    #[inline]
    pub(super) fn lost_total(&self) -> u64 {
        self.lost_total
    }
    /// Bytes lost and not sent again.
    #[inline]
    pub(super) fn has_unrepaired(&self) -> bool {
        self.lost > self.retransmitting
    }
    #[inline]
    pub(super) fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }
    #[inline]
    pub(super) fn highest_sacked(&self) -> u64 {
        self.highest_sacked
    }
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }
    /// Segments in flight.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.sent.len()
    }
    pub(super) fn get(&self, i: usize) -> Option<&Sent<P>> {
        self.sent.get(i)
    }
    pub(super) fn first(&self) -> Option<&Sent<P>> {
        self.sent.front()
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = &Sent<P>> {
        self.sent.iter()
    }
    /// The byte at this data offset is in flight.
    pub(super) fn contains(&self, data: u64) -> bool {
        self.sent.iter().any(|sent| sent.chunk.contains(data))
    }

    /// Puts a chunk in flight that is sent for the first time. Returns its offset.
    #[inline]
    pub(super) fn push(&mut self, now: Instant, chunk: &Chunk<P>) -> u64 {
        let offset = self.next;
        let len = chunk.seq_len();
        self.sent.push_back(Sent { offset, len: len as u32, flags: 0, at: now, chunk: chunk.clone() });
        self.next += len;
        offset
    }

    /// The first segment that begins at or after `offset`.
    pub(super) fn index_of(&self, offset: u64) -> usize {
        let i = self.ending_after(offset);
        i + usize::from(self.sent.get(i).is_some_and(|sent| sent.offset < offset))
    }

    /// The first segment that ends after `offset`. Segments mostly have the same length, so the
    /// index is computed from that of the first one, and searched for only where that is wrong.
    pub(super) fn ending_after(&self, offset: u64) -> usize {
        let Some(first) = self.sent.front() else { return 0 };
        let guess = (offset.saturating_sub(first.offset) / u64::from(first.len.max(1))) as usize;
        let ends_before = |i: usize| self.sent.get(i).is_some_and(|sent| sent.end() <= offset);
        let is_it = (guess == 0 || ends_before(guess - 1)) && guess <= self.sent.len() && !ends_before(guess);
        if is_it { guess } else { self.sent.partition_point(|sent| sent.end() <= offset) }
    }
}

/// Acknowledgements.
impl<P: Payload> Scoreboard<P> {
    /// Removes everything before `ack`. Calls `on_segment` for each segment with the bytes that are
    /// acknowledged of it, and true if that is all of it.
    pub(super) fn acknowledge(
        &mut self,
        ack: u64,
        mut on_segment: impl FnMut(&Sent<P>, u64, bool),
    ) -> Advance {
        let mut advance = Advance { bytes: ack - self.una, ..Advance::default() };
        while let Some(front) = self.sent.front_mut() {
            if front.offset >= ack {
                break;
            }
            advance.segments += 1;
            advance.repeated |= front.has(REPEATED);
            let whole = front.end() <= ack;
            let len = if whole { u64::from(front.len) } else { ack - front.offset };
            on_segment(front, len, whole);
            if front.has(SACKED) {
                self.sacked -= len;
                self.sacked_segments -= u32::from(whole);
            }
            if front.has(LOST) {
                self.lost -= len;
            }
            if front.has(RETRANSMITTED) {
                self.retransmitting -= len;
            }
            if !whole {
                front.chunk.cut_front(len as usize);
                front.offset = ack;
                front.len -= len as u32;
                break;
            }
            if !front.has(SACKED) {
                let first = advance.sent_at.map_or(front.at, |(first, _)| first);
                advance.sent_at = Some((first, front.at));
            }
            advance.bytes -= u64::from(front.chunk.fin);
            self.sent.pop_front();
        }
        // The SYN is not data.
        advance.bytes -= u64::from(self.una == 0);
        self.una = ack;
        self.judged = self.judged.max(ack);
        self.retransmit_from = self.retransmit_from.max(ack);
        self.trim();
        advance
    }

    /// Releases half of the queue's memory once less than a quarter is in use. Without this the
    /// peak of slow start would stay allocated.
    #[inline]
    fn trim(&mut self) {
        let capacity = self.sent.capacity();
        if capacity > MIN_CAPACITY && self.sent.len() < capacity / 4 {
            self.shrink();
        }
    }

    #[cold]
    #[inline(never)]
    fn shrink(&mut self) {
        self.sent.shrink_to(self.sent.capacity() / 2);
    }

    /// Applies SACK blocks. Calls `on_segment` for each newly sacked segment, with its index.
    #[inline]
    pub(super) fn apply_sack(&mut self, blocks: &[(u64, u64)], mut on_segment: impl FnMut(usize, &Sent<P>)) {
        if blocks.is_empty() {
            self.previous_sack = None;
            return;
        }
        let mut memory = self.previous_sack.take().unwrap_or_default();
        let previous = *memory;
        let mut remembered = SackBlocks::default();
        for &(left, right) in blocks {
            if right > self.next || left >= right || right <= self.una {
                continue;
            }
            remembered.push(left as u32, right as u32);
            // Most blocks repeat one of the acknowledgement before, and only its right edge has
            // moved.
            let known = previous.as_slice().iter().find(|&&(l, r)| l == left as u32 && r <= right as u32);
            let from = known.map_or(left, |&(l, r)| left + u64::from(r.wrapping_sub(l)));
            self.sack_range(left, from.max(self.una), right, &mut on_segment);
        }
        *memory = remembered;
        self.previous_sack = Some(memory);
    }

    /// Marks the segments that lie wholly in `[left, right)`. Those before `from` are marked
    /// already.
    fn sack_range(&mut self, left: u64, from: u64, right: u64, on_segment: &mut impl FnMut(usize, &Sent<P>)) {
        let from = self.ending_after(from);
        for (i, sent) in (from..).zip(self.sent.range_mut(from..)) {
            if sent.end() > right {
                break;
            }
            if sent.offset < left || sent.has(SACKED) {
                continue;
            }
            let len = u64::from(sent.len);
            if sent.has(LOST) {
                self.lost -= len;
            }
            if sent.has(RETRANSMITTED) {
                self.retransmitting -= len;
            }
            on_segment(i, sent);
            sent.flags = (sent.flags & (REPEATED | REINJECTED)) | SACKED;
            self.sacked += len;
            self.sacked_segments += 1;
            self.highest_sacked = self.highest_sacked.max(sent.end());
        }
    }
}

/// Invariants, for tests.
impl<P: Payload> Scoreboard<P> {
    pub(super) fn check_invariants(&self) -> Result<(), &'static str> {
        let ensure = |condition: bool, error| if condition { Ok(()) } else { Err(error) };
        let sum = |flag| self.sent.iter().filter(|s| s.has(flag)).map(|s| u64::from(s.len)).sum::<u64>();
        ensure(self.sacked == sum(SACKED), "sacked bytes miscounted")?;
        ensure(self.lost == sum(LOST), "lost bytes miscounted")?;
        ensure(self.retransmitting == sum(RETRANSMITTED), "retransmitted bytes miscounted")?;
        let sacked_segments = self.sent.iter().filter(|s| s.has(SACKED)).count();
        ensure(self.sacked_segments as usize == sacked_segments, "sacked segments miscounted")?;
        let mut at = self.una;
        for (i, sent) in self.sent.iter().enumerate() {
            let found = [sent.offset, sent.end() - 1].map(|offset| self.ending_after(offset));
            ensure(found == [i; 2], "a segment is not found by its bytes")?;
            ensure(self.index_of(sent.offset) == i, "a segment is not found by its offset")?;
            ensure(sent.offset == at && sent.len > 0, "a gap between segments in flight")?;
            ensure(sent.chunk.seq_len() == u64::from(sent.len), "segment and payload differ in length")?;
            ensure(!(sent.has(SACKED) && sent.has(LOST)), "a segment is sacked and lost")?;
            ensure(!sent.has(RETRANSMITTED) || sent.has(LOST), "a segment was sent again but is not lost")?;
            at = sent.end();
        }
        // The SYN is not kept in the queue.
        ensure(at == self.next || self.sent.is_empty() && self.next == 1, "flight does not end at next")?;
        ensure(self.sacked + self.lost <= self.flight(), "more sacked and lost than in flight")
    }
}
