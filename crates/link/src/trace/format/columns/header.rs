//! Headers: names of columns, their units, and the choice of a column.

use super::unit::{RateUnit, has_time_unit, has_word, is_delay, is_time};
use super::{Rows, Separator};
use crate::trace::TraceError;
use crate::trace::error::quoted;

/// Words of columns from the server to the device, and of columns to the server.
const DOWN: [&str; 8] = ["dl", "down", "download", "downlink", "downstream", "rx", "received", "receive"];
const UP: [&str; 8] = ["ul", "up", "upload", "uplink", "upstream", "tx", "sent", "send"];

/// The first row, if it names columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::trace::format) struct Header {
    pub(in crate::trace::format) names: Vec<String>,
}

impl Header {
    /// Returns the header in a first row: at least two cells, of which the first begins with a
    /// letter.
    pub(in crate::trace::format) fn of(line: &str, separator: Separator) -> Option<Self> {
        let cells = separator.split(line);
        let is_name = cells
            .first()
            .is_some_and(|cell| cell.starts_with(char::is_alphabetic) && cell.parse::<f64>().is_err());
        (is_name && cells.len() > 1).then(|| Self { names: cells.iter().map(ToString::to_string).collect() })
    }

    /// Chooses the columns of time and rate, and the unit of the rate.
    pub(super) fn choose(
        &self,
        rows: &Rows<'_>,
        line: usize,
    ) -> Result<(usize, usize, RateUnit), TraceError> {
        let rate = self.rate(rows, line)?;
        let time = self.time(rate).ok_or_else(|| TraceError {
            hint: "name the column of the times `time`, in seconds".into(),
            ..rows.error(line, "a column of times", format!("the columns {}", self.list()))
        })?;
        let name = &self.names[rate];
        let unit = match (RateUnit::in_name(name), rows.unit) {
            (Some(named), Some(unit)) if (named.bps, named.name) != (unit.bps, unit.name) => {
                return Err(TraceError {
                    hint: "leave out the format, or name `csv`: then the header is obeyed".into(),
                    ..rows.error(
                        line,
                        &format!("a column in {}, as the format says", unit.name),
                        format!("`{name}`, in {}", named.name),
                    )
                });
            }
            // The format says that an amount is one per second.
            (_, Some(unit)) => unit,
            (Some(named), None) => named,
            (None, None) => {
                return Err(TraceError {
                    hint: format!(
                        "name the unit in the header, such as `{name}_mbps`, or the format: `second-bytes` or \
                         `seconds-mbps`"
                    )
                    .into(),
                    ..rows.error(line, "a column that names the unit of its rate", format!("`{name}`"))
                });
            }
        };
        Ok((time, rate, unit))
    }

    /// The column of times: the first whose name is a time, else has a unit of time, else the
    /// first column if it is no delay.
    fn time(&self, rate: usize) -> Option<usize> {
        let find = |is_wanted: fn(&str) -> bool| {
            (0..self.names.len()).find(|&i| i != rate && is_wanted(&self.names[i]))
        };
        let is_first_possible = rate != 0 && !is_delay(&self.names[0]);
        find(is_time).or_else(|| find(has_time_unit)).or_else(|| is_first_possible.then_some(0))
    }

    /// The column of rates: the chosen one, else the only one with a unit, else the one of the
    /// direction.
    fn rate(&self, rows: &Rows<'_>, line: usize) -> Result<usize, TraceError> {
        let error = |expected: &str, found: String, hint: String| {
            Err(TraceError { hint: hint.into(), ..rows.error(line, expected, found) })
        };
        if let Some(given) = rows.input.column {
            let by_name = self.names.iter().position(|name| name.eq_ignore_ascii_case(given));
            let number = given.parse::<usize>().ok().filter(|number| (1..=self.names.len()).contains(number));
            return match by_name.or(number.map(|number| number - 1)) {
                Some(column) => Ok(column),
                None => error(
                    "the column that `column` names",
                    format!("no column `{given}`"),
                    format!("the columns are {}; numbers begin with 1", self.list()),
                ),
            };
        }
        let mut all: Vec<usize> =
            (0..self.names.len()).filter(|&i| RateUnit::in_name(&self.names[i]).is_some()).collect();
        if all.is_empty() {
            // Every column but that of the time.
            let time = self.time(self.names.len());
            all = (0..self.names.len()).filter(|&i| Some(i) != time).collect();
        }
        let of_direction = |wanted: &[&str], other: &[&str]| {
            let has = |i: usize, known: &[&str]| has_word(&self.names[i], known);
            all.iter().copied().filter(|&i| has(i, wanted) && !has(i, other)).collect::<Vec<_>>()
        };
        let preferred = if rows.input.is_up { of_direction(&UP, &DOWN) } else { of_direction(&DOWN, &UP) };
        match (all.as_slice(), preferred.as_slice()) {
            ([one], _) | (_, [one]) => Ok(*one),
            _ => error(
                "one column of rates",
                quoted(&self.names.join(", ")),
                format!(
                    "choose the column: `column = \"{}\"`",
                    self.names[all.first().copied().unwrap_or(0)]
                ),
            ),
        }
    }

    fn list(&self) -> String {
        self.names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
    }
}
