//! Addresses told and taken back, limits, and joins that are refused (RFC 8684, sections 3.1, 3.2, 3.4).

use crate::pair::{CLIENT, Pair, PathModel, SERVER, Seen};
use core::net::IpAddr;
use tandem_mptcp::{Config, Event, Failure, Mode, PathId, ResetReason};
use units::Instant;
use wire::{Flags, MptcpSignal};

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
fn told(pair: &Pair) -> Vec<(Instant, bool)> {
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
fn an_address_is_told_until_it_is_echoed_and_at_most_four_times() {
    // How many of the announcements, or of the echoes, are lost.
    for (lost, echoes, expected) in
        [(0, false, 1), (2, false, 3), (2, true, 3), (99, false, 4), (99, true, 4)]
    {
        let mut pair = up(Config::default(), Config::default());
        let mut count = 0;
        pair.meddler = Some(Box::new(move |_, _, segment| {
            let counts = matches!(segment.signal, Some(MptcpSignal::AddAddress { hmac, .. }) if hmac.is_none() == echoes);
            count += i32::from(counts);
            !counts || count > lost
        }));
        pair.ends[SERVER].announce(7, address(7), Some(8443));
        pair.settle();
        pair.run_until(Instant::from_secs(60));
        let announcements = told(&pair).iter().filter(|(_, echo)| !echo).count();
        assert_eq!(announcements, expected, "{lost} lost, echoes: {echoes}");
        assert_eq!(added(&pair), usize::from(lost < 99 || echoes), "told once");
        assert!(pair.ends.iter().all(|end| end.poll_timeout().is_none()));
    }
}

#[test]
fn an_address_with_a_wrong_hmac_or_a_used_identifier_is_ignored() {
    let mut pair = up(Config::default(), Config::default());
    pair.meddler = Some(Box::new(|_, _, segment| {
        if let Some(MptcpSignal::AddAddress { address_id: 7, hmac: Some(hmac), .. }) = &mut segment.signal {
            *hmac ^= 1;
        }
        true
    }));
    pair.ends[SERVER].announce(7, address(7), None);
    pair.settle();
    pair.run_until(Instant::from_secs(30));
    assert!(told(&pair).iter().all(|(_, echo)| !echo) && added(&pair) == 0);
    pair.ends[SERVER].announce(8, address(8), None);
    pair.settle();
    pair.run_until(Instant::from_secs(40));
    assert_eq!(added(&pair), 1);
    pair.ends[SERVER].announce(8, address(9), None);
    pair.settle();
    pair.run_until(Instant::from_secs(80));
    assert_eq!(added(&pair), 1, "the identifier stands for another address until that is removed");
    pair.ends[SERVER].withdraw(&[8]);
    pair.ends[SERVER].announce(8, address(9), None);
    pair.settle();
    pair.run_until(Instant::from_secs(90));
    assert_eq!(added(&pair), 2);
    pair.ends[SERVER].announce(8, address(9), Some(4443));
    pair.settle();
    pair.run_until(Instant::from_secs(95));
    assert_eq!(added(&pair), 3, "another port of the same address");
}

#[test]
fn one_removal_takes_several_addresses_and_unknown_ones_are_ignored() {
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
fn no_more_addresses_are_taken_than_the_limit_says() {
    let mut pair = up(Config { max_addresses: 2, ..Config::default() }, Config::default());
    for id in 10..15 {
        pair.ends[SERVER].announce(id, address(id), None);
    }
    pair.settle();
    pair.run_until(Instant::from_secs(30));
    assert_eq!(added(&pair), 2);
    assert_eq!(told(&pair).iter().filter(|(_, echo)| !echo).count(), 5, "each was echoed all the same");
}

#[test]
fn no_more_subflows_are_opened_or_taken_than_the_limit_says() {
    let one = || Config { max_subflows: 1, ..Config::default() };
    let pair = up(one(), Config::default());
    assert!(!pair.trace.iter().any(|s| s.path == PathId(1)), "the client does not try");
    let mut pair = up(Config::default(), one());
    let full = Failure::Reset(Some(ResetReason { code: 2, transient: true }));
    assert!(pair.saw(CLIENT, &Event::SubflowDown(PathId(1), Some(full))), "{:?}", pair.events);
    // There is room again.
    pair.ends[CLIENT].remove(PathId(0), true);
    assert!(pair.ends[CLIENT].open(pair.now, PathId(1), false));
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    assert!(pair.ends[SERVER].subflow(PathId(1)).unwrap().up);
}

#[test]
fn a_peer_that_takes_no_joins_at_its_first_address_gets_none() {
    let server = Config { deny_join: true, ..Config::default() };
    let mut pair = up(Config::default(), server);
    assert!(!pair.trace.iter().any(|s| s.path == PathId(1)));
    let flag = |s: &Seen| {
        s.from == SERVER && matches!(s.segment.signal, Some(MptcpSignal::Capable { deny_join: true, .. }))
    };
    assert!(pair.trace.iter().any(flag));
    assert_eq!(pair.ends[CLIENT].mode(), Mode::Mptcp);
    // Where it announces another, that one may be joined.
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
fn a_join_that_proves_nothing_is_refused_and_not_tried_again_until_the_address_is_refreshed() {
    let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
    pair.auto_join = false;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.meddler = Some(Box::new(|from, path, segment| {
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
fn a_join_with_an_unknown_token_or_a_wrong_hmac_is_reset() {
    for what in ["token", "HMAC", "no MP_JOIN in the third ACK"] {
        let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
        pair.meddler = Some(Box::new(move |_, _, segment| {
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
fn a_removal_waits_for_a_subflow_that_can_carry_it() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    pair.connect();
    // The second is on its way, and the first goes.
    pair.run_until(Instant::from_millis(30));
    pair.ends[CLIENT].remove(PathId(0), false);
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    assert!(pair.saw(SERVER, &Event::SubflowDown(PathId(0), Some(Failure::Removed))), "{:?}", pair.events);
    assert!(pair.ends[SERVER].subflow(PathId(1)).unwrap().up);
}

#[test]
fn either_end_may_make_a_subflow_a_backup_and_take_it_back() {
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
fn where_syns_with_the_option_vanish_a_plain_one_gets_through() {
    for (mptcp_syns, mode) in [(3, Some(Mode::Tcp)), (u32::MAX, None)] {
        let config = Config { mptcp_syns, ..Config::default() };
        let mut pair = Pair::new(1, config, two_paths()).keep_trace();
        pair.meddler =
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
