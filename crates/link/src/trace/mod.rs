//! Recorded (or generated) rates over time.

mod error;
mod json;
mod lines;

pub use error::TraceError;

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;
use units::{Bitrate, Bytes, Duration};

/// What one opportunity of a mahimahi trace carries, in bytes.
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// How much a link can carry over time, in a loop.
///
/// Cheap to clone: the numbers are shared.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    pub(crate) kind: TraceKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TraceKind {
    /// Milliseconds since the start, in order; the last is the period.
    Opportunities(Arc<[u32]>),
    Rates(Arc<RateTable>),
}

/// One piece of a trace of rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatePiece {
    /// How long it is in force.
    pub duration: Duration,
    /// What the link carries meanwhile; zero stalls it.
    pub rate: Bitrate,
    /// One-way delay that a packet has beside the link's own where its last byte is sent meanwhile.
    pub latency: Duration,
}

/// How a trace is written.
///
/// In the three formats of lines, empty lines and lines that begin with `#` are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// mahimahi's: on each line a whole number of milliseconds since the start, not before that of
    /// the line above. Each is an opportunity to send 1500 bytes: several packets may share one, a
    /// packet may need several, and what nobody uses is lost. The trace loops with the period of
    /// its last line.
    Mahimahi,
    /// `second,bytes_per_second`: a rate from its second on, until that of the next line; the last
    /// one as long as the one before it. Time is counted from the first line. A first line that
    /// begins with a letter is a header.
    SecondBytes,
    /// `seconds Mbps`, with white space between: read like [`SecondBytes`](Self::SecondBytes).
    SecondsMbps,
    /// A JSON list of `{"duration_ms": 1000, "bandwidth_kbps": 4500, "latency_ms": 20}`, one after
    /// the other. `latency_ms` may be left out; it is one-way delay on top of the link's own, of
    /// packets whose last byte is sent while the piece is in force.
    JsonSegments,
}

impl Trace {
    /// Reads `text` as `format`, or as what it looks like. `name` is only for errors and, where
    /// `format` is `None`, for its extension (`.json`, `.csv`).
    pub fn parse(name: &str, text: &str, format: Option<TraceFormat>) -> Result<Self, TraceError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let format = match format {
            Some(format) => format,
            None => lines::detect(name, text)?,
        };
        match format {
            TraceFormat::Mahimahi => lines::mahimahi(name, text),
            TraceFormat::SecondBytes => lines::second_bytes(name, text),
            TraceFormat::SecondsMbps => lines::seconds_mbps(name, text),
            TraceFormat::JsonSegments => json::segments(name, text),
        }
    }

    /// A trace of opportunities at these milliseconds. `None` unless they are in order and end after
    /// zero.
    pub fn from_opportunities(millis: Vec<u32>) -> Option<Self> {
        let fine = millis.is_sorted() && millis.last().is_some_and(|&last| last > 0);
        fine.then(|| Self { kind: TraceKind::Opportunities(millis.into()) })
    }

    /// A trace of these rates. `None` where nothing would ever pass, or where one round takes longer
    /// than a century.
    pub fn from_rates(pieces: &[RatePiece]) -> Option<Self> {
        let table = RateTable::looping(pieces)?;
        Some(Self { kind: TraceKind::Rates(Arc::new(table)) })
    }

    /// How long one round of the trace takes.
    pub fn period(&self) -> Duration {
        match &self.kind {
            TraceKind::Opportunities(millis) => {
                Duration::from_millis(u64::from(millis.last().copied().unwrap_or(0)))
            }
            TraceKind::Rates(table) => Duration::from_nanos(table.period),
        }
    }

    /// The rates of one round, in order; empty for a trace of opportunities.
    pub fn pieces(&self) -> Vec<RatePiece> {
        let TraceKind::Rates(table) = &self.kind else { return Vec::new() };
        let starts = core::iter::once(0).chain(table.pieces.iter().map(|piece| piece.end));
        let piece = |(start, piece): (u64, &TablePiece)| RatePiece {
            duration: Duration::from_nanos(piece.end - start),
            rate: Bitrate::from_bps(piece.bps),
            latency: Duration::from_nanos(piece.latency),
        };
        starts.zip(&table.pieces).map(piece).collect()
    }

    /// The mean of what the trace can carry.
    pub fn mean_rate(&self) -> Bitrate {
        match &self.kind {
            TraceKind::Opportunities(millis) => {
                Bytes::new(millis.len() as u64 * u64::from(OPPORTUNITY_BYTES)).per(self.period())
            }
            TraceKind::Rates(table) => {
                Bitrate::from_bps((table.work / u128::from(table.period.max(1))) as u64)
            }
        }
    }
}

impl TraceFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mahimahi, Self::SecondBytes, Self::SecondsMbps, Self::JsonSegments];

    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mahimahi => "mahimahi",
            Self::SecondBytes => "second-bytes",
            Self::SecondsMbps => "seconds-mbps",
            Self::JsonSegments => "json",
        }
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TraceFormat {
    type Err = UnknownFormat;
    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|f| f.name() == text).ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

/// A name that is not one of a [`TraceFormat`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a trace format; there are mahimahi, second-bytes, seconds-mbps and json")]
pub struct UnknownFormat(pub String);

/// Rates one after the other, ready to be walked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RateTable {
    pub(crate) pieces: Vec<TablePiece>,
    /// Nanoseconds of one round; `u64::MAX` where the last piece never ends.
    pub(crate) period: u64,
    /// Work of one round, in bit nanoseconds per second (a rate times nanoseconds).
    pub(crate) work: u128,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TablePiece {
    /// Where it ends, in nanoseconds since the round began.
    pub(crate) end: u64,
    pub(crate) bps: u64,
    pub(crate) latency: u64,
}

/// 100 years, in nanoseconds.
const LONGEST: u64 = 100 * 366 * 86_400 * 1_000_000_000;

impl RateTable {
    fn looping(pieces: &[RatePiece]) -> Option<Self> {
        let mut table = Self { pieces: Vec::with_capacity(pieces.len()), period: 0, work: 0 };
        for piece in pieces.iter().filter(|p| !p.duration.is_zero()) {
            table.period = table.period.saturating_add(piece.duration.as_nanos());
            if table.period > LONGEST {
                return None;
            }
            table.work += u128::from(piece.rate.as_bps()) * u128::from(piece.duration.as_nanos());
            table.pieces.push(TablePiece {
                end: table.period,
                bps: piece.rate.as_bps(),
                latency: piece.latency.as_nanos(),
            });
        }
        (table.work > 0).then_some(table)
    }

    /// Each rate from its time on, the first also before it and the last for ever.
    pub(crate) fn steps(steps: &[(units::Instant, Bitrate)]) -> Self {
        let mut steps = steps.to_vec();
        steps.sort_by_key(|&(from, _)| from);
        let mut pieces: Vec<TablePiece> = Vec::with_capacity(steps.len().max(1));
        for (i, &(_, rate)) in steps.iter().enumerate() {
            let end = steps.get(i + 1).map_or(u64::MAX, |&(next, _)| next.as_nanos());
            // Two steps at one time: the later one holds.
            if end > pieces.last().map_or(0, |p| p.end) {
                pieces.push(TablePiece { end, bps: rate.as_bps(), latency: 0 });
            }
        }
        if pieces.is_empty() {
            pieces.push(TablePiece { end: u64::MAX, bps: 0, latency: 0 });
        }
        Self { pieces, period: u64::MAX, work: 0 }
    }
}
