//! Throughput in MB/s: captures of a simulated download over two paths, truncated after the
//! headers as with `--pcap`, and with whole packets.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tandem_capture::{Reader, analyse};

const SCENARIO: &str = "title = 'x'\nseed = 1\nduration = '10s'\n[device]\nname = 'x'\n\
    [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\ndown = { rate = '40Mbps', delay = '10ms' }\n\
    up = { rate = '20Mbps', delay = '10ms' }\n\
    [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\ndown = { rate = '30Mbps', delay = '40ms', loss = 0.001 }\n\
    up = { rate = '10Mbps', delay = '40ms' }\n[[traffic]]\nkind = 'bulk'\n";

/// The same packets as a pcap file with their full lengths.
fn whole(capture: &[u8]) -> Vec<u8> {
    let mut out = [&[0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0][..], &[0; 12], &[101, 0, 0, 0]].concat();
    let mut reader = Reader::new(capture).expect("it was just written");
    while let Some(frame) = reader.next_frame().expect("memory can be read") {
        let nanos = frame.at.map_or(0, units::Instant::as_nanos);
        let len = frame.original_len;
        for number in [(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32, len, len] {
            out.extend(number.to_le_bytes());
        }
        out.extend(frame.bytes);
        out.resize(out.len() + len as usize - frame.bytes.len(), 0);
    }
    out
}

fn read(criterion: &mut Criterion) {
    let nothing = |_: &str| Err("no such file".to_owned());
    let mut experiment =
        scenario::Scenario::parse("bench", SCENARIO, &nothing).expect("it is right").experiment;
    experiment.capture = true;
    let cut = sim::run(&experiment).capture.expect("it was asked for");
    let whole = whole(&cut);
    let mut group = criterion.benchmark_group("capture");
    group.sample_size(20);
    for (name, file) in [("cut behind the headers", &cut), ("whole packets", &whole)] {
        group.throughput(Throughput::Bytes(file.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| analyse(&file[..], &mut |_| {})));
    }
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
