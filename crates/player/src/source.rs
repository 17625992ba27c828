//! Manifest of the video, and the address of each segment.

use crate::Config;
use crate::address::{Address, without_login};
use crate::cmcd::StreamingFormat;
use crate::config::Source;
use crate::error::PlayError;
use crate::fetch::Fetcher;
use ::cmcd::Object;
use abr::Manifest;
use playback::{Kind, Level, Video};
use units::{Bitrate, Bytes, Duration};
use url::Url;

/// Maximum size of a manifest or segment index.
const MAX_MANIFEST_BYTES: usize = 16 << 20;
/// Playback time of one range of a plain file.
const FILE_RANGE_DURATION: Duration = Duration::from_secs(2);
/// Maximum number of ranges of a plain file.
const MAX_FILE_RANGES: u64 = 100_000;

/// A video, with the address of every segment.
#[derive(Debug)]
pub(crate) struct Presentation {
    pub(crate) manifest: Manifest,
    pub(crate) video: Video,
    addresses: Addresses,
    /// Level in the source, if [`Config::level`](crate::Config) fixes it. `manifest` then has only
    /// this level, as level 0.
    fixed: Option<usize>,
}

#[derive(Debug)]
enum Addresses {
    /// Segments of a content server, at `segments/LEVEL/SEGMENT/BYTES` below `server`.
    Sizes { server: Url },
    /// Byte ranges of one file of `size` bytes.
    File { url: Url, size: u64 },
    /// Segments of a DASH manifest, per level.
    Dash(Vec<dash::Representation>),
}

impl Presentation {
    pub(crate) async fn load(config: &Config, fetcher: &mut Fetcher) -> Result<Self, PlayError> {
        match &config.source {
            Source::Url(url) => {
                let (bytes, url) =
                    fetcher.fetch_whole(url, None, Object::Manifest, MAX_MANIFEST_BYTES).await?;
                let name = without_login(&url);
                let text = String::from_utf8(bytes).map_err(|_| {
                    PlayError::Manifest(format!("{name}: expected a text, found other bytes"))
                })?;
                Self::read(&name, &text, Some(&url), fetcher).await
            }
            Source::Text { name, text, base } => Self::read(name, text, base.as_ref(), fetcher).await,
            Source::Sizes { name, manifest, server } => {
                Ok(Self::of_sizes(name, manifest.clone(), server, fetcher))
            }
            Source::File { url, duration } => Self::of_file(url, *duration, fetcher).await,
        }
    }

    async fn read(
        name: &str,
        text: &str,
        base: Option<&Url>,
        fetcher: &mut Fetcher,
    ) -> Result<Self, PlayError> {
        if text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with('<') {
            return Self::of_mpd(name, text, base, fetcher).await;
        }
        let manifest = Manifest::from_json(name, text).map_err(manifest_error)?;
        let server = base.ok_or_else(|| {
            PlayError::Manifest(format!("{name}: expected a server to ask for segments of these sizes"))
        })?;
        // Segment paths are relative to the folder of the manifest.
        let server = server.join(".").unwrap_or_else(|_| server.clone());
        Ok(Self::of_sizes(name, manifest, &server, fetcher))
    }

    async fn of_mpd(
        name: &str,
        text: &str,
        base: Option<&Url>,
        fetcher: &mut Fetcher,
    ) -> Result<Self, PlayError> {
        let mut parsed = dash::Presentation::parse(name, text, base).map_err(manifest_error)?;
        fetcher.format = Some(StreamingFormat::Dash);
        // Whether the manifest alone determines the segments.
        let is_whole = parsed.representations.iter().all(|one| one.missing().is_none());
        let invalid = if is_whole { PlayError::Manifest } else { PlayError::Index };
        for representation in &mut parsed.representations {
            load_missing(representation, fetcher).await?;
        }
        parsed.complete().map_err(|what| invalid(format!("{name}: {what}")))?;
        let levels = parsed.representations;
        let manifest = dash_manifest(&levels).map_err(invalid)?;
        let video = Video {
            url: Some(base.map_or_else(|| name.to_owned(), without_login)),
            kind: Kind::Dash,
            content_id: None,
            title: parsed.title,
            duration_s: Some(manifest.duration().as_secs_f64()),
            segment_duration_s: Some(manifest.segment_duration().as_secs_f64()),
            levels: levels.iter().map(dash_level).collect(),
        };
        Ok(Self { manifest, video, addresses: Addresses::Dash(levels), fixed: None })
    }

    fn of_sizes(name: &str, manifest: Manifest, server: &Url, fetcher: &mut Fetcher) -> Self {
        fetcher.format = Some(StreamingFormat::Other);
        let video = Video {
            url: Some(name.to_owned()),
            kind: Kind::Sizes,
            content_id: None,
            title: None,
            duration_s: Some(manifest.duration().as_secs_f64()),
            segment_duration_s: Some(manifest.segment_duration().as_secs_f64()),
            levels: manifest.bitrates().iter().map(|rate| bare_level(*rate)).collect(),
        };
        Self { manifest, video, addresses: Addresses::Sizes { server: server.clone() }, fixed: None }
    }

    async fn of_file(url: &Url, duration: Duration, fetcher: &mut Fetcher) -> Result<Self, PlayError> {
        fetcher.format = Some(StreamingFormat::Other);
        let (size, url) = fetcher.size(url).await?;
        let count = duration.as_nanos().div_ceil(FILE_RANGE_DURATION.as_nanos());
        if count == 0 || count > MAX_FILE_RANGES {
            return Err(PlayError::Manifest(format!(
                "expected a video longer than 0 s, of at most {} s",
                MAX_FILE_RANGES * 2
            )));
        }
        if size < count {
            return Err(PlayError::Manifest(format!(
                "{}: expected a file of at least {count} bytes, found {size}",
                without_login(&url)
            )));
        }
        let lengths: Vec<Duration> = (0..count)
            .map(|index| FILE_RANGE_DURATION.min(duration.saturating_sub(FILE_RANGE_DURATION * index)))
            .collect();
        let sizes = (0..count).map(|index| {
            vec![Bytes::new(range_start(size, count, index + 1) - range_start(size, count, index))]
        });
        let rate = Bytes::new(size).per(duration).max(Bitrate::from_bps(1));
        let manifest = Manifest::uneven(lengths, vec![rate], sizes.collect()).map_err(PlayError::Manifest)?;
        let video = Video {
            url: Some(without_login(&url)),
            kind: Kind::File,
            content_id: None,
            title: None,
            duration_s: Some(duration.as_secs_f64()),
            segment_duration_s: Some(FILE_RANGE_DURATION.min(duration).as_secs_f64()),
            levels: vec![bare_level(rate)],
        };
        Ok(Self { manifest, video, addresses: Addresses::File { url, size }, fixed: None })
    }

    /// Address of a segment; `None` for an unknown segment, except in a plain file, where the caller
    /// checks the number.
    pub(crate) fn address(&self, segment: usize, level: usize) -> Option<Address> {
        match &self.addresses {
            Addresses::Sizes { server } => {
                let (size, level) = (self.manifest.size(segment, level)?, self.level(level));
                let mut url = server.clone();
                url.set_query(None);
                url.set_fragment(None);
                {
                    let mut path = url.path_segments_mut().ok()?;
                    let number = |number: usize| number.to_string();
                    path.pop_if_empty().extend(["segments", &number(level), &number(segment)]);
                    path.push(&size.get().to_string());
                }
                Some(Address { url, range: None })
            }
            Addresses::Dash(levels) => Some(of_dash(levels.get(self.level(level))?.address(segment)?)),
            Addresses::File { url, size } => {
                let count = self.manifest.segments() as u64;
                let from = range_start(*size, count, segment as u64);
                let to = range_start(*size, count, segment as u64 + 1);
                Some(Address { url: url.clone(), range: Some((from, Some(to.checked_sub(1)?))) })
            }
        }
    }

    /// Address of the initialization segment that a segment needs, with its key: the level and the
    /// index of the initialization segment in it. The player does not request a
    /// key again once its response has begun.
    pub(crate) fn init(&self, segment: usize, level: usize) -> Option<((usize, usize), Address)> {
        let level = self.level(level);
        let Addresses::Dash(levels) = &self.addresses else { return None };
        let (index, init) = levels.get(level)?.init(segment)?;
        Some(((level, index), of_dash(init.clone())))
    }

    /// Restricts the video to one level.
    pub(crate) fn only(mut self, level: usize) -> Result<Self, PlayError> {
        let highest = self.manifest.highest();
        if level > highest {
            return Err(PlayError::Manifest(format!("expected a level from 0 to {highest}, found {level}")));
        }
        self.manifest = self.manifest.single_level(level);
        self.video.levels = self.video.levels.get(level).cloned().into_iter().collect();
        self.fixed = Some(level);
        Ok(self)
    }

    /// Level in the source for a level of `manifest`; they differ if the level is fixed.
    pub(crate) fn level(&self, level: usize) -> usize {
        self.fixed.unwrap_or(level)
    }
}

/// Loads the segment index or the file size that a representation lacks.
async fn load_missing(
    representation: &mut dash::Representation,
    fetcher: &mut Fetcher,
) -> Result<(), PlayError> {
    while let Some(missing) = representation.missing() {
        match missing {
            dash::Missing::Index(address) => {
                let range = address.range.map(|(from, to)| (from, Some(to)));
                let (bytes, _) =
                    fetcher.fetch_whole(&address.url, range, Object::Other, MAX_MANIFEST_BYTES).await?;
                representation
                    .index(&bytes)
                    .map_err(|what| PlayError::Index(format!("{}: {what}", without_login(&address.url))))?;
            }
            dash::Missing::Size(url) => {
                let (size, _) = fetcher.size(&url).await?;
                representation
                    .cut(size)
                    .map_err(|what| PlayError::Index(format!("{}: {what}", without_login(&url))))?;
            }
        }
    }
    Ok(())
}

/// Builds the manifest of the player. A segment without a byte range gets an estimated size, its
/// bitrate times its duration, until the response states the size.
fn dash_manifest(levels: &[dash::Representation]) -> Result<Manifest, String> {
    let lengths: Vec<Duration> = levels[0].lengths().collect();
    let rates: Vec<Bitrate> = levels.iter().map(|level| level.bandwidth).collect();
    let mut sizes = vec![Vec::new(); lengths.len()];
    let mut segment_rates = vec![Vec::new(); lengths.len()];
    for level in levels {
        for (segment, at) in level.segments().zip(0..lengths.len()) {
            let estimate = || segment.bandwidth.over(lengths[at]).max(Bytes::new(1));
            sizes[at].push(segment.range.map_or_else(estimate, |(from, to)| Bytes::new(to - from + 1)));
            segment_rates[at].push(segment.bandwidth);
        }
    }
    Manifest::uneven(lengths, rates, sizes)?.with_segment_bitrates(segment_rates)
}

fn dash_level(level: &dash::Representation) -> Level {
    let codec = |codecs: &str| match codecs.split('.').next().unwrap_or_default() {
        "avc1" | "avc3" => Some("h264"),
        "hvc1" | "hev1" => Some("h265"),
        "vp09" | "vp9" => Some("vp9"),
        "av01" => Some("av1"),
        _ => None,
    };
    Level {
        codec: level.codecs.as_deref().and_then(codec).map(str::to_owned),
        fps: level.frame_rate,
        width: level.pixels.map(|(width, _)| width),
        height: level.pixels.map(|(_, height)| height),
        ..bare_level(level.bandwidth)
    }
}

fn of_dash(address: dash::Address) -> Address {
    Address { url: address.url, range: address.range.map(|(from, to)| (from, Some(to))) }
}

fn manifest_error(error: impl std::fmt::Display) -> PlayError {
    PlayError::Manifest(error.to_string())
}

/// Offset of the first byte of range `index`, if `size` bytes are cut into `count` ranges.
fn range_start(size: u64, count: u64, index: u64) -> u64 {
    (u128::from(size) * u128::from(index) / u128::from(count.max(1))) as u64
}

/// Level of which only the bitrate is known.
fn bare_level(rate: Bitrate) -> Level {
    Level { bitrate_kbps: rate.as_bps() as f64 / 1e3, codec: None, fps: None, width: None, height: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_for_many_periods_is_linear() {
        let period = "<Period duration=\"PT1S\"><AdaptationSet contentType=\"video\">\
            <SegmentTemplate duration=\"1\" media=\"a\"/><Representation bandwidth=\"8000\"/>\
            </AdaptationSet></Period>";
        let text = format!("<MPD>{}</MPD>", period.repeat(80_000));
        let base = Url::parse("http://h/").unwrap();
        let parsed = dash::Presentation::parse("film.mpd", &text, Some(&base)).unwrap();
        let begin = std::time::Instant::now();
        let manifest = dash_manifest(&parsed.representations).unwrap();
        assert!(begin.elapsed() < std::time::Duration::from_secs(3), "{:?}", begin.elapsed());
        assert_eq!((manifest.segments(), manifest.size(79_999, 0)), (80_000, Some(Bytes::new(1_000))));
    }
}
