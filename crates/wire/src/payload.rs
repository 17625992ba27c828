//! Payload of a segment.

use bytes::Bytes;
use core::fmt;

/// A piece of a byte stream that can be divided into smaller pieces.
pub trait Payload: Clone {
    /// An empty payload.
    fn empty() -> Self;
    /// Length in bytes.
    fn len(&self) -> usize;
    /// True if the length is 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes `from..to` of the payload; requires `from <= to <= len`.
    fn slice(&self, from: usize, to: usize) -> Self;
    /// This payload and `next` as one; `None` if that needs a copy or they are not adjacent.
    fn join(&self, next: &Self) -> Option<Self>;
    /// Ones' complement sum of the bytes as 16-bit words, padded with a zero byte (RFC 1071), for
    /// [`Sum::add_part`](crate::checksum::Sum::add_part).
    fn ones_sum(&self) -> u16;
}

/// Payload of the simulator: a piece of a stream given by offset and length only.
///
/// A receiver can check that the data it delivers at offset `n` is the data of offset `n`. A
/// capture shows the bytes of [`capture::filler`](crate::capture::filler).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Offset of the first byte in the application's stream.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
    /// A middlebox has changed the bytes.
    corrupted: bool,
}

impl Span {
    /// `len` bytes from `offset` on.
    pub const fn new(offset: u64, len: u32) -> Self {
        Self { offset, len, corrupted: false }
    }
    /// The same span with changed bytes. Each part of it is corrupted too, and its checksum
    /// differs.
    #[must_use]
    pub const fn corrupted(self) -> Self {
        Self { corrupted: true, ..self }
    }
    /// True if a middlebox has changed the bytes.
    pub const fn is_corrupted(&self) -> bool {
        self.corrupted
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Span");
        debug.field("offset", &self.offset).field("len", &self.len);
        if self.corrupted {
            debug.field("corrupted", &true);
        }
        debug.finish()
    }
}

impl Payload for Span {
    fn empty() -> Self {
        Self::default()
    }
    fn len(&self) -> usize {
        self.len as usize
    }
    fn slice(&self, from: usize, to: usize) -> Self {
        Self { offset: self.offset + from as u64, len: (to - from) as u32, ..*self }
    }
    fn join(&self, next: &Self) -> Option<Self> {
        let len = self.len.checked_add(next.len)?;
        let follows = self.offset + u64::from(self.len) == next.offset;
        (follows && self.corrupted == next.corrupted).then_some(Self { len, ..*self })
    }
    fn ones_sum(&self) -> u16 {
        crate::filler::sum(*self)
    }
}

impl Payload for Bytes {
    fn empty() -> Self {
        Self::new()
    }
    fn len(&self) -> usize {
        Self::len(self)
    }
    fn slice(&self, from: usize, to: usize) -> Self {
        Self::slice(self, from..to)
    }
    fn join(&self, _next: &Self) -> Option<Self> {
        None
    }
    fn ones_sum(&self) -> u16 {
        !crate::checksum::checksum(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrupted_and_intact_spans_are_not_joined() {
        assert_eq!(size_of::<Span>(), 16);
        let (first, second) = (Span::new(10, 5), Span::new(15, 5));
        assert_eq!(first.join(&second), Some(Span::new(10, 10)));
        assert_eq!(first.corrupted().join(&second), None);
        assert_eq!(first.join(&second.corrupted()), None);
        assert_eq!(first.corrupted().join(&second.corrupted()), Some(Span::new(10, 10).corrupted()));
        assert!(first.corrupted().slice(1, 2).is_corrupted());
        assert!(!first.slice(1, 2).is_corrupted());
    }
}
