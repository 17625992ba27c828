//! The data checksum (RFC 8684, section 3.3.1): negotiation, computation and verification.

use crate::pair::{CLIENT, Pair, PathModel, SERVER, Seen};
use tandem_mptcp::{Config, Event, Failure, Mode, PathId};
use units::{Duration, Instant};
use wire::{Dss, Flags, Mapping, MptcpSignal, Payload, Segment, Span, capture, dss_checksum};

fn requiring(checksum: bool) -> Config {
    Config { checksum, ..Config::default() }
}

/// Data sequence number of the first byte that `end` sends.
fn first_dsn(pair: &Pair, end: usize) -> u64 {
    let key = pair.trace.iter().find_map(|s| match s.segment.signal {
        Some(MptcpSignal::Capable { sender_key: Some(key), .. }) if s.from == end => Some(key),
        _ => None,
    });
    let key = key.expect("the handshake carries the keys").to_be_bytes();
    let digest = <sha2::Sha256 as sha2::Digest>::digest(key);
    u64::from_be_bytes(digest[24..].try_into().expect("SHA-256 has 32 bytes")).wrapping_add(1)
}

/// Checksum of a segment's mapping, and the checksum computed from its bytes in a capture.
fn checksums(pair: &Pair, seen: &Seen) -> Option<(Option<u16>, u16)> {
    let segment = &seen.segment;
    let (dsn, ssn, len, found) = match (segment.dss.and_then(|dss| dss.mapping), segment.signal) {
        (Some(map), _) => (map.dsn, map.ssn, map.len, map.checksum),
        (None, Some(MptcpSignal::Capable { data: Some((len, checksum)), .. })) => {
            (first_dsn(pair, seen.from), 1, len, checksum)
        }
        _ => return None,
    };
    let mut bytes = Vec::new();
    capture::filler(segment.payload, &mut bytes);
    Some((found, dss_checksum(dsn, ssn, len, &bytes)))
}

#[test]
fn checksums_are_used_if_either_end_requires_them_and_match_the_bytes() {
    for (client, server) in [(false, false), (true, false), (false, true), (true, true)] {
        let paths = vec![PathModel::lossy(5, 0.02), PathModel::clean(20)];
        let mut pair = Pair::with(3, requiring(client), requiring(server), paths).keep_trace();
        pair.to_write = [300_001, 500_003];
        pair.close_when_done = [true, true];
        pair.connect();
        pair.run_until(Instant::from_secs(60));
        assert_eq!(pair.read, [500_003, 300_001]);
        assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed));
        let mut mappings = 0;
        for seen in &pair.trace {
            if let Some(MptcpSignal::Capable { checksum, .. }) = seen.segment.signal {
                // The SYN has the client's request, later segments the negotiated value.
                let syn = seen.segment.flags == Flags::SYN;
                assert_eq!(checksum, client || server && !syn, "{seen:?}");
            }
            if let Some((found, right)) = checksums(&pair, seen) {
                assert_eq!(found, (client || server).then_some(right), "{seen:?}");
                mappings += 1;
            }
        }
        assert!(mappings > 500, "{mappings}");
    }
}

/// A server that sends three segments under one mapping, carried by segment number `carrier`.
fn three_under_one_mapping(carrier: usize, corrupt: Option<usize>) -> Pair {
    let config = Config { mss: 1000, delayed_ack: Duration::ZERO, checksum: true, ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]).keep_trace();
    pair.to_write[SERVER] = 964 * 3;
    let mut whole: Option<Mapping> = None;
    let mut count = 0;
    pair.tamper = Some(Box::new(move |_, _, segment| {
        if let Some(dss) = &mut segment.dss
            && let Some(map) = dss.mapping
            && map.len > 1
        {
            let all = *whole.get_or_insert_with(|| {
                let mut bytes = Vec::new();
                capture::filler(Span::new(0, 964 * 3), &mut bytes);
                let checksum = Some(dss_checksum(map.dsn, map.ssn, 964 * 3, &bytes));
                Mapping { len: 964 * 3, checksum, ..map }
            });
            if count < 3 {
                dss.mapping = (count == carrier).then_some(all);
                if corrupt == Some(count) {
                    segment.payload = segment.payload.corrupted();
                }
                count += 1;
            }
        }
        true
    }));
    pair.connect();
    pair
}

#[test]
fn data_under_one_checksummed_mapping_is_delivered_only_when_complete() {
    for carrier in [0, 1, 2] {
        let mut pair = three_under_one_mapping(carrier, None);
        let mut reads = Vec::new();
        while pair.now < Instant::from_secs(1) {
            pair.run_until(pair.now + Duration::from_millis(1));
            reads.push(pair.read[CLIENT]);
        }
        reads.dedup();
        assert_eq!(reads, [0, 964 * 3], "carried by {carrier}");
    }
    // The last segment is lost: the others are not delivered before its retransmission.
    let mut pair = three_under_one_mapping(0, None);
    let mut inner = pair.tamper.take().unwrap();
    let mut lost = false;
    pair.tamper = Some(Box::new(move |from, path, segment| {
        let lose = !lost && from == SERVER && segment.payload.offset == 964 * 2;
        lost |= lose;
        inner(from, path, segment) && !lose
    }));
    pair.run_until(Instant::from_millis(100));
    assert_eq!(pair.read[CLIENT], 0);
    pair.run_until(Instant::from_secs(3));
    assert_eq!(pair.read[CLIENT], 964 * 3);
}

#[test]
fn one_corrupted_segment_fails_the_whole_mapping() {
    for corrupt in [0, 1, 2] {
        let mut pair = three_under_one_mapping(0, Some(corrupt));
        pair.run_until(Instant::from_millis(18));
        assert_eq!(pair.read[CLIENT], 0, "no data of a failed mapping is delivered");
        pair.run_until(Instant::from_secs(3));
        assert_eq!(
            pair.ends.each_ref().map(tandem_mptcp::Endpoint::mode),
            [Mode::Tcp; 2],
            "{:?}",
            pair.events
        );
        assert_eq!(pair.read[CLIENT], 964 * 3);
        assert_eq!(pair.read_corrupted[CLIENT], 964);
    }
}

/// A connection on which the first segment with data of `end` was lost, and that segment.
fn with_lost_segment(end: usize) -> (Pair, Segment<Span>) {
    let mut pair = Pair::new(1, requiring(true), vec![PathModel::clean(5)]).keep_trace();
    pair.to_write[end] = 1000;
    pair.tamper = Some(Box::new(move |from, _, segment| from != end || segment.payload.len == 0));
    pair.connect();
    pair.run_until(Instant::from_millis(50));
    let lost = pair.trace.iter().find(|s| s.from == end && s.segment.payload.len == 1000);
    let lost = lost.expect("a segment with all data").segment.clone();
    pair.tamper = None;
    (pair, lost)
}

#[test]
fn verified_segment_replaces_altered_bytes_that_wait_for_their_mapping() {
    for (from, to) in [(0, 500), (500, 1000), (200, 300), (0, 999)] {
        let (mut pair, segment) = with_lost_segment(SERVER);
        let mut altered = segment.clone();
        altered.seq = segment.seq.wrapping_add(from);
        altered.payload = segment.payload.slice(from as usize, to).corrupted();
        for received in [altered, segment] {
            assert_eq!(pair.ends[CLIENT].unread(), 0);
            pair.ends[CLIENT].handle_segment(pair.now, PathId(0), received);
        }
        assert_eq!(pair.ends[CLIENT].unread(), 1000);
        pair.settle();
        pair.run_until(Instant::from_secs(5));
        assert_eq!((pair.read[CLIENT], pair.read_corrupted[CLIENT]), (1000, 0), "{from}..{to}");
        assert_eq!(pair.ends[CLIENT].mode(), Mode::Mptcp);
    }
}

#[test]
fn first_data_is_verified_although_its_beginning_was_delivered() {
    let (mut pair, mut segment) = with_lost_segment(CLIENT);
    assert!(matches!(segment.signal, Some(MptcpSignal::Capable { data: Some((1000, _)), .. })));
    let mut beginning = segment.clone();
    beginning.payload = segment.payload.slice(0, 400);
    let mut bytes = Vec::new();
    capture::filler(beginning.payload, &mut bytes);
    let dsn = first_dsn(&pair, CLIENT);
    let mapping = Mapping { dsn, ssn: 1, len: 400, checksum: Some(dss_checksum(dsn, 1, 400, &bytes)) };
    beginning.dss = Some(Dss { mapping: Some(mapping), ..Dss::default() });
    beginning.signal = None;
    segment.payload = segment.payload.corrupted();
    for received in [beginning, segment] {
        pair.ends[SERVER].handle_segment(pair.now, PathId(0), received);
        assert_eq!(pair.ends[SERVER].unread(), 400);
    }
}

#[test]
fn mapping_without_a_negotiated_checksum_resets_the_subflow() {
    let paths = vec![PathModel::clean(5), PathModel::clean(20)];
    let mut pair = Pair::new(1, requiring(true), paths).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.tamper = Some(Box::new(|_, path, segment| {
        if let Some(map) = segment.dss.as_mut().and_then(|dss| dss.mapping.as_mut())
            && path == PathId(1)
        {
            map.checksum = None;
        }
        true
    }));
    pair.to_write[SERVER] = 500_000;
    pair.settle();
    pair.run_until(Instant::from_secs(20));
    assert_eq!(pair.read[CLIENT], 500_000);
    assert!(pair.saw(CLIENT, &Event::SubflowDown(PathId(1), Some(Failure::Protocol))), "{:?}", pair.events);
    let is_reset = |s: &Seen| {
        s.from == CLIENT && s.segment.signal == Some(MptcpSignal::Reset { transient: false, reason: 1 })
    };
    assert!(pair.trace.iter().any(is_reset));
}

#[test]
fn unnegotiated_checksum_is_ignored() {
    let mut pair = Pair::new(1, requiring(false), vec![PathModel::clean(5)]);
    pair.tamper = Some(Box::new(|_, _, segment| {
        if let Some(map) = segment.dss.as_mut().and_then(|dss| dss.mapping.as_mut()) {
            map.checksum = Some(0x1234);
        }
        true
    }));
    pair.to_write = [50_000, 50_000];
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    assert_eq!(pair.read, [50_000, 50_000]);
    assert_eq!(pair.ends[CLIENT].mode(), Mode::Mptcp);
}

#[test]
fn corruption_goes_undetected_without_checksums() {
    let mut pair = Pair::new(1, requiring(false), vec![PathModel::clean(5)]);
    pair.tamper = Some(Box::new(|_, _, segment| {
        segment.payload = segment.payload.corrupted();
        true
    }));
    pair.to_write[SERVER] = 50_000;
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    assert_eq!((pair.read[CLIENT], pair.read_corrupted[CLIENT]), (50_000, 50_000));
    assert_eq!(pair.ends[CLIENT].mode(), Mode::Mptcp);
}
