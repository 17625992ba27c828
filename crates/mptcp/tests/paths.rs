//! Subflows that come, go, die and return.

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, Event, Failure, PathId, ResetReason, SchedulerKind};
use units::{Duration, Instant};
use wire::{Flags, MptcpSignal};

fn two_paths() -> Vec<PathModel> {
    vec![PathModel::clean(5), PathModel::clean(50)]
}

const LONG: Instant = Instant::from_secs(100_000);

/// 20 Mbyte/s over the first path, 2 over the second: the window is the limit.
fn slow(scheduler: SchedulerKind) -> Config {
    Config { scheduler, recv_buffer: 200_000, ..Config::default() }
}

#[test]
fn a_path_opened_while_the_only_one_is_dead_gets_what_is_stuck_there() {
    let mut paths = two_paths();
    paths[0].outages.push((Instant::from_millis(300), LONG));
    let mut pair = Pair::new(1, slow(SchedulerKind::MinRtt), paths);
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
fn a_path_that_returns_takes_over_from_one_that_does_not() {
    let mut paths = two_paths();
    paths[0].outages.push((Instant::from_secs(1), LONG));
    paths[1].outages.push((Instant::from_secs(1), Instant::from_secs(8)));
    for scheduler in SchedulerKind::ALL {
        let mut pair = Pair::new(1, slow(scheduler), paths.clone());
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        // Some for each of two living paths, and some more for each of two dead ones.
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
fn what_a_dead_path_held_is_sent_again_once() {
    let mut paths = two_paths();
    paths[0].outages.push((Instant::from_millis(300), LONG));
    let mut pair = Pair::new(1, slow(SchedulerKind::RoundRobin), paths).keep_trace();
    pair.to_write[SERVER] = 8_000_000;
    pair.connect();
    // It is stale, and then its interface is found to have gone.
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
    assert_eq!(sent - unique, 0, "sent twice over the path that lives");
}

#[test]
fn what_is_sent_again_does_not_wait_behind_what_was_dealt_ahead() {
    let mut paths = two_paths();
    paths[0].outages.push((Instant::from_millis(1001), LONG));
    let config = Config { scheduler: SchedulerKind::Share, ..Config::default() };
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
    // What either path had to send, by its place in the stream.
    assert!(next.len() > 100 && next.is_sorted(), "{:?}", &next[..20]);
}

#[test]
fn an_old_syn_does_not_end_a_new_subflow() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    let seen = std::rc::Rc::new(std::cell::RefCell::new(None));
    let first = seen.clone();
    pair.meddler = Some(Box::new(move |from, path, segment| {
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
fn a_late_remove_addr_does_not_end_the_subflow_that_followed() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    // Its removal is told over the slow path, its return over the fast one. Twice, for the first
    // subflow has an identifier that no other gets.
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
fn a_reset_that_overtakes_lost_data_is_asked_for_again() {
    let mut pair = Pair::new(1, Config::default(), two_paths());
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    // The data before the reset is lost, and so is REMOVE_ADDR.
    pair.meddler = Some(Box::new(|from, _, segment| {
        let removal = matches!(segment.signal, Some(MptcpSignal::RemoveAddress { .. }));
        from == SERVER || segment.payload.len == 0 && !removal
    }));
    pair.to_write[CLIENT] = 5000;
    pair.settle();
    pair.ends[CLIENT].remove(PathId(0), true);
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    // The answer to the question says what the first reset said.
    let gone = Some(ResetReason { code: 0, transient: false });
    assert!(
        pair.saw(SERVER, &Event::SubflowDown(PathId(0), Some(Failure::Reset(gone)))),
        "{:?}",
        pair.events
    );
}

#[test]
fn a_server_that_ends_one_subflow_keeps_the_others() {
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
fn who_closes_first_waits_and_the_other_is_done() {
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
    assert_eq!(pair.ends[CLIENT].poll_timeout(), None, "LAST-ACK ends in CLOSED");
    let waits = pair.ends[SERVER].poll_timeout().unwrap();
    assert!(waits > Instant::from_secs(60) && waits < Instant::from_secs(63), "TIME-WAIT: {waits}");
    // Both at once: both wait.
    let mut pair = Pair::new(1, Config { mptcp: false, ..Config::default() }, vec![PathModel::clean(50)]);
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.close_when_done = [true, true];
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    assert!(pair.ends.iter().all(|end| end.is_closed() && end.poll_timeout().is_some()));
}

#[test]
fn an_end_that_is_over_has_no_timers_and_no_room() {
    let mut pair = Pair::new(1, Config { recv_buffer: 20_000, ..Config::default() }, two_paths());
    pair.to_write[SERVER] = 100_000;
    pair.appetite[CLIENT] = Some((Duration::from_secs(1000), 1));
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    // The window is shut and being probed.
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
fn a_data_fin_waits_for_a_subflow_without_timers() {
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

/// The REMOVE_ADDRs that the client sent.
fn removals(pair: &Pair) -> Vec<Instant> {
    let removes = |signal: MptcpSignal| matches!(signal, MptcpSignal::RemoveAddress { .. });
    pair.trace.iter().filter(|s| s.segment.signal.is_some_and(removes)).map(|s| s.at).collect()
}

#[test]
fn a_removal_that_is_lost_is_told_again_while_the_connection_is_in_use() {
    for lost in [1, 3] {
        let mut paths = two_paths();
        paths[0].outages.push((Instant::from_secs(1), LONG));
        let mut pair = Pair::new(1, slow(SchedulerKind::MinRtt), paths).keep_trace();
        // All the time something comes.
        pair.appetite[CLIENT] = Some((Duration::from_millis(50), 10_000));
        let mut seen = 0;
        pair.meddler = Some(Box::new(move |_, _, segment| {
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
fn a_removal_wakes_no_radio_to_be_told_again() {
    let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.ends[CLIENT].remove(PathId(0), false);
    pair.settle();
    pair.run_until(Instant::from_secs(100));
    assert_eq!(removals(&pair), [Instant::from_secs(1)]);
    assert_eq!(pair.ends[CLIENT].poll_timeout(), None);
}

#[test]
fn a_connection_without_a_subflow_fails_in_the_end_and_says_why() {
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
