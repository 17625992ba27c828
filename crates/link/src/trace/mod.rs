//! Traces: recorded or generated link rates over time.

mod edit;
mod error;
mod format;
mod summary;

pub use edit::SCALE_RANGE;
pub use error::TraceError;
pub use format::{ParsedTrace, TraceFormat, TraceWriter, UnknownFormat, Unwritable};
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
    /// Milliseconds since the start, in order, and the period, which is not before the last.
    Opportunities {
        millis: Arc<[u32]>,
        period: u32,
    },
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
        TraceReading::of(&TraceText::new(file, text), format).map(|reading| reading.trace)
    }

    /// Returns a trace of opportunities at these milliseconds; `None` unless they are sorted and
    /// end after zero.
    pub fn from_opportunities(millis: Vec<u32>) -> Option<Self> {
        let period = millis.last().copied().filter(|&last| last > 0 && millis.is_sorted())?;
        Some(Self::opportunities_of(millis, period))
    }

    /// A trace of opportunities, sorted, at least one and none after the period.
    fn opportunities_of(millis: Vec<u32>, period: u32) -> Self {
        Self { kind: TraceKind::Opportunities { millis: millis.into(), period } }
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
            TraceKind::Opportunities { period, .. } => Duration::from_millis(u64::from(*period)),
            TraceKind::Rates(table) => Duration::from_nanos(table.period),
        }
    }

    /// Returns the number of rates or opportunities of one loop.
    pub fn steps(&self) -> usize {
        match &self.kind {
            TraceKind::Opportunities { millis, .. } => millis.len(),
            TraceKind::Rates(table) => table.pieces.len(),
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
            TraceKind::Opportunities { millis, .. } => {
                Bytes::new(millis.len() as u64 * u64::from(OPPORTUNITY_BYTES)).per(self.period())
            }
            TraceKind::Rates(table) => {
                Bitrate::from_bps((table.work / u128::from(table.period.max(1))) as u64)
            }
        }
    }
}

/// The text of a trace file, and choices of its reader.
#[derive(Debug, Clone, Copy)]
pub struct TraceText<'a> {
    /// Name of the file, for errors and for its extension.
    pub file: &'a str,
    /// The text.
    pub text: &'a str,
    /// Column of the rate: its name in the header, or its number from 1.
    pub column: Option<&'a str>,
    /// True for the direction from the device to the server: of several columns of rates, that of
    /// the uplink is chosen.
    pub is_up: bool,
}

impl<'a> TraceText<'a> {
    /// Creates a text for the direction from the server to the device.
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text: text.strip_prefix('\u{feff}').unwrap_or(text), column: None, is_up: false }
    }
    /// Sets the column of the rate.
    #[must_use]
    pub fn column(self, column: Option<&'a str>) -> Self {
        Self { column, ..self }
    }
    /// Sets the direction to that from the device to the server.
    #[must_use]
    pub fn up(self) -> Self {
        Self { is_up: true, ..self }
    }
}

/// Column of the rate in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateColumn {
    /// Name in the header, or `column 2`.
    pub name: String,
    /// Unit, such as `Mbit/s`.
    pub unit: &'static str,
}

/// A trace file as understood.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceReading {
    /// The trace.
    pub trace: Trace,
    /// Name of the format, given or detected.
    pub format: &'static str,
    /// Column of the rate, in a format with columns.
    pub column: Option<RateColumn>,
}

impl TraceReading {
    /// Parses `text`. Without `format`, the file extension and the first entry determine it.
    ///
    /// # Errors
    /// If the text does not follow the format, or the format is unknown or not clear.
    pub fn of(text: &TraceText<'_>, format: Option<&TraceFormat>) -> Result<Self, TraceError> {
        let format = match format {
            Some(format) => format,
            None => TraceFormat::detect(text)?,
        };
        if let Some(column) = text.column.filter(|_| !format.has_columns) {
            return Err(TraceError {
                file: text.file.to_owned(),
                line: None,
                column: None,
                expected: format!("no column, as the format is {}", format.name),
                found: format!("column `{column}`"),
                hint: "leave out `column`, or name another `format`".into(),
            });
        }
        let parsed = (format.parse)(text)?;
        Ok(Self { trace: parsed.trace, format: format.name, column: parsed.column })
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
