//! Tables of a comparison.

use super::Comparison;
use super::metrics::Metric;
use crate::display::decimals;
use report::{Cell, Column, Estimate, Row, Table, Tone};

/// Means: a row for each metric, a column for each case.
pub(super) fn means(comparison: &Comparison) -> Table {
    let count = comparison.seeds.len();
    let title = if count == 1 { "One seed".to_owned() } else { format!("Means of {count} seeds") };
    let mut table = Table::new(title).column(Column::text("")).column(Column::text("unit"));
    for case in &comparison.cases {
        table = table.column(Column::number(&*case.name));
    }
    let mut missing: Vec<String> = Vec::new();
    for metric in comparison.metrics.iter().filter(|metric| metric.in_tables) {
        let estimates: Vec<Estimate> =
            (0..comparison.cases.len()).map(|i| comparison.estimate(metric, i)).collect();
        let (unit, scale) = comparison.unit(metric);
        let scaled = |e: &Estimate| comparison.shown(Estimate::new(e.mean / scale, e.ci95 / scale));
        let digits = decimals(estimates.iter().map(|e| e.mean / scale));
        let mut row = Row::new([Cell::text(&*metric.name), Cell::text(unit).tone(Tone::Quiet)]);
        for (i, estimate) in estimates.iter().enumerate() {
            row = row.cell(Cell::estimate(scaled(estimate), digits));
            let found = comparison.values(metric, i).len();
            if found < count {
                let name = &comparison.cases[i].name;
                missing.push(format!("`{name}`, {}: {found} of {count} runs have a value.", metric.name));
            }
        }
        table = table.row(row);
    }
    if comparison.repeats() {
        table = table.note("This scenario has no random element: every seed gives the same run.");
    } else if count > 1 {
        table = table.note("Mean ± half the width of the 95 % confidence interval (Student’s t).");
    }
    missing.into_iter().fold(table, Table::note)
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
    let mut any_quiet = false;
    for metric in comparison.metrics.iter().filter(|metric| metric.in_tables) {
        let mut row = Row::new([Cell::text(&*metric.name)]);
        for i in 1..=others.len() {
            let difference = comparison.difference(metric, i);
            let cell = Cell::estimate(comparison.shown(difference), 1);
            let within = !comparison.repeats() && difference.mean.abs() <= difference.ci95;
            any_quiet |= within;
            row = row.cell(if within { cell.tone(Tone::Quiet) } else { cell });
        }
        table = table.row(row);
    }
    if comparison.seeds.len() > 1 && !comparison.repeats() {
        table = table.note(
            "Paired by seed, in percent of the mean of the first case, ± half the 95 % confidence interval.",
        );
    }
    if any_quiet {
        table = table.note("A difference within its confidence interval is not significant.");
    }
    Some(table)
}

/// A row for each case and metric.
pub(super) fn long(comparison: &Comparison) -> Table {
    let mut table = Table::default()
        .column(Column::text("case"))
        .column(Column::text("figure"))
        .column(Column::text("unit"))
        .column(Column::number("mean"))
        .column(Column::number("difference").unit("%"));
    for (i, case) in comparison.cases.iter().enumerate() {
        for metric in &comparison.metrics {
            let row = Row::new([
                Cell::text(&*case.name),
                Cell::text(&*metric.key),
                Cell::text(metric.unit),
                Cell::estimate(comparison.estimate(metric, i), 6),
            ]);
            table = table.row(if i == 0 {
                row.cell(Cell::empty())
            } else {
                row.cell(Cell::estimate(comparison.difference(metric, i), 6))
            });
        }
    }
    table
}

/// A row for each case and seed.
pub(super) fn runs(comparison: &Comparison) -> Table {
    let mut table = Table::default().column(Column::text("case")).column(Column::number("seed"));
    for metric in &comparison.metrics {
        table = table.column(Column::number(&*metric.key));
    }
    for case in &comparison.cases {
        for (seed, outcome) in comparison.seeds.iter().zip(&case.outcomes) {
            let value = |metric: &Metric| Cell::number(metric.value(outcome).unwrap_or(f64::NAN), 6);
            // As text, because a float cannot represent every seed.
            let head = [Cell::text(&*case.name), Cell::text(seed.get().to_string())];
            table = table.row(Row::new(head.into_iter().chain(comparison.metrics.iter().map(value))));
        }
    }
    table
}
