//! Every byte is delivered once and in order, or the connection reports a failure, in any network
//! and with any peer. Thousands of plans, each drawn from its seed.
//!
//! A plan that breaks an invariant is shrunk and printed. To play it alone: `TANDEM_PLAN='...'
//! cargo test -p tandem-mptcp --test adversary one_plan -- --nocapture`, with `TANDEM_TRACE=1` to
//! print every segment and event. Add it to `seeds.txt`. `make soak` plays a million.

mod pair;
mod plan;

use plan::{Outcome, Plan, caught, smallest};
use std::sync::atomic::{AtomicU64, Ordering};
use units::Instant;

/// Seeds played in each run of the tests.
const SEEDS: u64 = 30_000;

/// Returns the number in an environment variable.
fn env_number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: no number")))
}

/// Plays a plan. The error is the shrunk plan and its failure.
fn try_plan(plan: &Plan) -> Result<Outcome, String> {
    caught(plan).map_err(|broken| {
        eprintln!("seed {} breaks; shrinking the plan", plan.connection.seed);
        let (small, how) = smallest(plan, broken);
        format!(
            "seed {} breaks at {}: {}\nTANDEM_PLAN='{small}' \\\n  cargo test -p tandem-mptcp --test adversary one_plan -- --nocapture\n",
            plan.connection.seed, how.place, how.message
        )
    })
}

/// Plays plans by seed; returns the count of each outcome.
fn play_seeds(seeds: impl Iterator<Item = u64>) -> [u64; 3] {
    let mut counts = [0; 3];
    for seed in seeds {
        match try_plan(&Plan::from_seed(seed)) {
            Ok(outcome) => counts[outcome as usize] += 1,
            Err(failure) => panic!("{failure}"),
        }
    }
    counts
}

fn play_part(index: u64, of: u64) {
    let seeds = env_number("TANDEM_SEEDS", SEEDS) / of;
    let counts = play_seeds((index * seeds)..((index + 1) * seeds));
    let all: u64 = counts.iter().sum();
    // The others lose their only path, or their peer lies.
    assert!(counts[Outcome::Complete as usize] > all * 6 / 10, "{counts:?}");
}

#[test]
fn every_byte_arrives_once_and_in_order_or_the_connection_fails_1() {
    play_part(0, 4);
}

#[test]
fn every_byte_arrives_once_and_in_order_or_the_connection_fails_2() {
    play_part(1, 4);
}

#[test]
fn every_byte_arrives_once_and_in_order_or_the_connection_fails_3() {
    play_part(2, 4);
}

#[test]
fn every_byte_arrives_once_and_in_order_or_the_connection_fails_4() {
    play_part(3, 4);
}

/// Each line holds a seed or a plan, and after a `#` the failure that it once showed.
#[test]
fn pinned_plans_pass() {
    let mut count = 0;
    for line in include_str!("seeds.txt").lines() {
        let text = line.split('#').next().unwrap_or("").trim();
        if text.is_empty() {
            continue;
        }
        let plan = match text.parse::<u64>() {
            Ok(seed) => Plan::from_seed(seed),
            Err(_) => text.parse().expect(line),
        };
        if let Err(failure) = try_plan(&plan) {
            panic!("{line}\n{failure}");
        }
        count += 1;
    }
    assert!(count > 0);
}

/// Plays the plan or seed of `TANDEM_PLAN`, or a plan whose outcome is known.
#[test]
fn one_plan() {
    const KNOWN: &str =
        "paths=2 seed=7 path0.loss=200 client.write=40000 server.write=3000 server.scheduler=ecf";
    let text = std::env::var("TANDEM_PLAN").unwrap_or_else(|_| KNOWN.to_owned());
    let plan = text.parse::<u64>().map_or_else(|_| text.parse().expect("a plan"), Plan::from_seed);
    println!("{plan}");
    pair::set_verbose(std::env::var("TANDEM_TRACE").is_ok());
    let outcome = plan::play(&plan);
    println!("{outcome:?}");
    if plan.must_succeed() {
        assert_eq!(outcome, Outcome::Complete);
    }
    assert!(text != KNOWN || plan.must_succeed());
}

#[test]
fn plans_parse_back() {
    for seed in 0..2000 {
        let plan = Plan::from_seed(seed);
        let text = plan.to_string();
        let again: Plan = text.parse().expect(&text);
        assert_eq!(again.to_string(), text);
        assert_eq!((again.ends, again.actions, again.connection), (plan.ends, plan.actions, plan.connection));
    }
    for wrong in ["path0.loss", "loss=3", "client.scheduler=3", "client.congestion=fast", "do=1:fly:0:0:0"] {
        assert!(wrong.parse::<Plan>().is_err(), "{wrong}");
    }
}

#[test]
fn plans_write_algorithms_by_name() {
    let mut plan = Plan::default();
    (plan.ends[0].scheduler, plan.ends[1].congestion) = (4, 1);
    assert_eq!(plan.to_string(), "client.scheduler=blest server.congestion=cubic");
}

#[test]
fn failing_plan_shrinks_to_its_fault() {
    // Two paths, one of them with a fault, and both ends busy: only the fault is left.
    let mut plan = Plan::from_seed(3);
    plan.connection.paths = 2;
    plan.ends[0].write = 40_000;
    plan.paths[1].merge = 4321;
    let (small, how) =
        plan::smallest_by(&plan, |plan| (plan.count() > 0 && plan.paths[0].merge > 1000).then_some("here"));
    assert_eq!((small.to_string().as_str(), how), ("seed=3 path0.merge=1001", Some("here")));
}

#[test]
fn same_seed_gives_the_same_packets() {
    let run = |seed| {
        let mut pair = plan::set_up(&Plan::from_seed(seed)).keep_trace();
        pair.connect();
        pair.run_until(Instant::from_secs(60));
        format!("{:?}", pair.trace)
    };
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed));
    }
}

/// Plays seeds on all cores until the last, or until one breaks: `make soak`.
#[test]
#[ignore = "hours: make soak"]
#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "threads and a clock for a long run")]
fn soak() {
    let (first, seeds) = (env_number("TANDEM_FIRST", 0), env_number("TANDEM_SEEDS", 1_000_000));
    let next = AtomicU64::new(first);
    let broken = AtomicU64::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = env_number("TANDEM_JOBS", cores as u64);
    let started = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while broken.load(Ordering::Relaxed) < env_number("TANDEM_BREAKS", 1) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        return;
                    }
                    if let Err(failure) = try_plan(&Plan::from_seed(seed)) {
                        println!("{failure}");
                        broken.fetch_add(1, Ordering::Relaxed);
                    }
                    let done = seed + 1 - first;
                    if done.is_multiple_of(10_000) {
                        let took = started.elapsed().as_secs_f64();
                        println!("{done} of {seeds} connections, {:.0} a second", done as f64 / took);
                    }
                }
            });
        }
    });
    assert_eq!(broken.load(Ordering::Relaxed), 0, "plans broke");
}
