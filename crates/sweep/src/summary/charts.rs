//! Charts of a summary: heat maps over two factors, and lines over one.

use super::factor::{Factor, Level};
use super::{Figure, Summary};
use experiments::display::decimals;
use report::{Axis, Estimate, Heat, Line, Lines};

/// Minimum number of values for a line.
const MIN_LINE: usize = 3;
/// Maximum number of lines in a chart, which is that of distinct colours.
const MAX_LINES: usize = 6;
/// Maximum number of columns with legible values.
const MAX_COLUMNS: usize = 12;
/// Maximum number of levels of a factor with charts, which limits the size of the page.
const MAX_LEVELS: usize = 400;

/// A heat map of each main figure over the two factors with the most values.
pub(super) fn heat_maps(summary: &Summary<'_>) -> Vec<Heat> {
    let mut factors: Vec<&Factor> = summary.factors.iter().collect();
    factors.sort_by_key(|factor| core::cmp::Reverse(factor.levels.len()));
    let [rows, columns, others @ ..] = factors.as_slice() else { return Vec::new() };
    if columns.levels.len() > MAX_COLUMNS || rows.levels.len() > MAX_LEVELS {
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
    for (run, value) in figure.finite_by_run() {
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
    let numeric = summary.factors.iter().filter(|factor| factor.is_numeric());
    let over = numeric.filter(|factor| (MIN_LINE..=MAX_LEVELS).contains(&factor.levels.len()));
    over.flat_map(|factor| lines_over(summary, factor)).collect()
}

/// Lines over one factor: one for each value of the policy or another factor with few values.
fn lines_over(summary: &Summary<'_>, over: &Factor) -> Vec<Lines> {
    let others = || summary.factors.iter().filter(|other| other.key != over.key);
    let fits = |other: &&Factor| other.levels.len() <= MAX_LINES;
    let split = others().rfind(|other| fits(other) && !other.is_numeric()).or_else(|| others().find(fits));
    let over_of = summary.levels(over);
    let split_of = split.map_or_else(|| vec![0; over_of.len()], |split| summary.levels(split));
    let lines = split.map_or(1, |split| split.levels.len());
    let averaged = others().count() > usize::from(split.is_some());
    let draw = |figure: &Figure| {
        let (unit, scale) = figure.unit();
        let mut values = vec![vec![Vec::new(); over.levels.len()]; lines];
        for (run, value) in figure.finite_by_run() {
            values[split_of[run]][over_of[run]].push((run, value));
        }
        let line = |name: &str, values: &[Vec<(usize, f64)>]| {
            let levels = over.levels.iter().zip(values).filter(|(_, values)| !values.is_empty());
            let point = |(level, values): (&Level, &Vec<_>)| {
                let Estimate { mean, ci95 } = summary.estimate(values);
                Some((level.number?, Estimate::new(mean / scale, ci95 / scale)))
            };
            let mut points: Vec<(f64, Estimate)> = levels.filter_map(point).collect();
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
        let mut chart = match split {
            Some(split) => {
                let lines = split.levels.iter().zip(&values);
                let chart = chart.legend_title(&*split.short);
                lines.fold(chart, |chart, (level, values)| chart.line(line(&level.name, values)))
            }
            None => chart.line(line(&figure.metric.name, &values[0])),
        };
        if averaged {
            let interval = if summary.has_seeds() { ", with 95 % intervals over the seeds" } else { "" };
            chart = chart.caption(format!("Means over all values of the other keys{interval}."));
        }
        chart
    };
    summary.main_figures().map(draw).collect()
}
