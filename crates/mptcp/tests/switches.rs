//! Marks, spacing, buffers that grow, probes of what is idle, and segments that nobody should believe.
#![allow(missing_docs)]

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use std::cell::RefCell;
use std::rc::Rc;
use tandem_mptcp::{Config, CongestionKind, EcnMode, Event, Failure, Keepalive, PathId};
use units::{Duration, Instant};
use wire::{Ecn, Flags};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn tcp() -> Config {
    Config { mptcp: false, congestion: CongestionKind::Reno, ..Config::default() }
}

fn download(mut pair: Pair, bytes: u64, until: Instant) -> Pair {
    pair.to_write = [0, bytes];
    pair.connect();
    pair.run_until(until);
    pair
}

/// Marks what can be marked of the server's segments number `from` to `to`, and tells how many could not.
fn marking(client: EcnMode, server: EcnMode, from: usize, to: usize) -> (Pair, Rc<RefCell<usize>>) {
    let with = |ecn| Config { ecn, ..tcp() };
    let mut pair = Pair::with(1, with(client), with(server), vec![PathModel::clean(20)]).keep_trace();
    let mut seen = 0;
    let deaf = Rc::new(RefCell::new(0));
    let count = deaf.clone();
    pair.meddler = Some(Box::new(move |end, _, segment| {
        if end == SERVER && segment.payload.len > 0 {
            if !segment.ecn.can_be_marked() {
                *count.borrow_mut() += 1;
            } else if (from..to).contains(&seen) {
                segment.ecn = Ecn::Ce;
            }
            seen += 1;
        }
        true
    }));
    (pair, deaf)
}

#[test]
fn a_mark_halves_the_window_without_a_loss() {
    let (pair, deaf) = marking(EcnMode::Request, EcnMode::Accept, 40, 44);
    let pair = download(pair, 400_000, Instant::from_secs(5));
    assert_eq!((pair.read[CLIENT], *deaf.borrow()), (400_000, 0));
    let info = pair.ends[SERVER].subflow(PathId(0)).expect("it is there");
    assert_eq!(info.retransmissions, 0);
    assert!(info.ssthresh < 100_000, "{info:?}");
    // Echoed until the sender says that it has heard, and it says so once for one window.
    let count = |end, flag| {
        let data = |s: &&crate::pair::Seen| s.from == end && !s.segment.flags.has(Flags::SYN);
        pair.trace.iter().filter(data).filter(|s| s.segment.flags.has(flag)).count()
    };
    assert!(count(CLIENT, Flags::ECE) >= 2);
    assert_eq!(count(SERVER, Flags::CWR), 1);
    assert_eq!(count(CLIENT, Flags::CWR) + count(SERVER, Flags::ECE), 0);
    let last = pair.trace.iter().rfind(|s| s.from == CLIENT).expect("it acknowledged");
    assert!(!last.segment.flags.has(Flags::ECE));
}

#[test]
fn marks_need_both_ends() {
    for (client, server, agreed) in [
        (EcnMode::Request, EcnMode::Off, false),
        (EcnMode::Accept, EcnMode::Accept, false),
        (EcnMode::Accept, EcnMode::Request, false),
        (EcnMode::Request, EcnMode::Request, true),
    ] {
        let (pair, deaf) = marking(client, server, 0, 10);
        let pair = download(pair, 50_000, Instant::from_secs(5));
        assert_eq!(pair.read[CLIENT], 50_000);
        assert_eq!(*deaf.borrow() == 0, agreed, "{client:?} and {server:?}");
    }
}

#[test]
fn what_is_sent_again_and_bare_acknowledgements_cannot_be_marked() {
    let (mut pair, _) = marking(EcnMode::Request, EcnMode::Accept, 0, 0);
    pair.paths[0] = PathModel::lossy(20, 0.05);
    let pair = download(pair, 400_000, Instant::from_secs(60));
    assert_eq!(pair.read[CLIENT], 400_000);
    let mut sent = 0;
    let (mut again, mut first) = (0, 0);
    for seen in pair.trace.iter().filter(|s| s.from == SERVER && s.segment.payload.len > 0) {
        let end = seen.segment.payload.offset + u64::from(seen.segment.payload.len);
        let repeated = end <= sent;
        assert_eq!(seen.segment.ecn == Ecn::NotEct, repeated, "{seen:?}");
        again += u32::from(repeated);
        first += u32::from(!repeated);
        sent = sent.max(end);
    }
    assert!(again > 5 && first > 200);
    let acks = |s: &&crate::pair::Seen| s.segment.payload.len == 0;
    assert!(pair.trace.iter().filter(acks).all(|s| s.segment.ecn == Ecn::NotEct));
}

#[test]
fn paced_segments_leave_two_at_a_time() {
    for (config, most) in [(tcp(), 10), (Config { pacing: true, ..tcp() }, 2)] {
        let pair = download(
            Pair::new(1, config, vec![PathModel::clean(50)]).keep_trace(),
            200_000,
            Instant::from_secs(5),
        );
        assert_eq!(pair.read[CLIENT], 200_000);
        let mut bursts = std::collections::BTreeMap::new();
        let data = |s: &&crate::pair::Seen| s.from == SERVER && s.segment.payload.len > 0;
        for seen in pair.trace.iter().filter(data) {
            *bursts.entry(seen.at).or_insert(0) += 1;
        }
        let longest = bursts.values().max().copied().unwrap_or(0);
        assert!(if most == 2 { longest <= 2 } else { longest >= most }, "{longest} for {most}");
    }
}

#[test]
fn bbr_finds_its_rate_and_keeps_to_it() {
    let config = Config { congestion: CongestionKind::Bbr, rack: true, ..tcp() };
    let path = PathModel::lossy(20, 0.01);
    let pair = download(Pair::new(1, config, vec![path]), 3_000_000, Instant::from_secs(20));
    assert_eq!(pair.read[CLIENT], 3_000_000, "a hundredth of loss does not stop it");
}

#[test]
fn the_receive_buffer_starts_small_and_grows_where_the_path_needs_it() {
    let config = Config { autotune: Some(131_072), recv_buffer: 6_291_456, ..tcp() };
    let widest = |config: &Config, appetite| {
        let mut pair = Pair::new(1, config.clone(), vec![PathModel::clean(50)]).keep_trace();
        pair.appetite[CLIENT] = appetite;
        let pair = download(pair, 8_000_000, Instant::from_secs(5));
        let scale = pair.trace.iter().find(|s| s.from == CLIENT).and_then(|s| s.segment.window_scale);
        let shift = scale.expect("a SYN has a scale");
        let plain = pair.trace.iter().filter(|s| s.from == CLIENT && !s.segment.flags.has(Flags::SYN));
        let windows: Vec<u64> = plain.map(|s| u64::from(s.segment.window) << shift).collect();
        (windows[0], windows.iter().max().copied().unwrap_or(0), pair.read[CLIENT])
    };
    let (first, most, read) = widest(&config, None);
    assert!(first <= 131_072 + 256 && most > 1_000_000 && read == 8_000_000, "{first} {most} {read}");
    // An application that reads slowly needs no more.
    let (_, most, read) = widest(&config, Some((ms(50), 20_000)));
    assert!(most < 400_000 && read > 1_000_000, "{most} {read}");
    let (first, ..) = widest(&Config { autotune: None, ..config }, None);
    assert!(first > 6_000_000);
}

#[test]
fn an_idle_connection_lives_while_it_is_answered_and_dies_when_it_is_not() {
    let keepalive = Keepalive { idle: Duration::from_secs(10), interval: Duration::from_secs(2), probes: 3 };
    for mptcp in [false, true] {
        let config = Config { keepalive: Some(keepalive), mptcp, ..tcp() };
        let mut pair =
            Pair::with(1, config, Config { mptcp, ..tcp() }, vec![PathModel::clean(20)]).keep_trace();
        pair.to_write = [1000, 1000];
        pair.connect();
        pair.run_until(Instant::from_secs(61));
        let after = |s: &&crate::pair::Seen| s.at > Instant::from_secs(5);
        let probes = pair.trace.iter().filter(after).filter(|s| s.from == CLIENT).count();
        // Each answered: the next is ten seconds later.
        assert!((5..=6).contains(&probes), "{probes}");
        pair.paths[0].outages = vec![(pair.now, Instant::from_secs(10_000))];
        pair.run_until(Instant::from_secs(75));
        assert!(!pair.saw(CLIENT, &Event::SubflowDown(PathId(0), Some(Failure::TimedOut))));
        pair.run_until(Instant::from_secs(90));
        assert!(
            pair.saw(CLIENT, &Event::SubflowDown(PathId(0), Some(Failure::TimedOut))),
            "{:?}",
            pair.events
        );
    }
}

/// A connection that has done its work, and the last segment that the server sent.
fn idle(config: Config) -> (Pair, wire::Segment<wire::Span>) {
    let mut pair = Pair::new(1, config, vec![PathModel::clean(20)]).keep_trace();
    pair.to_write = [1000, 100_000];
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    let last = pair.trace.iter().rfind(|s| s.from == SERVER && s.segment.payload.len > 0);
    let segment = last.expect("it sent").segment.clone();
    (pair, segment)
}

/// What the client sends when this comes.
fn answers(pair: &mut Pair, segment: wire::Segment<wire::Span>) -> usize {
    let now = pair.now;
    pair.ends[CLIENT].handle_segment(now, PathId(0), segment);
    let count = core::iter::from_fn(|| pair.ends[CLIENT].poll_transmit(now)).count();
    assert_eq!(pair.ends[CLIENT].check(), Ok(()));
    count
}

#[test]
fn a_segment_of_an_older_clock_is_not_believed() {
    for paws in [false, true] {
        let (mut pair, mut old) = idle(Config { paws, ..tcp() });
        // A duplicate from a round of the sequence numbers ago: where the next data is awaited.
        old.seq = old.seq.wrapping_add(old.payload.len);
        old.payload.offset = 100_000;
        let clock = old.timestamps.as_mut().expect("timestamps are on");
        clock.value -= 1;
        assert_eq!(answers(&mut pair, old), usize::from(paws), "an answer at once only to what does not fit");
        assert_eq!(pair.ends[CLIENT].unread(), if paws { 0 } else { u64::from(old_len()) });
    }
}

fn old_len() -> u32 {
    100_000 % 1448
}

#[test]
fn an_acknowledgement_from_long_ago_and_a_syn_are_challenged() {
    let config = Config { challenge_acks: true, ..tcp() };
    let (mut pair, good) = idle(config);
    let mut old = good.clone();
    old.ack = good.ack.wrapping_sub(2_000_000_000);
    assert_eq!(answers(&mut pair, old.clone()), 1);
    assert_eq!(answers(&mut pair, old), 0, "not each");
    let (mut pair, good) = idle(Config { challenge_acks: true, ..tcp() });
    let mut syn = wire::Segment::new((good.source, good.destination), good.seq, 0, Flags::SYN, 1000);
    syn.timestamps = good.timestamps;
    assert_eq!(answers(&mut pair, syn.clone()), 1);
    assert_eq!(answers(&mut pair, syn), 0);
    assert!(!pair.saw(CLIENT, &Event::Failed(Failure::Reset(None))));
}

#[test]
fn what_linux_does_by_default_works_with_itself_and_with_plain_rfcs() {
    for (client, server) in [
        (Config::linux(), Config::linux()),
        (Config::linux(), Config::default()),
        (Config::default(), Config::linux()),
    ] {
        let paths = vec![PathModel::lossy(20, 0.01), PathModel::lossy(60, 0.01)];
        let mut pair = Pair::with(7, client, server, paths);
        pair.to_write = [100_000, 3_000_000];
        pair.close_when_done = [true, true];
        pair.connect();
        pair.run_until(Instant::from_secs(200));
        assert_eq!(pair.read, [3_000_000, 100_000]);
        assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed));
    }
}
