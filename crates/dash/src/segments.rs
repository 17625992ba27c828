//! Representation: the address and length of each of its segments.

use crate::sidx;
use crate::template::{Values, fill};
use units::{Bitrate, Duration};
use url::Url;

/// Address of a resource, or of a byte range in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The resource.
    pub url: Url,
    /// First and last byte, both inclusive; `None` for the whole resource.
    pub range: Option<(u64, u64)>,
}

/// Information that a representation needs before its segments are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The index at this address, for [`Representation::index`].
    Index(Address),
    /// The size of this file, for [`Representation::cut`].
    Size(Url),
}

/// The video at one bitrate.
#[derive(Debug, Clone, PartialEq)]
pub struct Representation {
    /// Identifier in the first period.
    pub id: String,
    /// Bitrate in the first period.
    pub bandwidth: Bitrate,
    /// Codecs in the form of RFC 6381: `avc1.64001f`.
    pub codecs: Option<String>,
    /// Width and height in pixels.
    pub pixels: Option<(u32, u32)>,
    /// Frames per second.
    pub frame_rate: Option<f64>,
    /// One part per period.
    pub(crate) parts: Vec<Part>,
    /// Maximum number of segments from an index or a cut file.
    pub(crate) max_segments: usize,
}

/// Properties of a segment that need no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Playback length.
    pub length: Duration,
    /// Bitrate in the segment's period.
    pub bandwidth: Bitrate,
    /// First and last byte, both inclusive; `None` for a whole resource.
    pub range: Option<(u64, u64)>,
}

/// Segments of a representation in one period.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub(crate) bandwidth: Bitrate,
    pub(crate) init: Option<Address>,
    pub(crate) lengths: Vec<Duration>,
    pub(crate) source: Source,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    /// A template, with the representation's identifier, and the number and time of each segment.
    Template { base: Url, media: String, id: String, first: u64, times: Vec<u64> },
    /// Each is told: a reference to be resolved, a range.
    List { base: Url, entries: Vec<(String, Option<(u64, u64)>)> },
    /// In one file with an index that the caller supplies.
    Index { file: Address },
    /// In one file without an index.
    File { url: Url, duration: Duration },
}

impl Part {
    /// Memory for the addresses. The number of segments has a limit of its own.
    pub(crate) fn address_bytes(&self) -> usize {
        let init = self.init.as_ref().map_or(0, |init| init.url.as_str().len());
        let source = match &self.source {
            Source::Template { base, media, id, .. } => base.as_str().len() + media.len() + id.len(),
            Source::List { base, entries } => {
                base.as_str().len() + entries.iter().map(|(reference, _)| reference.len()).sum::<usize>()
            }
            Source::Index { file } => file.url.as_str().len(),
            Source::File { url, .. } => url.as_str().len(),
        };
        size_of::<Self>() + init + source
    }
}

/// Maximum number of segments of one representation.
pub(crate) const MAX_SEGMENTS: usize = 100_000;
/// Length of the segments into which a file without an index is cut.
const FILE_SEGMENT_DURATION: Duration = Duration::from_secs(2);

impl Representation {
    /// Information that the caller has to supply before the segments are known, if any.
    pub fn missing(&self) -> Option<Missing> {
        self.parts.iter().find_map(|part| match &part.source {
            Source::Index { file } => Some(Missing::Index(file.clone())),
            Source::File { url, .. } => Some(Missing::Size(url.clone())),
            _ => None,
        })
    }

    /// Reads the missing index.
    ///
    /// # Errors
    /// The problem, if the bytes are not a valid index, or have too many segments.
    pub fn index(&mut self, bytes: &[u8]) -> Result<(), String> {
        for part in &mut self.parts {
            let Source::Index { file } = &part.source else { continue };
            let references = sidx::parse(bytes, file.range.map_or(0, |(from, _)| from))?;
            if references.len() > self.max_segments {
                let (most, found) = (self.max_segments, references.len());
                return Err(format!("expected at most {most} segments of each bitrate, found {found}"));
            }
            part.lengths = references.iter().map(|reference| reference.duration).collect();
            let entries = references.iter().map(|reference| (String::new(), Some(reference.range))).collect();
            part.source = Source::List { base: file.url.clone(), entries };
            return Ok(());
        }
        Ok(())
    }

    /// Cuts the file into ranges of two seconds, with its bytes spread evenly over time.
    ///
    /// # Errors
    /// If the file has fewer bytes than ranges, or too many ranges.
    pub fn cut(&mut self, size: u64) -> Result<(), String> {
        for part in &mut self.parts {
            let Source::File { url, duration } = &part.source else { continue };
            let count = duration.as_nanos().div_ceil(FILE_SEGMENT_DURATION.as_nanos());
            if count == 0 || count > self.max_segments as u64 {
                let most = FILE_SEGMENT_DURATION * self.max_segments as u64;
                return Err(format!("expected a length above zero, of at most {most}, found {duration}"));
            }
            if size < count {
                return Err(format!("expected a file of at least {count} bytes, found {size}"));
            }
            let place = |index: u64| (u128::from(size) * u128::from(index) / u128::from(count)) as u64;
            part.lengths = (0..count)
                .map(|index| {
                    FILE_SEGMENT_DURATION.min(duration.saturating_sub(FILE_SEGMENT_DURATION * index))
                })
                .collect();
            let entries =
                (0..count).map(|index| (String::new(), Some((place(index), place(index + 1) - 1)))).collect();
            part.source = Source::List { base: url.clone(), entries };
            return Ok(());
        }
        Ok(())
    }

    /// Number of segments; 0 while information is [`missing`](Self::missing).
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.lengths.len()).sum()
    }

    /// True without segments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Playback length of each segment.
    pub fn lengths(&self) -> impl Iterator<Item = Duration> {
        self.parts.iter().flat_map(|part| part.lengths.iter().copied())
    }

    /// All segments, in linear time.
    pub fn segments(&self) -> impl Iterator<Item = Segment> {
        self.parts.iter().flat_map(|part| {
            part.lengths.iter().enumerate().map(|(index, length)| {
                let range = match &part.source {
                    Source::List { entries, .. } => entries.get(index).and_then(|(_, range)| *range),
                    _ => None,
                };
                Segment { length: *length, bandwidth: part.bandwidth, range }
            })
        })
    }

    /// Bitrate in the period of a segment, counted from 0; `None` beyond the last.
    pub fn bandwidth_of(&self, segment: usize) -> Option<Bitrate> {
        self.part(segment).map(|(part, _)| part.bandwidth)
    }

    /// Address of a segment, counted from 0; `None` beyond the last.
    pub fn address(&self, segment: usize) -> Option<Address> {
        let (part, index) = self.part(segment)?;
        match &part.source {
            Source::Template { base, media, id, first, times } => {
                let values = Values {
                    id,
                    bandwidth: part.bandwidth.as_bps(),
                    number: first.checked_add(index as u64)?,
                    time: *times.get(index)?,
                };
                Some(Address { url: base.join(&fill(media, values).ok()?).ok()?, range: None })
            }
            Source::List { base, entries } => {
                let (reference, range) = entries.get(index)?;
                // Joining an empty reference would remove the base's query.
                let url = if reference.is_empty() { base.clone() } else { base.join(reference).ok()? };
                Some(Address { url, range: *range })
            }
            Source::Index { .. } | Source::File { .. } => None,
        }
    }

    /// Initialization segment for a segment, with its index in the representation: one per period.
    pub fn init(&self, segment: usize) -> Option<(usize, &Address)> {
        let (part, _) = self.part(segment)?;
        let index = self.parts.iter().position(|other| core::ptr::eq(other, part))?;
        Some((index, part.init.as_ref()?))
    }

    fn part(&self, segment: usize) -> Option<(&Part, usize)> {
        let mut index = segment;
        for part in &self.parts {
            if index < part.lengths.len() {
                return Some((part, index));
            }
            index -= part.lengths.len();
        }
        None
    }
}
