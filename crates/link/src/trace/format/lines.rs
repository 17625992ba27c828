//! Parsing shared by the formats with one entry per line.

use crate::trace::error::{empty_trace, line_error, quoted, zero_trace};
use crate::trace::{RatePiece, Trace, TraceError};
use units::{Bitrate, Duration};

/// A rate above this limit is reported as a wrong unit.
const MAX_RATE_MBPS: f64 = 1e6;
/// About three years; a time above this limit is reported as a calendar date.
const MAX_SECONDS: f64 = 1e8;

/// Returns the lines that are neither empty nor comments, with their numbers from 1.
pub(super) fn entries(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Returns true if a line consists of this many numbers.
pub(super) fn is_numeric(line: &str, columns: usize) -> bool {
    line.split_whitespace().count() == columns
        && line.split_whitespace().all(|column| column.parse::<f64>().is_ok())
}

/// Parser of lines with a time in seconds and a rate.
pub(super) struct RateLines<'a> {
    pub(super) file: &'a str,
    pub(super) hint: &'static str,
    /// Unit of the rate.
    pub(super) unit: &'static str,
    pub(super) mbps_per_unit: f64,
    /// Splits a line into time and rate.
    pub(super) split: fn(&str) -> Option<(&str, &str)>,
}

impl RateLines<'_> {
    pub(super) fn parse<'t>(
        &self,
        entries: impl Iterator<Item = (usize, &'t str)>,
    ) -> Result<Trace, TraceError> {
        let mut rates: Vec<(f64, f64)> = Vec::new();
        for (number, line) in entries {
            let (time, amount) = (self.split)(line).ok_or_else(|| {
                self.error(number, &format!("two columns, seconds and {}", self.unit), quoted(line))
            })?;
            let time = self.number(number, "seconds", time, MAX_SECONDS)?;
            let max_rate = MAX_RATE_MBPS / self.mbps_per_unit;
            let mbps = self.number(number, self.unit, amount, max_rate)? * self.mbps_per_unit;
            if let Some(&(before, _)) = rates.last().filter(|&&(before, _)| time <= before) {
                return Err(self.error(
                    number,
                    &format!("a time after {before} s, that of the line above"),
                    format!("`{time}`"),
                ));
            }
            rates.push((time, mbps));
        }
        if rates.is_empty() {
            return Err(empty_trace(self.file, self.hint));
        }
        Trace::from_rates(&pieces(&rates)).ok_or_else(|| zero_trace(self.file))
    }

    fn number(&self, line: usize, unit: &str, text: &str, max: f64) -> Result<f64, TraceError> {
        let value: f64 =
            text.parse().map_err(|_| self.error(line, &format!("a number of {unit}"), quoted(text)))?;
        if (0.0..=max).contains(&value) {
            Ok(value)
        } else {
            Err(self.error(line, &format!("{unit} from 0 to {max:e}"), quoted(text)))
        }
    }

    fn error(&self, line: usize, expected: &str, found: String) -> TraceError {
        line_error(self.file, line, expected, found, self.hint)
    }
}

/// Converts times and rates in Mbps to pieces. The last piece is as long as the one before it, or
/// one second if it is the only one.
fn pieces(rates: &[(f64, f64)]) -> Vec<RatePiece> {
    let last = match rates {
        [.., (a, _), (b, _)] => b - a,
        _ => 1.0,
    };
    let lengths = rates.windows(2).map(|pair| pair[1].0 - pair[0].0).chain([last]);
    rates
        .iter()
        .zip(lengths)
        .map(|(&(_, mbps), length)| RatePiece {
            duration: Duration::from_secs_f64(length),
            rate: Bitrate::from_mbps(mbps),
            latency: Duration::ZERO,
        })
        .collect()
}
