//! DASH manifests (ISO/IEC 23009-1): the video of a static presentation, with the address and length of each of
//! its segments.
//!
//! [`Presentation::parse`] reads an MPD. A representation whose segments are listed in the file itself
//! ([`Representation::missing`]) is told that index, or how large the file is; then
//! [`Representation::address`] and [`Representation::lengths`] know all of it.
//!
//! | Part of the standard | Here |
//! |---|---|
//! | 5.3.2 Period | any number, of which each has to have as many bitrates |
//! | 5.3.3 Adaptation Set | the first of video that is no trick mode |
//! | 5.3.5 Representation | from the lowest bitrate; of several with one bitrate the first |
//! | 5.3.9.2 SegmentBase | `indexRange` with a `sidx` of one level, else cut by time |
//! | 5.3.9.3 SegmentList | with `duration` or a timeline |
//! | 5.3.9.4 SegmentTemplate | `$RepresentationID$`, `$Bandwidth$`, `$Number$`, `$Time$`, `$$`, with widths |
//! | 5.3.9.6 SegmentTimeline | `t`, `d`, `r`, negative too |
//! | 5.6 Base URLs | the first of each level |
//!
//! Live presentations, remote elements (XLink) and document type definitions are refused. Whatever the bytes
//! are, memory is bounded by some megabytes beyond them, and nothing panics.

mod duration;
mod mpd;
mod segments;
mod sidx;
mod template;

pub use mpd::{MpdError, Presentation};
pub use segments::{Address, Missing, Representation};
