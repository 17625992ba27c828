//! What the application has written and the peer has not acknowledged at data level.

use super::few::Few;
use wire::Payload;

/// The data stream from the first unacknowledged byte on; positions are data offsets.
#[derive(Debug, Clone)]
pub(crate) struct SendBuffer<P> {
    pieces: Few<(u64, P)>,
    /// Offset after the last byte written.
    pub(crate) end: u64,
}

impl<P: Payload> SendBuffer<P> {
    pub(crate) fn new() -> Self {
        Self { pieces: Few::new(), end: 1 }
    }

    pub(crate) fn push(&mut self, piece: P) {
        let offset = self.end;
        self.end += piece.len() as u64;
        match self.pieces.back_mut().and_then(|back| Some((back.1.join(&piece)?, back))) {
            Some((joined, back)) => back.1 = joined,
            None => self.pieces.push_back((offset, piece)),
        }
    }

    /// Up to `most` bytes from `offset` on, as far as they lie in one piece.
    #[expect(
        clippy::inline_always,
        reason = "given back in memory it is read before its writes have got there"
    )]
    #[inline(always)]
    pub(crate) fn slice(&self, offset: u64, most: u64) -> Option<P> {
        let (at, piece) = self.pieces.last_where(|&(at, _)| at <= offset)?;
        let from = (offset - at) as usize;
        let to = piece.len().min(from + most as usize);
        (from < to).then(|| piece.slice(from, to))
    }

    /// Forgets what lies in `[from, to)`: the peer has it, and will not discard it.
    pub(crate) fn release_within(&mut self, from: u64, to: u64) {
        let mut kept = Few::new();
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

    /// Forgets what lies before `offset`.
    pub(crate) fn release(&mut self, offset: u64) {
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
