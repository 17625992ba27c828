//! Every protocol feature, decoded by `tshark`: it reports no error, and reads in every option the
//! values of the segment.
#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]
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

fn with_checksums() -> Config {
    Config { checksum: true, ..Config::default() }
}
fn two_paths() -> Vec<PathModel> {
    vec![PathModel::clean(5), PathModel::clean(20)]
}
/// An idle connection with two subflows.
fn established(config: Config) -> Pair {
    let mut pair = Pair::new(1, config, two_paths()).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair
}
/// Transfers `to_write` bytes from each end, closes both ends, and runs until `seconds`.
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
#[ignore = "needs tshark"]
fn needs_tshark_handshake_join_data_and_closing_decode() {
    let config = Config { scheduler: SchedulerKind::RoundRobin.into(), ..Config::default() };
    let mut pair = Pair::new(1, config, two_paths()).keep_trace();
    transfer(&mut pair, [60_000, 80_000], 10);
    let reading = read("plain", &pair);
    assert_eq!(reading.subtypes(), [0, 1, 2]);
    assert_eq!((reading.connections(), reading.subflows()), (1, 2));
    // Four MP_CAPABLEs, the last with data, and three MP_JOINs.
    assert_eq!((reading.count(0), reading.count(1)), (4, 3));
    // tshark derives tokens and initial data sequence numbers from the keys itself.
    let tokens: Vec<&str> = reading.all("mptcp.expected_token").collect();
    assert!(reading.all("tcp.options.mptcp.recvtok").all(|token| tokens.contains(&token)), "{tokens:?}");
    let mut idsns: Vec<u64> = reading.all("mptcp.expected_idsn").map(|n| n.parse().unwrap()).collect();
    idsns.sort_unstable();
    idsns.dedup();
    assert_eq!(idsns.len(), 2, "one for each end");
    for end in [CLIENT, SERVER] {
        let mapped = pair.trace.iter().filter(|s| s.from == end);
        let first =
            mapped.filter_map(|s| Some(s.segment.dss?.mapping?.dsn.wrapping_sub(s.segment.payload.offset)));
        assert!(idsns.contains(&first.min().unwrap().wrapping_sub(1)));
    }
    assert_eq!(reading.all("tcp.options.mptcp.datafin.flag").filter(|&flag| flag == "1").count(), 2);
    assert_eq!(reading.checksums(), (0, 0));
}

/// tshark 4.0 fails an assertion at any MPTCP subtype that RFC 8684 does not define, private use
/// included. So the options of MPTCP-rec are removed before decoding.
#[test]
#[ignore = "needs tshark"]
fn needs_tshark_other_options_decode_the_same_with_mptcp_rec() {
    let config = Config { rec: Some(Rec::default()), ..Config::default() };
    let paths = vec![PathModel::lossy(5, 0.02), PathModel::lossy(40, 0.02)];
    let mut pair = Pair::new(1, config, paths).keep_trace();
    transfer(&mut pair, [0, 1_000_000], 60);
    let private = pair.trace.iter().filter(|seen| seen.segment.rec.is_some()).count();
    assert!(private > 20, "{private} options of MPTCP-rec");
    pair.trace.iter_mut().for_each(|seen| seen.segment.rec = None);
    let reading = read("rec", &pair);
    assert_eq!(reading.subtypes(), [0, 1, 2]);
    assert_eq!((reading.connections(), reading.subflows()), (1, 2));
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_data_checksums_match_the_decoded_bytes() {
    let paths = vec![PathModel::lossy(5, 0.02), PathModel::clean(20)];
    for (client, server) in [(true, true), (false, true)] {
        let with =
            |checksum| Config { checksum, scheduler: SchedulerKind::RoundRobin.into(), ..Config::default() };
        let mut pair = Pair::with(1, with(client), with(server), paths.clone()).keep_trace();
        transfer(&mut pair, [60_001, 80_003], 20);
        let reading = read("checksum", &pair);
        let (right, wrong) = reading.checksums();
        assert!(right > 100 && wrong == 0, "{right} right, {wrong} wrong");
    }
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_corrupted_bytes_lead_to_an_infinite_mapping() {
    for sender in [CLIENT, SERVER] {
        let mut pair = Pair::new(1, with_checksums(), vec![PathModel::clean(5)]).keep_trace();
        pair.tamper = Some(Box::new(move |from, _, segment| {
            if from == sender && segment.payload.offset >= 20_000 {
                segment.payload = segment.payload.corrupted();
            }
            true
        }));
        let mut to_write = [0; 2];
        to_write[sender] = 60_000;
        transfer(&mut pair, to_write, 20);
        assert!(pair.ends.iter().all(Pair::is_tcp));
        let reading = read("fallback", &pair);
        let (right, wrong) = reading.checksums();
        assert!(right > 10 && wrong > 0, "{right} right, {wrong} wrong");
        assert!(reading.count(MP_FAIL) >= 2, "both ends send MP_FAIL");
        assert!(reading.all("tcp.options.mptcp.datalvllen").any(|len| len == "0"), "no infinite mapping");
    }
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_checksum_failure_beside_another_subflow_decodes_as_mp_fail() {
    let mut pair = established(Config { scheduler: SchedulerKind::RoundRobin.into(), ..with_checksums() });
    pair.tamper = Some(Box::new(|from, path, segment| {
        if from == SERVER && path == PathId(1) {
            segment.payload = segment.payload.corrupted();
        }
        true
    }));
    transfer(&mut pair, [0, 100_000], 20);
    assert_eq!(pair.read_corrupted[CLIENT], 0);
    let reading = read("fail", &pair);
    assert!(reading.count(MP_FAIL) > 0 && reading.checksums().1 > 0);
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_ecn_marks_and_echoes_decode() {
    let config =
        Config { ecn: EcnMode::Request, scheduler: SchedulerKind::RoundRobin.into(), ..Config::default() };
    let mut pair = Pair::new(1, config, two_paths()).keep_trace();
    let mut count = 0;
    pair.tamper = Some(Box::new(move |from, _, segment| {
        count += i32::from(from == SERVER && !segment.payload.is_empty());
        if count % 20 == 19 && segment.ecn.can_be_marked() {
            segment.ecn = Ecn::Ce;
        }
        true
    }));
    transfer(&mut pair, [1000, 200_000], 10);
    let reading = read("ecn", &pair);
    let has = |flag: Flags| move |seen: &crate::pair::Seen| seen.segment.flags.has(flag);
    for flag in [Flags::ECE, Flags::CWR] {
        let data = pair.trace.iter().filter(|s| !s.segment.flags.has(Flags::SYN));
        assert!(data.clone().any(has(flag)), "{flag:?}");
    }
    assert!(reading.ecn("3") > 2 && reading.ecn("2") > 100, "CE and ECT(0) packets");
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_add_addr_and_remove_addr_decode_for_both_ip_versions() {
    let mut pair = established(Config::default());
    let (four, six) = (IpAddr::from([192, 0, 2, 7]), "2001:db8::7".parse().unwrap());
    let announced = [(3, four, None), (4, four, Some(8443)), (5, six, None), (6, six, Some(8443))];
    for end in [SERVER, CLIENT] {
        for (id, address, port) in announced {
            pair.ends[end].announce(id, address, port);
            pair.settle();
        }
        pair.run_until(pair.now + Duration::from_secs(1));
        for (id, address, port) in announced {
            assert!(pair.saw(1 - end, &Event::AddressAdded(id, address, port)), "{:?}", pair.events);
        }
        pair.ends[end].withdraw(&[3, 4, 5]);
        pair.ends[end].withdraw(&[6]);
        pair.run_until(pair.now + Duration::from_secs(1));
        assert!(pair.saw(1 - end, &Event::AddressRemoved(6)));
    }
    let reading = read("addresses", &pair);
    assert_eq!(reading.count(ADD_ADDR), 2 * 2 * announced.len(), "announcements and echoes");
    let hmacs = reading.all("tcp.options.mptcp.addaddrtrunchmac").count();
    assert_eq!(hmacs, 2 * announced.len(), "an echo has no HMAC");
    assert!(reading.count(REMOVE_ADDR) >= 2);
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_mp_prio_decodes_in_both_directions() {
    let mut pair = established(Config::default());
    for end in [CLIENT, SERVER] {
        for backup in [true, false] {
            pair.ends[end].set_priority(PathId(1), backup);
            pair.settle();
            pair.run_until(pair.now + Duration::from_secs(1));
            assert!(pair.saw(1 - end, &Event::Priority(PathId(1), backup)));
        }
    }
    let reading = read("priority", &pair);
    assert!(reading.count(MP_PRIO) >= 4);
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_join_as_backup_decodes() {
    let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
    pair.auto_join = false;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    assert!(pair.ends[CLIENT].open(pair.now, PathId(1), true));
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    let reading = read("backup", &pair);
    assert!(reading.all("tcp.options.mptcp.backup.flag").any(|flag| flag == "1"));
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_abort_decodes_as_fast_close_on_every_subflow() {
    for ender in [CLIENT, SERVER] {
        let mut pair = established(Config::default());
        pair.to_write[SERVER] = 200_000;
        pair.settle();
        pair.run_until(Instant::from_millis(1010));
        pair.ends[ender].abort();
        pair.settle();
        pair.run_until(Instant::from_secs(5));
        assert!(pair.saw(1 - ender, &Event::Failed(Failure::FastClose)), "{:?}", pair.events);
        let reading = read("abort", &pair);
        assert!(reading.count(MP_FASTCLOSE) >= 2);
    }
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_reset_reasons_of_refused_joins_decode() {
    // An unknown token, a wrong HMAC of the client, of the server, and too many subflows.
    for wrong in 0..4 {
        let server = Config { max_subflows: if wrong == 3 { 1 } else { u8::MAX }, ..Config::default() };
        let mut pair = Pair::with(1, Config::default(), server, two_paths()).keep_trace();
        pair.tamper = Some(Box::new(move |_, _, segment| {
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
        let reading = read("refused", &pair);
        assert!(reading.count(MP_TCPRST) > 0, "{wrong}");
        let reason = if wrong == 3 { "2" } else { "1" };
        assert!(reading.all("tcp.options.mptcp.rst_reason").all(|code| code == reason), "{wrong}");
    }
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_reset_reasons_of_failed_subflows_decode() {
    for (silent, reason) in [(false, "6"), (true, "5")] {
        let scheduler = SchedulerKind::RoundRobin;
        let mut pair =
            established(Config { max_retries: 2, scheduler: scheduler.into(), ..Config::default() });
        pair.tamper = Some(Box::new(move |from, path, segment| {
            if path == PathId(1) && from == SERVER {
                segment.dss = None;
                segment.signal = segment.signal.filter(|_| silent);
            }
            path == PathId(0) || !silent
        }));
        transfer(&mut pair, [0, 100_000], 60);
        let reading = read("reset", &pair);
        assert!(reading.all("tcp.options.mptcp.rst_reason").any(|code| code == reason), "{reason}");
    }
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_connection_with_stripped_options_decodes_as_tcp() {
    // Stripped from the first SYN on, from the first SYN/ACK on, and after the handshake.
    for from in [0, 1, 3] {
        let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]).keep_trace();
        let mut count = 0;
        pair.tamper = Some(Box::new(move |_, _, segment| {
            count += 1;
            if count > from {
                segment.signal = None;
                segment.dss = None;
            }
            true
        }));
        transfer(&mut pair, [3000, 20_000], 10);
        assert!(pair.ends.iter().all(|end| end.mode() == Mode::Tcp));
        let reading = read("stripped", &pair);
        assert_eq!(reading.count(0), from, "MP_CAPABLE");
    }
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_sack_and_dsack_decode() {
    let path = PathModel {
        duplicate: Probability::new(0.05).unwrap(),
        jitter: Duration::from_millis(3),
        ..PathModel::lossy(10, 0.03)
    };
    for mptcp in [false, true] {
        let config = Config { mptcp, ..Config::linux() };
        let mut pair = Pair::new(1, config, vec![path.clone()]).keep_trace();
        transfer(&mut pair, [0, 300_000], 60);
        let reading = read("sack", &pair);
        assert_eq!(reading.subtypes().is_empty(), !mptcp);
        let below = |s: &crate::pair::Seen| {
            s.segment.sack.as_slice().iter().any(|&(_, right)| right.wrapping_sub(s.segment.ack) as i32 <= 0)
        };
        assert!(pair.trace.iter().any(below), "a SACK block below the acknowledgement (RFC 2883)");
        assert!(reading.all("tcp.options.sack_le").count() > 20);
    }
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_comparison_detects_every_changed_field() {
    let mut pair = established(with_checksums());
    transfer(&mut pair, [3000, 3000], 5);
    let frames = decode("found", &pair.trace);
    assert_eq!(compare(&frames, &pair.trace), Ok(()));
    let at = pair.trace.iter().position(|s| s.segment.dss.is_some_and(|dss| dss.mapping.is_some())).unwrap();
    let segment = pair.trace[at].segment.clone();
    let mut differs = |change: fn(&mut Segment<Span>)| {
        pair.trace[at].segment = segment.clone();
        change(&mut pair.trace[at].segment);
        compare(&frames, &pair.trace).is_err()
    };
    assert!(!differs(|_| {}));
    assert!(differs(|s| s.dss.as_mut().unwrap().mapping.as_mut().unwrap().dsn += 1));
    assert!(differs(|s| s.dss.as_mut().unwrap().data_ack = None));
    assert!(differs(|s| s.dss.as_mut().unwrap().data_fin ^= true));
    assert!(differs(|s| s.signal = Some(MptcpSignal::Priority { backup: false, address_id: None })));
    assert!(differs(|s| s.ecn = Ecn::Ce));
}
