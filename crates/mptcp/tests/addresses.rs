//! Announced and removed addresses, limits, and refused joins (RFC 8684, sections 3.1, 3.2, 3.4).

use crate::pair::{CLIENT, Pair, PathModel, SERVER, Seen};
use core::net::IpAddr;
use tandem_mptcp::{Config, Endpoint, Event, Failure, Mode, PathId, ResetReason, SubflowEnds};
use units::{Duration, Instant, Seed};
use wire::{Flags, MptcpSignal, Span};

fn two_paths() -> Vec<PathModel> {
    vec![PathModel::clean(5), PathModel::clean(20)]
}
fn up(client: Config, server: Config) -> Pair {
    let mut pair = Pair::with(1, client, server, two_paths()).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair
}
fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}
/// Times of all ADD_ADDRs, and whether each is an echo.
fn announcements(pair: &Pair) -> Vec<(Instant, bool)> {
    let of = |s: &Seen| match s.segment.signal {
        Some(MptcpSignal::AddAddress { hmac, .. }) => Some((s.at, hmac.is_none())),
        _ => None,
    };
    pair.trace.iter().filter_map(of).collect()
}
fn added(pair: &Pair) -> usize {
    pair.events[CLIENT].iter().filter(|(_, event)| matches!(event, Event::AddressAdded(..))).count()
}

#[test]
fn announcement_is_repeated_until_echoed_at_most_four_times() {
    // Announcements or echoes lost, and announcements expected.
    for (lost, echoes, expected) in
        [(0, false, 1), (2, false, 3), (2, true, 3), (99, false, 4), (99, true, 4)]
    {
        let mut pair = up(Config::default(), Config::default());
        let mut count = 0;
        pair.tamper = Some(Box::new(move |_, _, segment| {
            let counts = matches!(segment.signal, Some(MptcpSignal::AddAddress { hmac, .. }) if hmac.is_none() == echoes);
            count += i32::from(counts);
            !counts || count > lost
        }));
        pair.ends[SERVER].announce(7, address(7), Some(8443));
        pair.settle();
        pair.run_until(Instant::from_secs(60));
        let sent = announcements(&pair).iter().filter(|(_, echo)| !echo).count();
        assert_eq!(sent, expected, "{lost} lost, echoes: {echoes}");
        assert_eq!(added(&pair), usize::from(lost < 99 || echoes), "one event");
        assert!(pair.ends.iter().all(|end| end.poll_timeout().is_none()));
    }
}

#[test]
fn address_announced_before_the_connection_is_sent_after_it() {
    for end in [CLIENT, SERVER] {
        let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
        pair.auto_join = false;
        pair.ends[end].announce(7, address(7), None);
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        let sent = announcements(&pair).iter().filter(|(_, echo)| !echo).count();
        assert_eq!(sent, 1);
        assert!(pair.saw(1 - end, &Event::AddressAdded(7, address(7), None)));
    }
}

#[test]
fn server_joins_an_announced_address_of_the_client() {
    let mut server = Endpoint::<Span>::server(Config::default(), Seed::new(1));
    assert!(!server.open(Instant::ZERO, PathId(0), false), "a connection begins at the client");
    let mut pair = Pair::with(1, Config::default(), Config::default(), two_paths());
    pair.auto_join = false;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.ends[CLIENT].announce(7, address(7), None);
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    assert!(pair.events[SERVER].iter().any(|(_, event)| matches!(event, Event::AddressAdded(7, ..))));
    assert!(pair.ends[SERVER].open(pair.now, PathId(1), true));
    pair.run_until(Instant::from_secs(3));
    let joined = pair.ends.each_ref().map(|end| end.subflow(PathId(1)).expect("a second subflow"));
    assert!(joined.iter().all(|subflow| subflow.up && subflow.backup));
    pair.ends[CLIENT].remove(PathId(0), false);
    pair.to_write = [200_000, 200_000];
    pair.run_until(Instant::from_secs(20));
    assert_eq!(pair.read, [200_000, 200_000], "the joined subflow carries all");
}

#[test]
fn client_accepts_a_join_that_the_server_repeats_from_another_port() {
    let mut pair = Pair::with(1, Config::default(), Config::default(), two_paths());
    pair.auto_join = false;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    for seconds in [2, 4] {
        assert!(pair.ends[SERVER].open(pair.now, PathId(1), false));
        pair.settle();
        pair.run_until(Instant::from_secs(seconds));
        let up = pair.ends.each_ref().map(|end| end.subflow(PathId(1)).is_some_and(|subflow| subflow.up));
        assert_eq!(up, [true; 2], "{seconds} {:?}", pair.events);
        // The client does not learn that the subflow has ended.
        pair.tamper = Some(Box::new(|_, _, segment| segment.flags.has(Flags::SYN)));
        pair.ends[SERVER].remove(PathId(1), false);
        pair.settle();
        pair.run_until(pair.now + Duration::from_millis(500));
        pair.tamper = None;
    }
}

#[test]
fn announcement_with_wrong_hmac_or_used_identifier_is_ignored() {
    let mut pair = up(Config::default(), Config::default());
    pair.tamper = Some(Box::new(|_, _, segment| {
        if let Some(MptcpSignal::AddAddress { address_id: 7, hmac: Some(hmac), .. }) = &mut segment.signal {
            *hmac ^= 1;
        }
        true
    }));
    pair.ends[SERVER].announce(7, address(7), None);
    pair.settle();
    pair.run_until(Instant::from_secs(30));
    assert!(announcements(&pair).iter().all(|(_, echo)| !echo) && added(&pair) == 0);
    pair.ends[SERVER].announce(8, address(8), None);
    pair.settle();
    pair.run_until(Instant::from_secs(40));
    assert_eq!(added(&pair), 1);
    pair.ends[SERVER].announce(8, address(9), None);
    pair.settle();
    pair.run_until(Instant::from_secs(80));
    assert_eq!(added(&pair), 1, "the identifier belongs to another address until that is removed");
    pair.ends[SERVER].withdraw(&[8]);
    pair.ends[SERVER].announce(8, address(9), None);
    pair.settle();
    pair.run_until(Instant::from_secs(90));
    assert_eq!(added(&pair), 2);
    pair.ends[SERVER].announce(8, address(9), Some(4443));
    pair.settle();
    pair.run_until(Instant::from_secs(95));
    assert_eq!(added(&pair), 3, "another port counts as another address");
}

#[test]
fn remove_addr_takes_several_identifiers_and_ignores_unknown_ones() {
    let mut pair = up(Config::default(), Config::default());
    for id in 10..20 {
        pair.ends[SERVER].announce(id, address(id), None);
    }
    pair.settle();
    pair.run_until(Instant::from_secs(3));
    assert_eq!(added(&pair), 10);
    let ids: Vec<u8> = (10..20).chain([77]).collect();
    pair.ends[SERVER].withdraw(&ids);
    pair.settle();
    pair.run_until(Instant::from_secs(5));
    let counts: Vec<u8> = pair
        .trace
        .iter()
        .filter_map(|s| match s.segment.signal {
            Some(MptcpSignal::RemoveAddress { count, .. }) => Some(count),
            _ => None,
        })
        .collect();
    assert_eq!(counts, [8, 3]);
    for id in 10..20 {
        assert!(pair.saw(CLIENT, &Event::AddressRemoved(id)));
    }
    assert!(!pair.saw(CLIENT, &Event::AddressRemoved(77)));
    assert!(pair.ends[CLIENT].subflow(PathId(1)).unwrap().up);
}

#[test]
fn addresses_beyond_the_limit_are_echoed_and_dropped() {
    let mut pair = up(Config { max_addresses: 2, ..Config::default() }, Config::default());
    for id in 10..15 {
        pair.ends[SERVER].announce(id, address(id), None);
    }
    pair.settle();
    pair.run_until(Instant::from_secs(30));
    assert_eq!(added(&pair), 2);
    assert_eq!(announcements(&pair).iter().filter(|(_, echo)| !echo).count(), 5, "each was echoed");
}

#[test]
fn subflows_beyond_the_limit_are_neither_opened_nor_accepted() {
    let one = || Config { max_subflows: 1, ..Config::default() };
    let pair = up(one(), Config::default());
    assert!(!pair.trace.iter().any(|s| s.path == PathId(1)), "the client does not attempt a join");
    let mut pair = up(Config::default(), one());
    let full = Failure::Reset(Some(ResetReason { code: 2, transient: true }));
    assert!(pair.saw(CLIENT, &Event::SubflowDown(PathId(1), Some(full))), "{:?}", pair.events);
    // A closed subflow makes room.
    pair.ends[CLIENT].remove(PathId(0), true);
    assert!(pair.ends[CLIENT].open(pair.now, PathId(1), false));
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    assert!(pair.ends[SERVER].subflow(PathId(1)).unwrap().up);
}

#[test]
fn deny_join_prevents_joins_to_the_first_address() {
    let server = Config { deny_join: true, ..Config::default() };
    let mut pair = up(Config::default(), server);
    assert!(!pair.trace.iter().any(|s| s.path == PathId(1)));
    let flag = |s: &Seen| {
        s.from == SERVER && matches!(s.segment.signal, Some(MptcpSignal::Capable { deny_join: true, .. }))
    };
    assert!(pair.trace.iter().any(flag));
    assert_eq!(pair.ends[CLIENT].mode(), Mode::Mptcp);
    // An announced address may be joined.
    pair.ends[SERVER].announce(3, address(3), None);
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    assert!(
        pair.ends[CLIENT].open(pair.now, PathId(1), false) || pair.ends[CLIENT].subflow(PathId(1)).is_some()
    );
    pair.settle();
    pair.run_until(Instant::from_secs(3));
    assert!(pair.ends[SERVER].subflow(PathId(1)).unwrap().up, "{:?}", pair.events);
}

#[test]
fn unauthenticated_join_is_not_retried_until_the_address_is_announced_again() {
    let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
    pair.auto_join = false;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.tamper = Some(Box::new(|from, path, segment| {
        if from == SERVER && path == PathId(1) && segment.flags.has(Flags::SYN) {
            segment.signal = None;
        }
        true
    }));
    pair.ends[SERVER].announce(3, address(3), None);
    assert!(pair.ends[CLIENT].open(pair.now, PathId(1), false));
    pair.settle();
    pair.run_until(Instant::from_secs(3));
    let down = Event::SubflowDown(PathId(1), Some(Failure::Authentication));
    assert!(pair.saw(CLIENT, &down), "{:?}", pair.events);
    assert!(!pair.ends[CLIENT].open(pair.now, PathId(1), false));
    pair.ends[SERVER].announce(3, address(3), None);
    pair.settle();
    pair.run_until(Instant::from_secs(5));
    assert!(pair.ends[CLIENT].open(pair.now, PathId(1), false));
}

#[test]
fn join_with_unknown_token_or_wrong_hmac_is_reset() {
    for what in ["token", "HMAC", "no MP_JOIN in the third ACK"] {
        let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
        pair.tamper = Some(Box::new(move |_, _, segment| {
            match &mut segment.signal {
                Some(MptcpSignal::JoinSyn { token, .. }) if what == "token" => *token ^= 1,
                Some(MptcpSignal::JoinAck { hmac }) if what == "HMAC" => hmac[7] ^= 1,
                Some(MptcpSignal::JoinAck { .. }) if what != "token" => segment.signal = None,
                _ => {}
            }
            true
        }));
        pair.connect();
        pair.run_until(Instant::from_secs(2));
        let reset = Some(MptcpSignal::Reset { transient: false, reason: 1 });
        assert!(pair.trace.iter().any(|s| s.from == SERVER && s.segment.signal == reset), "{what}");
        assert!(!pair.ends[SERVER].subflow(PathId(1)).unwrap().up);
        assert!(!pair.ends[CLIENT].subflow(PathId(1)).unwrap().up);
    }
}

#[test]
fn remove_addr_waits_for_an_established_subflow() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    pair.connect();
    // The first subflow ends during the handshake of the second.
    pair.run_until(Instant::from_millis(30));
    pair.ends[CLIENT].remove(PathId(0), false);
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    assert!(pair.saw(SERVER, &Event::SubflowDown(PathId(0), Some(Failure::Removed))), "{:?}", pair.events);
    assert!(pair.ends[SERVER].subflow(PathId(1)).unwrap().up);
}

#[test]
fn held_remove_addr_does_not_end_the_subflow_that_uses_the_address_again() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    // The only interface loses its network and gets it back: the same address, the same identifier.
    pair.ends[CLIENT].remove(PathId(0), false);
    let ends = SubflowEnds { local_port: 50_000, remote_port: 443, address_id: 0 };
    assert!(pair.ends[CLIENT].open_between(pair.now, PathId(0), ends, false));
    pair.settle();
    pair.run_until(Instant::from_secs(30));
    for end in [CLIENT, SERVER] {
        assert!(pair.ends[end].subflow(PathId(0)).unwrap().up, "{:?}", pair.events);
    }
    let removal = |s: &Seen| matches!(s.segment.signal, Some(MptcpSignal::RemoveAddress { .. }));
    assert!(!pair.trace.iter().any(removal));
}

#[test]
fn identifier_of_a_withdrawn_address_may_be_used_again() {
    let mut pair = up(Config::default(), Config::default());
    for last in [7, 8] {
        pair.ends[SERVER].announce(3, address(last), None);
        pair.settle();
        pair.run_until(pair.now + Duration::from_secs(1));
        assert!(pair.saw(CLIENT, &Event::AddressAdded(3, address(last), None)), "{:?}", pair.events);
        pair.ends[SERVER].withdraw(&[3]);
        pair.settle();
        pair.run_until(pair.now + Duration::from_secs(1));
        assert!(pair.saw(CLIENT, &Event::AddressRemoved(3)));
    }
}

#[test]
fn either_end_can_set_and_clear_backup_priority() {
    for end in [CLIENT, SERVER] {
        let mut pair = up(Config::default(), Config::default());
        for backup in [true, false] {
            pair.ends[end].set_priority(PathId(1), backup);
            pair.settle();
            pair.run_until(Instant::from_secs(if backup { 2 } else { 3 }));
            assert!(pair.saw(1 - end, &Event::Priority(PathId(1), backup)));
            assert!(pair.ends.iter().all(|e| e.subflow(PathId(1)).unwrap().backup == backup));
        }
    }
}

#[test]
fn client_falls_back_to_a_plain_syn_when_mptcp_syns_are_dropped() {
    for (mptcp_syns, mode) in [(3, Some(Mode::Tcp)), (u32::MAX, None)] {
        let config = Config { mptcp_syns, ..Config::default() };
        let mut pair = Pair::new(1, config, two_paths()).keep_trace();
        pair.tamper =
            Some(Box::new(|_, _, segment| !segment.flags.has(Flags::SYN) || segment.signal.is_none()));
        pair.to_write[CLIENT] = 10_000;
        pair.connect();
        pair.run_until(Instant::from_secs(200));
        assert_eq!(pair.read[SERVER] == 10_000, mode.is_some());
        if let Some(mode) = mode {
            assert!(pair.saw(CLIENT, &Event::Connected(mode)));
            assert_eq!(pair.trace.iter().filter(|s| s.segment.signal.is_some()).count(), 3);
        }
    }
}

#[test]
fn answer_to_a_join_names_the_address_that_was_used() {
    let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
    pair.ends[SERVER].set_address_id(PathId(1), 7);
    pair.connect();
    pair.run_until(Instant::from_secs(2));
    let answers: Vec<u8> = pair
        .trace
        .iter()
        .filter_map(|seen| match seen.segment.signal {
            Some(MptcpSignal::JoinSynAck { address_id, .. }) => Some(address_id),
            _ => None,
        })
        .collect();
    assert_eq!(answers, [7]);
}
