//! Trace files side by side, for `tandem trace`: figures, charts, and the lines of a scenario.

use crate::display::decimals;
use crate::page;
use core::fmt::Write as _;
use link::{RateColumn, Trace, TraceReading};
use report::{Axis, Cell, Column, Line, Lines, Page, Row, Section, Table, literal};
use serde_json::{Value, json};
use units::{Bitrate, Duration};

/// Most points of a line.
const MAX_POINTS: u64 = 20_000;
/// Key of the share of the time with too little capacity.
const BELOW_NEED: &str = "below_need_percent";
/// Width of the chart in text.
const SPARK_WIDTH: u64 = 72;
const SPARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A trace file as read, after changes.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceFile {
    /// Name as given.
    pub name: String,
    /// Name of the format.
    pub format: &'static str,
    /// Column of the rate.
    pub column: Option<RateColumn>,
    /// The trace.
    pub trace: Trace,
}

/// Trace files side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceFiles {
    /// The files, at least one.
    pub files: Vec<TraceFile>,
    /// Rate below which a window counts as a shortfall.
    pub need: Bitrate,
}

/// Rates of all files over their common time.
struct Together {
    /// Length of the windows.
    window: Duration,
    /// The common length.
    length: Duration,
    /// Rates of each file in Mbit/s.
    rates: Vec<Vec<f64>>,
    /// Sums of all files in Mbit/s.
    sums: Vec<f64>,
}

impl TraceFile {
    /// Describes a file by its reading.
    pub fn new(name: impl Into<String>, reading: TraceReading) -> Self {
        Self { name: name.into(), format: reading.format, column: reading.column, trace: reading.trace }
    }
}

impl TraceFiles {
    /// Figures of each file; of several files, also the figures of their sum over the common time.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.table()];
        tables.extend(self.together().map(|together| self.together_table(&together)));
        tables
    }

    /// One table for CSV: the figures of each file, and behind them those over the common time, with a
    /// last row for the sum.
    pub fn long_table(&self) -> Table {
        let mut table = self.table();
        let Some(together) = self.together() else { return table };
        let common = self.together_table(&together);
        let width = table.columns.len();
        table.columns.extend(common.columns.into_iter().skip(1).map(|mut column| {
            // Independent of the value of `--need`.
            let header = if column.key == BELOW_NEED { "below need" } else { &column.header };
            column.header = format!("together {header}");
            column
        }));
        table.rows.push(Row::new([Cell::text("sum")]));
        for (row, common) in table.rows.iter_mut().zip(common.rows) {
            row.cells.resize_with(width, Cell::empty);
            row.cells.extend(common.cells.into_iter().skip(1));
        }
        table
    }

    fn table(&self) -> Table {
        let summaries: Vec<_> = self.files.iter().map(|file| file.trace.summary()).collect();
        let places = decimals(summaries.iter().map(|summary| summary.mean.as_mbps()));
        let mut table = Table::new("Traces")
            .column(Column::text("file"))
            .column(Column::text("read as"))
            .column(Column::number("length").unit("s").key("length_s"));
        for (header, key) in [("mean", "mean_mbps"), ("5th pct", "p5_mbps"), ("95th pct", "p95_mbps")] {
            table = table.column(Column::number(header).unit("Mbit/s").key(key));
        }
        for (file, summary) in self.files.iter().zip(&summaries) {
            let rates = [summary.mean, summary.p5, summary.p95];
            let row = Row::new([
                Cell::text(&*file.name),
                Cell::text(super::read_as(file.format, file.column.as_ref())),
                Cell::number(summary.length.as_secs_f64(), 1),
            ]);
            table =
                table.row(rates.iter().map(|rate| Cell::number(rate.as_mbps(), places)).fold(row, Row::cell));
        }
        let windows: Vec<Duration> = summaries.iter().map(|summary| summary.window).collect();
        table.note(super::windows(&windows))
    }

    /// Rates over the common time; `None` for a single file.
    fn together(&self) -> Option<Together> {
        let length = self.files.iter().map(|file| file.trace.period()).min()?;
        let window = self.files.iter().map(|file| file.trace.summary().window).max()?.min(length);
        let count = (length.as_nanos() / window.as_nanos().max(1)).max(1) as usize;
        let rates: Vec<Vec<f64>> = self
            .files
            .iter()
            .map(|file| {
                file.trace.window_rates(window).into_iter().take(count).map(Bitrate::as_mbps).collect()
            })
            .collect();
        let sums =
            (0..count).map(|i| rates.iter().map(|file: &Vec<f64>| file.get(i).copied().unwrap_or(0.0)).sum());
        let sums = sums.collect();
        (self.files.len() > 1).then_some(Together { window, length, rates, sums })
    }

    fn together_table(&self, together: &Together) -> Table {
        let need = self.need.as_mbps();
        let places = decimals(together.sums.iter().copied());
        let mut table = Table::new("Together")
            .column(Column::text("file"))
            .column(Column::number("mean").unit("Mbit/s").key("mean_mbps"))
            .column(Column::number("5th pct").unit("Mbit/s").key("p5_mbps"))
            .column(Column::number("95th pct").unit("Mbit/s").key("p95_mbps"))
            .column(
                Column::number(format!("below {}", crate::describe::spaced(&self.need.to_string())))
                    .unit("% of time")
                    .key(BELOW_NEED),
            )
            .column(Column::number("correlation").key("correlation"));
        let first = &together.rates[0];
        let lines = self.files.iter().map(|file| file.name.as_str()).zip(&together.rates);
        for (i, (name, rates)) in lines.chain([("sum", &together.sums)]).enumerate() {
            let figures = [mean(rates), percentile(rates, 5), percentile(rates, 95)];
            let below = rates.iter().filter(|&&rate| rate < need).count() as f64 / rates.len().max(1) as f64;
            let with_first = if i == 0 || name == "sum" {
                Cell::empty()
            } else {
                Cell::number(correlation(first, rates), 2)
            };
            let row = figures
                .iter()
                .map(|&rate| Cell::number(rate, places))
                .fold(Row::new([Cell::text(name)]), Row::cell);
            table = table.row(row.cell(Cell::number(100.0 * below, 1)).cell(with_first));
        }
        table.note(format!(
            "Over the first {:.1} s, which all files have, in windows of {}. Correlation is with the first file.",
            together.length.as_secs_f64(),
            crate::describe::spaced(&together.window.to_string())
        ))
    }

    /// All figures as JSON.
    pub fn to_json(&self) -> Value {
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|file| {
                let summary = file.trace.summary();
                json!({
                    "file": file.name,
                    "format": file.format,
                    "column": file.column.as_ref().map(|column| &column.name),
                    "unit": file.column.as_ref().map(|column| column.unit),
                    "length_s": summary.length.as_secs_f64(),
                    "mean_mbps": summary.mean.as_mbps(),
                    "p5_mbps": summary.p5.as_mbps(),
                    "p95_mbps": summary.p95.as_mbps(),
                    "window_s": summary.window.as_secs_f64(),
                })
            })
            .collect();
        let mut json = json!({"kind": "trace", "tandem": env!("CARGO_PKG_VERSION"), "files": files});
        if let Some(together) = self.together() {
            let below = |rates: &Vec<f64>| {
                rates.iter().filter(|&&rate| rate < self.need.as_mbps()).count() as f64
                    / rates.len().max(1) as f64
            };
            json["together"] = json!({
                "length_s": together.length.as_secs_f64(),
                "window_s": together.window.as_secs_f64(),
                "need_mbps": self.need.as_mbps(),
                "below_need": together.rates.iter().map(below).collect::<Vec<_>>(),
                "correlation_with_first":
                    together.rates.iter().skip(1).map(|rates| correlation(&together.rates[0], rates)).collect::<Vec<_>>(),
                "sum": {
                    "mean_mbps": mean(&together.sums),
                    "p5_mbps": percentile(&together.sums, 5),
                    "p95_mbps": percentile(&together.sums, 95),
                    "below_need": below(&together.sums),
                },
            });
        }
        json
    }

    /// A chart in one line of text for each file, all over the same time and up to the same rate.
    pub fn sparklines(&self) -> String {
        let longest = self.files.iter().map(|file| file.trace.period()).max().unwrap_or_default();
        let step = Duration::from_nanos(longest.as_nanos().div_ceil(SPARK_WIDTH).max(1));
        let rates: Vec<Vec<f64>> = self.files.iter().map(|file| steps(&file.trace, step)).collect();
        let max = rates.iter().flatten().fold(0.0_f64, |max, &rate| max.max(rate));
        let width = self.files.iter().map(|file| file.name.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for (file, rates) in self.files.iter().zip(&rates) {
            let level = |&rate: &f64| match (rate / max.max(f64::MIN_POSITIVE) * 8.0) as usize {
                0 if rate == 0.0 => ' ',
                level => SPARKS[level.min(7)],
            };
            let line: String = rates.iter().map(level).collect();
            let _ = writeln!(text, "{:width$}  {line}", file.name);
        }
        let _ = writeln!(
            text,
            "{:width$}  0 to {:.1} s, up to {max:.*} Mbit/s",
            "",
            longest.as_secs_f64(),
            decimals([max])
        );
        text
    }

    /// Contents of `series.csv`: the rate of each file in Mbit/s for each step of time.
    pub fn series_csv(&self) -> String {
        let (step, rates) = self.points();
        let mut table = Table::default().column(Column::number("time_s"));
        for file in &self.files {
            table = table.column(Column::number(format!("{}_mbps", file.name)));
        }
        for i in 0..rates.iter().map(Vec::len).max().unwrap_or(0) {
            let row = Row::new([Cell::number(i as f64 * step.as_secs_f64(), 3)]);
            let rate =
                |rates: &Vec<f64>| rates.get(i).map_or_else(Cell::empty, |&rate| Cell::number(rate, 6));
            table = table.row(rates.iter().map(rate).fold(row, Row::cell));
        }
        table.to_csv()
    }

    /// The HTML report.
    pub fn page(&self) -> Page {
        let (step, rates) = self.points();
        let shown = crate::describe::spaced(&step.to_string());
        let line =
            |name: &str, rates: &[f64]| Line::sampled(name, 0.0, step.as_secs_f64(), rates.to_vec()).step();
        let axis = || Axis::new("rate").unit("Mbit/s").from(0.0);
        let mut over_time = Lines::new("Rate over time", Axis::seconds(), axis())
            .key("rate")
            .caption(format!("Mean rates over steps of {shown}."));
        let mut cdf =
            Lines::new("Distribution of the rate", axis(), Axis::new("share of the time").unit("%"))
                .key("cdf:rate")
                .caption(format!("Share of the steps of {shown} with at most this rate."));
        for (file, rates) in self.files.iter().zip(&rates) {
            over_time = over_time.line(line(&file.name, rates));
            cdf = cdf.line(Line::cdf(&*file.name, rates.iter().copied()));
        }
        if let Some(together) = self.together() {
            cdf = cdf.line(Line::cdf("sum", together.sums.iter().copied()));
        }
        let names: Vec<String> = self.files.iter().map(|file| literal(&file.name)).collect();
        let result = self.tables().into_iter().fold(Section::new("Figures"), Section::table);
        Page::new("Traces")
            .lead(format!("{}.", names.join(", ")))
            .section(result)
            .section(Section::new("Charts").chart(over_time).chart(cdf))
            .footer(page::footer())
    }

    /// Rates in Mbit/s over steps of 100 ms, or longer ones for long traces.
    fn points(&self) -> (Duration, Vec<Vec<f64>>) {
        let longest = self.files.iter().map(|file| file.trace.period()).max().unwrap_or_default();
        let mut step = Duration::from_millis(100);
        while longest.as_nanos() / step.as_nanos() > MAX_POINTS {
            step = step * 10;
        }
        (step, self.files.iter().map(|file| steps(&file.trace, step)).collect())
    }
}

/// Mean rates over steps, in Mbit/s.
fn steps(trace: &Trace, step: Duration) -> Vec<f64> {
    let resampled = trace.resampled(step);
    resampled.map_or_else(Vec::new, |trace| trace.pieces().iter().map(|piece| piece.rate.as_mbps()).collect())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Nearest-rank percentile.
fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() * percent).div_ceil(100).max(1) - 1).copied().unwrap_or(f64::NAN)
}

/// Pearson's correlation; not a number if one side is constant.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum =
        |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(&a, &b)| f(a - mean_a, b - mean_b)).sum::<f64>();
    let (ab, aa, bb) = (sum(&|a, b| a * b), sum(&|a, _| a * a), sum(&|_, b| b * b));
    if aa == 0.0 || bb == 0.0 { f64::NAN } else { ab / (aa.sqrt() * bb.sqrt()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_is_one_for_equal_series_and_minus_one_for_opposite_ones() {
        let a = [1.0, 2.0, 4.0];
        assert!((correlation(&a, &a) - 1.0).abs() < 1e-12);
        assert!((correlation(&a, &[-1.0, -2.0, -4.0]) + 1.0).abs() < 1e-12);
        assert!(correlation(&a, &[3.0, 3.0, 3.0]).is_nan());
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!((percentile(&values, 5), percentile(&values, 95)), (1.0, 19.0));
        assert!(percentile(&[], 5).is_nan());
    }
}
