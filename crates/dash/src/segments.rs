//! A representation: the address and length of each of its segments.

use crate::sidx;
use crate::template::{Values, fill};
use units::{Bitrate, Duration};
use url::Url;

/// Where something is: a whole resource, or from one byte of it to another, this one included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The resource.
    pub url: Url,
    /// The part of it.
    pub range: Option<(u64, u64)>,
}

/// What a representation has to be told before its segments are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The index that is there: [`Representation::index`].
    Index(Address),
    /// How large this file is: [`Representation::cut`].
    Size(Url),
}

/// One of the bitrates in which the video is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Representation {
    /// Its name.
    pub id: String,
    /// Its bitrate.
    pub bandwidth: Bitrate,
    /// Its codecs, as RFC 6381 has them: `avc1.64001f`.
    pub codecs: Option<String>,
    /// Width and height in pixels.
    pub pixels: Option<(u32, u32)>,
    /// Frames a second.
    pub frame_rate: Option<f64>,
    /// One for each period.
    pub(crate) parts: Vec<Part>,
}

/// What of it is in one period.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub(crate) init: Option<Address>,
    pub(crate) lengths: Vec<Duration>,
    pub(crate) source: Source,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    /// A name for each, made of a template, from a number and a time each.
    Template { base: Url, media: String, first: u64, times: Vec<u64> },
    /// Each is told: a reference to be resolved, a range.
    List { base: Url, entries: Vec<(String, Option<(u64, u64)>)> },
    /// In one file whose index is to be read.
    Index { file: Address },
    /// In one file without an index.
    File { url: Url, duration: Duration },
}

/// How long the pieces are into which a file without an index is cut.
const PIECE: Duration = Duration::from_secs(2);

impl Representation {
    /// What it has to be told first. After that, or where nothing is missing, its segments are known.
    pub fn missing(&self) -> Option<Missing> {
        self.parts.iter().find_map(|part| match &part.source {
            Source::Index { file } => Some(Missing::Index(file.clone())),
            Source::File { url, .. } => Some(Missing::Size(url.clone())),
            _ => None,
        })
    }

    /// Reads the index that was missing. An error says what is wrong with it.
    pub fn index(&mut self, bytes: &[u8]) -> Result<(), String> {
        for part in &mut self.parts {
            let Source::Index { file } = &part.source else { continue };
            let references = sidx::parse(bytes, file.range.map_or(0, |(from, _)| from))?;
            part.lengths = references.iter().map(|reference| reference.duration).collect();
            let entries = references.iter().map(|reference| (String::new(), Some(reference.range))).collect();
            part.source = Source::List { base: file.url.clone(), entries };
            return Ok(());
        }
        Ok(())
    }

    /// Cuts the file whose size was missing into pieces of two seconds, as if its bytes were spread evenly
    /// over its time. An error says why that cannot be.
    pub fn cut(&mut self, size: u64) -> Result<(), String> {
        for part in &mut self.parts {
            let Source::File { url, duration } = &part.source else { continue };
            let count = duration.as_nanos().div_ceil(PIECE.as_nanos()).min(size);
            if count == 0 || count > crate::mpd::MOST_SEGMENTS as u64 {
                return Err(format!(
                    "{url}: expected a file of some length, found {size} bytes in {duration}"
                ));
            }
            let place = |index: u64| (u128::from(size) * u128::from(index) / u128::from(count)) as u64;
            part.lengths =
                (0..count).map(|index| PIECE.min(duration.saturating_sub(PIECE * index))).collect();
            let entries =
                (0..count).map(|index| (String::new(), Some((place(index), place(index + 1) - 1)))).collect();
            part.source = Source::List { base: url.clone(), entries };
            return Ok(());
        }
        Ok(())
    }

    /// How many segments there are; 0 while something is missing.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.lengths.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How long each segment plays.
    pub fn lengths(&self) -> impl Iterator<Item = Duration> {
        self.parts.iter().flat_map(|part| part.lengths.iter().copied())
    }

    /// Where a segment is, from 0; `None` where there is no such.
    pub fn address(&self, segment: usize) -> Option<Address> {
        let (part, index) = self.part(segment)?;
        match &part.source {
            Source::Template { base, media, first, times } => {
                let values = Values {
                    id: &self.id,
                    bandwidth: self.bandwidth.as_bps(),
                    number: first.checked_add(index as u64)?,
                    time: *times.get(index)?,
                };
                Some(Address { url: base.join(&fill(media, values).ok()?).ok()?, range: None })
            }
            Source::List { base, entries } => {
                let (reference, range) = entries.get(index)?;
                // An empty reference would take the base's query away.
                let url = if reference.is_empty() { base.clone() } else { base.join(reference).ok()? };
                Some(Address { url, range: *range })
            }
            Source::Index { .. } | Source::File { .. } => None,
        }
    }

    /// What a decoder needs before a segment, and which of the representation's it is: the same for all
    /// segments of a period.
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
