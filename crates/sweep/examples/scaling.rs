//! How a sweep scales: one and two processes on this machine, then a cluster on paper.
//!
//! `cargo run --release -p tandem-sweep --example scaling` runs the same batches in one and in two
//! processes, and measures a batch, its part and the merge. With these figures a model gives the
//! time of 10^7 runs on up to 1,000 cores; docs/design/sweeps.md has the model.
#![allow(clippy::disallowed_methods, reason = "this program measures time and starts processes")]

use bytes::Bytes;
use report::{Cell, Column, Row, Table, TextStyle};
use std::io::{Read as _, Write as _};
use std::ops::{ControlFlow, Range};
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use tandem_sweep::{Axis, Design, PartSource, Request, Sweep, merge};

/// Runs of the measurement.
const RUNS: u64 = 160;
/// Batches of the measurement.
const BATCHES: u64 = 8;
/// Aim for the time of a batch on a cluster, in seconds.
const BATCH_S: f64 = 5.0;
/// Time of Dask's scheduler for a task, in seconds: its documentation gives 200 us and 1 ms.
const TASK_S: [f64; 2] = [200e-6, 1e-3];
/// Runs of the sweep on paper.
const PAPER_RUNS: f64 = 1e7;

fn main() {
    let mut arguments = std::env::args().skip(1);
    if let (Some(first), Some(end)) = (arguments.next(), arguments.next()) {
        return worker(&first, &end);
    }
    let sweep = description();
    let (one_s, _) = processes(&sweep, 1);
    let (two_s, parts) = processes(&sweep, 2);
    let bytes: usize = parts.iter().map(Vec::len).sum();
    let sources: Vec<PartSource> =
        parts.into_iter().map(|part| PartSource::Bytes(Bytes::from(part))).collect();
    let begun = Instant::now();
    let mut dataset = Vec::new();
    merge(&sweep, &sources, &mut dataset).expect("all parts are here");
    let merge_s = begun.elapsed().as_secs_f64();
    let run_s = one_s / RUNS as f64;
    let part_bytes = bytes as f64 / BATCHES as f64;
    println!("{}", measured(&[one_s, two_s], run_s, part_bytes, merge_s).to_text(TextStyle::PLAIN));
    println!("{}", on_paper(run_s, part_bytes, dataset.len() as f64 / RUNS as f64).to_text(TextStyle::PLAIN));
}

/// A sweep of scenarios/wifi-lte.toml with 2 s of simulated time.
fn description() -> Sweep {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/wifi-lte.toml");
    let text = std::fs::read_to_string(path).expect("the scenario of the repository");
    let text = text.replace("duration = \"30s\"", "duration = \"2s\"");
    let axis = |key: &str, values: &[&str]| {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        Axis::new(key, &values).expect("valid values")
    };
    let axes = vec![
        axis("path.wifi.down.rate", &["5Mbps", "10Mbps", "20Mbps", "40Mbps"]),
        axis("path.lte.down.delay", &["20ms", "40ms"]),
    ];
    let request = Request {
        name: "wifi-lte.toml".to_owned(),
        text,
        design: Design::Grid,
        axes,
        policies: Vec::new(),
        seeds: (RUNS / 8) as u32,
    };
    Sweep::describe(request, &|_: &str| Err("no files".to_owned())).expect("a valid sweep")
}

/// Reads the description of a batch from the standard input, and writes its part to the standard output.
fn worker(first: &str, end: &str) {
    let mut json = String::new();
    std::io::stdin().read_to_string(&mut json).expect("a description");
    let sweep = Sweep::from_json(&json).expect("a valid description");
    let runs = first.parse().expect("a number")..end.parse().expect("a number");
    let part = sweep.run_batch(runs, &mut |_| ControlFlow::Continue(())).expect("rows");
    std::io::stdout().write_all(&part.bytes).expect("the parent reads");
}

/// Runs all batches with `count` processes at once; returns the seconds and the parts.
fn processes(sweep: &Sweep, count: usize) -> (f64, Vec<Vec<u8>>) {
    let size = RUNS / BATCHES;
    let batches: Vec<Range<u64>> = (0..BATCHES).map(|i| i * size..(i + 1) * size).collect();
    let json = sweep.spec().to_json();
    let begun = Instant::now();
    let mut parts = Vec::new();
    for batches in batches.chunks(count) {
        let children: Vec<Child> = batches.iter().map(|batch| start(&json, batch)).collect();
        for child in children {
            parts.push(child.wait_with_output().expect("it ends").stdout);
        }
    }
    (begun.elapsed().as_secs_f64(), parts)
}

fn start(json: &str, batch: &Range<u64>) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args([batch.start.to_string(), batch.end.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(json.as_bytes()).expect("it reads");
    child
}

fn measured(seconds: &[f64], run_s: f64, part_bytes: f64, merge_s: f64) -> Table {
    let mut table =
        Table::new(format!("Measured: {RUNS} runs of wifi-lte.toml, 2 s each, in {BATCHES} batches"))
            .column(Column::text(""))
            .column(Column::number("value"))
            .column(Column::text("unit"));
    let mut add = |name: String, value: f64, digits: usize, unit: &str| {
        let row = Row::new([Cell::text(name), Cell::number(value, digits), Cell::text(unit)]);
        table.rows.push(row);
    };
    for (count, seconds) in (1..).zip(seconds) {
        add(format!("{count} processes"), RUNS as f64 / seconds, 1, "runs/s");
    }
    add("speed-up".to_owned(), seconds[0] / seconds[1], 2, "");
    add("a run".to_owned(), run_s * 1e3, 2, "ms");
    add("a part".to_owned(), part_bytes * 1e-3, 1, "kB");
    add("merge".to_owned(), RUNS as f64 / merge_s, 0, "rows/s");
    table
}

/// The time of a large sweep: the cores compute, the scheduler hands out batches one after the
/// other, and the last batch ends alone.
fn on_paper(run_s: f64, part_bytes: f64, row_bytes: f64) -> Table {
    let mut table = Table::new(format!("On paper: {PAPER_RUNS:.0e} such runs in batches of {BATCH_S} s"))
        .column(Column::number("cores"))
        .column(Column::number("scheduler").unit("us/task"))
        .column(Column::number("time").unit("h"))
        .column(Column::number("scheduler busy").unit("%"))
        .column(Column::number("efficiency").unit("%"))
        .column(Column::number("streamed back").unit("MB/s"));
    let batches = (PAPER_RUNS * run_s / BATCH_S).ceil();
    let rows_of_part = RUNS as f64 / BATCHES as f64;
    let per_batch_bytes = part_bytes + row_bytes * (BATCH_S / run_s - rows_of_part).max(0.0);
    for cores in [2.0, 32.0, 256.0, 1000.0] {
        for task_s in TASK_S {
            let computing_s = PAPER_RUNS * run_s / cores;
            let scheduling_s = batches * task_s;
            let time_s = computing_s.max(scheduling_s) + BATCH_S;
            table = table.row(Row::new([
                Cell::number(cores, 0),
                Cell::number(task_s * 1e6, 0),
                Cell::number(time_s / 3600.0, 2),
                Cell::number(100.0 * scheduling_s / time_s, 1),
                Cell::number(100.0 * computing_s / time_s, 1),
                Cell::number(batches * per_batch_bytes / time_s * 1e-6, 2),
            ]));
        }
    }
    table.note(format!(
        "The dataset has {:.1} GB. A batch is {:.0} runs, its part about {:.0} kB.",
        PAPER_RUNS * row_bytes * 1e-9,
        BATCH_S / run_s,
        per_batch_bytes * 1e-3
    ))
}
