//! Completion times of objects of 64 KB that a client of Linux downloads over two lossy paths, from
//! Linux's own server and from Tandem's with several schedulers. Usage, as root:
//! `objects [COUNT [SEEDS]]`. Each seed of the losses is a run with a connection of its own.

use mptcp::{Config, CongestionKind, SchedulerKind};
use std::time::Duration;
use tandem_interop::{ObjectServer, PATHS, measure_objects};

fn main() -> Result<(), String> {
    let number = |n, default| std::env::args().nth(n).map_or(Ok(default), |text| text.parse::<u32>());
    let (Ok(count), Ok(seeds)) = (number(1, 500), number(2, 4)) else {
        return Err("expected COUNT and SEEDS, two numbers".to_owned());
    };
    if seeds == 0 || count < seeds {
        return Err(
            "each seed needs an object: COUNT must be at least SEEDS, and SEEDS at least 1".to_owned()
        );
    }
    let tandem = |scheduler: SchedulerKind, congestion: CongestionKind| {
        let (scheduler, congestion) = (scheduler.into(), congestion.into());
        ObjectServer::Tandem(Box::new(Config { scheduler, congestion, ..Config::linux() }))
    };
    let (cubic, bbr) = (CongestionKind::Cubic, CongestionKind::Bbr);
    let servers = [
        ("Linux, CUBIC", ObjectServer::Linux("cubic")),
        ("Tandem, `linux`, CUBIC", tandem(SchedulerKind::Linux, cubic)),
        ("Tandem, `blest`, CUBIC", tandem(SchedulerKind::Blest, cubic)),
        ("Tandem, `redundant`, CUBIC", tandem(SchedulerKind::Redundant, cubic)),
        ("Linux, BBR", ObjectServer::Linux("bbr")),
        ("Tandem, `blest`, BBR", tandem(SchedulerKind::Blest, bbr)),
        ("Tandem, `redundant`, BBR", tandem(SchedulerKind::Redundant, bbr)),
    ];
    for path in PATHS {
        println!("path: {path}");
    }
    println!("\n| Server | objects | median | p95 | p99 | longest |\n|---|---|---|---|---|---|");
    for (name, server) in servers {
        let mut times = Vec::new();
        for seed in 1..=seeds {
            times.extend(measure_objects(server.clone(), (count / seeds) as usize, seed.into())?);
        }
        times.sort();
        let at = |share: f64| milliseconds(times[((times.len() - 1) as f64 * share).round() as usize]);
        let [median, p95, p99, longest] = [0.5, 0.95, 0.99, 1.0].map(at);
        println!("| {name} | {} | {median} | {p95} | {p99} | {longest} |", times.len());
    }
    Ok(())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}
