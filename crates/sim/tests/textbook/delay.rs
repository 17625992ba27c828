//! Delay of applications: propagation and transmission on an idle path, and Little's law.

use crate::support::{one_path, path, wifi_lte};
use tandem_sim::run;
use traffic::{Direction, Kind};
use units::{Bitrate, Bytes, Duration};

/// One path below its capacity: every packet that is sent after the handshake has the same delay.
#[test]
fn on_one_path_below_capacity_the_delay_is_propagation_and_transmission() {
    let kind = Kind::Cbr { rate: Bitrate::from_mbps(1.0), packet: Bytes::new(1000) };
    for (direction, delay_ms) in [(Direction::Down, 20), (Direction::Up, 35)] {
        let mut experiment = one_path(10.0, delay_ms, kind.clone(), 20);
        experiment.traffic[0].direction = direction;
        let connection = run(&experiment).connections.remove(0);
        // 1000 bytes, and 52 of headers, at 10 Mbit/s.
        let expected = delay_ms as f64 * 1e-3 + 1052.0 * 8e-7;
        let delay = &connection.delay;
        assert!((delay.min_s.unwrap() - expected).abs() < 1e-9, "{delay:?}");
        assert!((delay.p50_s.unwrap() / expected - 1.0).abs() < 1.0 / 256.0, "{delay:?}");
        // Packets that were due during the handshake waited for it.
        assert!(delay.max_s.unwrap() > 2.0 * expected, "{delay:?}");
        assert_eq!(connection.jitter.p95_s, Some(0.0));
        let blocking = connection.head_of_line.unwrap();
        assert_eq!((blocking.waited_bytes, blocking.wait.max_s), (0, Some(0.0)));
    }
}

/// Little's law: the mean delay of a block is the data between the two applications over the
/// goodput.
#[test]
fn delay_of_a_bulk_transfer_is_the_send_buffer_over_the_goodput() {
    let experiment = one_path(8.0, 20, Kind::Bulk, 60);
    let outcome = run(&experiment);
    let connection = &outcome.connections[0];
    let buffered = outcome.series.column("connection1.unsent_kb").unwrap();
    let mean = buffered.values.iter().sum::<f64>() / buffered.values.len() as f64;
    let expected = mean * 8e-3 / connection.goodput_mbps;
    let found = connection.delay.mean_s.unwrap();
    // Acknowledged a path delay after they are read, bytes are in `unsent` a little longer.
    assert!((found / expected - 1.0).abs() < 0.05, "{found}, expected {expected}");
}

/// Packets alternate between paths of 5 ms and 100 ms. Data of the fast path waits for the slow path,
/// for at most the difference; by Little's law the mean wait is the data held over the goodput.
#[test]
fn fast_path_waits_for_the_slow_one_by_the_difference_of_their_delays() {
    let kind = Kind::Cbr { rate: Bitrate::from_mbps(6.0), packet: Bytes::new(1400) };
    let mut experiment = wifi_lte(kind, 20);
    experiment.paths = vec![path("wifi", "huang2012.wifi", 8.0, 5), path("lte", "huang2012.lte", 8.0, 100)];
    experiment.transport.config.scheduler = mptcp::SchedulerKind::RoundRobin.into();
    experiment.sample = Duration::from_millis(7);
    let outcome = run(&experiment);
    let blocking = outcome.connections[0].head_of_line.as_ref().unwrap();
    println!("{:.4} waited, {:?}", blocking.waited_share, blocking.wait.mean_s);
    assert!((0.45..0.55).contains(&blocking.waited_share), "{}", blocking.waited_share);
    assert!(blocking.wait.p99_s.unwrap() <= 0.095 && blocking.wait.p95_s.unwrap() > 0.090);
    assert!(blocking.waited_for[1].share > 0.99, "{:?}", blocking.waited_for);
    let held = outcome.series.column("connection1.out_of_order_kb").unwrap();
    let mean = held.values.iter().sum::<f64>() / held.values.len() as f64;
    let expected = mean * 8e-3 / outcome.connections[0].goodput_mbps;
    let found = blocking.wait.mean_s.unwrap();
    assert!((found / expected - 1.0).abs() < 0.02, "{found}, expected {expected}");
}
