//! BBR over links that change, and at any time of the clock.

mod support;

use link::{Rate, RatePiece, Trace};
use std::sync::Arc;
use support::one_path;
use tandem_sim::{Experiment, Hop, Outcome, run};
use traffic::Kind;
use units::{Bitrate, Duration, Instant};

/// A bulk transfer by BBR over `mbps` and a round trip of twice `delay_ms`.
fn bbr(mbps: f64, delay_ms: u64, seconds: u64) -> Experiment {
    let mut experiment = one_path(mbps, delay_ms, Kind::Bulk, seconds);
    let config = &mut experiment.transport.config;
    config.congestion = mptcp::CongestionKind::Bbr.into();
    (config.rack, config.dsack) = (true, true);
    experiment
}

fn set_rate(experiment: &mut Experiment, rate: Rate) {
    let Hop::Link(down) = &mut experiment.paths[0].down else { panic!("a link") };
    down.rate = rate;
    down.queue = link::QueueLimit::Unlimited;
}

/// Mean of a column over the time from `from` to `to`, in seconds.
fn mean(outcome: &Outcome, column: &str, from: usize, to: usize) -> f64 {
    let values = &outcome.series.column(column).expect("a column").values[10 * from..10 * to];
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_time_of_the_start_does_not_matter() {
    let first_second = |start| {
        let mut experiment = bbr(50.0, 20, start + 2);
        experiment.traffic[0].start = Instant::from_secs(start);
        let start = start as usize;
        mean(&run(&experiment), "connection1.goodput_mbps", start, start + 1)
    };
    let [early, late] = [0, 20].map(first_second);
    assert!(early > 30.0 && (late / early - 1.0).abs() < 0.02, "{early} {late}");
}

#[test]
fn a_lower_rate_fills_no_queue_for_long() {
    let mut experiment = bbr(50.0, 20, 30);
    let mbps = Bitrate::from_mbps;
    set_rate(
        &mut experiment,
        Rate::Steps(vec![(Instant::ZERO, mbps(50.0)), (Instant::from_secs(5), mbps(25.0))]),
    );
    let outcome = run(&experiment);
    // The filter of ten rounds forgets the old rate within about a second.
    for second in 7..30 {
        let srtt = mean(&outcome, "wifi.srtt_ms", second, second + 1);
        let goodput = mean(&outcome, "connection1.goodput_mbps", second, second + 1);
        assert!(srtt < 100.0, "{second} s: {srtt} ms");
        assert!(goodput > 18.0, "{second} s: {goodput} Mbit/s");
    }
}

#[test]
fn a_look_for_the_round_trip_time_keeps_the_bandwidth_of_a_short_path() {
    let mut experiment = bbr(50.0, 5, 30);
    let piece = |seconds, latency| RatePiece {
        duration: Duration::from_secs(seconds),
        rate: Bitrate::from_mbps(50.0),
        latency: Duration::from_millis(latency),
    };
    // From 3 s on the round trip is longer, so that PROBE_RTT begins 10 s later.
    let trace = Trace::from_rates(&[piece(3, 0), piece(1000, 2)]).expect("a trace");
    set_rate(&mut experiment, Rate::Trace(Arc::new(trace)));
    let outcome = run(&experiment);
    let goodput = |second| mean(&outcome, "connection1.goodput_mbps", second, second + 1);
    let probed = (12..15).map(goodput).fold(f64::MAX, f64::min);
    assert!((20.0..45.0).contains(&probed), "200 ms with four segments: {probed} Mbit/s");
    assert!((15..30).filter(|&second| goodput(second) < 45.0).count() <= 2);
    assert!(goodput(29) > 45.0);
}
