//! Payload of a segment: real bytes, or a span of a simulated stream.

use crate::span::Span;
use bytes::Bytes;

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
