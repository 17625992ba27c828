//! Handshakes with losses, stripped options and unusual mappings.

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, Event, Failure, Mode, PathId};
use units::{Duration, Instant};
use wire::{Flags, MptcpSignal};

fn two_paths() -> Vec<PathModel> {
    vec![PathModel::clean(5), PathModel::clean(50)]
}

#[test]
fn idle_connection_is_established_despite_lost_acks() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    let mut seen = 0;
    pair.tamper = Some(Box::new(move |from, _, segment| {
        let bare = from == SERVER && !segment.flags.has(Flags::SYN);
        seen += i32::from(bare);
        !bare || seen > 2
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(20));
    assert!(pair.saw(CLIENT, &Event::Connected(Mode::Mptcp)), "{:?}", pair.events);
    assert!(pair.saw(CLIENT, &Event::SubflowUp(PathId(1))));
    assert!(pair.ends[CLIENT].poll_timeout().is_none(), "no timer runs");
}

#[test]
fn connection_without_data_closes() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]);
    let mut seen = 0;
    pair.tamper = Some(Box::new(move |from, _, segment| {
        let bare = from == SERVER && !segment.flags.has(Flags::SYN);
        seen += i32::from(bare);
        !bare || seen > 1
    }));
    pair.connect();
    pair.ends[CLIENT].close();
    pair.run_until(Instant::from_secs(20));
    assert!(pair.saw(SERVER, &Event::PeerClosed), "{:?}", pair.events);
    pair.ends[SERVER].close();
    pair.settle();
    pair.run_until(Instant::from_secs(40));
    assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed), "{:?}", pair.events);
}

#[test]
fn join_is_established_despite_a_lost_fourth_ack() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    let mut seen = 0;
    pair.tamper = Some(Box::new(move |from, path, segment| {
        let fourth = from == SERVER && path == PathId(1) && !segment.flags.has(Flags::SYN);
        seen += i32::from(fourth);
        !fourth || seen > 2
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(30));
    assert!(pair.saw(CLIENT, &Event::SubflowUp(PathId(1))), "{:?}", pair.events);
}

/// Removes the MPTCP options of all segments but SYNs.
fn strip(segment: &mut wire::Segment<wire::Span>) {
    if !segment.flags.has(Flags::SYN) {
        segment.signal = None;
        segment.dss = None;
    }
}

#[test]
fn options_stripped_after_the_handshake_fall_back_to_tcp() {
    for to_write in [[0, 100_000], [100_000, 0], [60_000, 60_000]] {
        for lost_first in [false, true] {
            let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]);
            pair.to_write = to_write;
            pair.close_when_done = [true, true];
            let mut lost = false;
            pair.tamper = Some(Box::new(move |from, _, segment| {
                strip(segment);
                let data = from == SERVER && segment.payload.len > 0;
                let lose = data && lost_first && !lost;
                lost |= data;
                !lose
            }));
            pair.connect();
            pair.run_until(Instant::from_secs(60));
            let case = format!("{to_write:?}, first lost: {lost_first}: {:?}", pair.events);
            assert_eq!(pair.read, [to_write[1], to_write[0]], "{case}");
            for end in [CLIENT, SERVER] {
                assert_eq!(pair.ends[end].mode(), Mode::Tcp, "{case}");
                assert!(
                    pair.saw(end, &Event::Connected(Mode::Tcp)) && pair.saw(end, &Event::Closed),
                    "{case}"
                );
            }
        }
    }
}

#[test]
fn idle_connection_detects_stripped_options() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]);
    pair.tamper = Some(Box::new(|_, _, segment| {
        strip(segment);
        true
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(10));
    assert!(pair.saw(CLIENT, &Event::Connected(Mode::Tcp)), "{:?}", pair.events);
}

#[test]
fn signal_before_the_keys_does_not_end_mptcp() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]);
    let mut lost = false;
    pair.tamper = Some(Box::new(move |from, _, segment| {
        let third = from == CLIENT && !segment.flags.has(Flags::SYN);
        let lose = third && !lost;
        lost |= third;
        !lose
    }));
    pair.connect();
    pair.run_until(Instant::from_millis(12));
    pair.ends[CLIENT].set_priority(PathId(0), true);
    pair.settle();
    pair.run_until(Instant::from_secs(5));
    assert_eq!(pair.ends[SERVER].mode(), Mode::Mptcp);
    assert!(pair.saw(SERVER, &Event::Priority(PathId(0), true)), "{:?}", pair.events);
}

#[test]
fn mappings_with_32_bit_sequence_numbers_are_accepted() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]);
    pair.to_write = [50_000, 200_000];
    pair.close_when_done = [true, true];
    pair.tamper = Some(Box::new(|_, _, segment| {
        if let Some(dss) = &mut segment.dss
            && let Some(map) = &mut dss.mapping
        {
            map.dsn &= 0xffff_ffff;
            dss.dsn_is_short = true;
        }
        true
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(20));
    assert_eq!(pair.read, [200_000, 50_000]);
    assert!(pair.saw(CLIENT, &Event::Closed));
}

#[test]
fn mapping_can_cover_several_segments_and_arrive_with_any_of_them() {
    // The first or the last of three segments carries the mapping of all three.
    for carrier in [0, 2] {
        let config = Config { mss: 1000, delayed_ack: Duration::ZERO, ..Config::default() };
        let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]);
        pair.to_write[CLIENT] = 0;
        pair.to_write[SERVER] = 964 * 3;
        let mut first: Option<wire::Mapping> = None;
        let mut count = 0;
        pair.tamper = Some(Box::new(move |_, _, segment| {
            if let Some(dss) = &mut segment.dss
                && let Some(map) = dss.mapping
                && segment.payload.len > 0
            {
                let all = *first.get_or_insert(wire::Mapping { len: 964 * 3, ..map });
                dss.mapping = (count == carrier).then_some(all);
                count += 1;
            }
            true
        }));
        pair.connect();
        pair.run_until(Instant::from_secs(5));
        assert_eq!(pair.read[CLIENT], 964 * 3, "carried by {carrier}");
    }
}

#[test]
fn aborted_endpoint_refuses_connections() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]);
    pair.ends[SERVER].abort();
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    assert!(pair.saw(CLIENT, &Event::Failed(Failure::Reset(None))), "{:?}", pair.events);
    assert!(!pair.saw(SERVER, &Event::SubflowUp(PathId(0))));
}

#[test]
fn initial_window_is_one_segment_after_repeated_syns() {
    let config = Config { mptcp: false, ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]).keep_trace();
    pair.to_write[SERVER] = 100_000;
    let mut answers = 0;
    pair.tamper = Some(Box::new(move |_, _, segment| {
        answers += i32::from(segment.flags.has(Flags::SYN_ACK));
        !segment.flags.has(Flags::SYN_ACK) || answers > 4
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(60));
    assert_eq!(pair.read[CLIENT], 100_000);
    let start = pair.trace.iter().find(|s| s.segment.payload.len > 0).unwrap().at;
    assert_eq!(pair.carried(SERVER, 0, start, start + Duration::from_millis(9)), 1448);
}

#[test]
fn timeout_of_data_is_three_seconds_after_a_lost_syn_or_syn_ack() {
    // RFC 6298, section 5.7. The first data of each end is lost once as well.
    for (lossy_end, lost_syns, rto_secs) in [(CLIENT, 1, 3), (CLIENT, 3, 3), (SERVER, 1, 3), (SERVER, 0, 1)] {
        let config = Config { mptcp: false, min_rto: Duration::from_secs(1), ..Config::default() };
        let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]).keep_trace();
        pair.to_write[lossy_end] = 100;
        let (mut syns, mut data) = (0, 0);
        pair.tamper = Some(Box::new(move |from, _, segment| {
            let is_syn = from == lossy_end && segment.flags.has(Flags::SYN);
            let is_data = from == lossy_end && segment.payload.len > 0;
            syns += i32::from(is_syn);
            data += i32::from(is_data);
            !(is_syn && syns <= lost_syns || is_data && data == 1)
        }));
        pair.connect();
        pair.run_until(Instant::from_secs(30));
        let sent: Vec<_> = pair.trace.iter().filter(|s| s.segment.payload.len > 0).map(|s| s.at).collect();
        assert_eq!(sent[1].since(sent[0]), Duration::from_secs(rto_secs), "{lossy_end}, {lost_syns}");
    }
}

#[test]
fn repeated_syn_ack_is_answered_with_the_keys() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]).keep_trace();
    let mut lost = 0;
    pair.tamper = Some(Box::new(move |from, _, segment| {
        let keys = from == CLIENT
            && matches!(segment.signal, Some(MptcpSignal::Capable { receiver_key: Some(_), .. }));
        lost += i32::from(keys);
        !keys || lost > 2
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(20));
    assert!(
        pair.saw(SERVER, &Event::Connected(Mode::Mptcp)) && pair.saw(CLIENT, &Event::Connected(Mode::Mptcp))
    );
}
