//! Payload operations that middleboxes need.

use bytes::{Bytes, BytesMut};
use wire::{Payload, Span};

/// A payload that a middlebox can change and merge.
pub trait EditablePayload: Payload {
    /// Returns a payload of the same length with other bytes, chosen by the random `bits`; `None`
    /// for an empty payload.
    fn altered(&self, bits: u64) -> Option<Self>;
    /// Returns this payload and `next` as one; `None` if they are not adjacent.
    fn merged(&self, next: &Self) -> Option<Self>;
}

impl EditablePayload for Bytes {
    fn altered(&self, bits: u64) -> Option<Self> {
        let mut bytes = self.to_vec();
        let at = bits.checked_rem(bytes.len() as u64)? as usize;
        // `| 1` makes the mask non-zero, so that the byte changes.
        bytes[at] ^= (bits >> 56) as u8 | 1;
        Some(bytes.into())
    }
    fn merged(&self, next: &Self) -> Option<Self> {
        let mut both = BytesMut::with_capacity(Self::len(self) + Self::len(next));
        both.extend_from_slice(self);
        both.extend_from_slice(next);
        Some(both.freeze())
    }
}

impl EditablePayload for Span {
    fn altered(&self, _bits: u64) -> Option<Self> {
        (self.len > 0).then(|| self.corrupted())
    }
    fn merged(&self, next: &Self) -> Option<Self> {
        self.join(next)
    }
}
