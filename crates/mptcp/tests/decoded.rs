//! Another reader's opinion of every feature: `tshark` decodes what both ends sent, finds nothing wrong, and
//! reads in each option what the segment meant.
//! Skipped, with a message, where `tshark` is not installed.
#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]
#![allow(clippy::disallowed_methods, reason = "tshark reads files")]

use crate::decode::{compare, decode, read};
use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use core::net::IpAddr;
use tandem_mptcp::{Config, EcnMode, Event, Failure, Mode, PathId, Rec, SchedulerKind};
use units::{Duration, Instant, Probability};
use wire::{Ecn, Flags, MptcpSignal, Payload, Segment, Span};

const ADD_ADDR: u8 = 3;
const REMOVE_ADDR: u8 = 4;
const MP_PRIO: u8 = 5;
const MP_FAIL: u8 = 6;
const MP_FASTCLOSE: u8 = 7;
const MP_TCPRST: u8 = 8;

fn checked() -> Config {
    Config { checksum: true, ..Config::default() }
}
fn two_paths() -> Vec<PathModel> {
    vec![PathModel::clean(5), PathModel::clean(20)]
}
/// Both subflows are up, and the connection is idle.
fn up(config: Config) -> Pair {
    let mut pair = Pair::new(1, config, two_paths()).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair
}
/// Both ends write, and close when that is done; until `seconds`.
fn transfer(pair: &mut Pair, to_write: [u64; 2], seconds: u64) {
    pair.to_write = to_write;
    pair.close_when_done = [true, true];
    if pair.now == Instant::ZERO {
        pair.connect();
    }
    pair.run_until(Instant::from_secs(seconds));
    assert_eq!(pair.read, [to_write[1], to_write[0]], "{:?}", pair.events);
}

#[test]
fn handshake_join_data_and_both_closes() {
    let config = Config { scheduler: SchedulerKind::RoundRobin, ..Config::default() };
    let mut pair = Pair::new(1, config, two_paths()).keep_trace();
    transfer(&mut pair, [60_000, 80_000], 10);
    let Some(reading) = read("plain", &pair) else { return };
    assert_eq!(reading.subtypes(), [0, 1, 2]);
    assert_eq!((reading.connections(), reading.subflows()), (1, 2));
    // MP_CAPABLE four times, the last with data; MP_JOIN three times.
    assert_eq!((reading.count(0), reading.count(1)), (4, 3));
    // tshark derives tokens and initial data sequence numbers from the keys itself.
    let tokens: Vec<&str> = reading.all("mptcp.expected_token").collect();
    assert!(reading.all("tcp.options.mptcp.recvtok").all(|token| tokens.contains(&token)), "{tokens:?}");
    let mut idsns: Vec<u64> = reading.all("mptcp.expected_idsn").map(|n| n.parse().unwrap()).collect();
    idsns.sort_unstable();
    idsns.dedup();
    assert_eq!(idsns.len(), 2, "each end's");
    for end in [CLIENT, SERVER] {
        let mapped = pair.trace.iter().filter(|s| s.from == end);
        let first =
            mapped.filter_map(|s| Some(s.segment.dss?.mapping?.dsn.wrapping_sub(s.segment.payload.offset)));
        assert!(idsns.contains(&first.min().unwrap().wrapping_sub(1)));
    }
    assert_eq!(reading.all("tcp.options.mptcp.datafin.flag").filter(|&flag| flag == "1").count(), 2);
    assert_eq!(reading.checksums(), (0, 0));
}

/// tshark 4.0 fails an assertion of its own (`packet-tcp.c`: not reached) at any MPTCP subtype that RFC 8684 does
/// not name, the one for private use too, and then does not know the connection. So it reads the rest.
#[test]
fn mptcp_rec_leaves_all_else_as_it_is() {
    let config = Config { rec: Some(Rec::default()), ..Config::default() };
    let paths = vec![PathModel::lossy(5, 0.02), PathModel::lossy(40, 0.02)];
    let mut pair = Pair::new(1, config, paths).keep_trace();
    transfer(&mut pair, [0, 300_000], 60);
    let private = pair.trace.iter().filter(|seen| seen.segment.rec.is_some()).count();
    assert!(private > 20, "{private} options of MPTCP-rec");
    pair.trace.iter_mut().for_each(|seen| seen.segment.rec = None);
    let Some(reading) = read("rec", &pair) else { return };
    assert_eq!(reading.subtypes(), [0, 1, 2]);
    assert_eq!((reading.connections(), reading.subflows()), (1, 2));
}

#[test]
fn checksums_over_data_are_those_of_the_bytes_that_it_read() {
    let paths = vec![PathModel::lossy(5, 0.02), PathModel::clean(20)];
    for (client, server) in [(true, true), (false, true)] {
        let with = |checksum| Config { checksum, scheduler: SchedulerKind::RoundRobin, ..Config::default() };
        let mut pair = Pair::with(1, with(client), with(server), paths.clone()).keep_trace();
        transfer(&mut pair, [60_001, 80_003], 20);
        let Some(reading) = read("checksum", &pair) else { return };
        let (right, wrong) = reading.checksums();
        assert!(right > 100 && wrong == 0, "{right} right, {wrong} wrong");
    }
}

#[test]
fn changed_bytes_are_seen_as_such_and_lead_to_a_mapping_without_end() {
    for sender in [CLIENT, SERVER] {
        let mut pair = Pair::new(1, checked(), vec![PathModel::clean(5)]).keep_trace();
        pair.meddler = Some(Box::new(move |from, _, segment| {
            if from == sender && segment.payload.offset >= 20_000 {
                segment.payload = segment.payload.corrupted();
            }
            true
        }));
        let mut to_write = [0; 2];
        to_write[sender] = 60_000;
        transfer(&mut pair, to_write, 20);
        assert!(pair.ends.iter().all(Pair::is_tcp));
        let Some(reading) = read("fallback", &pair) else { return };
        let (right, wrong) = reading.checksums();
        assert!(right > 10 && wrong > 0, "{right} right, {wrong} wrong");
        assert!(reading.count(MP_FAIL) >= 2, "both ends say it");
        assert!(reading.all("tcp.options.mptcp.datalvllen").any(|len| len == "0"), "no infinite mapping");
    }
}

#[test]
fn a_bad_checksum_beside_another_subflow_is_a_reset_with_two_options() {
    let mut pair = up(Config { scheduler: SchedulerKind::RoundRobin, ..checked() });
    pair.meddler = Some(Box::new(|from, path, segment| {
        if from == SERVER && path == PathId(1) {
            segment.payload = segment.payload.corrupted();
        }
        true
    }));
    transfer(&mut pair, [0, 100_000], 20);
    assert_eq!(pair.read_corrupted[CLIENT], 0);
    let Some(reading) = read("fail", &pair) else { return };
    assert!(reading.count(MP_FAIL) > 0 && reading.checksums().1 > 0);
}

#[test]
fn congestion_marks_and_their_echoes() {
    let config = Config { ecn: EcnMode::Request, scheduler: SchedulerKind::RoundRobin, ..Config::default() };
    let mut pair = Pair::new(1, config, two_paths()).keep_trace();
    let mut count = 0;
    pair.meddler = Some(Box::new(move |from, _, segment| {
        count += i32::from(from == SERVER && !segment.payload.is_empty());
        if count % 20 == 19 && segment.ecn.can_be_marked() {
            segment.ecn = Ecn::Ce;
        }
        true
    }));
    transfer(&mut pair, [1000, 200_000], 10);
    let Some(reading) = read("ecn", &pair) else { return };
    let has = |flag: Flags| move |seen: &crate::pair::Seen| seen.segment.flags.has(flag);
    for flag in [Flags::ECE, Flags::CWR] {
        let data = pair.trace.iter().filter(|s| !s.segment.flags.has(Flags::SYN));
        assert!(data.clone().any(has(flag)), "{flag:?}");
    }
    assert!(reading.ecn("3") > 2 && reading.ecn("2") > 100, "marked, and able to be marked");
}

#[test]
fn addresses_of_both_families_are_told_with_and_without_a_port_echoed_and_taken_back() {
    let mut pair = up(Config::default());
    let (four, six) = (IpAddr::from([192, 0, 2, 7]), "2001:db8::7".parse().unwrap());
    let told = [(3, four, None), (4, four, Some(8443)), (5, six, None), (6, six, Some(8443))];
    for end in [SERVER, CLIENT] {
        for (id, address, port) in told {
            pair.ends[end].announce(id, address, port);
            pair.settle();
        }
        pair.run_until(pair.now + Duration::from_secs(1));
        for (id, address, port) in told {
            assert!(pair.saw(1 - end, &Event::AddressAdded(id, address, port)), "{:?}", pair.events);
        }
        pair.ends[end].withdraw(&[3, 4, 5]);
        pair.ends[end].withdraw(&[6]);
        pair.run_until(pair.now + Duration::from_secs(1));
        assert!(pair.saw(1 - end, &Event::AddressRemoved(6)));
    }
    let Some(reading) = read("addresses", &pair) else { return };
    assert_eq!(reading.count(ADD_ADDR), 2 * 2 * told.len(), "told and echoed");
    let hmacs = reading.all("tcp.options.mptcp.addaddrtrunchmac").count();
    assert_eq!(hmacs, 2 * told.len(), "an echo has none");
    assert!(reading.count(REMOVE_ADDR) >= 2);
}

#[test]
fn priorities_in_both_directions() {
    let mut pair = up(Config::default());
    for end in [CLIENT, SERVER] {
        for backup in [true, false] {
            pair.ends[end].set_priority(PathId(1), backup);
            pair.settle();
            pair.run_until(pair.now + Duration::from_secs(1));
            assert!(pair.saw(1 - end, &Event::Priority(PathId(1), backup)));
        }
    }
    let Some(reading) = read("priority", &pair) else { return };
    assert!(reading.count(MP_PRIO) >= 4);
}

#[test]
fn a_join_as_a_backup_says_so() {
    let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
    pair.auto_join = false;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    assert!(pair.ends[CLIENT].open(pair.now, PathId(1), true));
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    let Some(reading) = read("backup", &pair) else { return };
    assert!(reading.all("tcp.options.mptcp.backup.flag").any(|flag| flag == "1"));
}

#[test]
fn an_abort_is_a_fast_close_over_every_subflow() {
    for ender in [CLIENT, SERVER] {
        let mut pair = up(Config::default());
        pair.to_write[SERVER] = 200_000;
        pair.settle();
        pair.run_until(Instant::from_millis(1010));
        pair.ends[ender].abort();
        pair.settle();
        pair.run_until(Instant::from_secs(5));
        assert!(pair.saw(1 - ender, &Event::Failed(Failure::FastClose)), "{:?}", pair.events);
        let Some(reading) = read("abort", &pair) else { return };
        assert!(reading.count(MP_FASTCLOSE) >= 2);
    }
}

#[test]
fn joins_that_fail_are_reset_with_the_reason() {
    // An unknown token, a wrong HMAC of the client and of the server, no room.
    for wrong in 0..4 {
        let server = Config { max_subflows: if wrong == 3 { 1 } else { u8::MAX }, ..Config::default() };
        let mut pair = Pair::with(1, Config::default(), server, two_paths()).keep_trace();
        pair.meddler = Some(Box::new(move |_, _, segment| {
            match &mut segment.signal {
                Some(MptcpSignal::JoinSyn { token, .. }) if wrong == 0 => *token ^= 1,
                Some(MptcpSignal::JoinAck { hmac }) if wrong == 1 => hmac[7] ^= 1,
                Some(MptcpSignal::JoinSynAck { hmac, .. }) if wrong == 2 => *hmac ^= 1,
                _ => {}
            }
            true
        }));
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        transfer(&mut pair, [1000, 20_000], 10);
        let Some(reading) = read("refused", &pair) else { return };
        assert!(reading.count(MP_TCPRST) > 0, "{wrong}");
        let reason = if wrong == 3 { "2" } else { "1" };
        assert!(reading.all("tcp.options.mptcp.rst_reason").all(|code| code == reason), "{wrong}");
    }
}

#[test]
fn subflows_that_strip_options_or_give_no_answer_are_reset_with_the_reason() {
    for (silent, reason) in [(false, "6"), (true, "5")] {
        let scheduler = SchedulerKind::RoundRobin;
        let mut pair = up(Config { max_retries: 2, scheduler, ..Config::default() });
        pair.meddler = Some(Box::new(move |from, path, segment| {
            if path == PathId(1) && from == SERVER {
                segment.dss = None;
                segment.signal = segment.signal.filter(|_| silent);
            }
            path == PathId(0) || !silent
        }));
        transfer(&mut pair, [0, 100_000], 60);
        let Some(reading) = read("reset", &pair) else { return };
        assert!(reading.all("tcp.options.mptcp.rst_reason").any(|code| code == reason), "{reason}");
    }
}

#[test]
fn a_connection_whose_options_are_stripped_is_tcp_from_there_on() {
    // From the first SYN on, from the first SYN/ACK, from the end of the handshake.
    for from in [0, 1, 3] {
        let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]).keep_trace();
        let mut count = 0;
        pair.meddler = Some(Box::new(move |_, _, segment| {
            count += 1;
            if count > from {
                segment.signal = None;
                segment.dss = None;
            }
            true
        }));
        transfer(&mut pair, [3000, 20_000], 10);
        assert!(pair.ends.iter().all(|end| end.mode() == Mode::Tcp));
        let Some(reading) = read("stripped", &pair) else { return };
        assert_eq!(reading.count(0), from, "MP_CAPABLE");
    }
}

#[test]
fn tcp_with_sack_and_duplicate_sack() {
    let path = PathModel {
        duplicate: Probability::new(0.05).unwrap(),
        jitter: Duration::from_millis(3),
        ..PathModel::lossy(10, 0.03)
    };
    for mptcp in [false, true] {
        let config = Config { mptcp, ..Config::linux() };
        let mut pair = Pair::new(1, config, vec![path.clone()]).keep_trace();
        transfer(&mut pair, [0, 300_000], 60);
        let Some(reading) = read("sack", &pair) else { return };
        assert_eq!(reading.subtypes().is_empty(), !mptcp);
        let below = |s: &crate::pair::Seen| {
            s.segment.sack.as_slice().iter().any(|&(_, right)| right.wrapping_sub(s.segment.ack) as i32 <= 0)
        };
        assert!(pair.trace.iter().any(below), "a block of what was acknowledged (RFC 2883)");
        assert!(reading.all("tcp.options.sack_le").count() > 20);
    }
}

#[test]
fn a_number_that_is_read_otherwise_is_found() {
    let mut pair = up(checked());
    transfer(&mut pair, [3000, 3000], 5);
    let Some(frames) = decode("found", &pair.trace) else { return };
    assert_eq!(compare(&frames, &pair.trace), Ok(()));
    let at = pair.trace.iter().position(|s| s.segment.dss.is_some_and(|dss| dss.mapping.is_some())).unwrap();
    let segment = pair.trace[at].segment.clone();
    let mut other = |change: fn(&mut Segment<Span>)| {
        pair.trace[at].segment = segment.clone();
        change(&mut pair.trace[at].segment);
        compare(&frames, &pair.trace).is_err()
    };
    assert!(!other(|_| {}));
    assert!(other(|s| s.dss.as_mut().unwrap().mapping.as_mut().unwrap().dsn += 1));
    assert!(other(|s| s.dss.as_mut().unwrap().data_ack = None));
    assert!(other(|s| s.dss.as_mut().unwrap().data_fin ^= true));
    assert!(other(|s| s.signal = Some(MptcpSignal::Priority { backup: false, address_id: None })));
    assert!(other(|s| s.ecn = Ecn::Ce));
}
