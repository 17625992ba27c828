//! CSV of a comparison: long table, runs and series.

use super::keys::Key;
use super::metrics::Metric;
use super::{Compared, Comparison};
use crate::run::series;
use report::{Cell, Column, Row, Table};
use sim::Series;
use std::fmt::Write as _;

/// A row for each case and metric.
pub(super) fn long(comparison: &Comparison) -> Table {
    let table = Table::default()
        .column(Column::text("case"))
        .column(Column::text("figure"))
        .column(Column::text("unit"))
        .column(Column::number("mean"))
        .column(Column::number("difference").unit("%"));
    let mut table = comparison.keys.iter().fold(table, |table, key| table.column(Column::text(key.column())));
    for (i, case) in comparison.cases.iter().enumerate() {
        for metric in &comparison.metrics {
            let difference = match i {
                0 => Cell::empty(),
                _ => Cell::estimate(comparison.difference(metric, i), 6),
            };
            let row = Row::new([
                Cell::text(&*case.name),
                Cell::text(&*metric.key),
                Cell::text(metric.unit),
                Cell::estimate(comparison.estimate(metric, i), 6),
                difference,
            ]);
            table = table.row(comparison.keys.iter().fold(row, |row, key| row.cell(value(key, i))));
        }
    }
    table
}

/// A row for each finished run: a case and a seed.
pub(super) fn runs(comparison: &Comparison) -> Table {
    let mut table = Table::default().column(Column::text("case")).column(Column::number("seed"));
    for key in &comparison.keys {
        table = table.column(Column::text(key.column()));
    }
    for metric in &comparison.metrics {
        table = table.column(Column::number(&*metric.key));
    }
    for (i, case) in comparison.cases.iter().enumerate() {
        for (seed, outcome) in comparison.seeds.iter().zip(&case.outcomes) {
            let Some(outcome) = outcome else { continue };
            let figure = |metric: &Metric| Cell::number(outcome.value(metric).unwrap_or(f64::NAN), 6);
            // As text, because a float cannot represent every seed.
            let head = [Cell::text(&*case.name), Cell::text(seed.get().to_string())];
            let values = comparison.keys.iter().map(|key| value(key, i));
            let figures = comparison.metrics.iter().map(figure);
            table = table.row(Row::new(head.into_iter().chain(values).chain(figures)));
        }
    }
    table
}

fn value(key: &Key, case: usize) -> Cell {
    let value = &key.values[case];
    match value.number {
        Some(number) => Cell::number(number, key.decimals()),
        None => Cell::text(&*value.text),
    }
}

/// The time series of all finished runs: a row for each case, seed and sample. A column that a case
/// lacks is empty.
pub(super) fn series(comparison: &Comparison) -> String {
    let runs = || comparison.cases.iter().flat_map(|case| finished(comparison, case));
    let mut columns: Vec<&str> = Vec::new();
    for (_, _, series) in runs() {
        for column in &series.columns {
            if !columns.contains(&column.name.as_str()) {
                columns.push(&column.name);
            }
        }
    }
    let mut out = String::from("case,seed,time_s");
    for column in &columns {
        out.push(',');
        out.push_str(column);
    }
    out.push('\n');
    for (case, seed, series) in runs() {
        let own: Vec<_> =
            columns.iter().map(|name| series.columns.iter().find(|column| column.name == *name)).collect();
        for row in 0..series.rows() {
            let _ = write!(out, "{},{seed},", quoted(&case.name));
            series::number(&mut out, series.interval_s * (row + 1) as f64);
            for column in &own {
                out.push(',');
                let value = column.and_then(|column| column.values.get(row).copied());
                series::number(&mut out, value.unwrap_or(f64::NAN));
            }
            out.push('\n');
        }
    }
    out
}

/// Case, seed and series of the finished runs of a case.
fn finished<'a>(
    comparison: &'a Comparison,
    case: &'a Compared,
) -> impl Iterator<Item = (&'a Compared, u64, &'a Series)> {
    let runs = comparison.seeds.iter().zip(&case.outcomes);
    runs.filter_map(move |(seed, outcome)| Some((case, seed.get(), &outcome.as_ref()?.device()?.series)))
}

/// A text as a CSV field (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
