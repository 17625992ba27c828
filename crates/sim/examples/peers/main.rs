//! Comparison with other simulators: wall time, segments per second, instructions and peak memory.
//!
//! `cargo run --release -p tandem-sim --example peers` runs each row in a process of its own on one
//! core. Segments are delivered data segments. Memory is `VmHWM` of the process; memory per
//! connection is its growth during the run divided by the number of connections. `perf` counts
//! instructions, or `valgrind` over the first seconds of a row. The first four rows then run in turns
//! with ns-3 if it is installed (Debian: `libns3-dev libgsl-dev`), and with htsim if `HTSIM` names a
//! built checkout. All of them use large pages, as `tandem run` does. htsim also runs the rows with growing
//! numbers of connections. The arguments `compare` and `growth` run only that comparison.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod others;

use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;
use tandem_sim::{Experiment, run};
use traffic::{Kind, TrafficConfig};
use units::{Bitrate, Bytes, Duration};

#[path = "../../tests/support/mod.rs"]
mod support;

/// Payload of a full segment: an MSS of 1460 without timestamps and, over MPTCP, the mapping.
const TCP_SEGMENT: u64 = 1448;
const MPTCP_SEGMENT: u64 = 1424;
/// Variable and value with which glibc requests large pages from the kernel.
const LARGE_PAGES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
/// Runs of a row; the fastest one counts.
const ROUNDS: usize = 3;
/// Runs of a row for the comparison between rows; the median counts.
const GROWTH_ROUNDS: usize = 5;

/// A row of the table.
struct Work {
    name: String,
    /// Payload of a segment, in bytes.
    segment: u64,
    /// Builds the experiment; only in the process that runs it, because connections take memory.
    make: Box<dyn Fn() -> Experiment>,
    /// Simulated seconds over which valgrind counts instructions.
    valgrind_seconds: u64,
    /// For rows that show the growth of cost with connections: number of connections, and seconds
    /// after which all of them are in steady state.
    growth: Option<(usize, u64)>,
}

impl Work {
    fn new(name: &str, segment: u64, valgrind_seconds: u64, make: impl Fn() -> Experiment + 'static) -> Self {
        Self { name: name.to_owned(), segment, make: Box::new(make), valgrind_seconds, growth: None }
    }

    fn experiment(&self, seconds: Option<u64>) -> Experiment {
        let mut experiment = (self.make)();
        experiment.sample = Duration::ZERO;
        if let Some(seconds) = seconds {
            experiment.duration = Duration::from_secs(seconds);
        }
        experiment
    }
}

/// The rows of the comparison in their order, then rows with growing numbers of connections.
fn works() -> Vec<Work> {
    let single = || support::one_path(100.0, 50, Kind::Bulk, 150);
    let mixed = || support::wifi_lte(Kind::Bulk, 150);
    let twin = move || {
        let mut twin = mixed();
        twin.paths = vec![
            support::path("wifi", "huang2012.wifi", 100.0, 50),
            support::path("lte", "huang2012.lte", 100.0, 50),
        ];
        twin
    };
    let mut works = vec![
        Work::new("one TCP, 100 Mbit/s, 50 ms, 150 s", TCP_SEGMENT, 5, single),
        Work::new("MPTCP, 2 Mbit/s 5 ms + 100 Mbit/s 50 ms, 150 s", MPTCP_SEGMENT, 5, mixed),
        Work::new("MPTCP, two of 100 Mbit/s, 50 ms, 150 s", MPTCP_SEGMENT, 5, twin),
        Work::new("1000 TCP over 1 Gbit/s, 50 ms, 20 s", TCP_SEGMENT, 2, || many(1000, 1000.0, 20)),
    ];
    // Each connection has the same rate, and all rows have about the same number of segments.
    for (connections, seconds) in [(10, 1000), (100, 100), (1000, 10), (10_000, 1)] {
        let name = format!("{connections} TCP, 1 Mbit/s each, 50 ms, {} s", seconds + 3);
        let valgrind_seconds = (seconds / 10).max(2);
        let make = move || many(connections, connections as f64, seconds + 3);
        let growth = Some((connections, seconds + 3));
        works.push(Work { growth, ..Work::new(&name, TCP_SEGMENT, valgrind_seconds, make) });
    }
    works.push(Work::new("10000 nearly idle TCP, 10 s", 100, 1, || {
        let mut idle = many(10_000, 1000.0, 10);
        let low_rate = Kind::Cbr { rate: Bitrate::from_bps(100), packet: Bytes::new(100) };
        idle.traffic = vec![TrafficConfig::new(low_rate); 10_000];
        idle
    }));
    works
}

fn many(connections: usize, mbps: f64, seconds: u64) -> Experiment {
    let mut experiment = support::one_path(mbps, 50, Kind::Bulk, seconds);
    experiment.traffic = vec![TrafficConfig::new(Kind::Bulk); connections];
    experiment
}

/// Peak memory of this process, in bytes; `None` without `/proc`.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Result of a row, printed by its process as a line of numbers.
#[derive(Debug, Clone, Copy)]
struct Measured {
    segments: u64,
    /// Wall time, in seconds.
    wall: f64,
    /// Peak memory, in bytes.
    peak: u64,
    /// Memory per connection, in bytes.
    each: u64,
}

fn measure(work: &Work, seconds: Option<u64>) -> Measured {
    let experiment = work.experiment(seconds);
    let before = peak_memory().unwrap_or(0);
    let start = Instant::now();
    let outcome = run(&experiment);
    let wall = start.elapsed().as_secs_f64();
    let peak = peak_memory().unwrap_or(0);
    let bytes: u64 = outcome.connections.iter().map(|connection| connection.delivered_bytes).sum();
    let each = peak.saturating_sub(before) / outcome.connections.len() as u64;
    Measured { segments: bytes / work.segment, wall, peak, each }
}

/// Runs one row in a child process, under `tool` if given. Returns its result and standard error.
fn child(tool: &[&str], row: usize, seconds: Option<u64>) -> Option<(Measured, String)> {
    let own = std::env::current_exe().ok()?;
    let mut command = match tool {
        [] => Command::new(&own),
        [name, arguments @ ..] => {
            let mut command = Command::new(name);
            command.args(arguments).arg(&own);
            command
        }
    };
    command.arg(row.to_string()).args(seconds.map(|s| s.to_string()));
    command.env(LARGE_PAGES.0, LARGE_PAGES.1).stdin(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    let line = String::from_utf8(output.stdout).ok()?;
    let numbers: Vec<&str> = line.split_whitespace().collect();
    let [segments, wall, peak, each] = numbers[..] else { return None };
    let measured = Measured {
        segments: segments.parse().ok()?,
        wall: wall.parse().ok()?,
        peak: peak.parse().ok()?,
        each: each.parse().ok()?,
    };
    Some((measured, String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// Instructions per delivered segment, and the tool that counted them.
fn instructions(row: usize, work: &Work) -> Option<(f64, &'static str)> {
    let perf = ["perf", "stat", "-x", ",", "-e", "instructions:u"];
    if let Some((measured, stderr)) = child(&perf, row, None)
        && let Some(count) = stderr.lines().find_map(|line| line.split(',').next()?.parse::<u64>().ok())
    {
        return Some((count as f64 / measured.segments as f64, "perf"));
    }
    let valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"];
    let (measured, stderr) = child(&valgrind, row, Some(work.valgrind_seconds))?;
    let line = stderr.lines().find_map(|line| line.split("I   refs:").nth(1))?;
    let count: f64 = line.trim().replace(',', "").parse().ok()?;
    Some((count / measured.segments.max(1) as f64, "valgrind"))
}

/// Prints the growth of the cost per segment with the number of connections, beside htsim's if it is
/// built.
fn growth(works: &[Work]) {
    let rows = || works.iter().enumerate().filter_map(|(row, work)| Some((row, work.growth?)));
    let htsim = others::htsim();
    let own = |row, seconds| {
        let (measured, _) = child(&[], row, Some(seconds))?;
        Some((measured.segments as f64, measured.wall))
    };
    let peer = |row, seconds| htsim.as_ref().ok()?.run(row, seconds);
    let mut costs = vec![[Vec::new(), Vec::new()]; works.len()];
    // Rows and simulators alternate, so that other load on the machine affects all of them.
    for _ in 0..GROWTH_ROUNDS {
        for (row, (_, seconds)) in rows() {
            costs[row][0].extend(steady_cost(seconds, |seconds| own(row, seconds)));
            costs[row][1].extend(steady_cost(seconds, |seconds| peer(row, seconds)));
        }
    }
    println!(
        "{:<48} {:>10} {:>8} {:>10} {:>8}",
        "ns per segment in steady state, medians in turns", "Tandem", "vs. 10", "htsim", "vs. 10"
    );
    let mut first = None;
    for (row, (connections, _)) in rows() {
        let [own, peer] = core::mem::take(&mut costs[row]).map(median);
        let [own_first, peer_first] = *first.get_or_insert([own, peer]);
        let (own_growth, peer_growth) = (own / own_first, peer / peer_first);
        let name = format!("{connections} TCP, 1 Mbit/s each, 50 ms");
        print!("{name:<48} {own:>10.0} {own_growth:>8.2}");
        println!(
            "{}",
            if htsim.is_ok() { format!(" {peer:>10.0} {peer_growth:>8.2}") } else { String::new() }
        );
    }
    if let Err(reason) = htsim {
        println!("not compared: {reason}");
    }
}

/// Cost per segment in nanoseconds. `run` returns segments and wall time of a run of some seconds. The
/// difference between two lengths excludes the setup and slow start of connections.
fn steady_cost(seconds: u64, run: impl Fn(u64) -> Option<(f64, f64)>) -> Option<f64> {
    let (short, long) = (run(seconds)?, run(2 * seconds)?);
    Some((long.1 - short.1) / (long.0 - short.0).max(1.0) * 1e9)
}

/// Median; NaN without values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs one row in this process and prints its result as a line of numbers.
fn run_row(works: &[Work], row: &str, seconds: Option<u64>) -> ExitCode {
    let Some(work) = row.parse().ok().and_then(|row: usize| works.get(row)) else {
        eprintln!("rows are 0 to {}", works.len() - 1);
        return ExitCode::from(2);
    };
    let Measured { segments, wall, peak, each } = measure(work, seconds);
    println!("{segments} {wall:.6} {peak} {each}");
    ExitCode::SUCCESS
}

/// Prints the table of all rows. Fails if a row fails.
fn print_table(works: &[Work]) -> Result<(), ExitCode> {
    println!(
        "{:<48} {:>10} {:>8} {:>8} {:>10} {:>8} {:>8}",
        "work", "segments", "wall s", "M seg/s", "instr/seg", "peak MB", "kB/conn"
    );
    let mut counter = None;
    for (row, work) in works.iter().enumerate() {
        let rounds = (0..ROUNDS).filter_map(|_| child(&[], row, None)).map(|(measured, _)| measured);
        let Some(best) = rounds.min_by(|a, b| a.wall.total_cmp(&b.wall)) else {
            eprintln!("the row `{}` failed", work.name);
            return Err(ExitCode::FAILURE);
        };
        let counted = instructions(row, work);
        counter = counter.or(counted.map(|(_, tool)| tool));
        println!(
            "{:<48} {:>10} {:>8.3} {:>8.2} {:>10} {:>8.1} {:>8.1}",
            work.name,
            best.segments,
            best.wall,
            best.segments as f64 / best.wall / 1e6,
            counted.map_or("-".into(), |(count, _)| format!("{count:.0}")),
            best.peak as f64 / 1e6,
            best.each as f64 / 1e3,
        );
    }
    match counter {
        Some("perf") => println!("instructions: user space, whole row, counted by perf"),
        Some(_) => {
            println!("instructions: counted by valgrind over the first seconds of a row, including setup");
        }
        None => println!("instructions: not counted, because neither perf nor valgrind works here"),
    }
    println!();
    Ok(())
}

fn main() -> ExitCode {
    let works = works();
    let compare = || {
        others::compare([0, 1, 2, 3].map(|row| works[row].name.as_str()), |row| {
            let (measured, _) = child(&[], row, None)?;
            Some(measured.segments as f64 / measured.wall)
        });
    };
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("compare") => compare(),
        Some("growth") => growth(&works),
        Some(row) => {
            let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
            return run_row(&works, row, seconds);
        }
        None => {
            if let Err(code) = print_table(&works) {
                return code;
            }
            growth(&works);
            println!();
            compare();
        }
    }
    ExitCode::SUCCESS
}
