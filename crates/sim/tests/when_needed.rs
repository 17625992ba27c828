//! The policy `when-needed` on simulated paths.

mod support;

use link::QueueLimit;
use support::wifi_lte;
use tandem_sim::{Experiment, Hop, run};
use traffic::{Kind, TrafficConfig};
use units::{Bitrate, Bytes, Duration};

/// A stream of 5 Mbit/s over Wi-Fi of 2 Mbit/s with a long queue, and LTE.
fn stream_over_weak_wifi() -> Experiment {
    let kind = Kind::Cbr { rate: Bitrate::from_mbps(5.0), packet: Bytes::new(1000) };
    let mut experiment = wifi_lte(kind, 60);
    experiment.device.policy = "when-needed".parse().expect("a policy");
    if let Hop::Link(link) = &mut experiment.paths[0].down {
        link.queue = QueueLimit::Packets(100);
    }
    experiment
}

#[test]
fn idle_connection_does_not_hide_the_queue_of_another() {
    let mut experiment = stream_over_weak_wifi();
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
