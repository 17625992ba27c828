//! DASH manifests (ISO/IEC 23009-1): address and length of each video segment of a static
//! presentation.
//!
//! [`Presentation::parse`] reads an MPD. If the media file contains the segment index
//! ([`Representation::missing`]), the caller supplies the index or the file's size. Then
//! [`Representation::address`] and [`Representation::lengths`] are complete. Memory is bounded for
//! any input, and nothing panics. docs/reference/dash.md lists the supported parts of the standard.

mod duration;
mod mpd;
mod segments;
mod sidx;
mod template;

pub use mpd::{MpdError, Presentation};
pub use segments::{Address, Missing, Representation, Segment};
