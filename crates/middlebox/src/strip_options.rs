//! Option stripping: a firewall that removes or blocks TCP options it does not know.

use crate::config::SegmentFilter;
use crate::option_set::OptionSet;
use wire::{Flags, Payload, Segment};

/// True if the filter selects the segment and the segment has one of the options.
pub(crate) fn matches<P: Payload>(segment: &Segment<P>, options: OptionSet, filter: SegmentFilter) -> bool {
    let is_syn = segment.flags.has(Flags::SYN);
    let is_selected = match filter {
        SegmentFilter::Syn => is_syn,
        SegmentFilter::NotSyn => !is_syn,
        SegmentFilter::Data => !segment.payload.is_empty(),
        SegmentFilter::All => true,
    };
    is_selected && options.intersects(OptionSet::of(segment))
}
