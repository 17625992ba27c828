//! Cost of a packet: `push`, `poll` and `next`.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;
use tandem_link::{
    Cell, CellConfig, CellKind, CellStation, ChannelModel, Delay, Link, LinkConfig, Load, Loss, Rate, Sender,
    StationConfig, Trace,
};
use units::{Bitrate, Duration, Instant, Probability, Seed};

/// Packets per iteration.
const PACKETS: u64 = 10_000;

/// A downlink of a cell.
fn station() -> CellStation {
    CellStation { config: StationConfig::default(), sender: Sender::AccessPoint, seed: Seed::new(1) }
}

/// As large as a segment of the simulator.
type Item = [u64; 12];

/// Pushes a packet of 1500 bytes every 120 us, which is 100 Mbps, and polls arrivals. Returns the
/// time of the last push.
fn transfer(link: &mut Link<Item>, start: Instant) -> Instant {
    let mut now = start;
    for i in 0..PACKETS {
        now += Duration::from_micros(120);
        while link.next().is_some_and(|at| at <= now) {
            black_box(link.poll(now));
        }
        link.push(now, 1500, [i; 12]);
    }
    now
}

fn links(c: &mut Criterion) {
    let delay = Delay::Fixed(Duration::from_millis(10));
    let fixed = Rate::Fixed(Bitrate::from_bps(100_000_000));
    let p = |p| Probability::new(p).expect("between 0 and 1");
    let common = LinkConfig { rate: fixed, delay, ..LinkConfig::default() };
    let opportunities = Trace::from_opportunities((1..=10_000_u32).map(|i| i / 8 + 1).collect());
    // Faster than the pushed 100 Mbps.
    let model = ChannelModel { bandwidth_hz: 100e6, share: 1.0, snr_db: 30.0, ..ChannelModel::default() };
    let generated = model.generate(Duration::from_secs(600), Seed::new(1));
    let trace = |trace: Trace| LinkConfig { rate: Rate::Trace(Arc::new(trace)), ..common.clone() };
    let cases = [
        ("fixed", common.clone()),
        ("gilbert", LinkConfig { loss: Loss::gilbert(p(0.01), p(0.3)), ..common.clone() }),
        (
            "jitter",
            LinkConfig {
                delay: Delay::Normal { mean: Duration::from_millis(10), sd: Duration::from_millis(1) },
                ..common.clone()
            },
        ),
        ("opportunities", trace(opportunities.expect("in order and ends after zero"))),
        ("rates", trace(generated)),
    ];
    let mut group = c.benchmark_group("link");
    group.throughput(Throughput::Elements(PACKETS));
    for (name, config) in cases {
        let mut link = Link::new(&config, Seed::new(1));
        let mut now = Instant::ZERO;
        group.bench_function(name, |b| b.iter(|| now = transfer(&mut link, now)));
    }
    group.finish();
}

fn cells(c: &mut Criterion) {
    let mut group = c.benchmark_group("cell");
    group.throughput(Throughput::Elements(PACKETS));
    for (name, kind, count) in [
        ("wifi", CellKind::Wifi, 0),
        ("wifi with 9 loads", CellKind::Wifi, 9),
        ("lte", CellKind::Lte, 0),
        ("lte with 9 loads", CellKind::Lte, 9),
    ] {
        let others = vec![Load { count, ..Load::default() }];
        let config =
            CellConfig { kind, rate: Bitrate::from_bps(110_000_000), others, ..CellConfig::default() };
        group.bench_function(name, |b| {
            b.iter_batched_ref(
                || Cell::<Item>::new(&config, &[station()], Seed::new(1)),
                |cell| {
                    let mut now = Instant::ZERO;
                    for i in 0..PACKETS {
                        now += Duration::from_micros(120);
                        while let Some(at) = cell.next().filter(|&at| at <= now) {
                            while black_box(cell.poll(at)).is_some() {}
                        }
                        cell.push(now, 0, 1500, [i; 12]);
                    }
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, links, cells);
criterion_main!(benches);
