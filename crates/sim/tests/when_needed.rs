//! The policy `when-needed` on simulated paths.

mod support;

use link::{LinkConfig, QueueLimit};
use support::wifi_lte;
use tandem_sim::{Experiment, Hop, run};
use traffic::{Kind, OnFull, TrafficConfig};
use units::{Bitrate, Bytes, Duration};

/// A stream of 5 Mbit/s over Wi-Fi of this rate, with a queue of `packets`, and LTE of 30 Mbit/s.
fn stream_over_wifi(mbps: f64, packets: u32) -> Experiment {
    let kind = Kind::Cbr { rate: Bitrate::from_mbps(5.0), packet: Bytes::new(1000) };
    let mut experiment = wifi_lte(kind, 60);
    experiment.traffic[0].on_full = OnFull::Drop;
    experiment.device.policy = "when-needed".parse().expect("a policy");
    let queue = QueueLimit::Packets(packets);
    experiment.paths[0].down = Hop::Link(LinkConfig { queue, ..support::link(mbps, 10) });
    experiment.paths[1] = support::path("lte", "huang2012.lte", 30.0, 40);
    experiment
}

/// Before LTE helps, the policy has seen no more than Wi-Fi carries.
#[test]
fn demand_that_wifi_never_met_is_learned() {
    for (mbps, packets) in [(1.0, 100), (2.0, 50), (2.0, 100), (3.0, 100)] {
        let outcome = run(&stream_over_wifi(mbps, packets));
        let connection = &outcome.connections[0];
        assert_eq!(connection.dropped_bytes, 0, "Wi-Fi of {mbps} Mbit/s");
        let mean_s = connection.delay.mean_s.expect("data was read");
        assert!(mean_s < 1.0, "mean delay of {mean_s} s, Wi-Fi of {mbps} Mbit/s");
        let wifi_mbps = outcome.paths[0].payload_down_bytes as f64 * 8e-6 / 60.0;
        assert!(wifi_mbps > 0.6 * mbps, "{wifi_mbps} over Wi-Fi of {mbps} Mbit/s");
    }
}

#[test]
fn idle_connection_does_not_hide_the_queue_of_another() {
    let mut experiment = stream_over_wifi(2.0, 100);
    let alone = run(&experiment).paths[1].payload_down_bytes;
    experiment.traffic.push(TrafficConfig::new(Kind::OnOff {
        rate: Bitrate::from_mbps(0.01),
        packet: Bytes::new(100),
        on: Duration::from_millis(100),
        off: Duration::from_secs(100),
        exponential: false,
    }));
    let outcome = run(&experiment);
    let bytes = outcome.paths[1].payload_down_bytes;
    assert!(2 * bytes > alone, "{bytes} B over LTE, {alone} B without the idle connection");
    let srtt = &outcome.series.column("wifi.srtt_ms").expect("a recorded column").values;
    assert!(srtt.iter().any(|&ms| ms > 200.0), "the series shows the queue");
}
