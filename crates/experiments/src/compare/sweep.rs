//! Parameter sweep: a key with several numeric values gives line charts of each metric over the
//! key.

use super::Comparison;
use super::metrics::Metric;
use report::{Axis, Estimate, Line, Lines};

/// Minimum number of values for a line chart instead of bars.
const MIN_VALUES: usize = 3;

/// A swept key and the cases along it.
#[derive(Debug, PartialEq)]
pub(super) struct Sweep {
    key: String,
    unit: String,
    /// The other keys, for the title of the legend.
    others: String,
    /// One line per combination of the other keys: their values, and its cases with the key's
    /// values in ascending order.
    lines: Vec<(String, Vec<(f64, usize)>)>,
}

impl Sweep {
    /// The first key with at least [`MIN_VALUES`] numeric values in the same unit.
    pub(super) fn find(comparison: &Comparison) -> Option<Self> {
        (0..comparison.keys.len()).find_map(|which| Self::over(comparison, which))
    }

    fn over(comparison: &Comparison, which: usize) -> Option<Self> {
        let key = comparison.keys.get(which).filter(|key| key.is_number())?;
        let others = || comparison.keys.iter().enumerate().filter(|(i, _)| *i != which).map(|(_, key)| key);
        let mut lines: Vec<(String, Vec<(f64, usize)>)> = Vec::new();
        for (i, value) in key.values.iter().enumerate() {
            let name = others().map(|key| key.values[i].text.as_str()).collect::<Vec<_>>().join(", ");
            let point = (value.number?, i);
            match lines.iter_mut().find(|(other, _)| *other == name) {
                Some((_, points)) => points.push(point),
                None => lines.push((name, vec![point])),
            }
        }
        for (_, points) in &mut lines {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let others = others().map(|key| key.short.as_str()).collect::<Vec<_>>().join(", ");
        let enough = lines.iter().all(|(_, points)| points.len() >= MIN_VALUES);
        enough.then(|| Self { key: key.whole.clone(), unit: key.unit.clone(), others, lines })
    }

    /// Line chart of a metric over the key.
    pub(super) fn chart(&self, comparison: &Comparison, metric: &Metric) -> Lines {
        let axis = |name: &str, unit: &str| {
            if unit.is_empty() { Axis::new(name) } else { Axis::new(name).unit(unit) }
        };
        let (unit, scale) = comparison.unit(metric);
        let mut means = (0..comparison.cases.len()).map(|case| comparison.estimate(metric, case).mean);
        let y = axis(&metric.name, unit);
        let y = if means.any(|mean| mean < 0.0) { y } else { y.from(0.0) };
        let chart = Lines::new(metric.title(), axis(&self.key, &self.unit), y).key(metric.chart_key());
        let chart = chart.legend_title(&*self.others);
        self.lines.iter().fold(chart, |chart, (name, points)| {
            let estimate = |&(x, case): &(f64, usize)| {
                let Estimate { mean, ci95 } = comparison.estimate(metric, case);
                (x, comparison.shown(Estimate::new(mean / scale, ci95 / scale)))
            };
            // A single line is the metric itself.
            let name = if name.is_empty() { &metric.name } else { name };
            chart.line(Line::estimates(name, points.iter().map(estimate)).dots())
        })
    }

    /// For each measure of several devices, the means of the devices with each policy over the key.
    /// Empty unless one key varies.
    pub(super) fn by_policy(&self, comparison: &Comparison) -> Vec<Lines> {
        let [(_, points)] = self.lines.as_slice() else { return Vec::new() };
        let mut charts: Vec<Lines> = Vec::new();
        for metric in comparison.metrics.iter().filter(|metric| metric.in_tables && metric.is_of_policy()) {
            let Some((measure, policy)) = metric.name.rsplit_once(" of ") else { continue };
            let key = format!("{}-by-policy", measure.replace(' ', "-"));
            let estimates =
                points.iter().map(|&(x, case)| (x, comparison.shown(comparison.estimate(metric, case))));
            let line = Line::estimates(policy, estimates.filter(|(_, y)| y.mean.is_finite())).dots();
            if let Some(chart) = charts.iter_mut().find(|chart| chart.key == key) {
                chart.lines.push(line);
                continue;
            }
            let mut title = format!("{measure} of the devices with each policy");
            title[..1].make_ascii_uppercase();
            let axis = if self.unit.is_empty() {
                Axis::new(&*self.key)
            } else {
                Axis::new(&*self.key).unit(&*self.unit)
            };
            let chart = Lines::new(title, axis, Axis::new(measure).unit(metric.unit).from(0.0));
            charts.push(chart.key(key).legend_title("policy").line(line));
        }
        charts
    }
}
