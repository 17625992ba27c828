//! Benchmark of the proxy beside direct MPTCP, squid and haproxy under mptcpize: throughput,
//! request rate, processor time and memory per connection. Keeps the best of several alternating
//! runs and reports missing programs. Run: `cargo run --release -p tandem-proxy --example rivals`.
//!
//! ```text
//!  client ══ 2 paths, MPTCP ══ middle: the proxies ── TCP ── server
//!     └────────── MPTCP, forwarded by middle ──────────────────┘
//! ```

mod load;
mod process;
mod world;

use load::Carry;
use process::{Rival, Rivals};
use std::process::ExitCode;
use world::World;

/// Repetitions of each row.
const ROUNDS: usize = 3;
/// Rate of each shaped path.
const RATE_MBPS: u64 = 200;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("proxy") {
        return process::tandem();
    }
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(linux::Error::Lacks { what, hint }) => {
            println!("skipped: {what}; {hint}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), linux::Error> {
    linux::process::raise_open_file_limit(20_000);
    let world = World::new()?;
    let rivals = Rivals::start(&world)?;

    world.shape(Some(RATE_MBPS))?;
    println!(
        "\nThroughput over two paths of {RATE_MBPS} Mbit/s, in Mbit/s; processor time in seconds per GB"
    );
    throughput(&world, &rivals, 100_000_000);
    world.shape(None)?;
    println!(
        "\nThroughput over two paths as fast as the machine is (client, proxy and server share its processors)"
    );
    throughput(&world, &rivals, 400_000_000);

    println!(
        "\nRequests of 1 KiB over 32 connections, per second; processor time in microseconds per request"
    );
    let mut best = vec![(0.0f64, f64::INFINITY); rivals.all().len()];
    for _ in 0..ROUNDS {
        for (rival, best) in rivals.all().iter().zip(&mut best) {
            let before = rival.busy();
            let requests = load::requests(&world, rival.http());
            *best = (best.0.max(requests.per_second), best.1.min((rival.busy() - before) / requests.count));
        }
    }
    for (rival, (rate, busy)) in rivals.all().iter().zip(&best) {
        println!("  {:8} {rate:10.0} {:8.1}", rival.name, busy * 1e6);
    }

    println!("\nMemory for each of {} idle connections, in bytes", load::IDLE);
    for rival in rivals.all().iter().filter(|rival| rival.is_process()) {
        let before = rival.resident();
        let held = load::idle(&world, rival.tunnel());
        println!("  {:8} {:10}", rival.name, rival.resident().saturating_sub(before) / load::IDLE);
        drop(held);
    }
    Ok(())
}

fn throughput(world: &World, rivals: &Rivals, bytes: usize) {
    let mut best = vec![(0.0f64, f64::INFINITY); rivals.all().len()];
    for _ in 0..ROUNDS {
        for (rival, best) in rivals.all().iter().zip(&mut best) {
            let before = rival.busy();
            let Carry { mbps } = load::carry(world, rival.tunnel(), bytes);
            *best = (best.0.max(mbps), best.1.min((rival.busy() - before) / (bytes as f64 / 1e9)));
        }
    }
    let direct = best.first().map_or(f64::NAN, |one| one.0);
    for (Rival { name, .. }, (mbps, busy)) in rivals.all().iter().zip(&best) {
        println!("  {name:8} {mbps:8.0} ({:5.1} % of direct) {busy:8.2}", mbps / direct * 100.0);
    }
}
