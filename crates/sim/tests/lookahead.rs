//! Windowed and sequential execution give the same outcome.

mod support;

use abr::{Manifest, PlayerConfig, THROUGHPUT, Video};
use link::{Impairments, Reorder};
use std::sync::Arc;
use support::any::any_experiment;
use support::{path, wifi_lte};
use tandem_sim::{Execution, Experiment, Hop, run_recorded, run_with_execution};
use traffic::{Direction, Kind, TrafficConfig};
use units::{Bitrate, Bytes, Duration, Instant, Probability, Seed};

const SEEDS: u64 = 200;

fn assert_same(experiment: &Experiment, case: &str) {
    let sequential = run_with_execution(experiment, Execution::Sequential);
    assert!(sequential == run_with_execution(experiment, Execution::Windowed), "{case}");
}

#[test]
fn outcomes_of_random_experiments_are_equal() {
    for seed in 0..SEEDS {
        assert_same(&any_experiment(seed), &format!("seed {seed}"));
    }
}

/// Equal paths and applications that write at the same times produce many events at equal times.
#[test]
fn events_at_equal_times_have_the_same_order() {
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
        assert_same(&experiment, &format!("seed {seed}"));
    }
}

#[test]
fn outcomes_are_equal_with_impaired_links() {
    for seed in 0..SEEDS / 10 {
        let mut experiment = any_experiment(seed);
        let chance = Probability::new(0.02).expect("a probability");
        let reorder = Some(Reorder { probability: chance, extra_delay: Duration::from_millis(30) });
        for path in &mut experiment.paths {
            for hop in [&mut path.down, &mut path.up] {
                if let Hop::Link(link) = hop {
                    link.impairments = Impairments { corrupt: chance, duplicate: chance, reorder };
                }
            }
        }
        assert_same(&experiment, &format!("seed {seed}"));
    }
}

/// Video sessions beside other traffic: some servers delay their responses, and some viewers leave
/// early.
#[test]
fn outcomes_are_equal_with_video() {
    let segment = Duration::from_secs(1);
    for seed in 0..SEEDS / 5 {
        let mut experiment = any_experiment(seed);
        let mut rng = experiment.seed.rng("viewers");
        for _ in 0..3 {
            let rates: Vec<Bitrate> =
                [0.5, 2.0].map(|mbps| Bitrate::from_mbps(mbps * rng.between(0.6, 1.2))).into();
            let sizes: Vec<Bytes> = rates.iter().map(|rate| rate.over(segment)).collect();
            let manifest = Manifest::new(segment, rates, vec![sizes; 8]).expect("a valid manifest");
            let wait = Duration::from_millis(rng.below(2) * rng.below(200));
            let video = Video { wait, ..Video::new(manifest, PlayerConfig::new(THROUGHPUT)) };
            let mut config = TrafficConfig::new(Kind::Video(Arc::new(video)));
            config.start = Instant::from_millis(rng.below(3000));
            config.stop = (rng.below(3) == 0).then(|| config.start + Duration::from_millis(rng.below(4000)));
            experiment.traffic.push(config);
        }
        assert_same(&experiment, &format!("seed {seed}"));
    }
}

/// With 100 connections a run is windowed by default. A capture prevents windows.
#[test]
fn many_connections_run_in_windows_by_default() {
    let mut experiment = wifi_lte(Kind::Bulk, 1);
    experiment.traffic = vec![TrafficConfig::new(Kind::File { size: Bytes::new(30_000) }); 100];
    let outcome = run_recorded(&experiment);
    assert!(outcome == run_with_execution(&experiment, Execution::Sequential));
    assert!(outcome.connections.iter().any(|connection| connection.delivered_bytes == 30_000));
    assert_same(&experiment, "many connections");
    experiment.capture = true;
    assert_same(&experiment, "many connections with a capture");
}
