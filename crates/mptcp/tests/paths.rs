//! Subflows that open, close, fail and recover.

use crate::pair::{CLIENT, Pair, PathModel, SERVER, Seen};
use tandem_mptcp::{Config, Event, Failure, PathId, ResetReason, SchedulerKind};
use units::{Duration, Instant};
use wire::{Flags, MptcpSignal, Segment, Span};

fn two_paths() -> Vec<PathModel> {
    vec![PathModel::clean(5), PathModel::clean(50)]
}

const LONG: Instant = Instant::from_secs(100_000);

/// A receive window that limits the rate: 20 Mbyte/s over the first path, 2 over the second.
fn window_limited(scheduler: SchedulerKind) -> Config {
    Config { scheduler: scheduler.into(), recv_buffer: 200_000, ..Config::default() }
}

#[test]
fn new_path_takes_over_the_data_of_a_dead_one() {
    let mut paths = two_paths();
    paths[0].outages.push((Instant::from_millis(300), LONG));
    let mut pair = Pair::new(1, window_limited(SchedulerKind::MinRtt), paths);
    pair.auto_join = false;
    pair.to_write[SERVER] = 10_000_000;
    pair.connect();
    pair.run_until(Instant::from_secs(3));
    assert!(pair.ends[CLIENT].open(pair.now, PathId(1), false));
    pair.settle();
    pair.run_until(Instant::from_secs(60));
    assert_eq!(pair.read[CLIENT], 10_000_000);
}

#[test]
fn recovered_path_takes_over_the_data_of_a_dead_one() {
    let mut paths = two_paths();
    paths[0].outages.push((Instant::from_secs(1), LONG));
    paths[1].outages.push((Instant::from_secs(1), Instant::from_secs(8)));
    for scheduler in SchedulerKind::ALL {
        let mut pair = Pair::new(1, window_limited(scheduler), paths.clone());
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        // Data while both paths work, and data after both have failed.
        for seconds in [1, 4] {
            pair.run_until(Instant::from_secs(seconds));
            pair.to_write[SERVER] = 20_000;
            pair.settle();
        }
        pair.run_until(Instant::from_secs(30));
        assert_eq!(pair.read[CLIENT], 40_000, "{scheduler}");
    }
}

#[test]
fn data_of_a_dead_path_is_reinjected_once() {
    let mut paths = two_paths();
    paths[0].outages.push((Instant::from_millis(300), LONG));
    let mut pair = Pair::new(1, window_limited(SchedulerKind::RoundRobin), paths).keep_trace();
    pair.to_write[SERVER] = 8_000_000;
    pair.connect();
    // The path becomes stale first; then its interface is removed.
    pair.run_until(Instant::from_millis(400));
    while !pair.ends[SERVER].subflow(PathId(0)).unwrap().stale {
        pair.run_until(pair.now + Duration::from_millis(5));
    }
    pair.ends[CLIENT].remove(PathId(0), false);
    pair.settle();
    pair.run_until(Instant::from_secs(30));
    assert_eq!(pair.read[CLIENT], 8_000_000);
    let mut spans: Vec<_> = pair
        .trace
        .iter()
        .filter(|s| s.from == SERVER && s.path == PathId(1))
        .map(|s| s.segment.payload)
        .filter(|span| span.len > 0)
        .collect();
    let sent: u64 = spans.iter().map(|s| u64::from(s.len)).sum();
    spans.sort_by_key(|s| s.offset);
    let mut end = 0;
    let mut unique = 0;
    for span in spans {
        let to = span.offset + u64::from(span.len);
        unique += to.saturating_sub(span.offset.max(end));
        end = end.max(to);
    }
    assert_eq!(sent - unique, 0, "bytes sent twice over the remaining path");
}

#[test]
fn lost_subflow_keeps_no_data() {
    let mut paths = two_paths();
    paths[0].outages.push((Instant::from_millis(300), LONG));
    let in_flight = |pair: &Pair| pair.ends[SERVER].subflow(PathId(0)).unwrap().in_flight;
    for scheduler in [SchedulerKind::MinRtt, SchedulerKind::RoundRobin, SchedulerKind::Redundant] {
        let mut pair = Pair::new(1, window_limited(scheduler), paths.clone());
        pair.to_write[SERVER] = 8_000_000;
        pair.connect();
        pair.run_until(Instant::from_millis(400));
        assert!(in_flight(&pair) > 0, "{scheduler}");
        pair.ends[CLIENT].remove(PathId(0), false);
        pair.settle();
        pair.run_until(Instant::from_millis(600));
        assert_eq!(in_flight(&pair), 0, "{scheduler}");
        pair.run_until(Instant::from_secs(60));
        assert_eq!(pair.read[CLIENT], 8_000_000, "{scheduler}");
    }
}

#[test]
fn reinjected_data_is_sent_before_later_queued_data() {
    let mut paths = two_paths();
    paths[0].outages.push((Instant::from_millis(1001), LONG));
    let config = Config { scheduler: SchedulerKind::Share.into(), ..Config::default() };
    let mut pair = Pair::new(1, config, paths).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.to_write[SERVER] = 400_000_000;
    pair.settle();
    let of = |pair: &Pair, path| pair.ends[SERVER].subflow(PathId(path)).unwrap();
    while !of(&pair, 0).stale {
        pair.run_until(pair.now + Duration::from_millis(1));
        assert!(pair.now < Instant::from_secs(3));
    }
    assert!(of(&pair, 1).queued > 20_000, "{:?}", of(&pair, 1));
    let over = |s: &&crate::pair::Seen| s.from == SERVER && s.path == PathId(1) && s.segment.payload.len > 0;
    let offset = |s: &crate::pair::Seen| s.segment.payload.offset;
    let before: Vec<_> = pair.trace.iter().filter(over).map(offset).collect();
    pair.run_until(pair.now + Duration::from_millis(800));
    let next: Vec<_> = pair.trace.iter().filter(over).map(offset).filter(|o| !before.contains(o)).collect();
    // Data of both paths, in the order of the stream.
    assert!(next.len() > 100 && next.is_sorted(), "{:?}", &next[..20]);
}

#[test]
fn old_duplicate_syn_does_not_end_a_new_subflow() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    let seen = std::rc::Rc::new(std::cell::RefCell::new(None));
    let first = seen.clone();
    pair.tamper = Some(Box::new(move |from, path, segment| {
        if from == CLIENT && path == PathId(1) && segment.flags == Flags::SYN {
            first.borrow_mut().get_or_insert(segment.clone());
        }
        true
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.ends[CLIENT].remove(PathId(1), true);
    pair.settle();
    assert!(pair.ends[CLIENT].open(pair.now, PathId(1), false));
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    assert!(pair.ends[SERVER].subflow(PathId(1)).unwrap().up);
    let old = seen.borrow().clone().unwrap();
    pair.ends[SERVER].handle_segment(pair.now, PathId(1), old);
    pair.settle();
    pair.run_until(Instant::from_secs(3));
    assert!(pair.ends[SERVER].subflow(PathId(1)).unwrap().up, "{:?}", pair.events[SERVER]);
}

#[test]
fn late_remove_addr_does_not_end_the_next_subflow() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    // REMOVE_ADDR goes over the slow path, the new SYN over the fast one. Twice, because the first
    // subflow has an identifier that is never reused.
    for _ in 0..2 {
        pair.ends[CLIENT].remove(PathId(0), false);
        assert!(pair.ends[CLIENT].open(pair.now, PathId(0), false));
        pair.settle();
        pair.run_until(pair.now + Duration::from_secs(1));
        assert!(pair.ends[CLIENT].subflow(PathId(0)).unwrap().up, "{:?}", pair.events);
        assert!(pair.ends[SERVER].subflow(PathId(0)).unwrap().up, "{:?}", pair.events);
    }
}

#[test]
fn reset_ahead_of_lost_data_is_challenged() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    // The data before the reset and REMOVE_ADDR are lost.
    pair.tamper = Some(Box::new(|from, _, segment| {
        let removal = matches!(segment.signal, Some(MptcpSignal::RemoveAddress { .. }));
        from == SERVER || segment.payload.len == 0 && !removal
    }));
    pair.to_write[CLIENT] = 5000;
    pair.settle();
    pair.ends[CLIENT].remove(PathId(0), true);
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    // The answer to the challenge ACK carries the reason of the first reset.
    let gone = Some(ResetReason { code: 0, transient: false });
    assert!(
        pair.saw(SERVER, &Event::SubflowDown(PathId(0), Some(Failure::Reset(gone)))),
        "{:?}",
        pair.events
    );
}

#[test]
fn server_can_remove_one_subflow_and_keep_the_others() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.ends[SERVER].remove(PathId(1), true);
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    assert!(pair.ends[CLIENT].subflow(PathId(0)).unwrap().up, "{:?}", pair.events);
    assert!(!pair.ends[CLIENT].subflow(PathId(1)).unwrap().up, "{:?}", pair.events);
}

#[test]
fn only_the_first_to_close_enters_time_wait() {
    let config = Config { mptcp: false, ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]);
    pair.to_write[SERVER] = 10_000;
    pair.close_when_done[SERVER] = true;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.ends[CLIENT].close();
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    for end in [CLIENT, SERVER] {
        assert!(pair.saw(end, &Event::Closed));
    }
    assert_eq!(pair.ends[CLIENT].poll_timeout(), None, "LAST-ACK is followed by CLOSED");
    let waits = pair.ends[SERVER].poll_timeout().unwrap();
    assert!(waits > Instant::from_secs(60) && waits < Instant::from_secs(63), "TIME-WAIT: {waits}");
    // After a simultaneous close both ends wait.
    let mut pair = Pair::new(1, Config { mptcp: false, ..Config::default() }, vec![PathModel::clean(50)]);
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.close_when_done = [true, true];
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    assert!(pair.ends.iter().all(|end| end.is_closed() && end.poll_timeout().is_some()));
}

#[test]
fn closed_endpoint_has_no_timers_and_no_write_space() {
    let mut pair = Pair::new(1, Config { recv_buffer: 20_000, ..Config::default() }, two_paths());
    pair.to_write[SERVER] = 100_000;
    pair.read_pace[CLIENT] = Some((Duration::from_secs(1000), 1));
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    // The window is closed, and the probe timer runs.
    assert!(pair.ends[SERVER].poll_timeout().is_some());
    pair.ends[SERVER].abort();
    assert_eq!(pair.ends[SERVER].poll_timeout(), None);
    assert_eq!(pair.ends[SERVER].write(&wire::Span::new(0, 5)), 0);

    let mut pair = Pair::new(1, Config::default(), two_paths());
    pair.to_write = [1000, 1000];
    pair.close_when_done = [true, true];
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    for end in &pair.ends {
        assert!(end.is_closed());
        end.write_space();
    }
}

#[test]
fn data_fin_without_a_subflow_waits_without_timers() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    pair.auto_join = false;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.ends[CLIENT].remove(PathId(0), false);
    pair.close_when_done = [true, true];
    pair.settle();
    pair.run_until(Instant::from_secs(20));
    assert!(pair.ends[CLIENT].poll_timeout().is_none());
    assert!(pair.ends[CLIENT].open(pair.now, PathId(1), false));
    pair.settle();
    pair.run_until(Instant::from_secs(40));
    assert!(pair.saw(CLIENT, &Event::Closed), "{:?}", pair.events);
}

/// Times at which REMOVE_ADDR was sent.
fn removals(pair: &Pair) -> Vec<Instant> {
    let removes = |signal: MptcpSignal| matches!(signal, MptcpSignal::RemoveAddress { .. });
    pair.trace.iter().filter(|s| s.segment.signal.is_some_and(removes)).map(|s| s.at).collect()
}

#[test]
fn lost_remove_addr_is_repeated_while_the_connection_is_active() {
    for lost in [1, 3] {
        let mut paths = two_paths();
        paths[0].outages.push((Instant::from_secs(1), LONG));
        let mut pair = Pair::new(1, window_limited(SchedulerKind::MinRtt), paths).keep_trace();
        // The server sends all the time.
        pair.read_pace[CLIENT] = Some((Duration::from_millis(50), 10_000));
        let mut seen = 0;
        pair.tamper = Some(Box::new(move |_, _, segment| {
            let removes = matches!(segment.signal, Some(MptcpSignal::RemoveAddress { .. }));
            seen += u32::from(removes);
            !removes || seen > lost
        }));
        pair.to_write[SERVER] = 4_000_000;
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        pair.ends[CLIENT].remove(PathId(0), false);
        pair.settle();
        pair.run_until(Instant::from_secs(30));
        assert!(
            pair.saw(SERVER, &Event::SubflowDown(PathId(0), Some(Failure::Removed))),
            "{:?} {:?}",
            removals(&pair),
            pair.events
        );
        assert_eq!(removals(&pair), [1, 2, 4, 8].map(Instant::from_secs), "{lost} lost");
    }
}

#[test]
fn remove_addr_is_not_repeated_on_an_idle_connection() {
    let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.ends[CLIENT].remove(PathId(0), false);
    pair.settle();
    pair.run_until(Instant::from_secs(100));
    assert_eq!(removals(&pair), [Instant::from_secs(1)]);
    // Once the peer is heard again, the repetitions go on.
    pair.to_write[SERVER] = 1000;
    pair.settle();
    pair.run_until(Instant::from_secs(300));
    assert_eq!(removals(&pair).len(), 2);
}

#[test]
fn connection_without_a_subflow_fails_after_the_close_timeout() {
    let timeout = Duration::from_secs(60);
    for close_timeout in [None, Some(timeout)] {
        let mut pair = Pair::new(1, Config { close_timeout, ..Config::default() }, two_paths());
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        for path in [0, 1] {
            pair.ends[CLIENT].remove(PathId(path), true);
        }
        pair.settle();
        pair.run_until(Instant::from_secs(60));
        assert!(!pair.ends[CLIENT].is_closed() && !pair.ends[SERVER].is_closed());
        pair.run_until(Instant::from_secs(200));
        assert_eq!(pair.saw(CLIENT, &Event::Failed(Failure::Removed)), close_timeout.is_some());
        assert_eq!(pair.ends.each_ref().map(tandem_mptcp::Endpoint::is_closed), [close_timeout.is_some(); 2]);
    }
}

#[test]
fn backup_repeats_data_after_two_expiries_and_a_regular_subflow_after_one() {
    // The second path dies while it carries data; the first is idle.
    let first_repetition = |backup: bool| {
        let mut paths = two_paths();
        paths[1].outages.push((Instant::from_millis(1980), LONG));
        let mut pair = Pair::new(1, Config::linux(), paths).keep_trace();
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        pair.ends[SERVER].set_priority(PathId(0), true);
        pair.settle();
        pair.run_until(Instant::from_millis(1990));
        pair.to_write[SERVER] = 1000;
        pair.settle();
        if !backup {
            pair.ends[SERVER].set_priority(PathId(0), false);
        }
        pair.run_until(Instant::from_secs(20));
        assert_eq!(pair.read[CLIENT], 1000);
        let over_first = |s: &&Seen| s.from == SERVER && s.path == PathId(0) && s.segment.payload.len > 0;
        pair.trace.iter().find(over_first).expect("a repetition").at
    };
    let [regular, backup] = [false, true].map(first_repetition);
    assert_eq!(backup.since(regular), Duration::from_millis(200));
}

#[test]
fn reset_of_an_unauthenticated_join_retransmits_nothing() {
    let mut pair = Pair::new(1, Config::linux(), [10, 50, 10].map(PathModel::clean).to_vec());
    pair.auto_join = false;
    pair.connect();
    pair.run_until(Instant::from_millis(100));
    assert!(pair.ends[CLIENT].open(pair.now, PathId(1), false));
    pair.run_until(Instant::from_secs(1));
    pair.to_write[SERVER] = 10_000_000;
    pair.run_until(Instant::from_millis(1050));
    assert!(pair.ends[SERVER].acknowledged() < pair.ends[SERVER].written(), "the download goes on");
    let (now, before) = (pair.now, pair.ends[SERVER].reinjected_bytes());
    // The attacker knows the token, and neither key.
    let mut syn = Segment::<Span>::new((9000, 443), 100, 0, Flags::SYN, 1000);
    let token = pair.ends[SERVER].token();
    syn.signal = Some(MptcpSignal::JoinSyn { backup: false, address_id: 9, token, nonce: 1 });
    pair.ends[SERVER].handle_segment(now, PathId(2), &syn);
    assert!(pair.ends[SERVER].has_subflow(PathId(2)));
    let reset = Segment::new((9000, 443), 101, 0, Flags::RST, 0);
    pair.ends[SERVER].handle_segment(now, PathId(2), &reset);
    assert!(!pair.ends[SERVER].has_subflow(PathId(2)));
    pair.run_until(Instant::from_secs(2));
    assert_eq!(pair.ends[SERVER].reinjected_bytes(), before);
}
