//! Payload that has arrived beyond a gap of its subflow and waits for the gap to be filled, as in Linux,
//! whose subflows pass on data in order only.

use std::collections::BTreeMap;
use wire::Payload;

/// Pieces of payload, which may overlap.
#[derive(Debug, Clone)]
pub(crate) struct OutOfOrderQueue<P> {
    /// By subflow offset: the offset in the data stream, and the payload.
    pieces: BTreeMap<u64, (u64, P)>,
    bytes: u64,
}

impl<P: Payload> OutOfOrderQueue<P> {
    pub(super) fn new() -> Self {
        Self { pieces: BTreeMap::new(), bytes: 0 }
    }
    /// Number of pieces.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces.len()
    }
    /// Bytes of all pieces.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Keeps a piece that lies at `at` in the subflow and at `data` in the data stream. Of two pieces
    /// with one subflow offset the longer one stays.
    pub(crate) fn insert(&mut self, at: u64, data: u64, piece: P) {
        let known = self.pieces.get(&at).map_or(0, |(_, known)| known.len());
        if piece.len() > known {
            self.bytes += (piece.len() - known) as u64;
            self.pieces.insert(at, (data, piece));
        }
    }
    /// Takes out the first piece, with its offset in the data stream, if it begins before the subflow
    /// offset `next`.
    pub(crate) fn take_before(&mut self, next: u64) -> Option<(u64, P)> {
        let first = self.pieces.first_entry().filter(|first| *first.key() < next)?;
        let (data, piece) = first.remove();
        self.bytes -= piece.len() as u64;
        Some((data, piece))
    }
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Span;

    #[test]
    fn pieces_leave_in_order_once_the_gap_is_filled() {
        let mut queue = OutOfOrderQueue::new();
        queue.insert(30, 130, Span::new(130, 10));
        queue.insert(20, 120, Span::new(120, 4));
        queue.insert(20, 120, Span::new(120, 10));
        assert_eq!((queue.pieces(), queue.bytes()), (2, 20));
        assert_eq!(queue.take_before(20), None);
        assert_eq!(queue.take_before(25), Some((120, Span::new(120, 10))));
        assert_eq!((queue.take_before(25), queue.bytes()), (None, 10));
    }
}
