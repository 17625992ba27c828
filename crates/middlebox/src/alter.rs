//! Payload whose bytes a box may change.

use bytes::{Bytes, BytesMut};
use wire::{Payload, Span};

/// What [`Corrupt`](crate::Meddling::Corrupt) and [`Coalesce`](crate::Meddling::Coalesce) need beyond
/// what every [`Payload`] can.
pub trait Alter: Payload {
    /// The same length with other bytes, chosen by `bits`; `None` where there are none.
    fn altered(&self, bits: u64) -> Option<Self>;
    /// This piece and `next` as one, by a copy if need be; `None` if they do not follow each other.
    fn merged(&self, next: &Self) -> Option<Self>;
}

impl Alter for Bytes {
    fn altered(&self, bits: u64) -> Option<Self> {
        let mut bytes = self.to_vec();
        let at = bits.checked_rem(bytes.len() as u64)? as usize;
        // Never zero, so that the byte is another.
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

impl Alter for Span {
    fn altered(&self, _bits: u64) -> Option<Self> {
        (self.len > 0).then(|| self.corrupted())
    }
    fn merged(&self, next: &Self) -> Option<Self> {
        self.join(next)
    }
}
