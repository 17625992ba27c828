//! A segment in transit through a middlebox.

use wire::{Payload, Segment};

/// A segment with its direction and connection.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitSegment<P> {
    /// True if the device sent the segment, false if the server did.
    pub from_device: bool,
    /// Connection: a number for each pair of addresses, since ports alone may be the same.
    pub flow: u32,
    /// The segment.
    pub segment: Segment<P>,
}

impl<P: Payload> TransitSegment<P> {
    /// True if both belong to the same direction of the same connection.
    pub(crate) fn same_stream(&self, other: &Self) -> bool {
        let key = |s: &Self| (s.from_device, s.flow, s.segment.source, s.segment.destination);
        key(self) == key(other)
    }
}
