//! Traces: recorded or generated link rates over time.

mod error;
mod format;
mod summary;

pub use error::TraceError;
pub use format::{TraceFormat, UnknownFormat};
pub use summary::TraceSummary;

use std::sync::Arc;
use units::{Bitrate, Bytes, Duration};

/// Capacity of one opportunity of a mahimahi trace, in bytes.
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// Capacity of a link over time, in a loop.
///
/// Clones share the data.
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
    /// Length of the piece.
    pub duration: Duration,
    /// Link rate during the piece; zero stalls the link.
    pub rate: Bitrate,
    /// One-way delay added to the delay of the link if the transmission of a packet ends in this
    /// piece.
    pub latency: Duration,
}

impl Trace {
    /// Parses `text`. Without `format`, the extension of `file` or the first entry determines it.
    ///
    /// `file` is a name for errors; the file is not read.
    ///
    /// # Errors
    /// If the text does not follow the format, or the format is unknown.
    pub fn parse(file: &str, text: &str, format: Option<&TraceFormat>) -> Result<Self, TraceError> {
        TraceReading::of(file, text, format).map(|reading| reading.trace)
    }

    /// Returns a trace of opportunities at these milliseconds; `None` unless they are sorted and
    /// end after zero.
    pub fn from_opportunities(millis: Vec<u32>) -> Option<Self> {
        let valid = millis.is_sorted() && millis.last().is_some_and(|&last| last > 0);
        valid.then(|| Self { kind: TraceKind::Opportunities(millis.into()) })
    }

    /// Returns a trace of these rates; `None` if all rates are zero or one period exceeds 100
    /// years.
    pub fn from_rates(pieces: &[RatePiece]) -> Option<Self> {
        let table = RateTable::looping(pieces)?;
        Some(Self { kind: TraceKind::Rates(Arc::new(table)) })
    }

    /// Returns the length of one loop.
    pub fn period(&self) -> Duration {
        match &self.kind {
            TraceKind::Opportunities(millis) => {
                Duration::from_millis(u64::from(millis.last().copied().unwrap_or(0)))
            }
            TraceKind::Rates(table) => Duration::from_nanos(table.period),
        }
    }

    /// Returns the rates of one loop, in order; empty for a trace of opportunities.
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

    /// Returns the mean capacity.
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

/// A trace file as understood.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceReading {
    /// The trace.
    pub trace: Trace,
    /// Name of the format, given or detected.
    pub format: &'static str,
}

impl TraceReading {
    /// Parses `text`; see [`Trace::parse`].
    ///
    /// # Errors
    /// As `Trace::parse`.
    pub fn of(file: &str, text: &str, format: Option<&TraceFormat>) -> Result<Self, TraceError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let format = match format {
            Some(format) => format,
            None => TraceFormat::detect(file, text)?,
        };
        Ok(Self { trace: (format.parse)(file, text)?, format: format.name })
    }
}

/// Consecutive rates, as a table for [`RateCursor`](crate::server::RateCursor).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RateTable {
    pub(crate) pieces: Vec<TablePiece>,
    /// Length of one loop, in nanoseconds; `u64::MAX` if the last piece never ends.
    pub(crate) period: u64,
    /// Capacity of one loop, in bps times nanoseconds.
    pub(crate) work: u128,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TablePiece {
    /// End of the piece, in nanoseconds since the start of the loop.
    pub(crate) end: u64,
    pub(crate) bps: u64,
    /// In nanoseconds.
    pub(crate) latency: u64,
}

/// 100 years, in nanoseconds.
const MAX_PERIOD_NANOS: u64 = 100 * 366 * 86_400 * 1_000_000_000;

impl RateTable {
    fn looping(pieces: &[RatePiece]) -> Option<Self> {
        let mut table = Self { pieces: Vec::with_capacity(pieces.len()), period: 0, work: 0 };
        for piece in pieces.iter().filter(|p| !p.duration.is_zero()) {
            table.period = table.period.saturating_add(piece.duration.as_nanos());
            if table.period > MAX_PERIOD_NANOS {
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

    /// Returns a table of steps: each rate holds from its time on, the first also before it.
    pub(crate) fn steps(steps: &[(units::Instant, Bitrate)]) -> Self {
        let mut steps = steps.to_vec();
        steps.sort_by_key(|&(from, _)| from);
        let mut pieces: Vec<TablePiece> = Vec::with_capacity(steps.len().max(1));
        for (i, &(_, rate)) in steps.iter().enumerate() {
            let end = steps.get(i + 1).map_or(u64::MAX, |&(next, _)| next.as_nanos());
            // Of two steps at the same time, the later one holds.
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
