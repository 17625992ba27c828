//! Tables of a comparison of a few policies: a row for each metric, a column for each case.

use super::Comparison;
use super::rows::{Means, difference, difference_notes};
use crate::display::decimals;
use report::{Cell, Column, Row, Table, Tone};

/// Means: a row for each metric, a column for each case.
pub(super) fn means(comparison: &Comparison) -> Table {
    let count = comparison.seeds.len();
    let title = if count == 1 { "One seed".to_owned() } else { format!("Means of {count} seeds") };
    let mut table = Table::new(title).column(Column::text("")).column(Column::text("unit"));
    for case in &comparison.cases {
        table = table.column(Column::number(&*case.name));
    }
    let mut means = Means::new(comparison);
    for metric in comparison.metrics.iter().filter(|metric| metric.in_tables) {
        let (unit, scale) = comparison.unit(metric);
        let estimates = (0..comparison.cases.len()).map(|i| comparison.estimate(metric, i));
        let digits = decimals(estimates.map(|e| e.mean / scale));
        let row = Row::new([Cell::text(&*metric.name), Cell::text(unit).tone(Tone::Quiet)]);
        table = table.row(
            (0..comparison.cases.len()).fold(row, |row, i| row.cell(means.cell(metric, i, scale, digits))),
        );
    }
    means.notes(table)
}

/// Difference of each case from the first; `None` with a single case.
pub(super) fn differences(comparison: &Comparison) -> Option<Table> {
    let (first, others) = comparison.cases.split_first()?;
    if others.is_empty() {
        return None;
    }
    let mut table = Table::new(format!("Difference from {}, in %", first.name)).column(Column::text(""));
    for case in others {
        table = table.column(Column::number(&*case.name));
    }
    let mut any_insignificant = false;
    for metric in comparison.metrics.iter().filter(|metric| metric.in_tables) {
        let mut row = Row::new([Cell::text(&*metric.name)]);
        for i in 1..=others.len() {
            row = row.cell(difference(comparison, metric, i, &mut any_insignificant));
        }
        table = table.row(row);
    }
    Some(difference_notes(comparison, table, any_insignificant))
}
