//! Optional TCP features: ECN, pacing, BBR, buffer tuning, keepalive, PAWS and challenge ACKs.
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
    Config { mptcp: false, congestion: CongestionKind::Reno.into(), ..Config::default() }
}

fn download(mut pair: Pair, bytes: u64, until: Instant) -> Pair {
    pair.to_write = [0, bytes];
    pair.connect();
    pair.run_until(until);
    pair
}

/// Marks the server's segments number `from` to `to`. Also returns the count of data segments that
/// are not ECN-capable.
fn marking(client: EcnMode, server: EcnMode, from: usize, to: usize) -> (Pair, Rc<RefCell<usize>>) {
    let with = |ecn| Config { ecn, ..tcp() };
    let mut pair = Pair::with(1, with(client), with(server), vec![PathModel::clean(20)]).keep_trace();
    let mut seen = 0;
    let incapable = Rc::new(RefCell::new(0));
    let count = incapable.clone();
    pair.tamper = Some(Box::new(move |end, _, segment| {
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
    (pair, incapable)
}

#[test]
fn ce_mark_halves_the_window_without_a_loss() {
    let (pair, incapable) = marking(EcnMode::Request, EcnMode::Accept, 40, 44);
    let pair = download(pair, 400_000, Instant::from_secs(5));
    assert_eq!((pair.read[CLIENT], *incapable.borrow()), (400_000, 0));
    let info = pair.ends[SERVER].subflow(PathId(0)).expect("the subflow exists");
    assert_eq!(info.retransmissions, 0);
    assert!(info.ssthresh < 100_000, "{info:?}");
    // The client echoes until CWR arrives, and the server sends one CWR for one window.
    let count = |end, flag| {
        let data = |s: &&crate::pair::Seen| s.from == end && !s.segment.flags.has(Flags::SYN);
        pair.trace.iter().filter(data).filter(|s| s.segment.flags.has(flag)).count()
    };
    assert!(count(CLIENT, Flags::ECE) >= 2);
    assert_eq!(count(SERVER, Flags::CWR), 1);
    assert_eq!(count(CLIENT, Flags::CWR) + count(SERVER, Flags::ECE), 0);
    let last = pair.trace.iter().rfind(|s| s.from == CLIENT).expect("the client acknowledged");
    assert!(!last.segment.flags.has(Flags::ECE));
}

#[test]
fn ecn_requires_both_ends() {
    for (client, server, agreed) in [
        (EcnMode::Request, EcnMode::Off, false),
        (EcnMode::Accept, EcnMode::Accept, false),
        (EcnMode::Accept, EcnMode::Request, false),
        (EcnMode::Request, EcnMode::Request, true),
    ] {
        let (pair, incapable) = marking(client, server, 0, 10);
        let pair = download(pair, 50_000, Instant::from_secs(5));
        assert_eq!(pair.read[CLIENT], 50_000);
        assert_eq!(*incapable.borrow() == 0, agreed, "{client:?} and {server:?}");
    }
}

#[test]
fn retransmissions_and_pure_acks_are_not_ecn_capable() {
    let (mut pair, _) = marking(EcnMode::Request, EcnMode::Accept, 0, 0);
    pair.paths[0] = PathModel::lossy(20, 0.05);
    let pair = download(pair, 400_000, Instant::from_secs(60));
    assert_eq!(pair.read[CLIENT], 400_000);
    let mut sent = 0;
    let (mut retransmitted, mut new) = (0, 0);
    for seen in pair.trace.iter().filter(|s| s.from == SERVER && s.segment.payload.len > 0) {
        let end = seen.segment.payload.offset + u64::from(seen.segment.payload.len);
        let repeated = end <= sent;
        assert_eq!(seen.segment.ecn == Ecn::NotEct, repeated, "{seen:?}");
        retransmitted += u32::from(repeated);
        new += u32::from(!repeated);
        sent = sent.max(end);
    }
    assert!(retransmitted > 5 && new > 200);
    let acks = |s: &&crate::pair::Seen| s.segment.payload.len == 0;
    assert!(pair.trace.iter().filter(acks).all(|s| s.segment.ecn == Ecn::NotEct));
}

#[test]
fn paced_bursts_have_two_segments() {
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
fn bbr_sustains_its_rate_despite_losses() {
    let config = Config { congestion: CongestionKind::Bbr.into(), rack: true, ..tcp() };
    let path = PathModel::lossy(20, 0.01);
    let pair = download(Pair::new(1, config, vec![path]), 3_000_000, Instant::from_secs(20));
    assert_eq!(pair.read[CLIENT], 3_000_000, "one percent of loss does not stop it");
}

#[test]
fn receive_buffer_grows_with_the_bandwidth_delay_product() {
    let config = Config { autotune: Some(131_072), recv_buffer: 6_291_456, ..tcp() };
    let windows = |config: &Config, read_pace| {
        let mut pair = Pair::new(1, config.clone(), vec![PathModel::clean(50)]).keep_trace();
        pair.read_pace[CLIENT] = read_pace;
        let pair = download(pair, 8_000_000, Instant::from_secs(5));
        let scale = pair.trace.iter().find(|s| s.from == CLIENT).and_then(|s| s.segment.window_scale);
        let shift = scale.expect("a SYN has a scale");
        let plain = pair.trace.iter().filter(|s| s.from == CLIENT && !s.segment.flags.has(Flags::SYN));
        let offered: Vec<u64> = plain.map(|s| u64::from(s.segment.window) << shift).collect();
        (offered[0], offered.iter().max().copied().unwrap_or(0), pair.read[CLIENT])
    };
    let (first, most, read) = windows(&config, None);
    assert!(first <= 131_072 + 256 && most > 1_000_000 && read == 8_000_000, "{first} {most} {read}");
    // A slow reader does not need a larger buffer.
    let (_, most, read) = windows(&config, Some((ms(50), 20_000)));
    assert!(most < 400_000 && read > 1_000_000, "{most} {read}");
    let (first, ..) = windows(&Config { autotune: None, ..config }, None);
    assert!(first > 6_000_000);
}

#[test]
fn keepalive_ends_an_unanswered_connection_only() {
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
        // Each is answered, and the next follows ten seconds later.
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

/// An idle connection after its transfer, and the last data segment of the server.
fn idle(config: Config) -> (Pair, wire::Segment<wire::Span>) {
    let mut pair = Pair::new(1, config, vec![PathModel::clean(20)]).keep_trace();
    pair.to_write = [1000, 100_000];
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    let last = pair.trace.iter().rfind(|s| s.from == SERVER && s.segment.payload.len > 0);
    let segment = last.expect("the server sent data").segment.clone();
    (pair, segment)
}

/// Number of segments that the client sends in answer to `segment`.
fn answers(pair: &mut Pair, segment: wire::Segment<wire::Span>) -> usize {
    let now = pair.now;
    pair.ends[CLIENT].handle_segment(now, PathId(0), segment);
    let count = core::iter::from_fn(|| pair.ends[CLIENT].poll_transmit(now)).count();
    assert_eq!(pair.ends[CLIENT].check(), Ok(()));
    count
}

#[test]
fn paws_rejects_an_old_timestamp() {
    for paws in [false, true] {
        let (mut pair, mut old) = idle(Config { paws, ..tcp() });
        // A duplicate from before the sequence numbers wrapped, at the next expected number.
        old.seq = old.seq.wrapping_add(old.payload.len);
        old.payload.offset = 100_000;
        let clock = old.timestamps.as_mut().expect("timestamps are on");
        clock.value -= 1;
        assert_eq!(
            answers(&mut pair, old),
            usize::from(paws),
            "only an unacceptable segment is answered at once"
        );
        assert_eq!(pair.ends[CLIENT].unread(), if paws { 0 } else { u64::from(last_len()) });
    }
}

/// Payload of the last data segment.
fn last_len() -> u32 {
    100_000 % 1448
}

#[test]
fn old_ack_and_syn_get_one_challenge_ack() {
    let config = Config { challenge_acks: true, ..tcp() };
    let (mut pair, good) = idle(config);
    let mut old = good.clone();
    old.ack = good.ack.wrapping_sub(2_000_000_000);
    assert_eq!(answers(&mut pair, old.clone()), 1);
    assert_eq!(answers(&mut pair, old), 0, "challenge ACKs are rate limited");
    let (mut pair, good) = idle(Config { challenge_acks: true, ..tcp() });
    let mut syn = wire::Segment::new((good.source, good.destination), good.seq, 0, Flags::SYN, 1000);
    syn.timestamps = good.timestamps;
    assert_eq!(answers(&mut pair, syn.clone()), 1);
    assert_eq!(answers(&mut pair, syn), 0);
    assert!(!pair.saw(CLIENT, &Event::Failed(Failure::Reset(None))));
}

#[test]
fn linux_defaults_interoperate_with_rfc_defaults() {
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
