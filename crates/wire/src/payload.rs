//! What a segment carries.

use bytes::Bytes;

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
}

/// A piece of a stream known only by where it lies: the simulator's payload.
///
/// A receiver can check that what arrives at stream offset `n` says that it is offset `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Offset of the first byte in the application's stream.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
}

impl Payload for Span {
    fn empty() -> Self {
        Self::default()
    }
    fn len(&self) -> usize {
        self.len as usize
    }
    fn slice(&self, from: usize, to: usize) -> Self {
        Self { offset: self.offset + from as u64, len: (to - from) as u32 }
    }
    fn join(&self, next: &Self) -> Option<Self> {
        let len = self.len.checked_add(next.len)?;
        (self.offset + u64::from(self.len) == next.offset).then_some(Self { offset: self.offset, len })
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
}
