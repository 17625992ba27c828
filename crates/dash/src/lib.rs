//! DASH manifests (ISO/IEC 23009-1): address and length of each video segment of a static
//! presentation.
//!
//! [`Presentation::parse`] reads an MPD. If the media file contains the segment index
//! ([`Representation::missing`]), the caller supplies the index or the file's size. Then
//! [`Representation::address`] and [`Representation::lengths`] are complete. The module [`support`]
//! lists the supported parts. Memory is bounded for any input, and nothing panics.

/// Supported parts of ISO/IEC 23009-1. Live presentations, remote elements (XLink) and document
/// type definitions are rejected.
///
/// | Part of the standard | Support |
/// |---|---|
/// | 5.3.2 Period | any number, each with the same number of bitrates |
/// | 5.3.3 Adaptation Set | the first video set that is not a trick mode |
/// | 5.3.5 Representation | by ascending bitrate; of equal bitrates the first |
/// | 5.3.9.2 SegmentBase | `indexRange` with a `sidx` of one level, otherwise cut by time |
/// | 5.3.9.3 SegmentList | with `duration` or a timeline |
/// | 5.3.9.4 SegmentTemplate | `$RepresentationID$`, `$Bandwidth$`, `$Number$`, `$Time$`, `$$`, with widths |
/// | 5.3.9.6 SegmentTimeline | `t`, `d`, `r`, including negative `r` |
/// | 5.6 Base URLs | the first of each level |
pub mod support {}

mod duration;
mod mpd;
mod segments;
mod sidx;
mod template;

pub use mpd::{MpdError, Presentation};
pub use segments::{Address, Missing, Representation};
