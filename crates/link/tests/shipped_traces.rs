//! Generation of the traces in `traces/` from the channel model, and throughput of links on them.
//!
//! `UPDATE_TRACES=1 cargo test -p tandem-link --test shipped_traces` regenerates the files.
#![allow(clippy::disallowed_methods, reason = "a test may read and write the repository's files")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tandem_link::{ChannelModel, Link, LinkConfig, QueueLimit, Rate, Trace};
use units::{Bytes, Duration, Instant, Seed};

const WALK_SECONDS: usize = 100;
const DRIVE_SECONDS: u64 = 12;

/// A point of a walk: time in seconds and median SNR in dB. The SNR is linear between points.
type WalkPoint = (f64, f64);

/// Away from the access point, past a lift shaft at 50 s, to the end of the corridor.
const WALK_AWAY_WIFI: [WalkPoint; 9] = [
    (0.0, 30.0),
    (35.0, 22.0),
    (46.0, 4.0),
    (48.0, -30.0),
    (51.0, -30.0),
    (53.0, 4.0),
    (60.0, 20.0),
    (85.0, 10.0),
    (100.0, 8.0),
];
/// Towards the access point, behind a wall at 57 s, and for four seconds out of range at 89 s.
const WALK_TOWARDS_WIFI: [WalkPoint; 9] = [
    (0.0, 12.0),
    (30.0, 28.0),
    (50.0, 26.0),
    (55.0, 2.0),
    (61.0, 2.0),
    (66.0, 22.0),
    (88.0, 26.0),
    (89.0, -30.0),
    (93.0, 26.0),
];
/// An outdoor LTE cell with a constant median SNR.
const STREET_LTE: [WalkPoint; 1] = [(0.0, 16.0)];

fn wifi() -> ChannelModel {
    let indoor = ChannelModel::named("wifi-indoor").expect("a named model");
    ChannelModel { share: 0.6, shadowing_db: 3.0, step: Duration::from_secs(1), ..indoor }
}

fn lte() -> ChannelModel {
    let walking = ChannelModel::named("lte-walking").expect("a named model");
    ChannelModel {
        bandwidth_hz: 20e6,
        share: 0.7,
        shadowing_db: 4.0,
        step: Duration::from_secs(1),
        ..walking
    }
}

fn snr_db_at(walk: &[WalkPoint], second: f64) -> f64 {
    let after = walk.partition_point(|&(from, _)| from <= second);
    match (walk[after - 1], walk.get(after)) {
        ((_, snr), None) => snr,
        ((from, snr), Some(&(until, next))) => snr + (next - snr) * (second - from) / (until - from),
    }
}

/// CSV with the bytes per second of the channel while its median SNR follows `walk`.
///
/// The channel's random numbers do not depend on the SNR. Traces of different SNRs therefore have
/// the same shadowing and fading, and each second comes from the trace of its SNR.
fn walk_csv(model: &ChannelModel, walk: &[WalkPoint], seed: u64) -> String {
    let length = Duration::from_secs(WALK_SECONDS as u64);
    let mut csv = "second,bytes_per_second\n".to_owned();
    for second in 0..WALK_SECONDS {
        let model = ChannelModel { snr_db: snr_db_at(walk, second as f64), ..model.clone() };
        let rate = model.generate(length, Seed::new(seed)).pieces()[second].rate;
        // Below 10 kbit/s, a Wi-Fi card has lost its access point.
        let bytes = if rate.as_bps() < 10_000 { 0 } else { rate.as_bps() / 8 };
        let _ = writeln!(csv, "{second},{bytes}");
    }
    csv
}

/// Trace in mahimahi's format: one line with the millisecond of each opportunity of 1500 bytes.
fn drive_opportunities(model: &ChannelModel, seed: u64) -> String {
    const OPPORTUNITY_BITS: u64 = 12_000;
    let step = Duration::from_millis(20);
    let model = ChannelModel { step, ..model.clone() };
    let mut lines = String::new();
    let (mut carried_bits, mut millis) = (0, 0);
    for piece in model.generate(Duration::from_secs(DRIVE_SECONDS), Seed::new(seed)).pieces() {
        for _ in 0..piece.duration.as_millis() {
            millis += 1;
            carried_bits += piece.rate.as_bps() / 1000;
            while carried_bits >= OPPORTUNITY_BITS {
                carried_bits -= OPPORTUNITY_BITS;
                let _ = writeln!(lines, "{millis}");
            }
        }
    }
    lines
}

/// JSON segments with higher latency at lower rates.
fn bus_json(seed: u64) -> String {
    let model = ChannelModel {
        step: Duration::from_secs(2),
        ..ChannelModel::named("lte-driving").expect("a named model")
    };
    let segments: Vec<String> = model
        .generate(Duration::from_secs(60), Seed::new(seed))
        .pieces()
        .iter()
        .map(|piece| {
            let kbps = piece.rate.as_bps() / 1000;
            let latency_ms = 15 + 100_000 / (kbps + 2000);
            format!("  {{\"duration_ms\": 2000, \"bandwidth_kbps\": {kbps}, \"latency_ms\": {latency_ms}}}")
        })
        .collect();
    format!("[\n{}\n]\n", segments.join(",\n"))
}

/// Names and contents of all shipped traces.
fn shipped() -> Vec<(&'static str, String)> {
    let driving = ChannelModel::named("lte-driving").expect("a named model");
    let up = ChannelModel { share: 0.2, ..driving.clone() };
    vec![
        ("walk-away.wifi.csv", walk_csv(&wifi(), &WALK_AWAY_WIFI, 1)),
        ("walk-away.lte.csv", walk_csv(&lte(), &STREET_LTE, 2)),
        ("walk-towards.wifi.csv", walk_csv(&wifi(), &WALK_TOWARDS_WIFI, 3)),
        ("walk-towards.lte.csv", walk_csv(&lte(), &STREET_LTE, 4)),
        ("lte-driving.down", drive_opportunities(&driving, 5)),
        ("lte-driving.up", drive_opportunities(&up, 6)),
        ("lte-bus.json", bus_json(7)),
    ]
}

fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces").join(name)
}

fn text_of(name: &str) -> String {
    std::fs::read_to_string(path_of(name)).unwrap_or_else(|error| panic!("traces/{name}: {error}"))
}

fn trace(name: &str) -> Trace {
    Trace::parse(name, &text_of(name), None).expect("a valid trace")
}

/// Throughput of a saturated link over `rounds` periods of a trace, in Mbit/s.
fn saturated_mbps(trace: &Trace, rounds: u64) -> f64 {
    let rate = Rate::Trace(Arc::new(trace.clone()));
    let queue = QueueLimit::Time(Duration::from_millis(100));
    let mut link = Link::new(&LinkConfig { rate, queue, ..LinkConfig::default() }, Seed::new(1));
    let length = trace.period() * rounds;
    let end = Instant::ZERO + length;
    let mut now = Instant::ZERO;
    while now <= end {
        while link.push(now, 1400, ()) {}
        // While the trace stalls, the queue limit in time is exceeded: wait for the next arrival.
        now = link.next().map_or(end, |at| at.max(now + Duration::from_nanos(1)));
        while now <= end && link.poll(now).is_some() {}
    }
    Bytes::new(link.stats().bytes_delivered).per(length).as_mbps()
}

#[test]
fn shipped_traces_equal_the_generated_ones() {
    for (name, text) in shipped() {
        if std::env::var_os("UPDATE_TRACES").is_some() {
            std::fs::write(path_of(name), &text).unwrap_or_else(|error| panic!("traces/{name}: {error}"));
        }
        assert_eq!(text_of(name), text, "traces/{name}: run this test with UPDATE_TRACES=1");
    }
}

#[test]
fn saturated_link_carries_the_mean_rate_of_its_trace() {
    for (name, _) in shipped() {
        let trace = trace(name);
        let (mean, carried) = (trace.mean_rate().as_mbps(), saturated_mbps(&trace, 2));
        assert!((carried / mean - 1.0).abs() < 0.005, "{name}: carried {carried}, mean {mean}");
    }
}

#[test]
fn period_and_mean_rate_cover_all_lines_of_a_trace() {
    let text = text_of("lte-driving.down");
    let down = trace("lte-driving.down");
    let last: u64 = text.lines().last().expect("a line").parse().expect("milliseconds");
    assert_eq!(down.period(), Duration::from_millis(last));
    assert_eq!(down.mean_rate().as_bps(), text.lines().count() as u64 * 12_000_000 / last);

    let text = text_of("walk-towards.wifi.csv");
    let bytes = |line: &str| line.split_once(',').expect("two columns").1.parse::<u64>().expect("bytes");
    let wifi = trace("walk-towards.wifi.csv");
    assert_eq!(wifi.period(), Duration::from_secs(WALK_SECONDS as u64));
    let total: u64 = text.lines().skip(1).map(bytes).sum();
    assert_eq!(wifi.mean_rate().as_bps(), total * 8 / WALK_SECONDS as u64);
}
