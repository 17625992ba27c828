//! Payload beyond a gap of its subflow that waits there, as in Linux, whose subflows pass on data in
//! order only.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use wire::Payload;

/// Pieces of payload, which may overlap.
#[derive(Debug, Clone)]
pub(crate) struct Held<P> {
    /// By subflow offset: the offset in the data stream, and the payload.
    pieces: BTreeMap<u64, (u64, P)>,
    bytes: u64,
}

impl<P: Payload> Held<P> {
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
    /// Keeps a piece that lies at `at` in the subflow and at `data` in the data stream, unless one of
    /// the same subflow offset is here.
    pub(crate) fn insert(&mut self, at: u64, data: u64, piece: P) {
        if let Entry::Vacant(place) = self.pieces.entry(at) {
            self.bytes += piece.len() as u64;
            place.insert((data, piece));
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
        let mut held = Held::new();
        held.insert(30, 130, Span::new(130, 10));
        held.insert(20, 120, Span::new(120, 10));
        held.insert(20, 120, Span::new(120, 5));
        assert_eq!((held.pieces(), held.bytes()), (2, 20));
        assert_eq!(held.take_before(20), None);
        assert_eq!(held.take_before(25), Some((120, Span::new(120, 10))));
        assert_eq!((held.take_before(25), held.bytes()), (None, 10));
    }
}
