//! Trace files that a scenario uses.

use link::{RateColumn, TraceError, TraceSummary};
use schema::Diagnostic;
use schema::diagnostic::Source;
use units::{Duration, Seed};

/// A trace file that gives the rate of one direction of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct UsedTrace {
    /// The path's name.
    pub path: String,
    /// True for the direction from the server to the device.
    pub down: bool,
    /// The file, as the scenario names it.
    pub file: String,
    /// SHA-256 of the file, in lower-case hexadecimal digits.
    pub sha256: String,
    /// Name of the format, given or detected.
    pub format: &'static str,
    /// Column of the rate and its unit, in a format with columns.
    pub column: Option<RateColumn>,
    /// Time within the trace at which the run begins, less than its length; `None` if each of several
    /// devices draws its own.
    pub start: Option<Duration>,
    /// Whether `start` is drawn from the seed.
    pub random_start: bool,
    /// Factor on the rate.
    pub scale: f64,
    /// Length, mean and percentiles of the rate, with the factor.
    pub summary: TraceSummary,
}

impl UsedTrace {
    /// The trace in a run with another seed. Of several devices, each has a seed of its own.
    #[must_use]
    pub fn with_seed(&self, seed: Seed) -> Self {
        let drawn = self.random_start.then(|| random_start(self.summary.length, seed, &self.path));
        Self { start: drawn.or(self.start), ..self.clone() }
    }
}

/// Draws the start within a trace of this length, in whole milliseconds.
pub(crate) fn random_start(length: Duration, seed: Seed, path: &str) -> Duration {
    let millis = seed.derive(path).rng("trace start").below(length.as_millis().max(1));
    Duration::from_millis(millis)
}

/// Describes an error in a trace file with this text.
pub fn trace_diagnostic(text: &str, error: &TraceError) -> Diagnostic {
    let source = Source::new(&error.file, text);
    let line = error.line.unwrap_or(1);
    let mut at = source.line_span(line);
    if let Some(column) = error.column {
        let offset = source.line(line).char_indices().nth(column.saturating_sub(1));
        at.start = (at.start + offset.map_or(0, |(i, _)| i)).min(at.end);
    }
    let mut diagnostic = source.diagnostic(at, format!("malformed trace: found {}", error.found));
    diagnostic.expected = Some(error.expected.clone());
    diagnostic.hint = Some(error.hint.to_string());
    diagnostic
}
