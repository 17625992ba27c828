//! Parameter sweep: a key with several numeric values gives line charts of each metric over the
//! key.

use super::Comparison;
use super::metrics::Metric;
use report::{Axis, Estimate, Line, Lines};
use scenario::Setting;

/// Minimum number of values for a line chart instead of bars.
const MIN_VALUES: usize = 3;

/// A swept key and the cases along it.
#[derive(Debug, PartialEq)]
pub(super) struct Sweep {
    key: String,
    unit: String,
    /// One line per combination of the other settings: its name, and its cases with the key's
    /// values in ascending order.
    lines: Vec<(String, Vec<(f64, usize)>)>,
}

impl Sweep {
    /// The first key with at least [`MIN_VALUES`] numeric values in the same unit.
    pub(super) fn find(comparison: &Comparison) -> Option<Self> {
        let first = comparison.cases.first()?;
        (0..first.settings.len()).find_map(|which| Self::over(comparison, which))
    }

    fn over(comparison: &Comparison, which: usize) -> Option<Self> {
        let numbers: Option<Vec<(f64, &str)>> =
            comparison.cases.iter().map(|case| number(case.settings.get(which)?)).collect();
        let numbers = numbers?;
        let unit = numbers.first()?.1;
        if numbers.iter().any(|(_, other)| *other != unit) {
            return None;
        }
        let mut lines: Vec<(String, Vec<(f64, usize)>)> = Vec::new();
        for (i, (case, &(value, _))) in comparison.cases.iter().zip(&numbers).enumerate() {
            let policy = case.experiment.device.policy.to_string();
            let others = case.settings.iter().enumerate().filter(|(other, _)| *other != which);
            let name: Vec<String> =
                core::iter::once(policy).chain(others.map(|(_, setting)| setting.to_string())).collect();
            let name = name.join(" ");
            match lines.iter_mut().find(|(other, _)| *other == name) {
                Some((_, points)) => points.push((value, i)),
                None => lines.push((name, vec![(value, i)])),
            }
        }
        for (_, points) in &mut lines {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let key = comparison.cases.first()?.settings.get(which)?.key();
        let enough = lines.iter().all(|(_, points)| points.len() >= MIN_VALUES);
        enough.then(|| Self { key, unit: unit.to_owned(), lines })
    }

    /// Line chart of a metric over the key.
    pub(super) fn chart(&self, comparison: &Comparison, metric: &Metric) -> Lines {
        let axis = |name: &str, unit: &str| {
            if unit.is_empty() { Axis::new(name) } else { Axis::new(name).unit(unit) }
        };
        let (unit, scale) = comparison.unit(metric);
        let y = axis(&metric.name, unit).from(0.0);
        let chart = Lines::new(metric.title(), axis(&self.key, &self.unit), y).key(metric.chart_key());
        self.lines.iter().fold(chart, |chart, (name, points)| {
            let estimate = |&(x, case): &(f64, usize)| {
                let Estimate { mean, ci95 } = comparison.estimate(metric, case);
                (x, comparison.shown(Estimate::new(mean / scale, ci95 / scale)))
            };
            chart.line(Line::estimates(name, points.iter().map(estimate)).dots())
        })
    }
}

/// Splits a value such as `20Mbps` into its number and unit.
fn number(setting: &Setting) -> Option<(f64, &str)> {
    let text = setting.text().trim_matches(['"', '\'']);
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
    let end = text.find(|c| !digits(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim()))
}
