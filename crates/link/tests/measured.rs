//! The measured traces, where they are beside the workspace; skipped with a message where not.
#![allow(clippy::disallowed_methods)] // a test may read files

use std::path::Path;
use std::sync::Arc;
use tandem_link::{Link, LinkConfig, QueueLimit, Rate, Trace};
use units::{Bytes, Duration, Instant, Seed};

fn text(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces").join(name);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        println!("skipped: no {}", path.display());
    }
    text
}

/// Mbps that a link on this trace carries over `rounds` rounds, where there is always more to send.
fn carried(trace: &Trace, rounds: u64) -> f64 {
    let rate = Rate::Trace(Arc::new(trace.clone()));
    let queue = QueueLimit::Time(Duration::from_millis(100));
    let mut link = Link::new(&LinkConfig { rate, queue, ..LinkConfig::default() }, Seed::new(1));
    let length = trace.period() * rounds;
    let end = Instant::ZERO + length;
    let mut now = Instant::ZERO;
    while now <= end {
        while link.push(now, 1400, ()) {}
        // Where the trace stalls the queue is full of time, not of packets: wait for the next arrival.
        now = link.next().map_or(end, |at| at.max(now + Duration::from_nanos(1)));
        while now <= end && link.poll(now).is_some() {}
    }
    Bytes::new(link.stats().bytes_delivered).per(length).as_mbps()
}

#[test]
fn links_carry_what_was_measured() {
    let names = [
        "Verizon-LTE-short.down",
        "Verizon-LTE-short.up",
        "TMobile-UMTS-driving.down",
        "TMobile-UMTS-driving.up",
        "mpwl_7_1_wifi.csv",
        "mpwl_7_1_cellular.csv",
        "mpwl_12_1_wifi.csv",
        "mpwl_12_1_cellular.csv",
        "lte-4g-bus.json",
    ];
    for name in names {
        let Some(text) = text(name) else { continue };
        let trace = Trace::parse(name, &text, None).unwrap();
        let (mean, carried) = (trace.mean_rate().as_mbps(), carried(&trace, 2));
        println!("{name}: {:?}, {mean:.3} Mbps, carried {carried:.3}", trace.period());
        assert!((carried / mean - 1.0).abs() < 0.005, "{name}: {carried} instead of {mean}");
    }
}

#[test]
fn every_opportunity_and_every_byte_of_a_trace_counts() {
    if let Some(text) = text("Verizon-LTE-short.down") {
        let trace = Trace::parse("Verizon-LTE-short.down", &text, None).unwrap();
        let last: u64 = text.lines().last().unwrap().parse().unwrap();
        assert_eq!(trace.period(), Duration::from_millis(last));
        let bits = text.lines().count() as u64 * 12_000;
        assert_eq!(trace.mean_rate().as_bps(), bits * 1000 / last);
    }
    if let Some(text) = text("mpwl_12_1_wifi.csv") {
        let trace = Trace::parse("mpwl_12_1_wifi.csv", &text, None).unwrap();
        let bytes: u64 = text.lines().map(|l| l.split_once(',').unwrap().1.parse::<u64>().unwrap()).sum();
        assert_eq!(trace.period(), Duration::from_secs(100));
        assert_eq!(trace.mean_rate().as_bps(), bytes * 8 / 100);
    }
}
