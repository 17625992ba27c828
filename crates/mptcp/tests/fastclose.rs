//! MP_FASTCLOSE (RFC 8684, section 3.5) and reset reasons (section 3.6).

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, Event, Failure, Mode, PathId, ResetReason, SubflowEnds};
use units::Instant;
use wire::{Flags, MptcpSignal};

fn two_paths() -> Vec<PathModel> {
    vec![PathModel::clean(5), PathModel::clean(20)]
}

/// A connection with two subflows in the middle of a download.
fn busy() -> Pair {
    let mut pair = Pair::new(1, Config::default(), two_paths()).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.to_write[SERVER] = 3_000_000;
    pair.settle();
    pair.run_until(Instant::from_millis(1050));
    pair
}

/// Key that `end` sent in the handshake.
fn key_of(pair: &Pair, end: usize) -> u64 {
    let key = |s: &crate::pair::Seen| match s.segment.signal {
        Some(MptcpSignal::Capable { sender_key: Some(key), .. }) if s.from == end => Some(key),
        _ => None,
    };
    pair.trace.iter().find_map(key).expect("the handshake carries the keys")
}

#[test]
fn abort_sends_fast_close_on_every_subflow() {
    for ender in [CLIENT, SERVER] {
        // Paths on which the resets pass.
        for open in [[true, true], [true, false], [false, true]] {
            let mut pair = busy();
            pair.tamper = Some(Box::new(move |_, path, _| open[path.index()]));
            let before = pair.trace.len();
            pair.ends[ender].abort();
            pair.settle();
            pair.run_until(Instant::from_secs(5));
            let key = key_of(&pair, 1 - ender);
            for path in [PathId(0), PathId(1)] {
                let sent = |s: &&crate::pair::Seen| s.from == ender && s.path == path;
                let first = pair.trace[before..].iter().find(sent).expect("a reset");
                assert!(first.segment.flags.has(Flags::RST));
                assert_eq!(first.segment.signal, Some(MptcpSignal::FastClose { key }));
            }
            assert!(pair.saw(ender, &Event::Failed(Failure::Aborted)));
            let failed = Event::Failed(Failure::FastClose);
            assert!(pair.saw(1 - ender, &failed), "{ender} {open:?} {:?}", pair.events[1 - ender]);
            assert!(pair.ends.iter().all(|end| end.is_closed() && end.poll_timeout().is_none()));
        }
    }
}

#[test]
fn fast_close_in_an_ack_is_answered_with_resets() {
    let mut pair = busy();
    let key = key_of(&pair, SERVER);
    let mut ack =
        pair.trace.iter().rfind(|s| s.from == CLIENT && s.path == PathId(0)).unwrap().segment.clone();
    ack.signal = Some(MptcpSignal::FastClose { key });
    let mut old = ack.clone();
    old.seq = old.seq.wrapping_sub(1);
    pair.ends[SERVER].handle_segment(pair.now, PathId(0), old);
    assert!(!pair.ends[SERVER].is_closed(), "the sequence number is old");
    while pair.ends[SERVER].poll_transmit(pair.now).is_some() {}
    pair.ends[SERVER].handle_segment(pair.now, PathId(0), ack);
    let mut reset = Vec::new();
    while let Some((path, segment)) = pair.ends[SERVER].poll_transmit(pair.now) {
        assert!(segment.flags.has(Flags::RST));
        assert_eq!(segment.signal, Some(MptcpSignal::Reset { transient: false, reason: 0 }));
        reset.push(path);
    }
    assert_eq!(reset, [PathId(0), PathId(1)]);
    pair.settle();
    assert!(pair.saw(SERVER, &Event::Failed(Failure::FastClose)));
}

#[test]
fn fast_close_with_a_wrong_key_is_ignored() {
    for flags in [Flags::ACK, Flags::ACK.with(Flags::RST)] {
        let mut pair = busy();
        let key = key_of(&pair, SERVER) ^ 1;
        let mut last =
            pair.trace.iter().rfind(|s| s.from == CLIENT && s.path == PathId(0)).unwrap().segment.clone();
        last.signal = Some(MptcpSignal::FastClose { key });
        last.flags = flags;
        pair.ends[SERVER].handle_segment(pair.now, PathId(0), last);
        pair.settle();
        assert!(!pair.ends[SERVER].is_closed(), "at most one subflow is reset");
        pair.run_until(Instant::from_secs(20));
        assert_eq!(pair.read[CLIENT], 3_000_000);
    }
}

#[test]
fn tcp_aborts_with_a_plain_reset() {
    let mut pair = Pair::new(1, Config { mptcp: false, ..Config::default() }, two_paths()).keep_trace();
    pair.auto_join = false;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.ends[CLIENT].abort();
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    let last = &pair.trace.last().unwrap().segment;
    assert!(last.flags.has(Flags::RST) && last.signal.is_none());
    assert!(pair.saw(SERVER, &Event::Failed(Failure::Reset(None))));
}

#[test]
fn permanent_reset_reports_its_reason_and_refuses_the_path() {
    for transient in [false, true] {
        let mut pair = busy();
        let mut reset =
            pair.trace.iter().rfind(|s| s.from == SERVER && s.path == PathId(1)).unwrap().segment.clone();
        // All of the server's data on this path has arrived.
        pair.run_until(Instant::from_secs(9));
        let last = pair.trace.iter().filter(|s| s.from == SERVER && s.path == PathId(1));
        reset.seq = last.map(|s| s.segment.seq.wrapping_add(s.segment.payload.len)).next_back().unwrap();
        reset.flags = Flags::RST.with(Flags::ACK);
        reset.payload = wire::Span::default();
        reset.signal = Some(MptcpSignal::Reset { transient, reason: 5 });
        pair.ends[CLIENT].handle_segment(pair.now, PathId(1), reset);
        pair.settle();
        let reason = Some(ResetReason { code: 5, transient });
        let down = Event::SubflowDown(PathId(1), Some(Failure::Reset(reason)));
        assert!(pair.saw(CLIENT, &down), "{:?}", pair.events[CLIENT]);
        assert_eq!(pair.ends[CLIENT].open(pair.now, PathId(1), false), transient);
        assert_eq!(pair.ends[CLIENT].is_refused(PathId(1)), !transient);
        if !transient {
            let other = SubflowEnds { local_port: 5000, remote_port: 443, address_id: 2 };
            assert!(pair.ends[CLIENT].open_between(pair.now, PathId(1), other, false), "other ends");
        }
    }
}

#[test]
fn unanswered_subflow_is_reset_as_transient() {
    let config = Config { max_retries: 3, ..Config::default() };
    let mut pair = Pair::new(1, config, two_paths()).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.tamper = Some(Box::new(|_, path, _| path == PathId(0)));
    pair.to_write[SERVER] = 1_000_000;
    pair.settle();
    pair.run_until(Instant::from_secs(60));
    assert_eq!(pair.read[CLIENT], 1_000_000);
    let given_up = Some(MptcpSignal::Reset { transient: true, reason: 5 });
    assert!(pair.trace.iter().any(|s| s.from == SERVER && s.segment.signal == given_up));
    assert_eq!(pair.ends[CLIENT].mode(), Mode::Mptcp);
}
