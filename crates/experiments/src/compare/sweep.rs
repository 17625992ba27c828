//! A key that takes several numbers in turn: what each figure comes to is drawn over it.

use super::Comparison;
use super::figures::Figure;
use report::{Axis, Estimate, Line, Lines};
use scenario::Setting;

/// Of fewer values a line says no more than bars do.
const LEAST_VALUES: usize = 3;

/// A key and its numbers.
#[derive(Debug, PartialEq)]
pub(super) struct Sweep {
    key: String,
    unit: String,
    /// For each of what else differs, its name, and its cases with their numbers, in order.
    lines: Vec<(String, Vec<(f64, usize)>)>,
}

impl Sweep {
    /// The first key that takes numbers of one unit, and enough of them.
    pub(super) fn of(comparison: &Comparison) -> Option<Self> {
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
        let enough = lines.iter().all(|(_, points)| points.len() >= LEAST_VALUES);
        enough.then(|| Self { key, unit: unit.to_owned(), lines })
    }

    /// What a figure comes to over the key.
    pub(super) fn chart(&self, comparison: &Comparison, figure: &Figure) -> Lines {
        let axis = |name: &str, unit: &str| {
            if unit.is_empty() { Axis::new(name) } else { Axis::new(name).unit(unit) }
        };
        let (unit, scale) = comparison.unit(figure);
        let y = axis(&figure.name, unit).from(0.0);
        let chart = Lines::new(figure.title(), axis(&self.key, &self.unit), y);
        self.lines.iter().fold(chart, |chart, (name, points)| {
            let estimate = |&(x, case): &(f64, usize)| {
                let Estimate { mean, ci95 } = comparison.estimate(figure, case);
                (x, comparison.shown(Estimate::new(mean / scale, ci95 / scale)))
            };
            chart.line(Line::estimates(name, points.iter().map(estimate)).dots())
        })
    }
}

/// The number of a value, and the unit behind it.
fn number(setting: &Setting) -> Option<(f64, &str)> {
    let text = setting.text().trim_matches(['"', '\'']);
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
    let end = text.find(|c| !digits(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim()))
}
