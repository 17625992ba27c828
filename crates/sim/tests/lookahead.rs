//! Whether events are handled one by one or connections one after the other makes no difference.

mod support;

use abr::{Manifest, PlayerConfig, Rule, Video};
use link::{Impairments, Late};
use std::sync::Arc;
use support::any::any_experiment;
use support::{path, wifi_lte};
use tandem_sim::{Experiment, Hop, Order, run_in, run_recorded};
use traffic::{Direction, Kind, TrafficConfig};
use units::{Bitrate, Bytes, Duration, Instant, Probability, Seed};

const SEEDS: u64 = 200;

fn same(experiment: &Experiment, what: &str) {
    let one_by_one = run_in(experiment, Order::Events);
    assert!(one_by_one == run_in(experiment, Order::Connections), "{what}");
}

#[test]
fn the_outcome_is_the_same_to_the_byte() {
    for seed in 0..SEEDS {
        same(&any_experiment(seed), &format!("seed {seed}"));
    }
}

/// Paths that are alike to the nanosecond, and applications that write at the same time: events at equal times
/// everywhere.
#[test]
fn events_at_equal_times_keep_their_order() {
    for seed in 0..SEEDS / 10 {
        let mut experiment = wifi_lte(Kind::Bulk, 3);
        experiment.seed = Seed::new(seed);
        let mut rng = experiment.seed.rng("equal");
        let twin = |name: &str| path(name, "huang2012.wifi", 4.0, 20);
        experiment.paths = vec![twin("first"), twin("second"), twin("third")];
        experiment.paths[2].leave_at = Some(Instant::from_millis(500 + 100 * rng.below(3)));
        let tick = Kind::Cbr { rate: Bitrate::from_bps(800_000), packet: Bytes::new(1000) };
        let both = [Direction::Down, Direction::Up];
        experiment.traffic = (0..24)
            .map(|i| TrafficConfig {
                direction: both[i % 2],
                ..TrafficConfig::new(if i < 16 { tick.clone() } else { Kind::Bulk })
            })
            .collect();
        same(&experiment, &format!("seed {seed}"));
    }
}

#[test]
fn links_that_double_damage_and_delay_are_no_exception() {
    for seed in 0..SEEDS / 10 {
        let mut experiment = any_experiment(seed);
        let chance = Probability::new(0.02).expect("it is one");
        let late = Some(Late { chance, by: Duration::from_millis(30) });
        for path in &mut experiment.paths {
            for hop in [&mut path.down, &mut path.up] {
                if let Hop::Link(link) = hop {
                    link.impairments = Impairments { corrupt: chance, duplicate: chance, late };
                }
            }
        }
        same(&experiment, &format!("seed {seed}"));
    }
}

/// Viewers, whose device asks and whose server answers, some later and some gone before the end, beside others, over any
/// paths.
#[test]
fn viewers_ask_and_are_answered_as_ever() {
    let segment = Duration::from_secs(1);
    for seed in 0..SEEDS / 5 {
        let mut experiment = any_experiment(seed);
        let mut rng = experiment.seed.rng("viewers");
        for _ in 0..3 {
            let rates: Vec<Bitrate> =
                [0.5, 2.0].map(|mbps| Bitrate::from_mbps(mbps * rng.between(0.6, 1.2))).into();
            let sizes: Vec<Bytes> = rates.iter().map(|rate| rate.over(segment)).collect();
            let manifest = Manifest::new(segment, rates, vec![sizes; 8]).expect("it is right");
            let wait = Duration::from_millis(rng.below(2) * rng.below(200));
            let video = Video { wait, ..Video::new(manifest, PlayerConfig::new(Rule::Throughput)) };
            let mut config = TrafficConfig::new(Kind::Video(Arc::new(video)));
            config.start = Instant::from_millis(rng.below(3000));
            config.stop = (rng.below(3) == 0).then(|| config.start + Duration::from_millis(rng.below(4000)));
            experiment.traffic.push(config);
        }
        same(&experiment, &format!("seed {seed}"));
    }
}

/// With that many connections a run goes ahead by itself, until there is something to be seen on the way.
#[test]
fn many_connections_are_visited_one_by_one_by_themselves() {
    let mut experiment = wifi_lte(Kind::Bulk, 1);
    experiment.traffic = vec![TrafficConfig::new(Kind::File { size: Bytes::new(30_000) }); 100];
    let outcome = run_recorded(&experiment);
    assert!(outcome == run_in(&experiment, Order::Events));
    assert!(outcome.connections.iter().any(|connection| connection.delivered_bytes == 30_000));
    same(&experiment, "many");
    experiment.capture = true;
    same(&experiment, "with a capture");
}
