//! Reader of the formats with a row for each time: a column of times and one of rates.
//!
//! Columns are separated by commas, semicolons, tabs or spaces. The first row may be a header,
//! which names columns and units and is obeyed.

mod cells;
mod header;
mod time;
mod unit;

pub(super) use cells::Separator;
pub(super) use header::Header;
pub(super) use unit::{BYTES_PER_SECOND, MBPS, RateUnit, has_time_unit, is_time};

use super::ParsedTrace;
use super::lines::entries;
use crate::trace::error::{empty_trace, line_error, quoted, zero_trace};
use crate::trace::{RateColumn, RatePiece, Trace, TraceError, TraceText};
use time::TimeNotation;
use units::{Bitrate, Duration};

/// A rate above this limit is reported as a wrong unit.
const MAX_RATE_BPS: f64 = 1e12;
/// Longest trace: 100 years.
const MAX_SPAN_NANOS: i128 = 100 * 366 * 86_400 * 1_000_000_000;
/// Length of the rate of a single row.
const SINGLE_ROW: Duration = Duration::from_secs(1);
/// Rows of an amount such as `bytes` are one second apart, up to this deviation.
const SECOND_TOLERANCE_NANOS: i128 = 100_000_000;

const NEW_START_HINT: &str = "the time begins anew or the rows are not sorted: a trace holds one measurement; \
                              split the file before this line, or sort it";
const AMOUNT_HINT: &str = "name the column `bytes_per_second` or with another unit of a rate";

/// Reader of rows.
pub(super) struct Rows<'a> {
    pub(super) input: &'a TraceText<'a>,
    /// Unit of the rate where no header names one. A header with another unit is an error.
    pub(super) unit: Option<RateUnit>,
    /// Form of the rows, for hints.
    pub(super) hint: &'static str,
}

/// Columns of the time and of the rate, by index from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Choice {
    time: usize,
    rate: usize,
    unit: RateUnit,
    time_unit: Option<u64>,
}

/// One row: line, time in nanoseconds, rate in bit/s.
type Row = (usize, i128, f64);
/// A row as in the file, perhaps without a rate.
type ReadRow = (usize, i128, Option<f64>);

impl Rows<'_> {
    pub(super) fn parse(&self) -> Result<ParsedTrace, TraceError> {
        let mut lines = entries(self.input.text).peekable();
        let Some(&(number, first)) = lines.peek() else { return Err(self.empty()) };
        let separator = Separator::of(first);
        let header = Header::of(first, separator);
        let (choice, name) = match &header {
            Some(header) => {
                lines.next();
                let (time, rate, unit) = header.choose(self, number)?;
                let choice =
                    Choice { time, rate, unit, time_unit: unit::time_unit_nanos(&header.names[time]) };
                (choice, header.names[rate].clone())
            }
            None => self.choose_by_number(number, first, separator)?,
        };
        let columns =
            header.as_ref().map_or_else(|| separator.split(first).len(), |header| header.names.len());
        let rows = self.rows(lines, separator, columns, choice, header.is_some())?;
        if choice.unit.is_amount {
            self.check_seconds(&rows, &name)?;
        }
        let trace = Trace::from_rates(&pieces(&rows)).ok_or_else(|| zero_trace(self.input.file))?;
        let unit = choice.unit.name;
        Ok(ParsedTrace { trace, column: Some(RateColumn { name, unit }) })
    }

    fn empty(&self) -> TraceError {
        empty_trace(self.input.file, self.hint)
    }

    /// Chooses the columns of a file without a header: the time is the first.
    fn choose_by_number(
        &self,
        line: usize,
        first: &str,
        separator: Separator,
    ) -> Result<(Choice, String), TraceError> {
        let count = separator.split(first).len();
        let given = self.input.column.map(|column| {
            column.parse().ok().filter(|number| (2..=count).contains(number)).ok_or_else(|| {
                let expected = format!("a column from 2 to {count}, as the file has no header");
                self.error(line, &expected, format!("column `{column}`"))
            })
        });
        let Some(unit) = self.unit else {
            return Err(self.error(line, "a header that names the unit of the rate", quoted(first)));
        };
        let number: usize = match given.transpose()? {
            Some(number) => number,
            None if count == 2 => 2,
            None => {
                let expected = format!("two columns, seconds and {}", unit.name);
                return Err(TraceError {
                    hint: format!("{}; choose another column by its number: `column = \"3\"`", self.hint)
                        .into(),
                    ..self.error(line, &expected, quoted(first))
                });
            }
        };
        Ok((Choice { time: 0, rate: number - 1, unit, time_unit: None }, format!("column {number}")))
    }

    fn rows<'t>(
        &self,
        lines: impl Iterator<Item = (usize, &'t str)>,
        separator: Separator,
        columns: usize,
        choice: Choice,
        has_header: bool,
    ) -> Result<Vec<Row>, TraceError> {
        let mut rows: Vec<ReadRow> = Vec::new();
        let (mut notation, mut same, mut latest) = (None, 1.0, None);
        for (number, line) in lines {
            let cells = separator.split(line);
            if cells.len() != columns {
                let expected = format!("{columns} columns, as in the first row");
                return Err(self.error(number, &expected, quoted(line)));
            }
            let (time, amount) = (cells[choice.time].as_ref(), cells[choice.rate].as_ref());
            let is_missing = has_header && matches!(amount, "" | "-");
            if is_missing && time.is_empty() {
                continue;
            }
            let notation = match notation {
                Some(notation) => notation,
                None => *notation.insert(TimeNotation::of(time, choice.time_unit).ok_or_else(|| {
                    self.error(number, "a number of seconds or a date and time", quoted(time))
                })?),
            };
            let at =
                notation.nanos(time).ok_or_else(|| self.error(number, notation.expected(), quoted(time)))?;
            let bps = if is_missing { None } else { Some(self.rate(number, amount, choice.unit)?) };
            match rows.last_mut() {
                Some((_, before, mean)) if *before == at && notation == TimeNotation::Date => {
                    if let Some(bps) = bps {
                        same += 1.0;
                        let mean = mean.get_or_insert(bps);
                        *mean += (bps - *mean) / same;
                    }
                    continue;
                }
                Some((_, before, _)) if at <= *before => {
                    return Err(self.not_after(number, time, latest.as_deref().unwrap_or_default()));
                }
                _ => {}
            }
            if rows.first().is_some_and(|(_, first, _)| at - first > MAX_SPAN_NANOS) {
                return Err(self.error(number, "a time within 100 years of the first", quoted(time)));
            }
            same = if is_missing { 0.0 } else { 1.0 };
            latest = Some(time.to_owned());
            rows.push((number, at, bps));
        }
        with_rates(rows).ok_or_else(|| self.empty())
    }

    fn not_after(&self, line: usize, time: &str, before: &str) -> TraceError {
        let expected = format!("a time after {before}, that of the row above");
        TraceError { hint: NEW_START_HINT.into(), ..self.error(line, &expected, quoted(time)) }
    }

    fn rate(&self, line: usize, text: &str, unit: RateUnit) -> Result<f64, TraceError> {
        let value: f64 = text
            .parse()
            .map_err(|_| self.error(line, &format!("a number of {}", unit.name), quoted(text)))?;
        let max = MAX_RATE_BPS / f64::from(unit.bps);
        if (0.0..=max).contains(&value) {
            Ok(value * f64::from(unit.bps))
        } else {
            Err(self.error(line, &format!("{} from 0 to {max:e}", unit.name), quoted(text)))
        }
    }

    /// An amount such as `bytes` may be per second or per row, unless rows are a second apart.
    fn check_seconds(&self, rows: &[Row], name: &str) -> Result<(), TraceError> {
        let is_second =
            |pair: &[Row]| (pair[1].1 - pair[0].1 - 1_000_000_000).abs() <= SECOND_TOLERANCE_NANOS;
        let Some(pair) = rows.windows(2).find(|pair| !is_second(pair)) else { return Ok(()) };
        let gap = (pair[1].1 - pair[0].1) as f64 / 1e9;
        Err(TraceError {
            hint: AMOUNT_HINT.into(),
            ..self.error(
                pair[1].0,
                &format!("rows one second apart, so that `{name}` is a rate"),
                format!("{gap} s to the row above: two readings of `{name}`, per second or per row"),
            )
        })
    }

    fn error(&self, line: usize, expected: &str, found: String) -> TraceError {
        line_error(self.input.file, line, expected, found, self.hint)
    }
}

/// Gives each row without a rate the one before it, or at the beginning the first one. `None` if no
/// row has a rate.
fn with_rates(rows: Vec<ReadRow>) -> Option<Vec<Row>> {
    let mut rate = rows.iter().find_map(|&(.., bps)| bps)?;
    let filled = rows.into_iter().map(|(line, at, bps)| {
        rate = bps.unwrap_or(rate);
        (line, at, rate)
    });
    Some(filled.collect())
}

/// Converts rows to pieces. The last piece is as long as the one before it, or one second if it is
/// the only one.
fn pieces(rows: &[Row]) -> Vec<RatePiece> {
    let length = |from: i128, to: i128| Duration::from_nanos(u64::try_from(to - from).unwrap_or(u64::MAX));
    let last = match rows {
        [.., (_, a, _), (_, b, _)] => length(*a, *b),
        _ => SINGLE_ROW,
    };
    let lengths = rows.windows(2).map(|pair| length(pair[0].1, pair[1].1)).chain([last]);
    rows.iter()
        .zip(lengths)
        .map(|(&(_, _, bps), duration)| RatePiece {
            duration,
            rate: Bitrate::from_bps((bps + 0.5) as u64),
            latency: Duration::ZERO,
        })
        .collect()
}
