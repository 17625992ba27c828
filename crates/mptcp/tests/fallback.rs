//! Fallback to TCP, and resets of subflows that a middlebox breaks (RFC 8684, section 3.7).

use crate::pair::{CLIENT, Pair, PathModel, SERVER, Seen};
use tandem_mptcp::{Config, Endpoint, Event, Failure, Mode, PathId};
use units::Instant;
use wire::{Flags, MptcpSignal, Segment, Span};

fn with_checksums() -> Config {
    Config { checksum: true, ..Config::default() }
}
fn one_path() -> Vec<PathModel> {
    vec![PathModel::clean(5)]
}
fn two_paths() -> Vec<PathModel> {
    vec![PathModel::clean(5), PathModel::clean(20)]
}
fn strip(segment: &mut Segment<Span>) {
    segment.signal = None;
    segment.dss = None;
}
fn modes(pair: &Pair) -> [Mode; 2] {
    pair.ends.each_ref().map(Endpoint::mode)
}
fn is_fail(seen: &Seen) -> bool {
    matches!(seen.segment.signal, Some(MptcpSignal::Fail { .. }))
}
fn resets_with(pair: &Pair, from: usize, signal: fn(MptcpSignal) -> bool) -> bool {
    pair.trace
        .iter()
        .any(|s| s.from == from && s.segment.flags.has(Flags::RST) && s.segment.signal.is_some_and(signal))
}
fn is_middlebox(signal: MptcpSignal) -> bool {
    signal == MptcpSignal::Reset { transient: false, reason: 6 }
}
fn has_infinite_mapping(seen: &Seen) -> bool {
    seen.segment.dss.and_then(|dss| dss.mapping).is_some_and(|map| map.len == 0)
}

#[test]
fn checksum_failure_on_the_only_subflow_falls_back_to_tcp() {
    // Sender, first corrupted byte, and lost MP_FAILs.
    for sender in [CLIENT, SERVER] {
        for (from_byte, lost_fails) in [(0, 0), (20_000, 0), (20_000, 1), (20_000, 3), (99_000, 2)] {
            let case = format!("{sender} sends, corrupted from {from_byte}, {lost_fails} lost");
            let mut pair = Pair::new(1, with_checksums(), one_path()).keep_trace();
            pair.to_write[sender] = 100_000;
            pair.close_when_done = [true, true];
            let mut fails = 0;
            pair.tamper = Some(Box::new(move |from, _, segment| {
                if from == sender && segment.payload.offset >= from_byte {
                    segment.payload = segment.payload.corrupted();
                }
                let fail = matches!(segment.signal, Some(MptcpSignal::Fail { .. }));
                fails += i32::from(fail);
                !fail || fails > lost_fails
            }));
            pair.connect();
            pair.run_until(Instant::from_secs(60));
            assert_eq!(pair.read[1 - sender], 100_000, "{case}: {:?}", pair.events);
            // Like TCP, it delivers the corrupted data.
            let corrupted = pair.read_corrupted[1 - sender];
            assert!((1..=100_000 - from_byte).contains(&corrupted), "{case}: {corrupted}");
            assert_eq!(modes(&pair), [Mode::Tcp; 2], "{case}");
            for end in [CLIENT, SERVER] {
                assert!(pair.saw(end, &Event::Closed), "{case}: {:?}", pair.events);
                assert!(pair.trace.iter().any(|s| s.from == end && is_fail(s)), "{case}: {end} sent MP_FAIL");
            }
            let last =
                pair.trace.iter().rposition(|s| has_infinite_mapping(s) && s.from == sender).expect(&case);
            let after = &pair.trace[last + 1..];
            assert!(after.iter().filter(|s| s.from == sender).all(|s| s.segment.dss.is_none()), "{case}");
        }
    }
}

#[test]
fn mp_fail_carries_the_dsn_of_the_failed_mapping() {
    let mut pair = Pair::new(1, with_checksums(), one_path()).keep_trace();
    pair.to_write[SERVER] = 30_000;
    let mut bad = None;
    let seen = std::rc::Rc::new(std::cell::Cell::new(None));
    let first = seen.clone();
    pair.tamper = Some(Box::new(move |from, _, segment| {
        if from == SERVER && segment.payload.offset >= 10_000 && bad.is_none() {
            bad = segment.dss.and_then(|dss| dss.mapping).map(|map| map.dsn);
            first.set(bad);
            segment.payload = segment.payload.corrupted();
        }
        true
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    let fail = pair.trace.iter().find(|s| is_fail(s)).unwrap();
    assert_eq!(fail.segment.signal, seen.get().map(|dsn| MptcpSignal::Fail { dsn }));
    assert_eq!(fail.from, CLIENT);
}

#[test]
fn checksum_failure_on_one_of_several_subflows_resets_only_that_one() {
    for bad in [PathId(0), PathId(1)] {
        for sender in [CLIENT, SERVER] {
            let mut pair = Pair::new(1, with_checksums(), two_paths()).keep_trace();
            pair.connect();
            pair.run_until(Instant::from_secs(1));
            pair.to_write[sender] = 1_000_000;
            pair.close_when_done = [true, true];
            let mut count = 0;
            pair.tamper = Some(Box::new(move |from, path, segment| {
                if from == sender && path == bad && segment.payload.len > 0 {
                    count += 1;
                    if count > 20 {
                        segment.payload = segment.payload.corrupted();
                    }
                }
                true
            }));
            pair.settle();
            pair.run_until(Instant::from_secs(60));
            assert_eq!((pair.read[1 - sender], pair.read_corrupted[1 - sender]), (1_000_000, 0));
            assert_eq!(modes(&pair), [Mode::Mptcp; 2]);
            assert!(pair.saw(1 - sender, &Event::SubflowDown(bad, Some(Failure::Checksum))));
            assert!(resets_with(&pair, 1 - sender, |signal| matches!(signal, MptcpSignal::Fail { .. })));
            assert!(
                pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed),
                "{:?}",
                pair.events
            );
        }
    }
}

#[test]
fn checksum_failure_after_a_join_resets_the_remaining_subflow() {
    let mut pair = Pair::new(1, with_checksums(), two_paths()).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.ends[CLIENT].remove(PathId(1), true);
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    pair.tamper = Some(Box::new(|_, path, segment| {
        if path == PathId(0) {
            segment.payload = segment.payload.corrupted();
        }
        true
    }));
    pair.to_write[SERVER] = 100_000;
    pair.settle();
    pair.run_until(Instant::from_secs(3));
    assert_eq!(modes(&pair), [Mode::Mptcp; 2]);
    assert!(pair.saw(CLIENT, &Event::SubflowDown(PathId(0), Some(Failure::Checksum))), "{:?}", pair.events);
    // A new subflow delivers the data intact.
    assert!(pair.ends[CLIENT].open(pair.now, PathId(1), false));
    pair.settle();
    pair.run_until(Instant::from_secs(20));
    assert_eq!((pair.read[CLIENT], pair.read_corrupted[CLIENT]), (100_000, 0));
}

#[test]
fn mp_fail_for_unsent_data_is_ignored() {
    let mut pair = Pair::new(1, with_checksums(), one_path());
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    let mut done = false;
    pair.tamper = Some(Box::new(move |from, _, segment| {
        if from == CLIENT && segment.payload.len == 0 && !done && segment.signal.is_none() {
            done = true;
            segment.signal = Some(MptcpSignal::Fail { dsn: 77 });
            segment.timestamps = None;
        }
        true
    }));
    pair.to_write[SERVER] = 50_000;
    pair.settle();
    pair.run_until(Instant::from_secs(5));
    assert_eq!((pair.read[CLIENT], modes(&pair)), (50_000, [Mode::Mptcp; 2]));
}

#[test]
fn options_stripped_in_one_direction_after_the_handshake_fall_back_to_tcp() {
    // After the handshake no MPTCP option passes in one direction.
    for stripped in [CLIENT, SERVER] {
        for to_write in [[0, 100_000], [100_000, 0], [80_000, 80_000]] {
            let case = format!("from {stripped}, {to_write:?}");
            let mut pair = Pair::new(1, Config::default(), one_path());
            pair.auto_join = false;
            pair.connect();
            pair.run_until(Instant::from_secs(1));
            pair.tamper = Some(Box::new(move |from, _, segment| {
                if from == stripped {
                    strip(segment);
                }
                true
            }));
            pair.to_write = to_write;
            pair.close_when_done = [true, true];
            pair.settle();
            pair.run_until(Instant::from_secs(100));
            assert_eq!(pair.read, [to_write[1], to_write[0]], "{case}: {:?}", pair.events);
            assert_eq!(modes(&pair), [Mode::Tcp; 2], "{case}");
            assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed), "{case}");
        }
    }
}

#[test]
fn joined_subflow_without_options_is_reset_as_middlebox() {
    for stripped in [CLIENT, SERVER] {
        for after in [0, 30] {
            let config = Config { recv_buffer: 100_000, ..Config::default() };
            let paths = vec![PathModel::clean(10), PathModel::clean(9)];
            let mut pair = Pair::new(1, config, paths).keep_trace();
            pair.connect();
            pair.run_until(Instant::from_secs(1));
            let mut count = 0;
            pair.tamper = Some(Box::new(move |from, path, segment| {
                if path == PathId(1) {
                    count += i32::from(segment.payload.len > 0);
                    if from == stripped && count > after {
                        strip(segment);
                    }
                }
                true
            }));
            pair.to_write[SERVER] = 3_000_000;
            pair.close_when_done = [true, true];
            pair.settle();
            pair.run_until(Instant::from_secs(60));
            assert_eq!(pair.read[CLIENT], 3_000_000, "{stripped} {after} {:?}", pair.events);
            assert_eq!(modes(&pair), [Mode::Mptcp; 2]);
            if after == 0 || stripped == SERVER {
                let ender = 1 - stripped;
                let down = Event::SubflowDown(PathId(1), Some(Failure::Middlebox));
                assert!(pair.saw(ender, &down), "{stripped} {after} {:?}", pair.events);
                assert!(resets_with(&pair, ender, is_middlebox));
            }
            assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed));
        }
    }
}

#[test]
fn segment_without_its_mapping_is_retransmitted() {
    for paths in [one_path(), two_paths()] {
        let mut pair = Pair::new(1, Config::default(), paths);
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        let mut count = 0;
        pair.tamper = Some(Box::new(move |from, _, segment| {
            if from == SERVER && segment.payload.len > 0 {
                count += 1;
                if count == 30 {
                    strip(segment);
                }
            }
            true
        }));
        pair.to_write[SERVER] = 60_000;
        pair.close_when_done = [true, true];
        pair.settle();
        pair.run_until(Instant::from_secs(20));
        assert_eq!(pair.read[CLIENT], 60_000, "{:?}", pair.events);
        assert_eq!(modes(&pair), [Mode::Mptcp; 2]);
        assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed));
    }
}

#[test]
fn peer_that_stops_sending_dss_is_followed_despite_fresh_unmapped_data() {
    // The server falls back: after 10,000 bytes nothing has a DSS, data that waits here included.
    let mut pair = Pair::new(1, Config::default(), one_path());
    pair.to_write = [100_000; 2];
    let mut falls_back = false;
    pair.tamper = Some(Box::new(move |from, _, segment| {
        falls_back |= from == SERVER && segment.payload.offset >= 10_000;
        if falls_back {
            strip(segment);
        }
        true
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(70));
    pair.close_when_done = [true, true];
    pair.settle();
    pair.run_until(Instant::from_secs(80));
    assert_eq!((pair.read, pair.read_corrupted), ([100_000; 2], [0; 2]), "{:?}", pair.events);
    assert_eq!(modes(&pair), [Mode::Tcp; 2]);
    assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed));
}

#[test]
fn data_acknowledged_without_dss_is_not_repeated_on_the_only_subflow() {
    // The server falls back after it has acknowledged some data with a DSS, and has sent data of
    // its own in the meantime or not.
    for own in [0, 30_000] {
        let mut pair = Pair::new(1, Config::linux(), one_path()).keep_trace();
        pair.auto_join = false;
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        let mut acks = 0;
        pair.tamper = Some(Box::new(move |from, _, segment| {
            acks += i32::from(from == SERVER);
            if from == SERVER && acks > 3 {
                strip(segment);
            }
            true
        }));
        pair.to_write = [100_000, own];
        pair.settle();
        pair.run_until(Instant::from_secs(3));
        pair.close_when_done = [true, true];
        pair.settle();
        pair.run_until(Instant::from_secs(30));
        assert_eq!((pair.read, pair.read_corrupted), ([own, 100_000], [0; 2]), "{:?}", pair.events);
        assert_eq!(modes(&pair), [Mode::Tcp; 2], "{own}");
        assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed), "{own}");
    }
}

#[test]
fn unmapped_data_that_may_be_a_repetition_is_not_delivered() {
    // No DSS of the server passes after 10,000 bytes: it repeats what lacks a DATA_ACK. Then the
    // client's first data is acknowledged without a DSS.
    let mut pair = Pair::new(1, Config::default(), one_path());
    pair.to_write[SERVER] = 20_000;
    pair.tamper = Some(Box::new(move |from, _, segment| {
        if from == SERVER && segment.payload.offset >= 10_000 {
            strip(segment);
        }
        true
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    let read = pair.read[CLIENT];
    assert!((10_000..20_000).contains(&read), "the rest waits for its mapping");
    pair.tamper = Some(Box::new(|from, _, segment| {
        if from == SERVER {
            strip(segment);
        }
        true
    }));
    pair.to_write[CLIENT] = 1000;
    pair.settle();
    pair.run_until(Instant::from_secs(10));
    assert_eq!((pair.read[CLIENT], pair.read_corrupted[CLIENT]), (read, 0));
    let reset = Event::SubflowDown(PathId(0), Some(Failure::Middlebox));
    assert!(pair.saw(CLIENT, &reset), "{:?}", pair.events);
}

#[test]
fn connection_after_fallback_rejects_joins() {
    let mut pair = Pair::new(1, with_checksums(), two_paths()).keep_trace();
    pair.auto_join = false;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    // The data is corrupted during the handshake of a join.
    pair.tamper = Some(Box::new(|from, path, segment| {
        if from == SERVER {
            segment.payload = segment.payload.corrupted();
        }
        path == PathId(0) || segment.flags == Flags::SYN
    }));
    pair.to_write[SERVER] = 10_000;
    assert!(pair.ends[CLIENT].open(pair.now, PathId(1), false));
    pair.settle();
    pair.run_until(Instant::from_secs(3));
    assert_eq!((pair.read[CLIENT], modes(&pair)), (10_000, [Mode::Tcp; 2]), "{:?}", pair.events);
    assert!(!pair.ends[CLIENT].open(pair.now, PathId(1), false));
    let mut syn = pair.trace.iter().find(|s| s.path == PathId(1)).unwrap().segment.clone();
    syn.source += 7;
    pair.ends[SERVER].handle_segment(pair.now, PathId(1), syn);
    let (path, answer) = pair.ends[SERVER].poll_transmit(pair.now).unwrap();
    assert!(path == PathId(1) && answer.flags.has(Flags::RST));
}

#[test]
fn unmapped_data_resets_the_subflow_after_a_minute() {
    // One segment only, so that no buffer fills up.
    let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.tamper = Some(Box::new(|_, path, segment| {
        if path == PathId(0) && segment.payload.len > 0 {
            strip(segment);
        }
        true
    }));
    pair.to_write[SERVER] = 1000;
    pair.settle();
    pair.run_until(Instant::from_secs(10));
    assert_eq!(pair.read[CLIENT], 1000, "delivered over the other path");
    assert!(!resets_with(&pair, CLIENT, is_middlebox));
    pair.run_until(Instant::from_secs(70));
    assert!(resets_with(&pair, CLIENT, is_middlebox));
    assert!(pair.saw(CLIENT, &Event::SubflowDown(PathId(0), Some(Failure::Middlebox))));
    assert!(!pair.ends[CLIENT].open(pair.now, PathId(0), false), "the path is refused");
}

#[test]
fn fin_without_a_dss_closes_the_connection_without_losing_data() {
    // The client's data is acknowledged without a DSS: it falls back and closes. The server's data
    // was acknowledged with one: it sees only a FIN, and has more data to send.
    let config = Config { initial_window: 1, ..Config::default() };
    let mut pair = Pair::new(1, config, one_path());
    pair.to_write = [0, 6000];
    pair.close_when_done = [false, true];
    pair.connect();
    pair.run_until(Instant::from_millis(18));
    pair.to_write[CLIENT] = 1;
    pair.settle();
    pair.run_until(Instant::from_millis(21));
    pair.tamper = Some(Box::new(|_, _, segment| {
        strip(segment);
        true
    }));
    pair.close_when_done[CLIENT] = true;
    pair.settle();
    pair.run_until(Instant::from_secs(100));
    assert_eq!((pair.read, modes(&pair)), ([6000, 1], [Mode::Tcp; 2]), "{:?}", pair.events);
    assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed));
}
