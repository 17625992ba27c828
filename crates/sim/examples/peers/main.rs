//! The work that other simulators were measured on: wall time, segments per second, instructions per
//! segment, peak memory.
//!
//! ```text
//! cargo run --release -p tandem-sim --example peers
//! ```
//!
//! Each row runs in a process of its own, on one core, so that the peak of its memory is its own. A
//! segment is one of data that reached the application; acknowledgements are not counted. Memory is
//! what Linux says of the process (`VmHWM`), and for a connection what the run added to that of the
//! bare process, links and all, over the number of connections. Instructions are counted by `perf`, or
//! where the machine has no counters by `valgrind` over the row's first seconds; without both the
//! column is empty. Where ns-3 is installed (Debian: `libns3-dev libgsl-dev`), it runs the same work, for some minutes
//! a row: how much longer than where the others were measured tells what Tandem's rows come to there.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "what measures the simulator looks at the clock"
)]

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
/// Runs of a row, of which the fastest counts: what else the machine does only ever takes time.
const ROUNDS: usize = 3;
/// Runs of which the middle one counts where rows are held against each other.
const GROWTH_ROUNDS: usize = 5;

struct Work {
    name: String,
    segment: u64,
    /// Made only where it is run: ten thousand connections take memory before they do anything.
    make: Box<dyn Fn() -> Experiment>,
    /// Seconds of it over which valgrind counts.
    counted: u64,
    /// One of those that tell how cost grows with connections: how many these are, and after how many seconds all of
    /// them have long been going.
    growing: Option<(usize, u64)>,
}

impl Work {
    fn new(name: &str, segment: u64, counted: u64, make: impl Fn() -> Experiment + 'static) -> Self {
        Self { name: name.to_owned(), segment, make: Box::new(make), counted, growing: None }
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

/// The rows on which others were measured, in their order; then how cost grows with connections.
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
    // The same share for each, and about as many segments in all.
    for (connections, seconds) in [(10, 1000), (100, 100), (1000, 10), (10_000, 1)] {
        let name = format!("{connections} TCP, 1 Mbit/s each, 50 ms, {} s", seconds + 3);
        let counted = (seconds / 10).max(2);
        let make = move || many(connections, connections as f64, seconds + 3);
        let growing = Some((connections, seconds + 3));
        works.push(Work { growing, ..Work::new(&name, TCP_SEGMENT, counted, make) });
    }
    works.push(Work::new("10000 TCP that hardly say a word, 10 s", 100, 1, || {
        let mut idle = many(10_000, 1000.0, 10);
        let seldom = Kind::Cbr { rate: Bitrate::from_bps(100), packet: Bytes::new(100) };
        idle.traffic = vec![TrafficConfig::new(seldom); 10_000];
        idle
    }));
    works
}

fn many(connections: usize, mbps: f64, seconds: u64) -> Experiment {
    let mut experiment = support::one_path(mbps, 50, Kind::Bulk, seconds);
    experiment.traffic = vec![TrafficConfig::new(Kind::Bulk); connections];
    experiment
}

/// The most memory that this process ever had, in bytes; `None` where there is no `/proc`.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// What a process of one row tells, as a line of numbers.
#[derive(Debug, Clone, Copy)]
struct Measured {
    segments: u64,
    wall: f64,
    peak: u64,
    each: u64,
}

fn measure(work: &Work, seconds: Option<u64>) -> Measured {
    let before = peak_memory().unwrap_or(0);
    let experiment = work.experiment(seconds);
    let start = Instant::now();
    let outcome = run(&experiment);
    let wall = start.elapsed().as_secs_f64();
    let peak = peak_memory().unwrap_or(0);
    let bytes: u64 = outcome.connections.iter().map(|connection| connection.delivered_bytes).sum();
    let each = peak.saturating_sub(before) / outcome.connections.len() as u64;
    Measured { segments: bytes / work.segment, wall, peak, each }
}

/// Runs this program again for one row, under `tool` if there is one. Gives what it told and what the
/// tool said.
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
    command.arg(row.to_string()).args(seconds.map(|s| s.to_string())).stdin(Stdio::null());
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

/// Instructions per delivered segment, and who counted them.
fn instructions(row: usize, work: &Work) -> Option<(f64, &'static str)> {
    let perf = ["perf", "stat", "-x", ",", "-e", "instructions:u"];
    if let Some((measured, said)) = child(&perf, row, None)
        && let Some(count) = said.lines().find_map(|line| line.split(',').next()?.parse::<u64>().ok())
    {
        return Some((count as f64 / measured.segments as f64, "perf"));
    }
    let valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"];
    let (measured, said) = child(&valgrind, row, Some(work.counted))?;
    let line = said.lines().find_map(|line| line.split("I   refs:").nth(1))?;
    let count: f64 = line.trim().replace(',', "").parse().ok()?;
    Some((count / measured.segments.max(1) as f64, "valgrind"))
}

/// Prints how the cost of a segment grows with connections. A connection's own cost, to be made and to find its rate, is
/// no segment's: it is told apart by runs of two lengths.
fn growth(works: &[Work]) {
    let growing = || works.iter().enumerate().filter_map(|(row, work)| Some((row, work.growing?)));
    let mut going = vec![Vec::new(); works.len()];
    // Side by side, so that what else the machine does meets all of them.
    for _ in 0..GROWTH_ROUNDS {
        for (row, (_, seconds)) in growing() {
            let [short, long] = [seconds, 2 * seconds].map(|seconds| child(&[], row, Some(seconds)));
            if let (Some((short, _)), Some((long, _))) = (short, long) {
                let segments = long.segments.saturating_sub(short.segments).max(1);
                going[row].push((long.wall - short.wall) / segments as f64 * 1e9);
            }
        }
    }
    println!(
        "{:<48} {:>10} {:>10} {:>10}",
        "once all are going, the second half of a run", "ns/segment", "least", "to 10"
    );
    let middle = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let mut first = None;
    for (row, (connections, _)) in growing() {
        let time = middle(&mut going[row]);
        let least = going[row].first().copied().unwrap_or(f64::NAN);
        let to = time / *first.get_or_insert(time);
        println!(
            "{:<48} {time:>10.0} {least:>10.0} {to:>10.2}",
            format!("{connections} TCP, 1 Mbit/s each, 50 ms")
        );
    }
}

fn main() -> ExitCode {
    let works = works();
    let mut arguments = std::env::args().skip(1);
    if let Some(row) = arguments.next() {
        let Some(work) = row.parse().ok().and_then(|row: usize| works.get(row)) else {
            eprintln!("rows are 0 to {}", works.len() - 1);
            return ExitCode::from(2);
        };
        let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
        let Measured { segments, wall, peak, each } = measure(work, seconds);
        println!("{segments} {wall:.6} {peak} {each}");
        return ExitCode::SUCCESS;
    }
    others::machine();
    println!(
        "{:<48} {:>10} {:>8} {:>8} {:>10} {:>8} {:>8}",
        "work", "segments", "wall s", "M seg/s", "instr/seg", "peak MB", "kB/conn"
    );
    let mut counter = None;
    for (row, work) in works.iter().enumerate() {
        let rounds = (0..ROUNDS).filter_map(|_| child(&[], row, None)).map(|(measured, _)| measured);
        let Some(best) = rounds.min_by(|a, b| a.wall.total_cmp(&b.wall)) else {
            eprintln!("the row `{}` failed", work.name);
            return ExitCode::FAILURE;
        };
        let counted = instructions(row, work);
        counter = counter.or(counted.map(|(_, who)| who));
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
            println!("instructions: counted by valgrind over the first seconds of a row, setup and all");
        }
        None => println!("instructions: neither perf nor valgrind could count them here"),
    }
    println!();
    growth(&works);
    println!();
    others::recorded();
    others::ns3(|row| {
        let (measured, _) = child(&[], row, None)?;
        Some(measured.segments as f64 / measured.wall)
    });
    ExitCode::SUCCESS
}
