//! The protocol, step by step, between two endpoints.

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, CongestionKind, Event, Failure, Mode, PathId, ResetReason, SchedulerKind};
use units::{Duration, Instant};
use wire::{Flags, MptcpSignal, Payload};

fn two_paths() -> Vec<PathModel> {
    vec![PathModel::clean(5), PathModel::clean(50)]
}

#[test]
fn the_handshake_is_that_of_rfc_8684_section_3_1() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]).keep_trace();
    pair.to_write[SERVER] = 5000;
    pair.connect();
    pair.run_until(Instant::from_millis(100));
    let steps: Vec<_> = pair.trace.iter().take(4).map(|s| (s.from, s.segment.clone())).collect();
    let keys = |signal: &Option<MptcpSignal>| match signal {
        Some(MptcpSignal::Capable { version: 1, sender_key, receiver_key, hmac_sha256: true, .. }) => {
            (sender_key.is_some(), receiver_key.is_some())
        }
        other => panic!("no MP_CAPABLE: {other:?}"),
    };
    assert_eq!((steps[0].0, steps[0].1.flags), (CLIENT, Flags::SYN));
    assert_eq!(keys(&steps[0].1.signal), (false, false));
    assert_eq!((steps[1].0, steps[1].1.flags), (SERVER, Flags::SYN_ACK));
    assert_eq!(keys(&steps[1].1.signal), (true, false));
    assert_eq!((steps[2].0, steps[2].1.flags), (CLIENT, Flags::ACK));
    assert_eq!(keys(&steps[2].1.signal), (true, true));
    // The server's data: DSN is the IDSN plus one, SSN is one.
    let first = &steps[3].1;
    let map = first.dss.unwrap().mapping.unwrap();
    assert_eq!((map.ssn, usize::from(map.len)), (1, first.payload.len()));
    assert!(pair.saw(CLIENT, &Event::Connected(Mode::Mptcp)));
    assert!(pair.saw(SERVER, &Event::Connected(Mode::Mptcp)));
    assert_eq!(pair.read[CLIENT], 5000);
}

#[test]
fn the_clients_first_data_carries_both_keys_and_its_length() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]).keep_trace();
    pair.to_write[CLIENT] = 3000;
    pair.connect();
    pair.run_until(Instant::from_millis(200));
    let first = pair.trace.iter().find(|s| s.from == CLIENT && !s.segment.payload.is_empty()).unwrap();
    match first.segment.signal {
        Some(MptcpSignal::Capable {
            sender_key: Some(_),
            receiver_key: Some(_),
            data: Some((len, None)),
            ..
        }) => {
            assert_eq!(usize::from(len), first.segment.payload.len());
        }
        ref other => panic!("{other:?}"),
    }
    assert_eq!(first.segment.dss, None);
    assert_eq!(pair.read[SERVER], 3000);
}

#[test]
fn a_join_proves_both_ends_and_both_paths_carry_data() {
    // Without a bottleneck the lowest round-trip time would carry it all.
    let config = Config { scheduler: SchedulerKind::RoundRobin, ..Config::default() };
    let mut pair = Pair::new(1, config, two_paths()).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.to_write[SERVER] = 2_000_000;
    pair.run_until(Instant::from_secs(5));
    assert!(pair.saw(SERVER, &Event::SubflowUp(PathId(1))));
    let join: Vec<_> = pair.trace.iter().filter(|s| s.path == PathId(1)).take(4).collect();
    assert!(matches!(join[0].segment.signal, Some(MptcpSignal::JoinSyn { .. })));
    assert!(matches!(join[1].segment.signal, Some(MptcpSignal::JoinSynAck { .. })));
    assert!(matches!(join[2].segment.signal, Some(MptcpSignal::JoinAck { .. })));
    assert_eq!((join[3].from, join[3].segment.flags.has(Flags::ACK)), (SERVER, true));
    assert_eq!(pair.read[CLIENT], 2_000_000);
    let all = (Instant::ZERO, Instant::from_secs(5));
    assert!(pair.carried(SERVER, 0, all.0, all.1) > 0 && pair.carried(SERVER, 1, all.0, all.1) > 0);
}

#[test]
fn a_join_with_a_wrong_hmac_is_reset_and_the_connection_lives() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    pair.to_write[SERVER] = 100_000;
    pair.meddler = Some(Box::new(|_, _, segment| {
        if let Some(MptcpSignal::JoinAck { hmac }) = &mut segment.signal {
            hmac[0] ^= 1;
        }
        true
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    assert!(pair.saw(SERVER, &Event::SubflowDown(PathId(1), Some(Failure::Authentication))));
    let wrong = Some(ResetReason { code: 1, transient: false });
    assert!(pair.saw(CLIENT, &Event::SubflowDown(PathId(1), Some(Failure::Reset(wrong)))));
    assert_eq!(pair.read[CLIENT], 100_000);
}

#[test]
fn without_mp_capable_on_either_side_it_is_tcp() {
    let plain = Config { mptcp: false, ..Config::default() };
    for (client, server) in [
        (plain.clone(), Config::default()),
        (Config::default(), plain.clone()),
        (plain.clone(), plain.clone()),
    ] {
        let mut pair = Pair::with(1, client, server, two_paths()).keep_trace();
        pair.to_write = [40_000, 200_000];
        pair.close_when_done = [true, true];
        pair.connect();
        pair.run_until(Instant::from_secs(10));
        assert!(pair.saw(CLIENT, &Event::Connected(Mode::Tcp)));
        assert!(pair.saw(SERVER, &Event::Connected(Mode::Tcp)));
        assert_eq!(pair.read, [200_000, 40_000]);
        assert!(pair.trace.iter().all(|s| s.path == PathId(0) && s.segment.dss.is_none()));
        assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed));
    }
}

#[test]
fn a_middlebox_that_strips_options_leaves_tcp() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]);
    pair.to_write[SERVER] = 100_000;
    pair.meddler = Some(Box::new(|_, _, segment| {
        segment.signal = None;
        segment.dss = None;
        true
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    assert_eq!(pair.ends[CLIENT].mode(), Mode::Tcp);
    assert_eq!(pair.ends[SERVER].mode(), Mode::Tcp);
    assert_eq!(pair.read[CLIENT], 100_000);
}

#[test]
fn both_ends_close_with_data_fin_and_then_fin() {
    let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
    pair.to_write = [10_000, 300_000];
    pair.close_when_done = [true, true];
    pair.connect();
    pair.run_until(Instant::from_secs(10));
    for end in [CLIENT, SERVER] {
        assert!(pair.saw(end, &Event::PeerClosed) && pair.saw(end, &Event::Closed), "{:?}", pair.events);
    }
    assert_eq!(pair.read, [300_000, 10_000]);
    let data_fin = pair.trace.iter().position(|s| s.segment.dss.is_some_and(|d| d.data_fin)).unwrap();
    let fin = pair.trace.iter().position(|s| s.segment.flags.has(Flags::FIN)).unwrap();
    assert!(data_fin < fin);
}

#[test]
fn a_lost_data_fin_and_a_lost_fin_are_sent_again() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]);
    pair.to_write = [1000, 1000];
    pair.close_when_done = [true, true];
    let mut lost = 0;
    pair.meddler = Some(Box::new(move |_, _, segment| {
        let closing = segment.dss.is_some_and(|d| d.data_fin) || segment.flags.has(Flags::FIN);
        lost += i32::from(closing);
        !closing || lost > 6
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(200));
    assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed), "{:?}", pair.events);
}

#[test]
fn mp_prio_moves_the_load_and_brings_it_back() {
    let config = Config { scheduler: SchedulerKind::RoundRobin, ..Config::default() };
    let mut pair = Pair::new(1, config, two_paths()).keep_trace();
    pair.to_write[SERVER] = 4_000_000_000;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.ends[CLIENT].set_priority(PathId(1), true);
    pair.run_until(Instant::from_millis(1200));
    assert!(pair.saw(SERVER, &Event::Priority(PathId(1), true)));
    pair.run_until(Instant::from_secs(2));
    assert_eq!(pair.carried(SERVER, 1, Instant::from_millis(1200), Instant::from_secs(2)), 0);
    pair.ends[CLIENT].set_priority(PathId(1), false);
    pair.run_until(Instant::from_secs(3));
    assert!(pair.carried(SERVER, 1, Instant::from_millis(2100), Instant::from_secs(3)) > 0);
    // A backup carries everything where nothing else is left.
    pair.ends[CLIENT].set_priority(PathId(0), true);
    pair.ends[CLIENT].set_priority(PathId(1), true);
    pair.run_until(Instant::from_secs(4));
    assert!(pair.carried(SERVER, 0, Instant::from_millis(3500), Instant::from_secs(4)) > 0);
}

#[test]
fn a_path_that_dies_in_mid_transfer_loses_nothing() {
    let mut paths = two_paths();
    paths[0].outages.push((Instant::from_millis(300), Instant::from_secs(1000)));
    let mut pair = Pair::new(1, Config::default(), paths);
    pair.to_write[SERVER] = 20_000_000;
    pair.close_when_done = [true, true];
    pair.connect();
    pair.run_until(Instant::from_secs(300));
    assert_eq!(pair.read[CLIENT], 20_000_000);
    assert!(pair.saw(CLIENT, &Event::PeerClosed));
}

#[test]
fn an_interface_that_leaves_and_returns_is_joined_again() {
    let mut paths = two_paths();
    paths[0].outages.push((Instant::from_secs(1), Instant::from_secs(2)));
    let mut pair = Pair::new(1, Config::default(), paths).keep_trace();
    pair.to_write[SERVER] = 4_000_000_000;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.ends[CLIENT].remove(PathId(0), false);
    pair.run_until(Instant::from_millis(1500));
    assert!(pair.saw(SERVER, &Event::AddressRemoved(0)));
    pair.run_until(Instant::from_secs(2));
    assert_eq!(pair.carried(SERVER, 0, Instant::from_millis(1500), Instant::from_secs(2)), 0);
    assert!(pair.ends[CLIENT].open(pair.now, PathId(0), false));
    pair.run_until(Instant::from_secs(3));
    assert!(pair.carried(SERVER, 0, Instant::from_millis(2200), Instant::from_secs(3)) > 0);
}

#[test]
fn add_addr_is_checked_and_echoed() {
    let address = core::net::IpAddr::from([192, 0, 2, 7]);
    for tamper in [false, true] {
        let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]).keep_trace();
        pair.meddler = Some(Box::new(move |_, _, segment| {
            if let Some(MptcpSignal::AddAddress { hmac: Some(hmac), .. }) = &mut segment.signal
                && tamper
            {
                *hmac ^= 1;
            }
            true
        }));
        pair.connect();
        pair.run_until(Instant::from_millis(100));
        pair.ends[SERVER].announce(3, address, Some(8443));
        pair.run_until(Instant::from_millis(200));
        assert_eq!(pair.saw(CLIENT, &Event::AddressAdded(3, address, Some(8443))), !tamper);
        let echoed = pair.trace.iter().any(|s| {
            s.from == CLIENT && matches!(s.segment.signal, Some(MptcpSignal::AddAddress { hmac: None, .. }))
        });
        assert_eq!(echoed, !tamper);
    }
}

#[test]
fn a_reader_that_stops_shuts_the_window_and_probes_open_it() {
    let config = Config { recv_buffer: 20_000, ..Config::default() };
    let mut pair = Pair::new(1, config, two_paths()).keep_trace();
    pair.to_write[SERVER] = 100_000;
    pair.close_when_done = [true, true];
    pair.appetite[CLIENT] = Some((Duration::from_secs(3), 15_000));
    pair.connect();
    // The update that opens the window is lost each time: only a probe finds out.
    pair.run_until(Instant::from_secs(2));
    assert!(pair.ends[CLIENT].unread() > 15_000);
    pair.run_until(Instant::from_secs(120));
    assert_eq!(pair.read[CLIENT], 100_000);
    assert!(pair.saw(SERVER, &Event::Closed));
}

#[test]
fn a_lost_window_update_does_not_stop_the_stream() {
    let config = Config { recv_buffer: 20_000, ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]);
    pair.to_write[SERVER] = 60_000;
    pair.appetite[CLIENT] = Some((Duration::from_secs(5), usize::MAX));
    let mut shut = false;
    let mut dropped = 0;
    pair.meddler = Some(Box::new(move |from, _, segment| {
        if from == CLIENT {
            let opens = shut && segment.window > 0;
            shut = segment.window == 0;
            if opens && dropped < 3 {
                dropped += 1;
                shut = true;
                return false;
            }
        }
        true
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(120));
    assert_eq!(pair.read[CLIENT], 60_000);
}

#[test]
fn a_single_loss_is_repaired_without_a_timeout() {
    for sack in [true, false] {
        let config = Config { sack, mptcp: false, congestion: CongestionKind::Reno, ..Config::default() };
        let mut pair = Pair::new(1, config, vec![PathModel::clean(50)]).keep_trace();
        pair.to_write[SERVER] = 400_000;
        let mut count = 0;
        pair.meddler = Some(Box::new(move |from, _, segment| {
            if from == SERVER && !segment.payload.is_empty() {
                count += 1;
                return count != 40;
            }
            true
        }));
        pair.connect();
        pair.run_until(Instant::from_secs(20));
        assert_eq!(pair.read[CLIENT], 400_000);
        let lost = pair.trace.iter().find(|s| s.lost).unwrap();
        let again = pair
            .trace
            .iter()
            .filter(|s| s.from == SERVER && s.segment.seq == lost.segment.seq && !s.lost)
            .collect::<Vec<_>>();
        assert_eq!(again.len(), 1, "sent again once (sack: {sack})");
        // A round trip and a little, far from a timeout's 200 ms beyond the round trip.
        let waited = again[0].at - lost.at;
        assert!(waited < Duration::from_millis(160), "sack: {sack}, waited {waited}");
        let info = pair.ends[SERVER].subflow(PathId(0)).unwrap();
        assert_eq!(info.retransmissions, 1, "sack: {sack}");
    }
}

#[test]
fn many_losses_in_a_window_are_repaired_in_one_recovery_with_sack() {
    let config = Config { mptcp: false, congestion: CongestionKind::Reno, ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(50)]).keep_trace();
    pair.to_write[SERVER] = 400_000;
    let mut count = 0;
    pair.meddler = Some(Box::new(move |from, _, segment| {
        if from == SERVER && !segment.payload.is_empty() {
            count += 1;
            return !matches!(count, 40 | 42 | 45 | 50 | 51);
        }
        true
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(20));
    assert_eq!(pair.read[CLIENT], 400_000);
    assert_eq!(pair.ends[SERVER].subflow(PathId(0)).unwrap().retransmissions, 5);
}

#[test]
fn a_silent_peer_is_given_up_in_the_end() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::lossy(5, 1.0)]);
    pair.connect();
    pair.run_until(Instant::from_secs(500));
    assert!(pair.saw(CLIENT, &Event::Failed(Failure::TimedOut)));

    let mut path = PathModel::clean(5);
    path.outages.push((Instant::from_secs(1), Instant::from_secs(100_000)));
    let mut pair = Pair::new(1, Config { mptcp: false, ..Config::default() }, vec![path]);
    pair.to_write[SERVER] = 4_000_000_000;
    pair.connect();
    pair.run_until(Instant::from_secs(5000));
    assert!(pair.saw(SERVER, &Event::Failed(Failure::TimedOut)));
}

#[test]
fn shares_are_exact_over_the_whole_transfer() {
    let config = Config { scheduler: SchedulerKind::Share, ..Config::default() };
    let mut pair = Pair::new(1, config, two_paths()).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.ends[SERVER].set_shares(&[0.62, 0.38]);
    pair.to_write[SERVER] = 5_000_000;
    pair.run_until(Instant::from_secs(30));
    assert_eq!(pair.read[CLIENT], 5_000_000);
    let (start, end) = (Instant::ZERO, Instant::from_secs(30));
    let wifi = pair.carried(SERVER, 0, start, end) as f64;
    let lte = pair.carried(SERVER, 1, start, end) as f64;
    assert!((wifi / (wifi + lte) - 0.62).abs() < 0.001, "{wifi} {lte}");
}
