//! Factors: keys and policies, with the level that each run has.

use crate::value::{si, unquoted};
use crate::{Axis, Sweep, Values};
use experiments::compare::split_number;

/// Numbers of parts into which the range of a Latin hypercube is divided for charts and tables.
const RANGE_LEVELS: [u64; 5] = [8, 7, 6, 5, 4];

/// A key or the policy, with its levels.
#[derive(Debug, Clone)]
pub(super) struct Factor {
    /// The whole key, or `policy`.
    pub(super) key: String,
    /// Last parts of the key.
    pub(super) short: String,
    /// Unit of all levels with a number; may be empty.
    pub(super) unit: String,
    /// Levels, in the order of the design.
    pub(super) levels: Vec<Level>,
    source: Source,
}

/// A value of a factor, or a part of its range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Level {
    pub(super) name: String,
    /// Place on a numeric axis.
    pub(super) number: Option<f64>,
}

/// Part of a run's index that gives the level.
#[derive(Debug, Clone, Copy)]
enum Source {
    List(usize),
    Range(usize),
    Policy,
}

impl Factor {
    /// The factors of a sweep with at least two levels.
    pub(super) fn all(sweep: &Sweep) -> Vec<Self> {
        let axes = sweep.spec().axes.iter().enumerate().map(|(i, axis)| Self::of_axis(sweep, i, axis));
        let policies = sweep.spec().policies.iter();
        let level = |policy: &crate::PolicyText| Level { name: policy.text.clone(), number: None };
        let policy = Self {
            key: "policy".to_owned(),
            short: "policy".to_owned(),
            unit: String::new(),
            levels: policies.map(level).collect(),
            source: Source::Policy,
        };
        axes.chain([policy]).filter(|factor| factor.levels.len() > 1).collect()
    }

    fn of_axis(sweep: &Sweep, index: usize, axis: &Axis) -> Self {
        let (unit, levels, source) = match &axis.values {
            Values::List(values) => {
                let (unit, levels) = list_levels(values);
                (unit, levels, Source::List(index))
            }
            Values::Range { unit, .. } => {
                (unit.trim().to_owned(), range_levels(sweep, axis), Source::Range(index))
            }
        };
        Self { key: axis.key.clone(), short: short(&axis.key), unit, levels, source }
    }

    /// Whether every level is a number.
    pub(super) fn is_numeric(&self) -> bool {
        self.levels.iter().all(|level| level.number.is_some())
    }

    /// Index of the level of a run.
    pub(super) fn level(&self, sweep: &Sweep, run: u64) -> usize {
        let digits = sweep.digits(run);
        let level = match self.source {
            Source::Policy => digits.policy,
            Source::List(axis) => digits.values[axis],
            Source::Range(axis) => {
                let share = sweep.share(axis, digits.sample).unwrap_or(0.0);
                let levels = self.levels.len() as u64;
                match sweep.spec().axes[axis].whole_place(share) {
                    Some((place, count)) => part_of(place, count, levels),
                    None => (share * levels as f64) as u64,
                }
            }
        };
        (level as usize).min(self.levels.len().saturating_sub(1))
    }
}

/// Levels of a list, as numbers of one unit if they are.
fn list_levels(values: &[String]) -> (String, Vec<Level>) {
    let parsed: Vec<Option<(f64, &str)>> = values.iter().map(|value| plain_number(value)).collect();
    let unit = parsed.first().copied().flatten().map_or("", |(_, unit)| unit);
    let is_one_unit = parsed.iter().all(|one| one.is_some_and(|(_, other)| other == unit));
    let level = |(value, number): (&String, &Option<(f64, &str)>)| {
        let number =
            if is_one_unit { number.map(|(number, _)| number) } else { si(value).map(|si| si.number) };
        Level { name: unquoted(value).to_owned(), number }
    };
    let levels: Vec<Level> = values.iter().zip(&parsed).map(level).collect();
    let si_unit = || si(&values[0]).map_or(String::new(), |si| si.unit.to_owned());
    (if is_one_unit || values.is_empty() { unit.to_owned() } else { si_unit() }, levels)
}

fn plain_number(value: &str) -> Option<(f64, &str)> {
    let value = unquoted(value);
    si(value)?;
    let (number, unit) = split_number(value)?;
    Some((number.parse().ok()?, unit.trim()))
}

/// Parts of a range: of whole numbers each by itself if they are few, else about as many in each
/// part; of other numbers equal parts.
fn range_levels(sweep: &Sweep, axis: &Axis) -> Vec<Level> {
    let Some((low, high)) = axis.ends() else { return Vec::new() };
    // Parts with the same number of points, if there is such a division.
    let even = RANGE_LEVELS.into_iter().find(|count| sweep.samples().is_multiple_of(*count));
    let count = even.unwrap_or(RANGE_LEVELS[0]).min(sweep.samples());
    if let Some((_, numbers)) = axis.whole_place(0.0) {
        let is_few = numbers <= RANGE_LEVELS[0].min(sweep.samples());
        return whole_levels(low, numbers, if is_few { numbers } else { count.min(numbers) });
    }
    let end = |part: u64| low + (high - low) * part as f64 / count as f64;
    let level = |part: u64| Level {
        name: format!("{}–{}", brief(end(part)), brief(end(part + 1))),
        number: Some(f64::midpoint(end(part), end(part + 1))),
    };
    (0..count).map(level).collect()
}

/// Parts of `numbers` whole numbers from `low` on, each named by its first and its last number.
fn whole_levels(low: f64, numbers: u64, count: u64) -> Vec<Level> {
    let first = |part: u64| (u128::from(part) * u128::from(numbers)).div_ceil(u128::from(count)) as u64;
    let level = |part: u64| {
        let [first, last] = [first(part), first(part + 1) - 1].map(|place| low + place as f64);
        let name = if first < last { format!("{first}–{last}") } else { first.to_string() };
        Level { name, number: Some(f64::midpoint(first, last)) }
    };
    (0..count).map(level).collect()
}

/// Part, of `count`, to which a place among `numbers` belongs.
fn part_of(place: u64, numbers: u64, count: u64) -> u64 {
    (u128::from(place) * u128::from(count) / u128::from(numbers.max(1))) as u64
}

/// A number with about three significant digits.
fn brief(number: f64) -> String {
    let text = format!("{number:.2e}");
    text.parse::<f64>().unwrap_or(number).to_string()
}

/// The last two parts of a key, or three of a path's: `wifi.down.rate`.
fn short(key: &str) -> String {
    key.strip_prefix("path.").unwrap_or(key).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_with_exponents_are_numbers_without_a_unit() {
        for (values, unit) in
            [(["1e-3", "5e-3"], ""), (["1e-3s", "5e-3s"], "s"), (["0.001 s", "0.005 s"], "s")]
        {
            let (found, levels) = list_levels(&values.map(str::to_owned));
            assert_eq!(found, unit, "{values:?}");
            let numbers: Vec<Option<f64>> = levels.iter().map(|level| level.number).collect();
            assert_eq!(numbers, [Some(0.001), Some(0.005)], "{values:?}");
        }
    }
}
