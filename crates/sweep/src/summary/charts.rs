//! Charts of a summary: heat maps over two factors, and lines over one.

use super::factor::Factor;
use super::{Figure, Summary};
use experiments::display::decimals;
use report::{Axis, Estimate, Heat, Line, Lines};

/// Minimum number of values for a line.
const MIN_LINE: usize = 3;
/// Maximum number of lines in a chart, which is that of distinct colours.
const MAX_LINES: usize = 6;
/// Maximum number of columns with legible values.
const MAX_COLUMNS: usize = 12;

/// A heat map of each main figure over the two factors with the most values.
pub(super) fn heat_maps(summary: &Summary<'_>) -> Vec<Heat> {
    let mut factors: Vec<&Factor> = summary.factors.iter().collect();
    factors.sort_by_key(|factor| core::cmp::Reverse(factor.levels.len()));
    let [rows, columns, others @ ..] = factors.as_slice() else { return Vec::new() };
    if columns.levels.len() > MAX_COLUMNS {
        return Vec::new();
    }
    let others = if others.is_empty() { "" } else { " and all other values" };
    let (row_of, column_of) = (summary.levels(rows), summary.levels(columns));
    let draw = |figure: &Figure| heat_map(summary, figure, (rows, &row_of), (columns, &column_of), others);
    summary.main_figures().map(draw).collect()
}

fn heat_map(
    summary: &Summary<'_>,
    figure: &Figure,
    (rows, row_of): (&Factor, &[usize]),
    (columns, column_of): (&Factor, &[usize]),
    others: &str,
) -> Heat {
    let (unit, scale) = figure.unit();
    let mut cells = vec![vec![Vec::new(); columns.levels.len()]; rows.levels.len()];
    for (run, value) in figure.values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
        cells[row_of[run]][column_of[run]].push((run, value / scale));
    }
    let estimate = |values: &Vec<_>| (!values.is_empty()).then(|| summary.estimate(values));
    let estimates: Vec<Vec<Option<Estimate>>> =
        cells.iter().map(|row| row.iter().map(estimate).collect()).collect();
    let means = || estimates.iter().flatten().flatten().map(|estimate| estimate.mean);
    let lowest = means().fold(f64::INFINITY, f64::min);
    let digits = decimals(means()).min(2);
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    let heat = Heat::new(
        format!("{}: {} by {}", figure.metric.title(), rows.short, columns.short),
        format!("{}{unit}", figure.metric.name),
    )
    .key(format!("heat:{}", figure.metric.chart_key()))
    .caption(format!(
        "Rows: `{}`{}. Columns: `{}`{}. Each cell is the mean over all seeds{others}{}; the lowest mean is white.",
        rows.key,
        in_unit(&rows.unit),
        columns.key,
        in_unit(&columns.unit),
        if summary.has_seeds() { ", with half the 95 % interval over the seeds" } else { "" }
    ))
    .decimals(digits)
    .white(lowest)
    .columns(columns.levels.iter().map(|level| level.name.clone()).collect());
    let label = |estimate: Estimate| match estimate.ci95 {
        ci95 if ci95.is_finite() => format!("± {ci95:.digits$}"),
        _ => String::new(),
    };
    rows.levels.iter().zip(estimates).fold(heat, |heat, (level, row)| {
        let cells = row.into_iter().map(|cell| cell.map(|estimate| (estimate.mean, label(estimate))));
        heat.row(&*level.name, cells.collect())
    })
}

fn in_unit(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" in {unit}") }
}

/// Lines of each main figure over each numeric factor.
pub(super) fn lines(summary: &Summary<'_>) -> Vec<Lines> {
    let over = summary.factors.iter().filter(|one| one.is_numeric() && one.levels.len() >= MIN_LINE);
    over.flat_map(|factor| lines_over(summary, factor)).collect()
}

/// Lines over one factor: one for each value of the policy or another factor with few values.
fn lines_over(summary: &Summary<'_>, over: &Factor) -> Vec<Lines> {
    let others = || summary.factors.iter().filter(|other| other.key != over.key);
    let fits = |other: &&Factor| other.levels.len() <= MAX_LINES;
    let split = others().rfind(|other| fits(other) && !other.is_numeric()).or_else(|| others().find(fits));
    let over_of = summary.levels(over);
    let split_of = split.map(|split| summary.levels(split));
    let averaged = others().count() > usize::from(split.is_some());
    let draw = |figure: &Figure| {
        let (unit, scale) = figure.unit();
        let line = |name: &str, holds: &dyn Fn(usize) -> bool| {
            let mut points: Vec<(f64, Estimate)> = over
                .levels
                .iter()
                .enumerate()
                .filter_map(|(i, level)| {
                    let values = figure.values_where(|run| over_of[run] == i && holds(run));
                    let Estimate { mean, ci95 } = summary.estimate(&values);
                    (!values.is_empty()).then_some((level.number?, Estimate::new(mean / scale, ci95 / scale)))
                })
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Line::estimates(name, points).dots()
        };
        let mut x = Axis::new(&*over.key);
        if !over.unit.is_empty() {
            x = x.unit(&*over.unit);
        }
        let y = Axis::new(&*figure.metric.name).unit(unit).from(0.0);
        let key = format!("{}:{}", figure.metric.chart_key(), over.short);
        let chart = Lines::new(format!("{} by {}", figure.metric.title(), over.short), x, y).key(key);
        let mut chart =
            match (split, &split_of) {
                (Some(split), Some(of)) => {
                    let chart = chart.legend_title(&*split.short);
                    split.levels.iter().enumerate().fold(chart, |chart, (level, one)| {
                        chart.line(line(&one.name, &|run| of[run] == level))
                    })
                }
                _ => chart.line(line(&figure.metric.name, &|_| true)),
            };
        if averaged {
            let interval = if summary.has_seeds() { ", with 95 % intervals over the seeds" } else { "" };
            chart = chart.caption(format!("Means over all values of the other keys{interval}."));
        }
        chart
    };
    summary.main_figures().map(draw).collect()
}
