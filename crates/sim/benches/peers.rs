//! Segments per second on the workloads of the comparison with htsim and ns-3.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tandem_sim::{Experiment, run};
use traffic::Kind;

#[path = "../tests/support/mod.rs"]
mod support;

fn workloads() -> Vec<(&'static str, Experiment)> {
    let mut single = support::one_path(100.0, 50, Kind::Bulk, 30);
    single.sample = units::Duration::ZERO;
    let mut mixed = support::wifi_lte(Kind::Bulk, 30);
    mixed.sample = units::Duration::ZERO;
    let mut twin = mixed.clone();
    twin.paths = vec![
        support::path("wifi", "huang2012.wifi", 100.0, 50),
        support::path("lte", "huang2012.lte", 100.0, 50),
    ];
    vec![("tcp-100M-50ms", single), ("mptcp-2M-5ms+100M-50ms", mixed), ("mptcp-2x100M-50ms", twin)]
}

fn peers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("peers");
    group.sample_size(10);
    for (name, experiment) in workloads() {
        // Throughput counts delivered data segments, as for the other simulators.
        let outcome = run(&experiment);
        let segments = outcome.connections.iter().map(|c| c.delivered_bytes / 1424).sum();
        group.throughput(Throughput::Elements(segments));
        group.bench_with_input(BenchmarkId::from_parameter(name), &experiment, |bench, experiment| {
            bench.iter(|| black_box(run(experiment)));
        });
    }
    group.finish();
}

criterion_group!(benches, peers);
criterion_main!(benches);
