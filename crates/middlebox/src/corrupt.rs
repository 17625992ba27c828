//! Payload modification: an application-level gateway that edits the data and fixes the TCP
//! checksum.

use crate::payload::EditablePayload;
use units::{Probability, Rng};
use wire::Segment;

/// Changes the payload of a segment with probability `chance`. Returns true if it changed.
pub(crate) fn corrupt<P: EditablePayload>(
    segment: &mut Segment<P>,
    chance: Probability,
    rng: &mut Rng,
) -> bool {
    if segment.payload.is_empty() || !rng.chance(chance) {
        return false;
    }
    let Some(payload) = segment.payload.altered(rng.bits()) else { return false };
    segment.payload = payload;
    true
}
