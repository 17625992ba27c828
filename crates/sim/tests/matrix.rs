//! Every scheduler and every congestion control over the same paths: one table that a person can read.
//!
//! A change in it is a change of behaviour; the commit says why.
#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

mod support;

use core::fmt::Write as _;
use link::{Loss, QueueLimit};
use mptcp::{CongestionKind, SchedulerKind};
use support::wifi_lte;
use tandem_sim::{Experiment, Hop, Outcome, run};
use traffic::Kind;
use units::{Bitrate, Duration, Instant, Probability};

/// A bulk download over two paths for so long, in seconds.
const SECONDS: u64 = 12;
/// Payload of a full segment, of 1500 bytes on the wire.
const EFFICIENCY: f64 = 1424.0 / 1500.0;

/// What the paths and buffers are like.
struct Case {
    name: &'static str,
    /// Mbit/s and one-way delay in ms, of each path.
    paths: [(f64, u64); 2],
    /// What may wait before a path, in ms of its rate.
    queue: u64,
    /// Of the second path's packets down.
    loss: f64,
    /// Nothing passes over the first path between these seconds.
    outage: Option<(u64, u64)>,
    /// Both buffers of each end, in bytes.
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
    (config.scheduler, config.congestion) = (scheduler, congestion);
    (config.send_buffer, config.recv_buffer) = (case.buffer, case.buffer);
    // Shares are dealt ahead, as far as this goes.
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

/// The share of path 2 in what was sent.
fn second(outcome: &Outcome) -> f64 {
    let [first, second] = [0, 1].map(|i| outcome.paths[i].payload_down_bytes as f64);
    second / (first + second)
}

fn goodput(outcome: &Outcome) -> f64 {
    outcome.connections[0].goodput_mbps
}

/// What holds for whichever algorithm.
fn sane(case: &Case, who: &str, outcome: &Outcome) {
    let told = || format!("{who}, {}: {:#?} {:#?}", case.name, outcome.connections, outcome.paths);
    let connection = &outcome.connections[0];
    assert!(!connection.failed && connection.protocol == "mptcp", "{}", told());
    // A path that is dark for a part of the time carries nothing then.
    let dark = case.outage.map_or(0.0, |(from, to)| (to.min(SECONDS) - from) as f64 / SECONDS as f64);
    let most = [case.paths[0].0 * (1.0 - dark), case.paths[1].0 * (1.0 - case.loss)].map(|r| r * EFFICIENCY);
    assert!(goodput(outcome) <= most[0] + most[1], "more than there is: {}", told());
    for (path, most) in outcome.paths.iter().zip(most) {
        assert!(path.rate_down_mbps <= most * 1.01, "more than the path carries: {}", told());
    }
    let carried: u64 = outcome.paths.iter().map(|p| p.payload_down_bytes).sum();
    assert!(connection.delivered_bytes <= carried, "more than was carried: {}", told());
    // What came twice was sent again, by a subflow or by the connection; what was lost may come only once.
    let again: u64 = outcome.paths.iter().map(|p| p.retransmissions * 1424).sum();
    let missing = carried - connection.delivered_bytes;
    let most = connection.repeated_bytes.unwrap() + again + case.buffer;
    assert!(missing <= most, "{missing} of {most} unexplained: {}", told());
    assert!(connection.peak_out_of_order_bytes.unwrap() <= case.buffer, "beyond the window: {}", told());
    // Nobody stops. By equal shares, the slower path sets the pace.
    let slower = case.paths[0].0.min(case.paths[1].0);
    assert!(goodput(outcome) > 0.25 * slower, "it hardly moves: {}", told());
}

fn row(
    table: &mut String,
    name: &str,
    outcomes: &[Outcome],
    cell: impl Fn(&Outcome) -> f64,
    decimals: usize,
) {
    write!(table, "{name:<22}").expect("to a string");
    for outcome in outcomes {
        write!(table, "{:>14.decimals$}", cell(outcome)).expect("to a string");
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
                sane(case, &name, &outcome);
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
    // Two equal paths are both filled, but for who sends everything twice.
    for (name, outcomes) in &all {
        let equal = goodput(&outcomes[0]);
        let most = if name == "redundant" { 10.0 } else { 20.0 } * EFFICIENCY;
        // Those that keep queues short leave something on links that slow start has filled.
        let least = if name.contains("wvegas") || name.contains("bbr") { 0.25 } else { 0.8 };
        assert!(equal <= most * 1.01 && equal > most * least, "{name}: {equal}");
    }
    let copied = of("redundant", "equal");
    assert!((0.45..0.55).contains(&second(copied)), "the same on both: {}", second(copied));
    assert!(
        copied.connections[0].repeated_bytes.unwrap() as f64
            > 0.9 * copied.connections[0].delivered_bytes as f64
    );
    assert_eq!(of("min-rtt", "equal").connections[0].repeated_bytes, Some(0));
    assert!((0.45..0.55).contains(&second(of("share", "equal"))), "an equal share");
    // What waits for the fast path, or frees it, has far more through small buffers.
    let small = |name| goodput(of(name, "small buffers"));
    for name in ["blest", "ecf", "redundant", "min-rtt, and penalises"] {
        assert!(small(name) > 1.5 * small("min-rtt"), "{name}: {} and {}", small(name), small("min-rtt"));
    }
    // With room for all, nobody loses by a second path that is slow.
    assert!(goodput(of("min-rtt", "slow second")) > 19.0);
    // What had been sent over the path that died was sent again, and the stream went on.
    for (name, _) in all.iter().filter(|(name, _)| name != "redundant") {
        assert!(of(name, "first dies").connections[0].repeated_bytes > Some(0), "{name}");
    }

    let mut table = String::new();
    type Figure = (&'static str, fn(&Outcome) -> f64, usize);
    let figures: [Figure; 4] = [
        ("goodput, Mbit/s", goodput, 1),
        ("share of path 2, %", |o| 100.0 * second(o), 0),
        ("largest gap, kB", |o| o.connections[0].peak_out_of_order_bytes.unwrap() as f64 * 1e-3, 0),
        ("repeated, kB", |o| o.connections[0].repeated_bytes.unwrap() as f64 * 1e-3, 0),
    ];
    for (title, figure, decimals) in figures {
        write!(table, "{title:<22}").expect("to a string");
        for case in &CASES {
            write!(table, "{:>14}", case.name).expect("to a string");
        }
        table.push('\n');
        for (name, outcomes) in &all {
            row(&mut table, name, outcomes, figure, decimals);
        }
        table.push('\n');
    }
    insta::assert_snapshot!(table.trim_end());
}
