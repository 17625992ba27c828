//! Cost of the meter per packet.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tandem_radio::{Direction, Meter, Profile};
use units::Instant;

const PACKETS: u64 = 100_000;

fn on_packet(c: &mut Criterion) {
    let profile = Profile::named("aro.lte").expect("it is built in");
    let mut group = c.benchmark_group("on_packet");
    group.throughput(Throughput::Elements(PACKETS));
    // 12 Mbit/s: active from the first packet to the last. 0.06 Mbit/s: every packet ends a tail.
    for (name, gap_nanos) in [("active throughout", 1_000_000), ("a tail each", 200_000_000)] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut meter = Meter::new(profile.clone());
                for packet in 0..PACKETS {
                    meter.on_packet(
                        Instant::from_nanos(packet * gap_nanos),
                        black_box(Direction::Down),
                        1500,
                    );
                }
                meter.energy()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, on_packet);
criterion_main!(benches);
