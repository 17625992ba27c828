//! Application delay, jitter and head-of-line blocking of whole runs.

mod support;

use support::any::any_experiment;
use support::{one_path, path, wifi_lte};
use tandem_sim::{Distribution, Experiment, Hop, run};
use traffic::{BLOCK_BYTES, Direction, Kind, OnFull};
use units::{Bitrate, Bytes};

const SEEDS: u64 = 60;

fn cbr(mbps: f64, bytes: u64) -> Kind {
    Kind::Cbr { rate: Bitrate::from_mbps(mbps), packet: Bytes::new(bytes) }
}

fn is_ordered(distribution: &Distribution) -> bool {
    let Distribution { min_s, p50_s, p95_s, p99_s, max_s, cdf, .. } = distribution;
    let ordered = [min_s, p50_s, p95_s, p99_s, max_s].is_sorted() && cdf.iter().is_sorted();
    let mean = distribution.mean_s.unwrap_or(0.0);
    // A mean of equal values may differ in its last digit.
    let around = |a: f64, b: f64| a <= b * (1.0 + 1e-12);
    ordered && around(min_s.unwrap_or(0.0), mean) && around(mean, max_s.unwrap_or(0.0))
}

/// Smallest delay of a hop: propagation and the transmission of a packet with one byte of payload.
fn min_delay(hop: &Hop) -> f64 {
    let Hop::Link(link) = hop else { return 0.0 };
    let rate = match link.rate {
        link::Rate::Fixed(rate) => rate.as_bps() as f64,
        _ => f64::INFINITY,
    };
    let propagation = match link.delay {
        link::Delay::Fixed(min) | link::Delay::Uniform { min, .. } | link::Delay::Measured { min, .. } => {
            min.as_secs_f64()
        }
        link::Delay::Normal { .. } => 0.0,
    };
    propagation + 8.0 * 41.0 / rate
}

#[test]
fn distributions_of_random_runs_are_consistent() {
    let (mut messages, mut waited) = (0, 0);
    for seed in 0..SEEDS {
        let experiment = any_experiment(seed);
        let outcome = run(&experiment);
        for (connection, traffic) in outcome.connections.iter().zip(&experiment.traffic) {
            let fastest = experiment
                .paths
                .iter()
                .map(|path| {
                    min_delay(if traffic.direction == Direction::Down { &path.down } else { &path.up })
                })
                .fold(f64::INFINITY, f64::min);
            let (delay, jitter) = (&connection.delay, &connection.jitter);
            let blocking = connection.head_of_line.as_ref().expect("a simulated connection has it");
            assert!(
                [delay, jitter, &blocking.wait].into_iter().all(is_ordered),
                "seed {seed}: {connection:?}"
            );
            assert!(delay.min_s.is_none_or(|min| min >= fastest), "seed {seed}: {delay:?} under {fastest} s");
            assert_eq!(jitter.count, delay.count.saturating_sub(1), "seed {seed}");
            assert!(jitter.max_s.unwrap_or(0.0) <= delay.max_s.unwrap_or(0.0), "seed {seed}");
            let size = match traffic.kind {
                Kind::Cbr { packet, .. } | Kind::OnOff { packet, .. } => packet.get(),
                _ => BLOCK_BYTES,
            };
            let whole = connection.delivered_bytes / size;
            let is_cut = matches!(traffic.kind, Kind::File { .. }) && connection.delivered_bytes % size > 0;
            assert!(
                (whole..=whole + u64::from(is_cut)).contains(&delay.count),
                "seed {seed}: {connection:?}"
            );
            assert_eq!(blocking.wait.count, connection.delivered_bytes, "seed {seed}");
            assert!(blocking.waited_bytes <= connection.delivered_bytes, "seed {seed}");
            let waiting = blocking.wait.mean_s.unwrap_or(0.0) > 0.0;
            let shares: f64 = blocking.waited_for.iter().map(|path| path.share).sum();
            assert!((shares - f64::from(u8::from(waiting))).abs() < 1e-9, "seed {seed}: {blocking:?}");
            if connection.peak_out_of_order_bytes == Some(0) {
                assert_eq!(blocking.waited_bytes, 0, "seed {seed}");
            }
            messages += delay.count;
            waited += blocking.waited_bytes;
        }
    }
    assert!(messages > 10_000 && waited > 1_000_000, "{messages} messages, {waited} bytes");
}

/// A second path that carries a copy of every packet cannot delay it: the first copy counts.
#[test]
fn delay_of_copies_on_two_paths_is_that_of_the_faster_path() {
    let mut experiment = wifi_lte(cbr(1.0, 1000), 20);
    experiment.paths = vec![path("wifi", "huang2012.wifi", 10.0, 20), path("lte", "huang2012.lte", 10.0, 60)];
    experiment.transport.config.scheduler = mptcp::SchedulerKind::Redundant.into();
    let delay = &run(&experiment).connections[0].delay;
    let expected = 0.020 + 1080.0 * 8e-7;
    assert!((delay.p99_s.unwrap() / expected - 1.0).abs() < 0.1, "{delay:?}, expected about {expected} s");
}

#[test]
fn packet_waits_from_its_due_time_although_the_send_buffer_is_full() {
    let mut experiment = one_path(1.0, 10, cbr(2.0, 1000), 20);
    experiment.transport.config.send_buffer = 20_000;
    let delay = |experiment: &Experiment| run(experiment).connections.remove(0).delay.max_s.unwrap();
    // Twice the rate of the link: half of the packets of 20 s are late by up to 10 s.
    let waits = delay(&experiment);
    assert!((9.0..11.0).contains(&waits), "{waits}");
    experiment.traffic[0].on_full = OnFull::Drop;
    let drops = delay(&experiment);
    assert!(drops < 0.5, "{drops}");
}
