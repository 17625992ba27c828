//! Every scheduler and every congestion control over the same paths, as one table in a snapshot.
//!
//! A change of the table is a change of behaviour, which the commit must explain.
#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

mod support;

use core::fmt::Write as _;
use link::{Loss, QueueLimit};
use mptcp::{CongestionKind, SchedulerKind};
use support::wifi_lte;
use tandem_sim::{Experiment, Hop, Outcome, run};
use traffic::Kind;
use units::{Bitrate, Duration, Instant, Probability};

/// Duration of each run, in seconds.
const SECONDS: u64 = 12;
/// Share of payload in a full packet of 1500 bytes.
const EFFICIENCY: f64 = 1424.0 / 1500.0;

/// Paths and buffers of a column.
struct Case {
    name: &'static str,
    /// Mbit/s and one-way delay in ms, of each path.
    paths: [(f64, u64); 2],
    /// Queue limit of each path, in ms at its rate.
    queue: u64,
    /// Loss rate of the second path, downlink.
    loss: f64,
    /// Outage of the first path, in seconds.
    outage: Option<(u64, u64)>,
    /// Send and receive buffer of each end, in bytes.
    buffer: u64,
}

const CASES: [Case; 7] = {
    const EQUAL: Case = Case {
        name: "equal",
        paths: [(10.0, 20), (10.0, 20)],
        queue: 100,
        loss: 0.0,
        outage: None,
        buffer: 4 << 20,
    };
    [
        EQUAL,
        Case { name: "unequal", paths: [(2.0, 10), (50.0, 40)], ..EQUAL },
        Case { name: "slow second", paths: [(20.0, 5), (2.0, 150)], queue: 20, ..EQUAL },
        Case { name: "small buffers", paths: [(20.0, 5), (2.0, 150)], queue: 20, buffer: 100_000, ..EQUAL },
        Case { name: "lossy second", loss: 0.01, ..EQUAL },
        Case { name: "first dies", outage: Some((6, 1000)), ..EQUAL },
        Case { name: "and returns", outage: Some((4, 8)), ..EQUAL },
    ]
};

fn experiment(case: &Case, scheduler: SchedulerKind, congestion: CongestionKind) -> Experiment {
    let mut experiment = wifi_lte(Kind::Bulk, SECONDS);
    let config = &mut experiment.transport.config;
    (config.scheduler, config.congestion) = (scheduler.into(), congestion.into());
    (config.send_buffer, config.recv_buffer) = (case.buffer, case.buffer);
    // The share scheduler assigns data ahead up to this limit.
    config.subflow_buffer = 128 << 10;
    for (i, (spec, &(mbps, ms))) in experiment.paths.iter_mut().zip(&case.paths).enumerate() {
        for hop in [&mut spec.down, &mut spec.up] {
            let Hop::Link(link) = hop else { continue };
            link.rate = link::Rate::Fixed(Bitrate::from_mbps(mbps));
            link.delay = link::Delay::Fixed(Duration::from_millis(ms));
            link.queue = QueueLimit::Time(Duration::from_millis(case.queue));
            if let (0, Some((from, to))) = (i, case.outage) {
                link.outages.push((Instant::from_secs(from), Instant::from_secs(to)));
            }
        }
        if let (1, Hop::Link(down)) = (i, &mut spec.down)
            && case.loss > 0.0
        {
            down.loss = Loss::Uniform(Probability::new(case.loss).expect("from 0 to 1"));
        }
    }
    experiment
}

/// Share of the second path in the payload sent.
fn second_path_share(outcome: &Outcome) -> f64 {
    let [first, second] = [0, 1].map(|i| outcome.paths[i].payload_down_bytes as f64);
    second / (first + second)
}

fn goodput(outcome: &Outcome) -> f64 {
    outcome.connections[0].goodput_mbps
}

/// Checks that hold for every algorithm.
fn check_invariants(case: &Case, name: &str, outcome: &Outcome) {
    let details = || format!("{name}, {}: {:#?} {:#?}", case.name, outcome.connections, outcome.paths);
    let connection = &outcome.connections[0];
    assert!(!connection.failed && connection.protocol == "mptcp", "{}", details());
    // Share of the run in which the first path is in outage.
    let outage = case.outage.map_or(0.0, |(from, to)| (to.min(SECONDS) - from) as f64 / SECONDS as f64);
    let max = [case.paths[0].0 * (1.0 - outage), case.paths[1].0 * (1.0 - case.loss)].map(|r| r * EFFICIENCY);
    assert!(goodput(outcome) <= max[0] + max[1], "goodput above capacity: {}", details());
    for (path, max) in outcome.paths.iter().zip(max) {
        assert!(path.rate_down_mbps <= max * 1.01, "rate above the path's capacity: {}", details());
    }
    let carried: u64 = outcome.paths.iter().map(|p| p.payload_down_bytes).sum();
    assert!(connection.delivered_bytes <= carried, "delivered more than was carried: {}", details());
    // Data that arrived twice was retransmitted by a subflow or sent over both paths.
    let retransmitted: u64 = outcome.paths.iter().map(|p| p.retransmissions * 1424).sum();
    let excess = carried - connection.delivered_bytes;
    let max = connection.repeated_bytes.unwrap() + retransmitted + case.buffer;
    assert!(excess <= max, "carried {excess} bytes too many, at most {max} are explained: {}", details());
    assert!(
        connection.peak_out_of_order_bytes.unwrap() <= case.buffer,
        "out-of-order data exceeds the buffer: {}",
        details()
    );
    // With equal shares the slower path limits the goodput.
    let slower = case.paths[0].0.min(case.paths[1].0);
    assert!(goodput(outcome) > 0.25 * slower, "goodput too low: {}", details());
}

fn row(
    table: &mut String,
    name: &str,
    outcomes: &[Outcome],
    cell: impl Fn(&Outcome) -> f64,
    decimals: usize,
) {
    write!(table, "{name:<22}").expect("write to a string");
    for outcome in outcomes {
        write!(table, "{:>14.decimals$}", cell(outcome)).expect("write to a string");
    }
    table.push('\n');
}

#[test]
fn every_scheduler_and_every_congestion_control() {
    use {CongestionKind as C, SchedulerKind as S};
    let schedulers = S::ALL.into_iter().map(|s| (s.to_string(), s, C::Lia, [false; 2]));
    let switched = [
        ("min-rtt, opportunistic".to_owned(), S::MinRtt, C::Lia, [true, false]),
        ("min-rtt, and penalises".to_owned(), S::MinRtt, C::Lia, [true, true]),
    ];
    let controls = C::ALL.into_iter().map(|c| (format!("min-rtt, {c}"), S::MinRtt, c, [false; 2]));
    let all: Vec<(String, Vec<Outcome>)> = schedulers
        .chain(switched)
        .chain(controls)
        .map(|(name, scheduler, congestion, [opportunistic, penalise])| {
            let of = |case| {
                let mut experiment = experiment(case, scheduler, congestion);
                experiment.transport.config.opportunistic = opportunistic;
                experiment.transport.config.penalise = penalise;
                let outcome = run(&experiment);
                check_invariants(case, &name, &outcome);
                outcome
            };
            let outcomes = CASES.iter().map(of).collect();
            (name, outcomes)
        })
        .collect();

    let of = |name: &str, case: &str| {
        let column = CASES.iter().position(|c| c.name == case).expect("a case");
        &all.iter().find(|(n, _)| n == name).expect("a row").1[column]
    };
    // Two equal paths are both filled, except by the redundant scheduler, which sends everything
    // twice.
    for (name, outcomes) in &all {
        let equal = goodput(&outcomes[0]);
        let max = if name == "redundant" { 10.0 } else { 20.0 } * EFFICIENCY;
        let min = match name.rsplit(' ').next() {
            // Delay-based algorithms keep queues short and use less of the link.
            Some("wvegas" | "bbr") => 0.25,
            // Of two windows, one is near zero until the other loses a packet.
            Some("fully-coupled") => 0.6,
            _ => 0.8,
        };
        assert!(equal <= max * 1.01 && equal > max * min, "{name}: {equal}");
    }
    let copied = of("redundant", "equal");
    assert!(
        (0.45..0.55).contains(&second_path_share(copied)),
        "share of the second path: {}",
        second_path_share(copied)
    );
    assert!(
        copied.connections[0].repeated_bytes.unwrap() as f64
            > 0.9 * copied.connections[0].delivered_bytes as f64
    );
    assert_eq!(of("min-rtt", "equal").connections[0].repeated_bytes, Some(0));
    assert!((0.45..0.55).contains(&second_path_share(of("share", "equal"))), "share of the second path");
    // With small buffers, schedulers that avoid blocking by the slow path are much faster.
    let small = |name| goodput(of(name, "small buffers"));
    for name in ["blest", "ecf", "redundant", "min-rtt, and penalises"] {
        assert!(small(name) > 1.5 * small("min-rtt"), "{name}: {} and {}", small(name), small("min-rtt"));
    }
    // With large buffers a slow second path does no harm.
    assert!(goodput(of("min-rtt", "slow second")) > 19.0);
    // Data in flight on the failed path is reinjected; fully coupled, all may be on the other path.
    let uses_both = |name: &str| name != "redundant" && !name.ends_with("fully-coupled");
    for (name, _) in all.iter().filter(|(name, _)| uses_both(name)) {
        assert!(of(name, "first dies").connections[0].repeated_bytes > Some(0), "{name}");
    }

    let mut table = String::new();
    type Figure = (&'static str, fn(&Outcome) -> f64, usize);
    let figures: [Figure; 4] = [
        ("goodput, Mbit/s", goodput, 1),
        ("share of path 2, %", |o| 100.0 * second_path_share(o), 0),
        ("largest gap, kB", |o| o.connections[0].peak_out_of_order_bytes.unwrap() as f64 * 1e-3, 0),
        ("repeated, kB", |o| o.connections[0].repeated_bytes.unwrap() as f64 * 1e-3, 0),
    ];
    for (title, figure, decimals) in figures {
        write!(table, "{title:<22}").expect("write to a string");
        for case in &CASES {
            write!(table, "{:>14}", case.name).expect("write to a string");
        }
        table.push('\n');
        for (name, outcomes) in &all {
            row(&mut table, name, outcomes, figure, decimals);
        }
        table.push('\n');
    }
    insta::assert_snapshot!(table.trim_end());
}
