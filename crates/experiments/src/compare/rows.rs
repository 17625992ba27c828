//! Tables with a row for each case, and pivot tables over two keys.

use super::Comparison;
use super::keys::Key;
use super::metrics::{Metric, Quantity};
use super::page::code;
use crate::crowd::BY_POLICY;
use crate::display::decimals;
use report::{Badge, Cell, Column, Estimate, Row, Table, Tone};

/// Maximum number of metrics in a table, which fits about a terminal.
const MAX_METRICS: usize = 4;
/// Mark of a mean with a wide interval.
const WIDE_MARK: &str = "*";
/// Mark of a difference that chance explains.
const INSIGNIFICANT_MARK: &str = "~";

/// Cells of means, with their notes.
pub(super) struct Means<'a> {
    comparison: &'a Comparison,
    /// Number of intervals that exceed a third of the mean.
    wide: usize,
    /// Notes on means over fewer values than runs.
    missing: Vec<String>,
}

impl<'a> Means<'a> {
    pub(super) const fn new(comparison: &'a Comparison) -> Self {
        Self { comparison, wide: 0, missing: Vec::new() }
    }

    /// The mean of a metric over the seeds of a case.
    pub(super) fn cell(&mut self, metric: &Metric, case: usize, scale: f64, digits: usize) -> Cell {
        let comparison = self.comparison;
        let Estimate { mean, ci95 } = comparison.estimate(metric, case);
        let shown = comparison.shown(Estimate::new(mean / scale, ci95 / scale));
        let (found, runs) = (comparison.values(metric, case).len(), comparison.cases[case].finished());
        // No device of the case has the policy of the metric.
        let is_absent = found == 0 && matches!(metric.quantity, Quantity::OfCrowd { .. });
        if found < runs && !is_absent {
            let name = code(&comparison.cases[case].name);
            self.missing.push(format!("{name}, {}: {found} of {runs} runs have a value.", metric.name));
        }
        let cell = Cell::estimate(shown, digits);
        if !shown.is_uncertain() {
            return cell;
        }
        self.wide += 1;
        cell.badge(Badge::new(WIDE_MARK))
    }

    /// Appends the notes.
    pub(super) fn notes(self, mut table: Table) -> Table {
        let comparison = self.comparison;
        if comparison.repeats() {
            table = table.note("These seeds gave the same run, so that there is no interval.");
        } else if comparison.seeds.len() > 1 {
            table = table.note("Mean ± half the width of the 95 % confidence interval (Student’s t).");
        }
        if self.wide > 0 {
            table = table.note(format!(
                "{WIDE_MARK} Too few seeds: the interval exceeds a third of the mean. `--seeds` sets their number."
            ));
        }
        if comparison.metrics.iter().any(|metric| metric.in_tables && metric.group() == BY_POLICY) {
            table = table.note(
                "By policy: mean over the devices with this policy in the case, which other cases may give \
                 to other devices.",
            );
        }
        if !comparison.is_complete() {
            table = table.note(incomplete(comparison));
        }
        self.missing.into_iter().fold(table, Table::note)
    }
}

/// Note on a stopped comparison, with the number of finished seeds by case.
fn incomplete(comparison: &Comparison) -> String {
    let planned = comparison.seeds.len();
    let cases =
        comparison.cases.iter().map(|case| format!("{} {} of {planned}", code(&case.name), case.finished()));
    format!(
        "Incomplete: stopped before all runs were finished. Seeds: {}.",
        cases.collect::<Vec<_>>().join(", ")
    )
}

/// Difference of a case from the first, quiet and marked if it is not significant.
pub(super) fn difference(
    comparison: &Comparison,
    metric: &Metric,
    case: usize,
    any_insignificant: &mut bool,
) -> Cell {
    let difference = comparison.difference(metric, case);
    let cell = Cell::estimate(comparison.shown(difference), 1);
    if difference.mean.is_nan() || !comparison.is_insignificant(metric, case) {
        return cell;
    }
    *any_insignificant = true;
    cell.tone(Tone::Quiet).badge(Badge::new(INSIGNIFICANT_MARK))
}

/// Appends the notes of a table of differences.
pub(super) fn difference_notes(comparison: &Comparison, mut table: Table, any_insignificant: bool) -> Table {
    if comparison.seeds.len() > 1 && !comparison.repeats() {
        table = table.note(
            "Paired by seed, in percent of the mean of the first case, ± half the 95 % confidence interval.",
        );
    }
    if any_insignificant {
        table = table.note(format!("{INSIGNIFICANT_MARK} Not significant by a paired t-test at 5 %."));
    }
    partial_differences(comparison).into_iter().fold(table, Table::note)
}

/// Notes on the differences that leave out runs with a value.
fn partial_differences(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    for metric in comparison.metrics.iter().filter(|metric| metric.in_tables) {
        for (i, case) in comparison.cases.iter().enumerate().skip(1) {
            let pairs = comparison.pairs(metric, i).len();
            if pairs > 1 && comparison.has_unpaired_values(metric, i) {
                notes.push(format!(
                    "{}, {}: difference over the {pairs} of {} seeds with a value in both cases.",
                    code(&case.name),
                    metric.name,
                    comparison.seeds.len()
                ));
            }
        }
    }
    notes
}

/// Means: a row for each case, a column for each key and metric, in tables of a few metrics.
pub(super) fn means(comparison: &Comparison) -> Vec<Table> {
    let count = comparison.seeds.len();
    let mut cells = Means::new(comparison);
    let mut tables = Vec::new();
    for (group, metrics) in chunks(comparison) {
        let title = if count == 1 { "One seed".to_owned() } else { format!("Means of {count} seeds") };
        let mut table = key_columns(comparison, Table::new(format!("{title}: {group}")));
        let mut formats = Vec::new();
        for metric in &metrics {
            let (unit, scale) = comparison.unit(metric);
            let means = (0..comparison.cases.len()).map(|i| comparison.estimate(metric, i).mean / scale);
            formats.push((scale, decimals(means)));
            table = table.column(Column::number(&*metric.name).unit(unit).key(&*metric.key));
        }
        for i in 0..comparison.cases.len() {
            let row = Row::new(key_cells(comparison, i));
            let row = metrics
                .iter()
                .zip(&formats)
                .fold(row, |row, (metric, &(scale, digits))| row.cell(cells.cell(metric, i, scale, digits)));
            table = table.row(row);
        }
        tables.push(table);
    }
    if let Some(last) = tables.pop() {
        tables.push(cells.notes(last));
    }
    tables
}

/// Differences from the first case: a row for each other case.
pub(super) fn differences(comparison: &Comparison) -> Vec<Table> {
    let Some((first, others)) = comparison.cases.split_first() else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    let mut any_insignificant = false;
    let mut tables = Vec::new();
    for (group, metrics) in chunks(comparison) {
        let title = format!("Difference from {}, in %: {group}", first.name);
        let table = key_columns(comparison, Table::new(title));
        let columns = metrics.iter().map(|metric| Column::number(&*metric.name).key(&*metric.key));
        let table = columns.fold(table, Table::column);
        tables.push((1..=others.len()).fold(table, |table, i| {
            let cells =
                metrics.iter().map(|metric| difference(comparison, metric, i, &mut any_insignificant));
            table.row(cells.fold(Row::new(key_cells(comparison, i)), Row::cell))
        }));
    }
    if let Some(last) = tables.pop() {
        tables.push(difference_notes(comparison, last, any_insignificant));
    }
    tables
}

/// A table for each main metric with the values of one key as rows and those of the other as
/// columns. Empty unless two keys differ and every combination is a case.
pub(super) fn pivots(comparison: &Comparison) -> Vec<Table> {
    let [rows, columns] = comparison.keys.as_slice() else { return Vec::new() };
    let Some(grid) = grid(comparison, rows, columns) else { return Vec::new() };
    let main = comparison.metrics.iter().filter(|metric| metric.in_tables && metric.is_main());
    main.map(|metric| pivot(comparison, metric, (rows, columns), &grid)).collect()
}

/// Index of the case for each row and column.
pub(super) type Grid = Vec<Vec<usize>>;

/// The case for each value of `rows` and each of `columns`; `None` unless every combination is
/// exactly one case.
pub(super) fn grid(comparison: &Comparison, rows: &Key, columns: &Key) -> Option<Grid> {
    let (row_values, column_values) = (rows.distinct(), columns.distinct());
    if row_values.len() * column_values.len() != comparison.cases.len() {
        return None;
    }
    let case = |row: &str, column: &str| {
        (0..comparison.cases.len()).find(|&i| rows.values[i].text == row && columns.values[i].text == column)
    };
    let row = |row: &&str| column_values.iter().map(|column| case(row, column)).collect();
    row_values.iter().map(row).collect()
}

fn pivot(
    comparison: &Comparison,
    metric: &Metric,
    (rows, columns): (&Key, &Key),
    grid: &[Vec<usize>],
) -> Table {
    let (unit, scale) = comparison.unit(metric);
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    let title = format!("{}{unit}: {} by {}", metric.title(), rows.short, columns.short);
    let mut table = Table::new(title).column(key_column(rows));
    table = columns.distinct().into_iter().fold(table, |table, value| table.column(Column::number(value)));
    let means = (0..comparison.cases.len()).map(|i| comparison.estimate(metric, i).mean / scale);
    let digits = decimals(means);
    // The tables before have the notes.
    let mut cells = Means::new(comparison);
    for line in grid {
        let Some(&first) = line.first() else { continue };
        let row = Row::new([key_cell(rows, first)]);
        table = table.row(line.iter().fold(row, |row, &i| row.cell(cells.cell(metric, i, scale, digits))));
    }
    table
}

/// The metrics in groups, each of at most [`MAX_METRICS`].
fn chunks(comparison: &Comparison) -> Vec<(String, Vec<&Metric>)> {
    let mut groups: Vec<(&'static str, Vec<&Metric>)> = Vec::new();
    for metric in comparison.metrics.iter().filter(|metric| metric.in_tables) {
        match groups.iter_mut().find(|(group, _)| *group == metric.group()) {
            Some((_, metrics)) => metrics.push(metric),
            None => groups.push((metric.group(), vec![metric])),
        }
    }
    groups
        .into_iter()
        .flat_map(|(group, metrics)| {
            let chunks = metrics.chunks(MAX_METRICS).enumerate().map(|(i, chunk)| {
                let more = if i > 0 { ", continued" } else { "" };
                (format!("{group}{more}"), chunk.to_vec())
            });
            chunks.collect::<Vec<_>>()
        })
        .collect()
}

/// Adds a column for each key; one for the name without keys.
fn key_columns(comparison: &Comparison, table: Table) -> Table {
    if comparison.keys.is_empty() {
        return table.column(Column::text("case"));
    }
    comparison.keys.iter().map(key_column).fold(table, Table::column)
}

fn key_column(key: &Key) -> Column {
    let column = if key.is_number() { Column::number(&*key.short) } else { Column::text(&*key.short) };
    column.unit(&*key.unit).key(key.column())
}

fn key_cells(comparison: &Comparison, case: usize) -> Vec<Cell> {
    if comparison.keys.is_empty() {
        return vec![Cell::text(&*comparison.cases[case].name)];
    }
    comparison.keys.iter().map(|key| key_cell(key, case)).collect()
}

fn key_cell(key: &Key, case: usize) -> Cell {
    match key.values[case].number {
        Some(number) => Cell::number(number, key.decimals()),
        None => Cell::text(&*key.values[case].text),
    }
}
