//! Every byte once and in order, or a reason why not, whatever the network, the peer and the owner of
//! a device do: thousands of plans, each drawn from its seed.
//!
//! A plan that breaks something is made as small as possible and printed. Then
//! `TANDEM_PLAN='...' cargo test -p tandem-mptcp --test adversary one_plan -- --nocapture` plays it
//! alone (with `TANDEM_TRACE=1` it prints every segment and event), and a line of `seeds.txt` keeps it for good. `make soak` plays a million.

mod pair;
mod plan;

use plan::{Outcome, Plan, caught, smallest};
use std::sync::atomic::{AtomicU64, Ordering};
use units::Instant;

/// In each run of the tests.
const SEEDS: u64 = 30_000;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

/// Plays the plan of a text or a seed; where it breaks, says how in the shortest way.
fn try_plan(plan: &Plan) -> Result<Outcome, String> {
    caught(plan).map_err(|broken| {
        eprintln!("seed {} breaks; making it smaller", plan.whole.seed);
        let (small, how) = smallest(plan, broken);
        format!(
            "seed {} breaks at {}: {}\nTANDEM_PLAN='{small}' \\\n  cargo test -p tandem-mptcp --test adversary one_plan -- --nocapture\n",
            plan.whole.seed, how.place, how.message
        )
    })
}

/// How many were whole, of how many that had to be or not.
fn play_seeds(seeds: impl Iterator<Item = u64>) -> [u64; 3] {
    let mut counts = [0; 3];
    for seed in seeds {
        match try_plan(&Plan::from_seed(seed)) {
            Ok(outcome) => counts[outcome as usize] += 1,
            Err(told) => panic!("{told}"),
        }
    }
    counts
}

fn part(index: u64, of: u64) {
    let seeds = number("TANDEM_SEEDS", SEEDS) / of;
    let counts = play_seeds((index * seeds)..((index + 1) * seeds));
    let all: u64 = counts.iter().sum();
    // The others lost their only path, or their peer lied.
    assert!(counts[Outcome::Whole as usize] > all * 6 / 10, "{counts:?}");
}

#[test]
fn every_byte_once_and_in_order_or_a_reason_1() {
    part(0, 4);
}

#[test]
fn every_byte_once_and_in_order_or_a_reason_2() {
    part(1, 4);
}

#[test]
fn every_byte_once_and_in_order_or_a_reason_3() {
    part(2, 4);
}

#[test]
fn every_byte_once_and_in_order_or_a_reason_4() {
    part(3, 4);
}

/// `seed` or `plan`, and after a `#` what it once showed, a line.
#[test]
fn what_broke_once_does_not_break_again() {
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
        if let Err(told) = try_plan(&plan) {
            panic!("{line}\n{told}");
        }
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn one_plan() {
    let Ok(text) = std::env::var("TANDEM_PLAN") else { return };
    let plan = text.parse::<u64>().map_or_else(|_| text.parse().expect("a plan"), Plan::from_seed);
    println!("{plan}");
    pair::set_verbose(std::env::var("TANDEM_TRACE").is_ok());
    println!("{:?}", plan::play(&plan));
}

#[test]
fn a_plan_is_written_and_read() {
    for seed in 0..2000 {
        let plan = Plan::from_seed(seed);
        let text = plan.to_string();
        let again: Plan = text.parse().expect(&text);
        assert_eq!(again.to_string(), text);
        assert_eq!((again.ends, again.deeds, again.whole), (plan.ends, plan.deeds, plan.whole));
    }
    assert!("path0.loss".parse::<Plan>().is_err() && "loss=3".parse::<Plan>().is_err());
}

#[test]
fn a_failure_is_made_as_small_as_it_can_be() {
    // Two paths of which one has a fault, both ends busy: the fault alone is left.
    let mut plan = Plan::from_seed(3);
    plan.whole.paths = 2;
    plan.ends[0].write = 40_000;
    plan.paths[1].merge = 4321;
    let (small, how) =
        plan::smallest_by(&plan, |plan| (plan.count() > 0 && plan.paths[0].merge > 1000).then_some("here"));
    assert_eq!((small.to_string().as_str(), how), ("seed=3 path0.merge=1001", Some("here")));
}

#[test]
fn the_same_seed_gives_the_same_packets() {
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

/// Plays seeds on all cores until the last, or one breaks: `make soak`.
#[test]
#[ignore = "hours: make soak"]
#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "threads and a clock for a long run")]
fn soak() {
    let (first, seeds) = (number("TANDEM_FIRST", 0), number("TANDEM_SEEDS", 1_000_000));
    let next = AtomicU64::new(first);
    let broken = AtomicU64::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = number("TANDEM_JOBS", cores as u64);
    let started = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while broken.load(Ordering::Relaxed) < number("TANDEM_BREAKS", 1) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        return;
                    }
                    if let Err(told) = try_plan(&Plan::from_seed(seed)) {
                        println!("{told}");
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
