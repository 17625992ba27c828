//! What there is to play, and where each piece of it is.

use crate::config::Source;
use crate::fetch::{Fetcher, Piece};
use crate::http::Range;
use crate::{Config, PlayError};
use session::{Kind, Level, Video};
use traffic::Manifest;
use units::{Bitrate, Bytes, Duration};
use url::Url;

/// The largest manifest that is read.
const LARGEST_MANIFEST: usize = 16 << 20;
/// How much of a file is asked for at once.
const PIECE_OF_FILE: Duration = Duration::from_secs(2);
/// The most pieces of one.
const MOST_PIECES: u64 = 100_000;

/// A video, and the address of everything in it.
#[derive(Debug)]
pub(crate) struct Presentation {
    pub(crate) manifest: Manifest,
    pub(crate) video: Video,
    addresses: Addresses,
    /// The one level that there is of several.
    fixed: Option<usize>,
}

#[derive(Debug)]
enum Addresses {
    /// Of a content server.
    Sizes { server: Url },
    /// Parts of one file.
    File { url: Url, size: u64 },
}

/// Where a piece is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) url: Url,
    pub(crate) range: Option<Range>,
}

impl Presentation {
    pub(crate) async fn load(config: &Config, fetcher: &mut Fetcher) -> Result<Self, PlayError> {
        match &config.source {
            Source::Url(url) => {
                let (bytes, url) = fetcher.small(url, None, Piece::Manifest, LARGEST_MANIFEST).await?;
                let text = String::from_utf8(bytes)
                    .map_err(|_| PlayError::Manifest(format!("{url}: expected a text, found other bytes")))?;
                Self::read(url.as_str(), &text, Some(&url), fetcher).await
            }
            Source::Text { name, text, base } => Self::read(name, text, base.as_ref(), fetcher).await,
            Source::Sizes { name, manifest, server } => Ok(Self::of_sizes(name, manifest.clone(), server)),
            Source::File { url, duration } => Self::of_file(url, *duration, fetcher).await,
        }
    }

    async fn read(
        name: &str,
        text: &str,
        base: Option<&Url>,
        _fetcher: &mut Fetcher,
    ) -> Result<Self, PlayError> {
        let manifest =
            Manifest::from_json(name, text).map_err(|error| PlayError::Manifest(error.to_string()))?;
        let server = base.ok_or_else(|| {
            PlayError::Manifest(format!("{name}: expected a server to ask for segments of these sizes"))
        })?;
        Ok(Self::of_sizes(name, manifest, server))
    }

    fn of_sizes(name: &str, manifest: Manifest, server: &Url) -> Self {
        let video = Video {
            url: Some(name.to_owned()),
            kind: Kind::Sizes,
            content_id: None,
            title: None,
            duration_s: Some(manifest.duration().as_secs_f64()),
            segment_duration_s: Some(manifest.segment_duration().as_secs_f64()),
            levels: manifest.bitrates().iter().map(|rate| plain(*rate)).collect(),
        };
        Self { manifest, video, addresses: Addresses::Sizes { server: server.clone() }, fixed: None }
    }

    async fn of_file(url: &Url, duration: Duration, fetcher: &mut Fetcher) -> Result<Self, PlayError> {
        let (size, url) = fetcher.size(url).await?;
        if duration.is_zero() || size == 0 {
            return Err(PlayError::Manifest(format!(
                "{url}: expected a file of some length, found {size} bytes"
            )));
        }
        let count = duration.as_nanos().div_ceil(PIECE_OF_FILE.as_nanos()).min(size);
        if count > MOST_PIECES {
            return Err(PlayError::Manifest(format!("expected a video of at most {} s", MOST_PIECES * 2)));
        }
        let lengths: Vec<Duration> = (0..count)
            .map(|index| PIECE_OF_FILE.min(duration.saturating_sub(PIECE_OF_FILE * index)))
            .collect();
        let sizes =
            (0..count).map(|index| vec![Bytes::new(cut(size, count, index + 1) - cut(size, count, index))]);
        let rate = Bytes::new(size).per(duration).max(Bitrate::from_bps(1));
        let manifest = Manifest::uneven(lengths, vec![rate], sizes.collect()).map_err(PlayError::Manifest)?;
        let video = Video {
            url: Some(without_login(&url)),
            kind: Kind::File,
            content_id: None,
            title: None,
            duration_s: Some(duration.as_secs_f64()),
            segment_duration_s: Some(PIECE_OF_FILE.min(duration).as_secs_f64()),
            levels: vec![plain(rate)],
        };
        Ok(Self { manifest, video, addresses: Addresses::File { url, size }, fixed: None })
    }

    /// Where a segment in a level is; `None` where there is no such.
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
            Addresses::File { url, size } => {
                let count = self.manifest.segments() as u64;
                let (from, to) = (cut(*size, count, segment as u64), cut(*size, count, segment as u64 + 1));
                Some(Address { url: url.clone(), range: Some((from, Some(to.checked_sub(1)?))) })
            }
        }
    }

    /// What a decoder needs before the first segment of a level.
    pub(crate) fn init(&self, _level: usize) -> Option<Address> {
        None
    }

    /// Only one level of it.
    pub(crate) fn only(mut self, level: usize) -> Result<Self, PlayError> {
        let highest = self.manifest.highest();
        if level > highest {
            return Err(PlayError::Manifest(format!("expected a level from 0 to {highest}, found {level}")));
        }
        self.manifest = self.manifest.only(level);
        self.video.levels = self.video.levels.get(level).cloned().into_iter().collect();
        self.fixed = Some(level);
        Ok(self)
    }

    /// A level of the player as the addresses count them.
    pub(crate) fn level(&self, level: usize) -> usize {
        self.fixed.unwrap_or(level)
    }
}

/// Where piece `index` of `count` begins.
fn cut(size: u64, count: u64, index: u64) -> u64 {
    (u128::from(size) * u128::from(index) / u128::from(count.max(1))) as u64
}

fn plain(rate: Bitrate) -> Level {
    Level { bitrate_kbps: rate.as_bps() as f64 / 1e3, codec: None, fps: None, width: None, height: None }
}

/// A record is shown to others.
pub(crate) fn without_login(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}
