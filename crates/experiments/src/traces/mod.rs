//! Traces of a result: how each file was read, and its figures.

mod files;
mod paths;

pub use files::{TraceFile, TraceFiles};
pub use paths::path_lines;

use crate::display::decimals;
use link::RateColumn;
use report::{Cell, Column, Row, Table, literal};
use scenario::UsedTrace;
use serde_json::{Value, json};
use units::{Bitrate, Duration};

/// The traces, one row for each file as a path uses it; `None` without traces.
pub fn table(traces: &[UsedTrace]) -> Option<Table> {
    let rows = merged(traces);
    if rows.is_empty() {
        return None;
    }
    let has_start = traces.iter().any(|trace| trace.start != Some(Duration::ZERO));
    let has_scale = traces.iter().any(|trace| trace.scale != 1.0);
    let mut table = Table::new("Traces")
        .column(Column::text("path"))
        .column(Column::text("file"))
        .column(Column::text("read as"))
        .column(Column::number("length").unit("s"));
    if has_start {
        table = table.column(Column::number("start").unit("s"));
    }
    if has_scale {
        table = table.column(Column::number("scale"));
    }
    for percentile in ["mean", "5th pct", "95th pct"] {
        table = table.column(Column::number(percentile).unit("Mbit/s"));
    }
    let rates =
        |trace: &UsedTrace| [trace.summary.mean, trace.summary.p5, trace.summary.p95].map(Bitrate::as_mbps);
    let places = decimals(traces.iter().map(|trace| trace.summary.mean.as_mbps()));
    for (directions, trace) in &rows {
        let mut row = Row::new([
            Cell::text(format!("{} {directions}", trace.path)),
            Cell::text(&*trace.file),
            Cell::text(read_as(trace.format, trace.column.as_ref())),
            Cell::number(trace.summary.length.as_secs_f64(), 1),
        ]);
        if has_start {
            let start = trace.start.map(|start| Cell::number(start.as_secs_f64(), 1));
            row = row.cell(start.unwrap_or_else(|| Cell::text("random")));
        }
        if has_scale {
            row = row.cell(Cell::number(trace.scale, 3));
        }
        table = table.row(rates(trace).iter().map(|&rate| Cell::number(rate, places)).fold(row, Row::cell));
    }
    if traces.iter().any(|trace| trace.random_start) {
        table = table
            .note(format!("`start = \"random\"`: the start of {} follows the seed.", random_names(traces)));
    }
    let lengths: Vec<Duration> = traces.iter().map(|trace| trace.summary.window).collect();
    Some(table.note(windows(&lengths)))
}

/// The member `traces` of `result.json`.
pub fn to_json(traces: &[UsedTrace]) -> Value {
    let one = |trace: &UsedTrace| {
        let summary = &trace.summary;
        json!({
            "path": trace.path,
            "direction": direction(trace),
            "file": trace.file,
            "sha256": trace.sha256,
            "format": trace.format,
            "column": trace.column.as_ref().map(|column| &column.name),
            "unit": trace.column.as_ref().map(|column| column.unit),
            "length_s": summary.length.as_secs_f64(),
            "start_s": trace.start.map(Duration::as_secs_f64),
            "random_start": trace.random_start,
            "scale": trace.scale,
            "mean_mbps": summary.mean.as_mbps(),
            "p5_mbps": summary.p5.as_mbps(),
            "p95_mbps": summary.p95.as_mbps(),
            "window_s": summary.window.as_secs_f64(),
        })
    };
    traces.iter().map(one).collect()
}

/// Format, and column with its unit: `csv: DL_bitrate in kbit/s`.
fn read_as(format: &str, column: Option<&RateColumn>) -> String {
    match column {
        Some(column) => format!("{format}: {} in {}", column.name, column.unit),
        None => format.to_owned(),
    }
}

const fn direction(trace: &UsedTrace) -> &'static str {
    if trace.down { "down" } else { "up" }
}

/// The traces with their directions. A path that uses one trace in both directions has one row.
fn merged(traces: &[UsedTrace]) -> Vec<(&'static str, &UsedTrace)> {
    let mut rows: Vec<(&'static str, &UsedTrace)> = Vec::new();
    for trace in traces {
        let same =
            rows.iter_mut().find(|(_, row)| UsedTrace { down: trace.down, ..(*row).clone() } == *trace);
        match same {
            Some((directions, row)) if row.down != trace.down => *directions = "down, up",
            Some(_) => {}
            None => rows.push((direction(trace), trace)),
        }
    }
    rows
}

fn random_names(traces: &[UsedTrace]) -> String {
    let mut names: Vec<String> =
        traces.iter().filter(|trace| trace.random_start).map(|trace| literal(&trace.path)).collect();
    names.dedup();
    names.join(", ")
}

/// Note about the windows of the percentiles.
fn windows(lengths: &[Duration]) -> String {
    let note = "Percentiles are of the rate over windows of";
    if let [first, rest @ ..] = lengths
        && rest.iter().all(|length| length == first)
    {
        return format!("{note} {}.", crate::describe::spaced(&first.to_string()));
    }
    format!(
        "{note} one second; of the whole trace if it is shorter, and of longer windows over more than a day."
    )
}
