//! Recorded deliveries of whole runs.

mod support;

use link::Loss;
use support::{one_path, path, wifi_lte};
use tandem_sim::{Experiment, Hop, Outcome, run, run_recorded};
use traffic::{Direction, Kind};
use units::{Bitrate, Bytes, Duration, Probability};

fn lossy(mut experiment: Experiment, percent: f64) -> Experiment {
    for path in &mut experiment.paths {
        if let Hop::Link(link) = &mut path.down {
            link.loss = Loss::Uniform(Probability::new(percent / 100.0).expect("a probability"));
        }
    }
    experiment
}

#[test]
fn recording_does_not_change_the_run() {
    for direction in [Direction::Down, Direction::Up] {
        let mut experiment = lossy(wifi_lte(Kind::Bulk, 5), 1.0);
        experiment.traffic[0].direction = direction;
        experiment.capture = true;
        let mut recorded = run_recorded(&experiment);
        assert_eq!(recorded.deliveries.len(), 1);
        assert_eq!(recorded, run_recorded(&experiment));
        recorded.deliveries.clear();
        assert_eq!(recorded, run(&experiment));
    }
}

#[test]
fn delay_on_an_idle_link_is_the_delay_of_the_link() {
    let kind = Kind::Cbr { rate: Bitrate::from_mbps(1.0), packet: Bytes::new(1000) };
    let outcome = run_recorded(&one_path(10.0, 20, kind, 20));
    let delivery = &outcome.deliveries[0];
    // 20 ms of propagation, and 1052 bytes at 10 Mbit/s.
    let expected = 0.020 + 1052.0 * 8e-7;
    let mean = delivery.delay.mean_s.expect("delivered data");
    assert!((mean / expected - 1.0).abs() < 0.01, "{mean} s, expected {expected} s");
    assert!(delivery.delay.jitter_s.expect("several pieces") < 1e-4);
    // Data written during the handshake is sent in full segments.
    assert!(delivery.offsets.peak_bytes <= 1448, "{}", delivery.offsets.peak_bytes);
    let pieces = outcome.connections[0].delivered_bytes / 1000;
    assert!(delivery.delay.count.abs_diff(pieces) < 10, "{} of {pieces}", delivery.delay.count);
}

#[test]
fn every_byte_is_delivered_once_despite_loss() {
    let size = 5_000_000;
    let outcome = run_recorded(&lossy(wifi_lte(Kind::File { size: Bytes::new(size) }, 60), 2.0));
    assert!(outcome.connections[0].completed_s.is_some());
    let delivery = &outcome.deliveries[0];
    // Most pieces are as large as the payload of a full segment; none is larger.
    let min = size.div_ceil(1448);
    assert!((min..min + min / 10).contains(&delivery.delay.count), "{}", delivery.delay.count);
    assert!(delivery.delay.p50_s <= delivery.delay.p95_s && delivery.delay.p95_s <= delivery.delay.p99_s);
    assert!(delivery.delay.p99_s <= Some(delivery.delay.longest_s));
    let counted: u64 = delivery.offsets.by_power_of_two.iter().sum();
    assert_eq!(counted, delivery.offsets.count);
}

#[test]
fn an_end_receives_all_segments_that_were_sent_and_not_lost() {
    for direction in [Direction::Down, Direction::Up] {
        // The file is too small to fill a queue.
        let mut experiment = wifi_lte(Kind::File { size: Bytes::new(40_000) }, 30);
        experiment.traffic[0].direction = direction;
        let whole = run_recorded(&experiment);
        let counts = |outcome: &Outcome| {
            let delivery = &outcome.deliveries[0];
            (
                delivery.sender.sent,
                delivery.receiver.received,
                delivery.receiver.sent,
                delivery.sender.received,
            )
        };
        let (data, received_data, acks, received_acks) = counts(&whole);
        assert_eq!((data, acks), (received_data, received_acks), "a segment was lost");
        assert_eq!(data.segments + acks.segments, whole.segments);
        assert!(data.segments > acks.segments, "fewer data segments than acknowledgements");
        // Every data segment has a mapping and timestamps; SYN and FIN segments differ.
        assert!(data.options.dss.abs_diff(data.segments) < 10 && data.options.tcp >= data.segments);
        assert_eq!((data.options.sack, data.options.experimental), (0, 0));
    }
}

#[test]
fn out_of_order_offsets_are_bounded_by_the_receive_buffer() {
    let peak = |buffer: u64| {
        let mut experiment = wifi_lte(Kind::Bulk, 20);
        experiment.paths =
            vec![path("wifi", "huang2012.wifi", 8.0, 5), path("lte", "huang2012.lte", 8.0, 100)];
        experiment.transport.config.recv_buffer = buffer;
        experiment.transport.config.scheduler = mptcp::SchedulerKind::RoundRobin.into();
        experiment.sample = Duration::ZERO;
        run_recorded(&experiment).deliveries[0].offsets.peak_bytes
    };
    let (small, large) = (peak(64_000), peak(512_000));
    assert!(small <= 64_000 && small > 20_000, "{small}");
    assert!(large > 2 * small && large <= 512_000, "{large}");
}
