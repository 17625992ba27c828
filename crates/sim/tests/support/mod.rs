//! Base experiments of the tests.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod any;

use link::{Delay, LinkConfig, QueueLimit, Rate};
use radio::Profile;
use std::sync::Arc;
use tandem_sim::{Device, Experiment, Hop, PathSpec, Protocol, Transport};
use traffic::{Kind, TrafficConfig};
use units::{Bitrate, Duration, Energy, Instant, Power, Seed};

pub fn link(mbps: f64, delay_ms: u64) -> LinkConfig {
    LinkConfig {
        rate: Rate::Fixed(Bitrate::from_mbps(mbps)),
        delay: Delay::Fixed(Duration::from_millis(delay_ms)),
        queue: QueueLimit::Time(Duration::from_millis(100)),
        ..LinkConfig::default()
    }
}

pub fn path(name: &str, radio: &str, mbps: f64, delay_ms: u64) -> PathSpec {
    PathSpec {
        name: name.to_owned(),
        profile: Arc::new(Profile::named(radio).expect("a built-in profile")),
        down: Hop::Link(link(mbps, delay_ms)),
        up: Hop::Link(link(mbps, delay_ms)),
        middleboxes: Vec::new(),
        backup: false,
        join_at: Instant::ZERO,
        leave_at: None,
        allowance: None,
        also_measure: Vec::new(),
    }
}

pub fn wifi_lte(kind: Kind, seconds: u64) -> Experiment {
    Experiment {
        seed: Seed::new(1),
        duration: Duration::from_secs(seconds),
        sample: Duration::from_millis(100),
        device: Device {
            name: "device".into(),
            battery: Energy::from_joules(300.0),
            policy: policy::NoPolicy.into(),
            joint_power: Power::ZERO,
        },
        cells: Vec::new(),
        paths: vec![path("wifi", "huang2012.wifi", 2.0, 5), path("lte", "huang2012.lte", 100.0, 50)],
        transport: Transport { protocol: Protocol::Mptcp, config: mptcp::Config::default() },
        traffic: vec![TrafficConfig::new(kind)],
        background: Vec::new(),
        capture: false,
    }
}

pub fn one_path(mbps: f64, delay_ms: u64, kind: Kind, seconds: u64) -> Experiment {
    let mut experiment = wifi_lte(kind, seconds);
    experiment.paths = vec![path("wifi", "huang2012.wifi", mbps, delay_ms)];
    experiment.transport.protocol = Protocol::Tcp { path: 0 };
    experiment.transport.config.congestion = mptcp::CongestionKind::Reno.into();
    experiment
}
