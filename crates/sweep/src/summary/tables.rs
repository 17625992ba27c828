//! Tables of a summary.

use super::Summary;
use super::factor::Factor;
use experiments::display::decimals;
use experiments::stats::{mean, median};
use report::{Cell, Column, Row, Table, Tone};

/// Maximum number of levels of a factor with a table.
const MAX_LEVELS: usize = 16;

pub(super) fn tables(summary: &Summary<'_>) -> Vec<Table> {
    let factors = summary.factors.iter().filter(|factor| factor.levels.len() <= MAX_LEVELS);
    core::iter::once(figures(summary)).chain(factors.map(|factor| by_level(summary, factor))).collect()
}

/// Mean, extremes and median of each figure.
fn figures(summary: &Summary<'_>) -> Table {
    let mut table = Table::new(format!("Figures of {}", count(summary.sweep.runs(), "run")))
        .column(Column::text(""))
        .column(Column::text("unit"))
        .column(Column::number("mean"))
        .column(Column::number("min"))
        .column(Column::number("median"))
        .column(Column::number("max"));
    let mut missing = Vec::new();
    for figure in &summary.figures {
        let (unit, scale) = figure.unit();
        let values: Vec<f64> = figure.finite().iter().map(|value| value / scale).collect();
        if values.is_empty() {
            continue;
        }
        let lacking = figure.values.len() - values.len();
        if lacking > summary.failed as usize {
            missing.push(format!(
                "{}: {} of {} runs have a value.",
                figure.metric.name,
                values.len(),
                figure.values.len()
            ));
        }
        let [low, high] = extremes(&values);
        let digits = decimals([mean(&values)]);
        let numbers = [mean(&values), low, median(&values), high];
        let row = Row::new([Cell::text(&*figure.metric.name), Cell::text(unit).tone(Tone::Quiet)]);
        table = table.row(numbers.iter().map(|&number| Cell::number(number, digits)).fold(row, Row::cell));
    }
    if let Some(reason) = &summary.first_failure {
        table = table.note(format!(
            "{} failed and have no figures; the first reason: {reason}.",
            count(summary.failed, "run")
        ));
    }
    missing.into_iter().fold(table, Table::note)
}

/// Means of the main figures for each level of a factor.
fn by_level(summary: &Summary<'_>, factor: &Factor) -> Table {
    let unit = if factor.unit.is_empty() { String::new() } else { format!(", {}", factor.unit) };
    let name = Column::text(&*factor.short);
    let mut table =
        Table::new(format!("Means by {}{unit}", factor.key)).column(name).column(Column::number("runs"));
    let levels = summary.levels(factor);
    let mut columns = Vec::new();
    for figure in summary.main_figures() {
        let (unit, scale) = figure.unit();
        let mut values = vec![Vec::new(); factor.levels.len()];
        for (run, value) in figure.finite_by_run() {
            values[levels[run]].push(value / scale);
        }
        let means: Vec<f64> = values.iter().map(|values| mean(values)).collect();
        let digits = decimals(means.iter().copied());
        table = table.column(Column::number(&*figure.metric.name).unit(unit).key(&*figure.metric.key));
        columns.push((means, digits));
    }
    for (i, level) in factor.levels.iter().enumerate() {
        let runs = levels.iter().filter(|other| **other == i).count();
        let row = Row::new([Cell::text(&*level.name), Cell::number(runs as f64, 0)]);
        let cells = columns.iter().map(|(means, digits)| Cell::number(means[i], *digits));
        table = table.row(cells.fold(row, Row::cell));
    }
    table
}

/// A row for each figure, numbers in full.
pub(super) fn long(summary: &Summary<'_>) -> Table {
    let mut table = Table::default().column(Column::text("figure")).column(Column::text("unit"));
    for name in ["runs", "mean", "min", "median", "max"] {
        table = table.column(Column::number(name));
    }
    for figure in &summary.figures {
        let values = figure.finite();
        let [low, high] = extremes(&values);
        let row = Row::new([Cell::text(&*figure.metric.key), Cell::text(figure.metric.unit)]);
        let numbers = [mean(&values), low, median(&values), high];
        let row = row.cell(Cell::number(values.len() as f64, 0));
        table = table.row(numbers.iter().map(|&number| Cell::number(number, 6)).fold(row, Row::cell));
    }
    table
}

/// The lowest and the highest value; NaN for none.
pub(super) fn extremes(values: &[f64]) -> [f64; 2] {
    [values.iter().copied().fold(f64::NAN, f64::min), values.iter().copied().fold(f64::NAN, f64::max)]
}

/// A number of things: `1 run`, `20 runs`.
pub(super) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
