//! What a segment carries.

use bytes::Bytes;
use core::fmt;

/// A piece of a byte stream that can be cut into smaller pieces.
pub trait Payload: Clone {
    /// Nothing.
    fn empty() -> Self;
    /// Length in bytes.
    fn len(&self) -> usize;
    /// True where there is nothing in it.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The part from `from` to `to`, in bytes from its start. `from <= to <= len`.
    fn slice(&self, from: usize, to: usize) -> Self;
    /// This piece and `next` as one, if they can be one without a copy.
    fn join(&self, next: &Self) -> Option<Self>;
    /// The ones' complement sum of its bytes, taken as 16-bit words from its first byte on and padded
    /// with a zero byte (RFC 1071): what [`Sum::add_part`](crate::checksum::Sum::add_part) adds up.
    fn ones_sum(&self) -> u16;
}

/// A piece of a stream known only by where it lies: the simulator's payload.
///
/// A receiver can check that what arrives at stream offset `n` says that it is offset `n`. Its bytes, where
/// somebody wants to see them, are those of [`capture::filler`](crate::capture::filler).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Offset of the first byte in the application's stream.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
    /// The bytes are not those that were sent.
    corrupted: bool,
}

impl Span {
    /// `len` bytes from `offset` on.
    pub const fn new(offset: u64, len: u32) -> Self {
        Self { offset, len, corrupted: false }
    }
    /// The same bytes, changed on their way. Every part of them shows it, and a checksum finds it.
    #[must_use]
    pub const fn corrupted(self) -> Self {
        Self { corrupted: true, ..self }
    }
    /// True if the bytes were changed on their way.
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
    fn a_span_is_small_and_a_corrupted_one_stays_apart() {
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
