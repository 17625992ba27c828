//! The protocol between two endpoints: handshake, data, priorities, addresses, recovery and
//! closing.

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, CongestionKind, Event, Failure, Mode, PathId, ResetReason, SchedulerKind};
use units::{Duration, Instant};
use wire::{Flags, MptcpSignal, Payload};

fn two_paths() -> Vec<PathModel> {
    vec![PathModel::clean(5), PathModel::clean(50)]
}

#[test]
fn handshake_follows_rfc_8684_section_3_1() {
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
    // The server's first data has DSN IDSN + 1 and SSN 1.
    let first = &steps[3].1;
    let map = first.dss.unwrap().mapping.unwrap();
    assert_eq!((map.ssn, usize::from(map.len)), (1, first.payload.len()));
    assert!(pair.saw(CLIENT, &Event::Connected(Mode::Mptcp)));
    assert!(pair.saw(SERVER, &Event::Connected(Mode::Mptcp)));
    assert_eq!(pair.read[CLIENT], 5000);
}

#[test]
fn first_data_of_the_client_carries_both_keys_and_its_length() {
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
fn join_authenticates_both_ends_and_both_paths_carry_data() {
    // With the lowest round-trip time first, one path would carry all data: there is no bottleneck.
    let config = Config { scheduler: SchedulerKind::RoundRobin.into(), ..Config::default() };
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
fn join_with_wrong_hmac_is_reset_and_the_connection_continues() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    pair.to_write[SERVER] = 100_000;
    pair.tamper = Some(Box::new(|_, _, segment| {
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
fn connection_is_tcp_without_mp_capable_at_either_end() {
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
fn options_stripped_from_the_start_fall_back_to_tcp() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]);
    pair.to_write[SERVER] = 100_000;
    pair.tamper = Some(Box::new(|_, _, segment| {
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
fn data_fin_precedes_fin() {
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
fn lost_data_fin_and_fin_are_retransmitted() {
    let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]);
    pair.to_write = [1000, 1000];
    pair.close_when_done = [true, true];
    let mut lost = 0;
    pair.tamper = Some(Box::new(move |_, _, segment| {
        let closing = segment.dss.is_some_and(|d| d.data_fin) || segment.flags.has(Flags::FIN);
        lost += i32::from(closing);
        !closing || lost > 6
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(200));
    assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed), "{:?}", pair.events);
}

#[test]
fn mp_prio_moves_traffic_to_and_from_a_backup() {
    let config = Config { scheduler: SchedulerKind::RoundRobin.into(), ..Config::default() };
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
    // Backups carry the data if no regular subflow is left.
    pair.ends[CLIENT].set_priority(PathId(0), true);
    pair.ends[CLIENT].set_priority(PathId(1), true);
    pair.run_until(Instant::from_secs(4));
    assert!(pair.carried(SERVER, 0, Instant::from_millis(3500), Instant::from_secs(4)) > 0);
}

#[test]
fn path_that_opens_the_connection_can_be_a_backup() {
    for set_during_handshake in [false, true] {
        let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
        pair.to_write[SERVER] = 4_000_000_000;
        assert!(pair.ends[CLIENT].open(pair.now, PathId(0), !set_during_handshake));
        pair.ends[CLIENT].set_priority(PathId(0), true);
        pair.settle();
        pair.run_until(Instant::from_secs(1));
        assert!(pair.saw(SERVER, &Event::Priority(PathId(0), true)), "{:?}", pair.events);
        pair.run_until(Instant::from_secs(3));
        assert_eq!(pair.carried(SERVER, 0, Instant::from_secs(2), Instant::from_secs(3)), 0);
    }
}

#[test]
fn transfer_survives_the_death_of_a_path() {
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
fn removed_path_can_be_joined_again() {
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
fn add_addr_is_authenticated_and_echoed() {
    let address = core::net::IpAddr::from([192, 0, 2, 7]);
    for tamper in [false, true] {
        let mut pair = Pair::new(1, Config::default(), vec![PathModel::clean(5)]).keep_trace();
        pair.tamper = Some(Box::new(move |_, _, segment| {
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
fn closed_window_is_reopened_by_probes() {
    let config = Config { recv_buffer: 20_000, ..Config::default() };
    let mut pair = Pair::new(1, config, two_paths()).keep_trace();
    pair.to_write[SERVER] = 100_000;
    pair.close_when_done = [true, true];
    pair.read_pace[CLIENT] = Some((Duration::from_secs(3), 15_000));
    pair.connect();
    pair.run_until(Instant::from_secs(2));
    assert!(pair.ends[CLIENT].unread() > 15_000);
    pair.run_until(Instant::from_secs(120));
    assert_eq!(pair.read[CLIENT], 100_000);
    assert!(pair.saw(SERVER, &Event::Closed));
}

#[test]
fn lost_window_update_does_not_stall_the_stream() {
    let config = Config { recv_buffer: 20_000, ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]);
    pair.to_write[SERVER] = 60_000;
    pair.read_pace[CLIENT] = Some((Duration::from_secs(5), usize::MAX));
    let mut shut = false;
    let mut dropped = 0;
    pair.tamper = Some(Box::new(move |from, _, segment| {
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
fn single_loss_is_repaired_without_a_timeout() {
    for sack in [true, false] {
        let config =
            Config { sack, mptcp: false, congestion: CongestionKind::Reno.into(), ..Config::default() };
        let mut pair = Pair::new(1, config, vec![PathModel::clean(50)]).keep_trace();
        pair.to_write[SERVER] = 400_000;
        let mut count = 0;
        pair.tamper = Some(Box::new(move |from, _, segment| {
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
        let copies = pair
            .trace
            .iter()
            .filter(|s| s.from == SERVER && s.segment.seq == lost.segment.seq && !s.lost)
            .collect::<Vec<_>>();
        assert_eq!(copies.len(), 1, "one retransmission (sack: {sack})");
        // Little more than a round trip; a timeout takes 200 ms longer.
        let waited = copies[0].at - lost.at;
        assert!(waited < Duration::from_millis(160), "sack: {sack}, waited {waited}");
        let info = pair.ends[SERVER].subflow(PathId(0)).unwrap();
        assert_eq!(info.retransmissions, 1, "sack: {sack}");
    }
}

#[test]
fn many_losses_in_a_window_are_repaired_in_one_recovery_with_sack() {
    let config = Config { mptcp: false, congestion: CongestionKind::Reno.into(), ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(50)]).keep_trace();
    pair.to_write[SERVER] = 400_000;
    let mut count = 0;
    pair.tamper = Some(Box::new(move |from, _, segment| {
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
fn silent_peer_times_out() {
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
    let config = Config { scheduler: SchedulerKind::Share.into(), ..Config::default() };
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
