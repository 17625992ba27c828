//! The keys that vary, each with its values.

use crate::SweepError;
use crate::value::unquoted;
use core::ops::RangeInclusive;
use experiments::compare::split_number;
use serde::{Deserialize, Serialize};

/// Minimum number of significant digits of a sampled value.
const MIN_DIGITS: usize = 6;
/// Significant digits that tell any two doubles apart.
const MAX_DIGITS: usize = 17;

/// A key of the scenario and its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The whole key: `path.wifi.down.rate`.
    pub key: String,
    /// Its values.
    pub values: Values,
}

/// The values of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// Each of these values, as in a scenario or without quotes.
    List(Vec<String>),
    /// Any value between two numbers of one unit.
    Range {
        /// The lowest number.
        from: String,
        /// The highest number.
        to: String,
        /// The unit of both; may be empty.
        unit: String,
        /// Whether only whole numbers are valid.
        whole: bool,
    },
}

impl Axis {
    /// A key with the values as given: a list, or one range such as `5Mbps..50Mbps`.
    ///
    /// # Errors
    /// No values, a value given twice, or an impossible range.
    pub fn new(key: &str, values: &[String]) -> Result<Self, SweepError> {
        let values = match values {
            [] => return Err(SweepError::invalid(format!("`{key}` has no values"), example(key))),
            [one] => match range(key, one)? {
                Some(range) => range,
                None => Values::List(vec![one.clone()]),
            },
            list => Values::List(distinct(key, list)?),
        };
        Ok(Self { key: key.to_owned(), values })
    }

    /// Whether values are drawn from a range.
    pub const fn is_range(&self) -> bool {
        matches!(self.values, Values::Range { .. })
    }

    /// Number of values; one for a range.
    pub(crate) fn count(&self) -> u64 {
        match &self.values {
            Values::List(values) => values.len() as u64,
            Values::Range { .. } => 1,
        }
    }

    /// Values that show whether all others are valid: each of a list, or both ends of a range and a
    /// fraction between them.
    pub(crate) fn probes(&self) -> Vec<String> {
        match &self.values {
            Values::List(values) => values.clone(),
            Values::Range { .. } => {
                [0.0, 1.0, 0.377].iter().filter_map(|share| self.sample(*share, 1)).collect()
            }
        }
    }

    /// The same range of whole numbers; `None` for anything else.
    pub(crate) fn of_whole_numbers(&self) -> Option<Self> {
        let mut axis = self.clone();
        match &mut axis.values {
            Values::Range { from, to, whole, .. } if !*whole && is_whole(from) && is_whole(to) => {
                *whole = true;
                Some(axis)
            }
            _ => None,
        }
    }

    /// The value at a share of the range, from 0 to 1, rounded within its one of `parts` equal
    /// parts; `None` for a list.
    pub(crate) fn sample(&self, share: f64, parts: u64) -> Option<String> {
        let Values::Range { unit, .. } = &self.values else { return None };
        let (low, high) = self.ends()?;
        let number = match self.whole_place(share) {
            Some((place, _)) => low + place as f64,
            None => rounded_within_part(low + share * (high - low), low..=high, parts),
        };
        Some(format!("{number}{unit}"))
    }

    /// Place of the value at a share of a range of whole numbers, from 0 at its low end, and the
    /// number of its values; `None` for any other axis.
    pub(crate) fn whole_place(&self, share: f64) -> Option<(u64, u64)> {
        let Values::Range { whole: true, .. } = &self.values else { return None };
        let (low, high) = self.ends()?;
        let count = ((high - low) as u64).saturating_add(1);
        Some((((share * count as f64) as u64).min(count - 1), count))
    }

    /// The numbers at both ends of a range.
    pub(crate) fn ends(&self) -> Option<(f64, f64)> {
        let Values::Range { from, to, .. } = &self.values else { return None };
        Some((from.parse().ok()?, to.parse().ok()?))
    }
}

fn example(key: &str) -> String {
    format!("for example `{key}=A,B`, or a range such as `path.wifi.down.rate=5Mbps..50Mbps`")
}

fn distinct(key: &str, values: &[String]) -> Result<Vec<String>, SweepError> {
    for (i, value) in values.iter().enumerate() {
        if values[..i].contains(value) {
            let message = format!("`{key}` has the value `{value}` twice");
            return Err(SweepError::invalid(message, "give each value once; `--seeds` repeats runs"));
        }
        if range(key, value)?.is_some() {
            let message = format!("`{key}` has the range `{value}` beside other values");
            return Err(SweepError::invalid(message, "give one range alone, or a list of values"));
        }
    }
    Ok(values.to_vec())
}

/// A range `A..B`; `None` for a value without two dots, or a path such as `../trace.csv`.
fn range(key: &str, text: &str) -> Result<Option<Values>, SweepError> {
    let text = unquoted(text);
    let Some((from, to)) = text.split_once("..") else { return Ok(None) };
    if text.contains('/') || from.is_empty() {
        return Ok(None);
    }
    let ((low, from_unit), (high, unit)) = (end(key, text, from)?, end(key, text, to)?);
    let refused = |message: &str| refused(key, text, message);
    if !from_unit.is_empty() && from_unit != unit {
        return Err(refused(&format!("its ends have the units `{from_unit}` and `{unit}`")));
    }
    let ends = (low.parse::<f64>(), high.parse::<f64>());
    if !matches!(ends, (Ok(low), Ok(high)) if low < high) {
        return Err(refused("the range is empty"));
    }
    Ok(Some(Values::Range { from: low.to_owned(), to: high.to_owned(), unit: unit.to_owned(), whole: false }))
}

/// Number and unit of an end of a range.
fn end<'t>(key: &str, range: &str, text: &'t str) -> Result<(&'t str, &'t str), SweepError> {
    split_number(text).ok_or_else(|| refused(key, range, &format!("`{}` is not a number", text.trim())))
}

fn refused(key: &str, range: &str, message: &str) -> SweepError {
    let hint = "a range is two numbers of one unit, such as `5Mbps..50Mbps` or `0..0.1`";
    SweepError::invalid(format!("`{key}={range}`: {message}"), hint)
}

fn is_whole(number: &str) -> bool {
    number.parse::<i64>().is_ok()
}

/// Rounds to the fewest significant digits, at least [`MIN_DIGITS`], that leave the number in its one
/// of `parts` equal parts of the range.
fn rounded_within_part(number: f64, range: RangeInclusive<f64>, parts: u64) -> f64 {
    let (low, high) = (range.start(), range.end());
    let part_of = |number: f64| ((number - low) / (high - low) * parts as f64) as u64;
    let mut candidates = (MIN_DIGITS..MAX_DIGITS).map(|digits| rounded(number, digits));
    candidates.find(|one| range.contains(one) && part_of(*one) == part_of(number)).unwrap_or(number)
}

/// Rounds to so many significant digits.
fn rounded(number: f64, digits: usize) -> f64 {
    let text = format!("{number:.*e}", digits - 1);
    text.parse().unwrap_or(number)
}
