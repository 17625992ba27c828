//! Send buffer: data written by the application and not acknowledged at data level.

use crate::endpoint::inline_queue::InlineQueue;
use wire::Payload;

/// The data stream from the first unacknowledged byte. Positions are data offsets.
#[derive(Debug, Clone)]
pub(super) struct SendBuffer<P> {
    pieces: InlineQueue<(u64, P)>,
    /// Offset after the last byte written.
    end: u64,
}

impl<P: Payload> SendBuffer<P> {
    pub(super) fn new() -> Self {
        Self { pieces: InlineQueue::new(), end: 1 }
    }

    /// Offset after the last byte written.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn push(&mut self, piece: P) {
        let offset = self.end;
        self.end += piece.len() as u64;
        match self.pieces.back_mut().and_then(|back| Some((back.1.join(&piece)?, back))) {
            Some((joined, back)) => back.1 = joined,
            None => self.pieces.push_back((offset, piece)),
        }
    }

    /// Returns up to `limit` bytes from `offset`, without crossing into the next piece.
    #[expect(
        clippy::inline_always,
        reason = "returned through memory, the piece is read before its stores have completed"
    )]
    #[inline(always)]
    pub(super) fn slice(&self, offset: u64, limit: u64) -> Option<P> {
        let (at, piece) = self.pieces.last_matching(|&(at, _)| at <= offset)?;
        let from = (offset - at) as usize;
        let to = piece.len().min(from + limit as usize);
        (from < to).then(|| piece.slice(from, to))
    }

    /// Frees `[from, to)`, which the peer holds and will not discard.
    pub(super) fn release_within(&mut self, from: u64, to: u64) {
        let mut kept = InlineQueue::new();
        while let Some((at, piece)) = self.pieces.pop_front() {
            let (len, end) = (piece.len(), at + piece.len() as u64);
            if end <= from || at >= to {
                kept.push_back((at, piece));
                continue;
            }
            if at < from {
                kept.push_back((at, piece.slice(0, (from - at) as usize)));
            }
            if to < end {
                kept.push_back((to, piece.slice((to - at) as usize, len)));
            }
        }
        self.pieces = kept;
    }

    /// Frees everything before `offset`.
    pub(super) fn release(&mut self, offset: u64) {
        while let Some((at, piece)) = self.pieces.front_mut() {
            let len = piece.len() as u64;
            if *at + len <= offset {
                self.pieces.pop_front();
                continue;
            }
            if *at < offset {
                *piece = piece.slice((offset - *at) as usize, len as usize);
                *at = offset;
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Span;

    fn buffer(len: u32) -> SendBuffer<Span> {
        let mut buffer = SendBuffer::new();
        buffer.push(Span::new(0, len));
        buffer
    }

    #[test]
    fn released_prefix_is_gone_and_the_rest_keeps_its_offsets() {
        let mut buffer = buffer(100);
        buffer.release(41);
        assert_eq!(buffer.slice(40, 10), None);
        assert_eq!(buffer.slice(41, 10), Some(Span::new(40, 10)));
        assert_eq!(buffer.slice(95, 10), Some(Span::new(94, 6)));
        assert_eq!(buffer.end(), 101);
    }

    #[test]
    fn released_middle_leaves_both_sides() {
        let mut buffer = buffer(100);
        buffer.release_within(21, 31);
        assert_eq!(buffer.slice(11, 50), Some(Span::new(10, 10)));
        assert_eq!(buffer.slice(21, 50), None);
        assert_eq!(buffer.slice(31, 50), Some(Span::new(30, 50)));
    }
}
