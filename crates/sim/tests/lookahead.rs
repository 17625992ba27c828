//! Whether events are handled one by one or connections one after the other makes no difference.

mod support;

use link::{Impairments, Late};
use support::any::any_experiment;
use support::{path, wifi_lte};
use tandem_sim::{Experiment, Hop, Order, run_in, run_recorded};
use traffic::{Direction, Kind, TrafficConfig};
use units::{Bitrate, Bytes, Duration, Probability, Seed, Time};

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
        experiment.paths[2].leave_at = Some(Time::from_millis(500 + 100 * rng.below(3)));
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
