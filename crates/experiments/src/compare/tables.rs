//! The tables of a comparison.

use super::Comparison;
use super::figures::Figure;
use crate::describe;
use crate::display::decimals;
use report::{Cell, Column, Estimate, Row, Table, Tone};

/// A row for each figure, a column for each case.
pub(super) fn means(comparison: &Comparison) -> Table {
    let count = comparison.seeds.len();
    let title = if count == 1 { "One seed".to_owned() } else { format!("Means of {count} seeds") };
    let mut table = Table::new(title).column(Column::text("")).column(Column::text("unit"));
    for case in &comparison.cases {
        table = table.column(Column::number(&*case.name));
    }
    let mut missing: Vec<String> = Vec::new();
    for figure in &comparison.figures {
        let estimates: Vec<Estimate> =
            (0..comparison.cases.len()).map(|i| comparison.estimate(figure, i)).collect();
        let (unit, scale) = comparison.unit(figure);
        let scaled = |e: &Estimate| comparison.shown(Estimate::new(e.mean / scale, e.ci95 / scale));
        let digits = decimals(estimates.iter().map(|e| e.mean / scale));
        let mut row = Row::new([Cell::text(&*figure.name), Cell::text(unit).tone(Tone::Quiet)]);
        for (i, estimate) in estimates.iter().enumerate() {
            row = row.cell(Cell::estimate(scaled(estimate), digits));
            let found = comparison.values(figure, i).len();
            if found < count {
                let name = &comparison.cases[i].name;
                missing.push(format!("`{name}`, {}: {found} of {count} runs came that far.", figure.name));
            }
        }
        table = table.row(row);
    }
    if comparison.repeats() {
        table = table.note("Nothing in this scenario is random: every seed gives the same run.");
    } else if count > 1 {
        table = table.note("Mean ± half the width of the 95 % interval (Student’s t).");
    }
    let idle = comparison.cases.iter().find_map(|case| describe::idle_policy(&case.experiment));
    table = idle.into_iter().fold(table, Table::note);
    missing.into_iter().fold(table, Table::note)
}

/// How far each other case is from the first; `None` where there is no other.
pub(super) fn differences(comparison: &Comparison) -> Option<Table> {
    let (first, others) = comparison.cases.split_first()?;
    if others.is_empty() {
        return None;
    }
    let mut table = Table::new(format!("Difference to {}, in %", first.name)).column(Column::text(""));
    for case in others {
        table = table.column(Column::number(&*case.name));
    }
    let mut any_quiet = false;
    for figure in &comparison.figures {
        let mut row = Row::new([Cell::text(&*figure.name)]);
        for i in 1..=others.len() {
            let difference = comparison.difference(figure, i);
            let cell = Cell::estimate(comparison.shown(difference), 1);
            let within = !comparison.repeats() && difference.mean.abs() <= difference.ci95;
            any_quiet |= within;
            row = row.cell(if within { cell.tone(Tone::Quiet) } else { cell });
        }
        table = table.row(row);
    }
    if comparison.seeds.len() > 1 && !comparison.repeats() {
        table = table.note("Seed by seed, in percent of the first’s mean, with the 95 % interval.");
    }
    if any_quiet {
        table = table.note("Where the interval holds 0, the seeds show no difference.");
    }
    Some(table)
}

/// A row for each case and figure.
pub(super) fn long(comparison: &Comparison) -> Table {
    let mut table = Table::default()
        .column(Column::text("case"))
        .column(Column::text("figure"))
        .column(Column::text("unit"))
        .column(Column::number("mean"))
        .column(Column::number("difference").unit("%"));
    for (i, case) in comparison.cases.iter().enumerate() {
        for figure in &comparison.figures {
            let row = Row::new([
                Cell::text(&*case.name),
                Cell::text(&*figure.key),
                Cell::text(figure.unit),
                Cell::estimate(comparison.estimate(figure, i), 6),
            ]);
            table = table.row(if i == 0 {
                row.cell(Cell::empty())
            } else {
                row.cell(Cell::estimate(comparison.difference(figure, i), 6))
            });
        }
    }
    table
}

/// A row for each case and seed.
pub(super) fn runs(comparison: &Comparison) -> Table {
    let mut table = Table::default().column(Column::text("case")).column(Column::number("seed"));
    for figure in &comparison.figures {
        table = table.column(Column::number(&*figure.key));
    }
    for case in &comparison.cases {
        for (seed, outcome) in comparison.seeds.iter().zip(&case.outcomes) {
            let value = |figure: &Figure| Cell::number(figure.value(outcome).unwrap_or(f64::NAN), 6);
            // As text: not every seed is a number that a float holds.
            let head = [Cell::text(&*case.name), Cell::text(seed.get().to_string())];
            table = table.row(Row::new(head.into_iter().chain(comparison.figures.iter().map(value))));
        }
    }
    table
}
