//! Reordering queue: in-order data for the application and data beyond a gap.

use crate::endpoint::inline_queue::InlineQueue;
use std::collections::VecDeque;
use wire::Payload;

/// Reassembles the data stream. Positions are data offsets; the first byte is 1.
#[derive(Debug, Clone)]
pub(super) struct Reorder<P> {
    /// Next offset expected in order: the DATA_ACK.
    next: u64,
    ready: InlineQueue<P>,
    ready_bytes: u64,
    /// Pieces beyond a gap, by offset, disjoint.
    waiting: VecDeque<(u64, P)>,
    waiting_bytes: u64,
}

impl<P: Payload> Reorder<P> {
    pub(super) fn new() -> Self {
        Self {
            next: 1,
            ready: InlineQueue::new(),
            ready_bytes: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    /// Next offset expected in order: the DATA_ACK.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// In-order bytes that the application has not read.
    pub(super) fn unread(&self) -> u64 {
        self.ready_bytes
    }

    /// Bytes beyond a gap.
    pub(super) fn out_of_order(&self) -> u64 {
        self.waiting_bytes
    }

    /// Pieces held beyond a gap.
    pub(super) fn waiting_pieces(&self) -> usize {
        self.waiting.len()
    }

    /// Pieces held in all.
    pub(super) fn pieces(&self) -> usize {
        self.ready.len() + self.waiting.len()
    }

    /// Offset after the last byte received.
    pub(super) fn end(&self) -> u64 {
        self.waiting.back().map_or(self.next, |(at, piece)| at + piece.len() as u64)
    }

    /// Takes the next in-order piece of at most `limit` bytes.
    #[expect(
        clippy::inline_always,
        reason = "returned through memory, the piece is read before its stores have completed"
    )]
    #[inline(always)]
    pub(super) fn read(&mut self, limit: usize) -> Option<P> {
        let front = self.ready.front_mut()?;
        let len = front.len();
        let piece = if len <= limit {
            self.ready.pop_front()?
        } else {
            let piece = front.slice(0, limit);
            *front = front.slice(limit, len);
            piece
        };
        self.ready_bytes -= piece.len() as u64;
        Some(piece)
    }

    /// Inserts the part of `piece` at `offset` that was not received before.
    pub(super) fn insert(&mut self, mut offset: u64, mut piece: P) {
        let len = piece.len() as u64;
        if offset + len <= self.next {
            return;
        }
        if offset < self.next {
            piece = piece.slice((self.next - offset) as usize, len as usize);
            offset = self.next;
        }
        if offset == self.next && self.waiting.is_empty() {
            self.push_ready(piece);
            return;
        }
        self.insert_waiting(offset, piece);
        while self.waiting.front().is_some_and(|&(at, _)| at == self.next) {
            if let Some((_, piece)) = self.waiting.pop_front() {
                self.waiting_bytes -= piece.len() as u64;
                self.push_ready(piece);
            }
        }
    }

    /// Consumes the DATA_FIN, which occupies one data sequence number.
    pub(super) fn consume_fin(&mut self) {
        self.next += 1;
    }

    /// Contiguous ranges beyond the gap: the one that contains `latest` first, then the others in
    /// order.
    pub(super) fn ranges_from(&self, latest: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let last = self.waiting.partition_point(|&(at, _)| at <= latest);
        let newest = last.checked_sub(1).map(|i| self.range_around(i)).filter(|&(_, end)| latest < end);
        let mut i = 0;
        let others = core::iter::from_fn(move || {
            let start = i;
            self.waiting.get(start)?;
            let mut end = self.end_of(start);
            i += 1;
            while self.waiting.get(i).is_some_and(|&(at, _)| at == end) {
                end = self.end_of(i);
                i += 1;
            }
            Some((self.waiting[start].0, end))
        });
        newest.into_iter().chain(others.filter(move |&range| Some(range) != newest))
    }

    fn end_of(&self, i: usize) -> u64 {
        self.waiting[i].0 + self.waiting[i].1.len() as u64
    }

    /// The contiguous range around piece `i`.
    fn range_around(&self, i: usize) -> (u64, u64) {
        let (mut first, mut last) = (i, i);
        while first > 0 && self.end_of(first - 1) == self.waiting[first].0 {
            first -= 1;
        }
        while last + 1 < self.waiting.len() && self.end_of(last) == self.waiting[last + 1].0 {
            last += 1;
        }
        (self.waiting[first].0, self.end_of(last))
    }

    /// Returns true if all of `[from, to)` is held beyond the gap.
    pub(super) fn has(&self, from: u64, to: u64) -> bool {
        self.ranges_from(0).any(|(start, end)| start <= from && to <= end)
    }

    /// Checks the invariants, for tests.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let ensure = |holds: bool, message| if holds { Ok(()) } else { Err(message) };
        let bytes = |piece: &P| piece.len() as u64;
        ensure(self.ready_bytes == self.ready.iter().map(bytes).sum(), "ready bytes miscounted")?;
        let waiting_bytes = self.waiting.iter().map(|(_, piece)| bytes(piece)).sum();
        ensure(self.waiting_bytes == waiting_bytes, "waiting bytes miscounted")?;
        let mut at = self.next + 1;
        for (offset, piece) in &self.waiting {
            ensure(*offset >= at && !piece.is_empty(), "waiting pieces overlap or are in order")?;
            at = offset + bytes(piece);
        }
        Ok(())
    }

    fn push_ready(&mut self, piece: P) {
        self.next += piece.len() as u64;
        self.ready_bytes += piece.len() as u64;
        match self.ready.back_mut().and_then(|back| Some((back.join(&piece)?, back))) {
            Some((joined, back)) => *back = joined,
            None => self.ready.push_back(piece),
        }
    }

    fn insert_waiting(&mut self, mut offset: u64, mut piece: P) {
        let end_of = |(at, p): &(u64, P)| at + p.len() as u64;
        let mut i = self.waiting.partition_point(|&(at, _)| at <= offset);
        if i > 0 {
            let end = end_of(&self.waiting[i - 1]);
            if end >= offset + piece.len() as u64 {
                return;
            }
            if end > offset {
                piece = piece.slice((end - offset) as usize, piece.len());
                offset = end;
            }
        }
        loop {
            let len = piece.len() as u64;
            let Some(successor) = self.waiting.get(i).filter(|next| next.0 < offset + len) else {
                self.place(i, offset, piece);
                return;
            };
            let (start, end) = (successor.0, end_of(successor));
            if start > offset {
                let placed = self.place(i, offset, piece.slice(0, (start - offset) as usize));
                i = placed;
            }
            if end >= offset + len {
                return;
            }
            piece = piece.slice((end - offset) as usize, piece.len());
            offset = end;
            i += 1;
        }
    }

    /// Inserts a disjoint piece before index `i`, or joins it to its predecessor without a copy.
    /// Returns the index of the successor.
    fn place(&mut self, i: usize, offset: u64, piece: P) -> usize {
        self.waiting_bytes += piece.len() as u64;
        if i > 0 {
            let (at, before) = &mut self.waiting[i - 1];
            if *at + before.len() as u64 == offset
                && let Some(joined) = before.join(&piece)
            {
                *before = joined;
                return i;
            }
        }
        self.waiting.insert(i, (offset, piece));
        i + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;
    use wire::Span;

    proptest! {
        #[test]
        fn every_byte_is_read_once_and_in_order(
            pieces in prop::collection::vec((0_u64..200, 1_u32..40), 1..120),
        ) {
            let mut spans = Reorder::<Span>::new();
            let mut bytes = Reorder::<Bytes>::new();
            let source: Vec<u8> = (0..240).collect();
            let mut seen = [false; 240];
            let (mut read, mut stream) = (0, Vec::new());
            for (offset, len) in pieces {
                spans.insert(1 + offset, Span::new(offset, len));
                let end = offset as usize + len as usize;
                bytes.insert(1 + offset, Bytes::copy_from_slice(&source[offset as usize..end]));
                seen[offset as usize..end].fill(true);
                while let Some(span) = spans.read(17) {
                    prop_assert_eq!(span.offset, read);
                    read += u64::from(span.len);
                }
                while let Some(piece) = bytes.read(17) {
                    stream.extend_from_slice(&piece);
                }
                let prefix = seen.iter().take_while(|&&s| s).count();
                prop_assert_eq!(read, prefix as u64);
                prop_assert_eq!(&stream[..], &source[..prefix]);
                let beyond = seen[prefix..].iter().filter(|&&s| s).count() as u64;
                prop_assert_eq!(spans.out_of_order(), beyond);
                prop_assert_eq!(bytes.out_of_order(), beyond);
            }
        }
    }
}
