//! Memory that a peer takes with many small pieces.

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, PathId};
use units::Instant;
use wire::{Dss, Mapping, Segment, Span};

/// A connection after 10,000 bytes of the client, and the last segment with data.
fn after_data(config: Config) -> (Pair, Segment<Span>) {
    let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]).keep_trace();
    pair.to_write[CLIENT] = 10_000;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    let sent = pair.trace.iter().rfind(|s| s.from == CLIENT && s.segment.payload.len > 0);
    let last = sent.expect("data of the client").segment.clone();
    (pair, last)
}

/// Sends the server 5000 segments of one byte: the bytes `at(n)` of the subflow after all received
/// ones, mapped to `data(n)`. Returns the connection, and the pieces that the server then holds.
fn send_tiny(config: Config, at: fn(u32) -> u32, data: fn(u64) -> u64) -> (Pair, usize) {
    let (mut pair, last) = after_data(config);
    let next = last.seq + last.payload.len;
    for n in 0..5000 {
        let mut segment = last.clone();
        segment.seq = next + at(n);
        segment.payload = Span::new(data(u64::from(n)), 1);
        segment.dss = last.dss.map(|dss| Dss {
            mapping: dss.mapping.map(|map| Mapping {
                dsn: map.dsn - last.payload.offset + segment.payload.offset,
                ssn: 10_001 + at(n),
                len: 1,
                checksum: None,
            }),
            ..dss
        });
        pair.ends[SERVER].handle_segment(pair.now, PathId(0), segment);
    }
    let pieces = pair.ends[SERVER].received_pieces();
    (pair, pieces)
}

#[test]
fn ranges_of_a_subflow_are_bounded() {
    // Data that was delivered already takes nothing from the window.
    let (mut pair, pieces) = send_tiny(Config::default(), |n| 1 + 2 * n, |_| 1);
    assert_eq!(pieces, 1024);
    pair.to_write[CLIENT] = 200_000;
    pair.settle();
    pair.run_until(Instant::from_secs(60));
    assert_eq!(pair.read[SERVER], 210_000, "{:?}", pair.events);
}

#[test]
fn bytes_that_a_subflow_has_do_not_come_again_under_another_mapping() {
    // Only the last bytes of the segment are new to the subflow.
    for new in [0, 10] {
        let (mut pair, mut segment) = after_data(Config::default());
        let len = u64::from(segment.payload.len);
        segment.seq += new as u32;
        let mapping = segment.dss.as_mut().and_then(|dss| dss.mapping.as_mut()).expect("a mapping");
        mapping.dsn += len;
        mapping.ssn += new as u32;
        segment.payload = Span::new(10_000, len as u32);
        pair.ends[SERVER].handle_segment(pair.now, PathId(0), segment);
        pair.run_until(Instant::from_secs(2));
        let received = pair.ends[SERVER].received_pieces();
        assert_eq!((pair.read[SERVER], received), (10_000, usize::from(new > 0)), "{new} new bytes");
    }
}

#[test]
fn pieces_beyond_a_gap_are_bounded_by_a_window_of_small_segments() {
    let config = Config { recv_buffer: 536 * 2000, ..Config::default() };
    let (_, pieces) = send_tiny(config, |n| n, |n| 10_001 + 2 * n);
    assert_eq!(pieces, 2000);
}

#[test]
fn pieces_of_an_incomplete_mapping_are_bounded() {
    let (mut pair, mut segment) = after_data(Config { checksum: true, ..Config::default() });
    let mapping = segment.dss.as_mut().and_then(|dss| dss.mapping.as_mut()).expect("a mapping");
    mapping.dsn += u64::from(mapping.len);
    (mapping.ssn, mapping.len) = (10_001, 60_000);
    segment.seq += segment.payload.len;
    for n in 0..5000 {
        segment.payload = Span::new(10_000 + n, 1);
        pair.ends[SERVER].handle_segment(pair.now, PathId(0), segment.clone());
        segment.seq += 1;
        assert!(pair.ends[SERVER].received_pieces() <= 2 * 1024 + 1);
    }
    assert!(!pair.ends[SERVER].subflow(PathId(0)).is_some_and(|subflow| subflow.up));
}
