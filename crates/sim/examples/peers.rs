//! The work that other simulators were measured on: wall time, segments per second, peak memory.
//!
//! ```text
//! cargo run --release -p tandem-sim --example peers
//! ```
//!
//! Each row runs in a process of its own, on one core, so that the peak of its memory is its own.
//! A segment is one of data that reached the application; acknowledgements are not counted. Memory
//! is what Linux says of the process (`VmHWM`), and for a connection what the run added to that of
//! the bare process, links and all, over the number of connections.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "what measures the simulator looks at the clock"
)]

use std::process::{Command, ExitCode};
use std::time::Instant;
use tandem_sim::{Experiment, run};
use traffic::{Kind, TrafficConfig};
use units::Duration;

#[path = "../tests/support/mod.rs"]
mod support;

/// Payload of a full segment: an MSS of 1460 without timestamps and, over MPTCP, the mapping.
const TCP_SEGMENT: u64 = 1448;
const MPTCP_SEGMENT: u64 = 1424;

struct Work {
    name: &'static str,
    segment: u64,
    experiment: Experiment,
}

fn works() -> Vec<Work> {
    let single = support::one_path(100.0, 50, Kind::Bulk, 150);
    let mixed = support::wifi_lte(Kind::Bulk, 150);
    let mut twin = mixed.clone();
    twin.paths = vec![
        support::path("wifi", "huang2012.wifi", 100.0, 50),
        support::path("lte", "huang2012.lte", 100.0, 50),
    ];
    let mut thousand = support::one_path(1000.0, 50, Kind::Bulk, 20);
    thousand.traffic = vec![TrafficConfig::new(Kind::Bulk); 1000];
    let work = |name, segment, mut experiment: Experiment| {
        experiment.sample = Duration::ZERO;
        Work { name, segment, experiment }
    };
    vec![
        work("one TCP, 100 Mbit/s, 50 ms, 150 s", TCP_SEGMENT, single),
        work("MPTCP, 2 Mbit/s 5 ms + 100 Mbit/s 50 ms, 150 s", MPTCP_SEGMENT, mixed),
        work("MPTCP, two of 100 Mbit/s, 50 ms, 150 s", MPTCP_SEGMENT, twin),
        work("1000 TCP over 1 Gbit/s, 50 ms, 20 s", TCP_SEGMENT, thousand),
    ]
}

/// The most memory that this process ever had, in bytes; `None` where there is no `/proc`.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn measure(work: &Work) {
    let before = peak_memory();
    let start = Instant::now();
    let outcome = run(&work.experiment);
    let wall = start.elapsed().as_secs_f64();
    let peak = peak_memory();
    let bytes: u64 = outcome.connections.iter().map(|connection| connection.delivered_bytes).sum();
    let segments = bytes / work.segment;
    let megabytes = peak.map_or("-".into(), |peak| format!("{:.1}", peak as f64 / 1e6));
    let connections = outcome.connections.len() as f64;
    let each = peak.zip(before).map_or("-".into(), |(peak, before)| {
        format!("{:.1}", peak.saturating_sub(before) as f64 / 1e3 / connections)
    });
    println!(
        "{:<48} {:>10} {:>8.3} {:>8.2} {:>8} {:>10}",
        work.name,
        segments,
        wall,
        segments as f64 / wall / 1e6,
        megabytes,
        each
    );
}

fn main() -> ExitCode {
    let mut works = works();
    if let Some(row) = std::env::args().nth(1) {
        let rows = works.len() - 1;
        let Some(work) = row.parse().ok().and_then(|row: usize| works.get_mut(row)) else {
            eprintln!("rows are 0 to {rows}");
            return ExitCode::from(2);
        };
        if let Some(seconds) = std::env::args().nth(2).and_then(|seconds| seconds.parse().ok()) {
            work.experiment.duration = Duration::from_secs(seconds);
        }
        measure(work);
        return ExitCode::SUCCESS;
    }
    println!(
        "{:<48} {:>10} {:>8} {:>8} {:>8} {:>10}",
        "work", "segments", "wall s", "M seg/s", "peak MB", "kB/conn"
    );
    for (row, work) in works.iter().enumerate() {
        let own = std::env::current_exe().expect("this program was started from a file");
        let status = Command::new(own).arg(row.to_string()).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("the row `{}` failed", work.name);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
