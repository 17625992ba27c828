//! Conservation of energy, time and bytes in random experiments.

mod support;

use radio::Profile;
use support::any::any_experiment;
use tandem_sim::{Experiment, Outcome, PathOutcome, run};
use traffic::{Direction, Kind};
use units::{Duration, Instant, Power};

const SEEDS: u64 = 60;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 + 1e-9 * a.abs()
}

/// Runs a random experiment for each seed and checks its outcome.
fn for_each_seed(mut check: impl FnMut(&Experiment, &Outcome)) {
    for seed in 0..SEEDS {
        let experiment = any_experiment(seed);
        check(&experiment, &run(&experiment));
    }
}

#[test]
fn energy_is_the_sum_of_its_parts() {
    for_each_seed(|experiment, outcome| {
        let seed = outcome.seed;
        let mut sum = outcome.device.joint_energy_j;
        for (path, spec) in outcome.paths.iter().zip(&experiment.paths) {
            let e = &path.energy;
            let parts = e.idle_j + e.promotion_j + e.active_j + e.data_j + e.tail_j;
            assert!(near(parts, e.total_j), "seed {seed}: {e:?}");
            // The data energy is proportional to the bits (J per Mbit equals W per Mbit/s).
            let joules = |bytes: u64, power: Power| bytes as f64 * 8e-6 * power.as_watts();
            let data = joules(path.wire_down_bytes, spec.profile.down_per_mbps)
                + joules(path.wire_up_bytes, spec.profile.up_per_mbps);
            assert!(near(data, e.data_j), "seed {seed}: {data} against {e:?}");
            sum += e.total_j;
        }
        assert!(near(sum, outcome.device.energy_j), "seed {seed}: {sum}, {:?}", outcome.device);
        assert!(near(outcome.device.energy_rate_w * outcome.duration_s, sum), "seed {seed}");
    });
}

#[test]
fn energy_is_the_time_in_each_state_times_its_power() {
    let mut checked = 0;
    for_each_seed(|experiment, outcome| {
        let seed = outcome.seed;
        let end = Instant::ZERO + experiment.duration;
        for ((path, spec), timeline) in outcome.paths.iter().zip(&experiment.paths).zip(&outcome.timelines) {
            assert_eq!(timeline.states.first().map(|s| s.0), Some(Instant::ZERO), "seed {seed}");
            assert!(timeline.states.is_sorted_by(|a, b| a.0 < b.0), "seed {seed}: {:?}", timeline.states);
            let ends = timeline.states.iter().skip(1).map(|s| s.0).chain([end]);
            let times: Vec<_> =
                timeline.states.iter().zip(ends).map(|((from, _), to)| to.since(*from)).collect();
            let whole: u64 = times.iter().map(|t| t.as_nanos()).sum();
            assert_eq!(whole, experiment.duration.as_nanos(), "seed {seed}: sum of the times in states");
            if let Some(powers) = powers(&spec.profile) {
                checked += 1;
                let power = |name: &str| powers.iter().find(|p| p.0 == name).expect(name).1;
                let joules: f64 = timeline
                    .states
                    .iter()
                    .zip(&times)
                    .map(|((_, name), time)| power(name) * time.as_secs_f64())
                    .sum();
                let expected = path.energy.total_j - path.energy.data_j;
                assert!(near(joules, expected), "seed {seed}: {joules} against {:?}", path.energy);
            }
        }
    });
    assert!(checked > 20, "only {checked} interfaces without pulses");
}

/// Power of each state by name, in watts; `None` if a state has pulses.
fn powers(profile: &Profile) -> Option<Vec<(String, f64)>> {
    let stages: Vec<_> = profile.promotion.iter().chain(&profile.tail).collect();
    if profile.idle.pulse.is_some() || stages.iter().any(|stage| stage.pulse.is_some()) {
        return None;
    }
    let mut all: Vec<_> = stages.iter().map(|s| (s.name.clone(), s.power.as_watts())).collect();
    all.push((profile.state_name(radio::State::Idle).to_owned(), profile.idle.power.as_watts()));
    all.push((profile.state_name(radio::State::Active).to_owned(), profile.active.as_watts()));
    Some(all)
}

#[test]
fn delivered_bytes_were_offered_and_carried() {
    let mut delivering = 0;
    for_each_seed(|experiment, outcome| {
        let seed = outcome.seed;
        for (connection, config) in outcome.connections.iter().zip(&experiment.traffic) {
            assert!(connection.delivered_bytes <= connection.offered_bytes, "seed {seed}: {connection:?}");
            if let (Kind::File { size }, Some(_)) = (&config.kind, connection.completed_s) {
                assert_eq!(connection.delivered_bytes, size.get(), "seed {seed}");
            }
        }
        let delivered = |direction: Direction| -> u64 {
            let all = outcome.connections.iter().zip(&experiment.traffic);
            all.filter(|(_, config)| config.direction == direction).map(|(c, _)| c.delivered_bytes).sum()
        };
        let carried = |bytes: fn(&PathOutcome) -> u64| outcome.paths.iter().map(bytes).sum::<u64>();
        assert!(delivered(Direction::Down) <= carried(|p| p.payload_down_bytes), "seed {seed}");
        for path in &outcome.paths {
            assert!(path.payload_down_bytes <= path.wire_down_bytes, "seed {seed}: {path:?}");
            assert!(path.payload_up_bytes <= path.wire_up_bytes, "seed {seed}: {path:?}");
        }
        assert!(delivered(Direction::Up) <= carried(|p| p.payload_up_bytes), "seed {seed}");
        if outcome.connections.iter().any(|connection| connection.delivered_bytes > 0) {
            delivering += 1;
        }
    });
    assert!(delivering >= SEEDS * 9 / 10, "only {delivering} of {SEEDS} runs deliver data");
}

#[test]
fn the_same_seed_gives_the_same_outcome() {
    for seed in 0..SEEDS / 3 {
        let mut experiment = any_experiment(seed);
        experiment.duration = Duration::from_secs(3);
        experiment.capture = true;
        assert!(run(&experiment) == run(&experiment), "seed {seed}");
    }
}
