//! Recovery features of present TCP: the effect of each, and all of them in random combinations
//! over random networks.
#![allow(missing_docs)]

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, CongestionKind, EcnMode, Event, HyStartMode, Keepalive, PathId, SchedulerKind};
use units::{Duration, Instant, Probability, Rng, Seed};
use wire::Payload;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// TCP with Reno and default features.
fn tcp() -> Config {
    Config { mptcp: false, congestion: CongestionKind::Reno.into(), ..Config::default() }
}

/// Downloads `bytes`, then closes both ends. Returns the time until the last byte was read.
fn download(mut pair: Pair, bytes: u64) -> (Pair, Duration) {
    pair.to_write = [0, bytes];
    pair.close_when_done = [true, true];
    pair.connect();
    while pair.read[CLIENT] < bytes {
        let before = pair.now;
        pair.run_until(before + ms(1));
        assert!(pair.now < Instant::from_secs(1000), "stuck at {}", pair.read[CLIENT]);
    }
    let took = pair.now.since(Instant::ZERO);
    pair.run_until(pair.now + Duration::from_secs(300));
    for end in [CLIENT, SERVER] {
        assert!(pair.saw(end, &Event::Closed), "{:?}", pair.events);
    }
    (pair, took)
}

fn retransmissions(pair: &Pair) -> u64 {
    pair.ends[SERVER].subflow(PathId(0)).map_or(0, |info| info.retransmissions)
}

/// A download in which the last `count` segments are lost in their first transmission.
fn without_tail(config: Config, bytes: u32, count: u32) -> Pair {
    let mut pair = Pair::new(1, config, vec![PathModel::clean(50)]);
    let mut dropped = 0;
    pair.tamper = Some(Box::new(move |from, _, segment| {
        let end = segment.payload.offset + u64::from(segment.payload.len);
        let tail =
            from == SERVER && segment.payload.len > 0 && end + 1460 * u64::from(count) > u64::from(bytes);
        let drop = tail && dropped < count;
        dropped += u32::from(drop);
        !drop
    }));
    pair
}

#[test]
fn lost_tail_is_repaired_without_a_timeout() {
    let (bytes, lost) = (1448 * 20, 3);
    let (_, timeout) = download(without_tail(tcp(), bytes, lost), u64::from(bytes));
    let (pair, probe) = download(without_tail(Config { rack: true, ..tcp() }, bytes, lost), u64::from(bytes));
    // Handshake, two rounds of slow start, two SRTTs to the probe, then the repair.
    assert!(probe < timeout, "{probe} and {timeout}");
    assert!(probe < ms(800), "{probe}");
    assert!(retransmissions(&pair) <= 4, "{}", retransmissions(&pair));
}

#[test]
fn rack_tolerates_reordering() {
    let run = |config: Config| {
        let path = PathModel { jitter: ms(15), ..PathModel::clean(50) };
        let (pair, took) = download(Pair::new(3, config, vec![path]), 600_000);
        (retransmissions(&pair), took)
    };
    let plain = run(tcp());
    let rack = run(Config { rack: true, dsack: true, undo: true, ..tcp() });
    assert!(rack.0 < plain.0 && rack.1 * 4 < plain.1, "{plain:?} and {rack:?}");
}

#[test]
fn delay_spike_does_not_reduce_the_window() {
    let run = |config: Config| {
        let mut pair = Pair::new(1, config, vec![PathModel::clean(50)]);
        pair.to_write = [0, 3_000_000];
        pair.connect();
        // For a second the path holds back all segments.
        for t in 380..1380 {
            pair.run_until(Instant::from_millis(t));
            pair.paths[0].delay = ms(1430 - t);
        }
        pair.run_until(Instant::from_millis(1800));
        let info = pair.ends[SERVER].subflow(PathId(0)).expect("the subflow exists");
        (info.retransmissions, info.ssthresh)
    };
    let (retransmissions, ssthresh) = run(Config { timestamps: false, ..tcp() });
    assert!(retransmissions > 3 && ssthresh < u64::MAX, "{retransmissions} {ssthresh}");
    let (retransmissions, ssthresh) = run(Config { frto: true, timestamps: false, ..tcp() });
    assert_eq!((retransmissions, ssthresh), (2, u64::MAX), "one for each timeout");
    let (retransmissions, ssthresh) = run(Config { undo: true, ..tcp() });
    assert_eq!((retransmissions, ssthresh), (2, u64::MAX), "timestamps alone suffice");
}

fn any_switches(rng: &mut Rng, mptcp: bool) -> Config {
    let mut coin = || rng.below(2) == 0;
    let config = Config {
        mptcp,
        rack: coin(),
        dsack: coin(),
        prr: coin(),
        frto: coin(),
        undo: coin(),
        hystart: if coin() { HyStartMode::Original } else { HyStartMode::Rfc9406 },
        ecn: if coin() { EcnMode::Request } else { EcnMode::Accept },
        pacing: coin(),
        autotune: coin().then_some(10_000),
        keepalive: coin().then(|| Keepalive { idle: Duration::from_secs(20), ..Keepalive::default() }),
        paws: coin(),
        challenge_acks: coin(),
        quickack: coin(),
        ..if coin() { Config::default() } else { Config::linux() }
    };
    Config {
        mss: [536, 1460][rng.below(2) as usize],
        recv_buffer: [20_000, 200_000, 4_000_000][rng.below(3) as usize],
        scheduler: SchedulerKind::ALL[rng.below(SchedulerKind::ALL.len() as u64) as usize].into(),
        congestion: CongestionKind::ALL[rng.below(CongestionKind::ALL.len() as u64) as usize].into(),
        sack: rng.below(5) > 0,
        timestamps: rng.below(4) > 0,
        max_retries: 100,
        max_rto: Duration::from_secs(5),
        ..config
    }
}

fn any_path(rng: &mut Rng) -> PathModel {
    let chance = |p: f64| Probability::new(p).expect("from 0 to 1");
    let start = Instant::from_millis(rng.below(3000));
    let outage = (start, start + ms(rng.below(3000)));
    PathModel {
        delay: ms(rng.below(200)),
        jitter: ms([0, 0, 5, 60][rng.below(4) as usize]),
        loss: chance([0.0, 0.005, 0.03, 0.15][rng.below(4) as usize]),
        duplicate: chance([0.0, 0.0, 0.01, 0.1][rng.below(4) as usize]),
        mark: Probability::NEVER,
        outages: if rng.below(3) == 0 { vec![outage] } else { Vec::new() },
    }
}

#[test]
fn any_combination_of_features_delivers_every_byte() {
    for seed in 0..400 {
        let mut rng = Seed::new(seed).rng("switches");
        let mptcp = rng.below(2) == 0;
        let paths = (0..=rng.below(2)).map(|_| any_path(&mut rng)).collect();
        let client = any_switches(&mut rng, mptcp);
        let server = any_switches(&mut rng, mptcp);
        let mut pair = Pair::with(seed, client, server, paths);
        let bytes = [rng.below(50_000), 1 + rng.below(300_000)];
        pair.to_write = bytes;
        pair.close_when_done = [true, true];
        pair.connect();
        pair.run_until(Instant::from_secs(5000));
        assert_eq!(pair.read, [bytes[1], bytes[0]], "seed {seed}: {:?}", pair.events);
        for end in [CLIENT, SERVER] {
            assert!(pair.saw(end, &Event::PeerClosed), "seed {seed}: {:?}", pair.events);
        }
    }
}

#[test]
fn retransmission_after_a_partial_acknowledgement_keeps_its_mapping() {
    for checksum in [false, true] {
        let config = Config { checksum, ..Config::default() };
        let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]).keep_trace();
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        let mut acknowledgements = 0;
        pair.tamper = Some(Box::new(move |from, _, segment| {
            if from == CLIENT {
                return true;
            }
            acknowledgements += 1;
            segment.ack = segment.ack.wrapping_sub(400);
            if let Some(ack) = segment.dss.as_mut().and_then(|dss| dss.data_ack.as_mut()) {
                *ack = u64::from((*ack as u32).wrapping_sub(400));
            }
            acknowledgements == 1
        }));
        pair.to_write = [1000, 0];
        pair.settle();
        pair.run_until(Instant::from_secs(2));
        let sent = pair.trace.iter().filter(|seen| seen.from == CLIENT && !seen.segment.payload.is_empty());
        let data: Vec<_> = sent.map(|seen| (seen.segment.payload.len(), seen.segment.dss)).collect();
        assert!(data.len() >= 2 && data[0].0 == 1000 && data[1].0 == 400, "{data:?}");
        let mapping = |i: usize| data[i].1.and_then(|dss| dss.mapping);
        assert!(mapping(0).is_some_and(|map| map.len == 1000));
        assert_eq!(mapping(1), mapping(0), "RFC 8684, section 3.3.1");
    }
}

#[test]
fn data_fin_avoids_a_subflow_that_does_not_answer() {
    let mut pair = Pair::new(1, Config::linux(), vec![PathModel::clean(20), PathModel::clean(5)]);
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    pair.tamper = Some(Box::new(|_, path, _| path == PathId(0)));
    pair.to_write = [0, 200_000];
    pair.run_until(Instant::from_secs(10));
    assert_eq!(pair.read[CLIENT], 200_000, "reinjected on the first path");
    pair.close_when_done = [true, true];
    pair.settle();
    pair.run_until(Instant::from_secs(11));
    for end in [CLIENT, SERVER] {
        assert!(pair.saw(end, &Event::PeerClosed));
    }
}

#[test]
fn linux_sends_all_outstanding_data_again_once_a_subflow_is_stale() {
    for (config, again) in [(Config::default(), false), (Config::linux(), true)] {
        let mut pair = Pair::new(1, config, vec![PathModel::clean(20), PathModel::clean(5)]).keep_trace();
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        pair.tamper = Some(Box::new(|_, path, _| path == PathId(0)));
        pair.to_write = [0, 400_000];
        pair.run_until(Instant::from_secs(60));
        assert_eq!(pair.read[CLIENT], 400_000);
        let carried = pair.carried(SERVER, 0, Instant::ZERO, Instant::MAX);
        assert_eq!(carried > 400_000, again, "{carried} bytes over the path that works");
    }
}

/// The timer of the data level runs as long as the tail loss probe of the other subflow: three of its
/// intervals (2 RTT, here 120 ms) and two of 200 ms make five expiries.
#[test]
fn linux_subflow_is_stale_after_the_probe_timeouts_of_the_others() {
    let mut pair = Pair::new(1, Config::linux(), vec![PathModel::clean(10), PathModel::clean(30)]);
    pair.connect();
    // Windows and send buffer grow first. Then a stream of 5.6 Mbit/s keeps data outstanding on both.
    pair.to_write[SERVER] = 1_000_000;
    pair.run_until(Instant::from_secs(1));
    let write = |pair: &mut Pair| {
        pair.to_write[SERVER] += 1400;
        pair.run_until(pair.now + Duration::from_millis(2));
    };
    while pair.now < Instant::from_secs(2) {
        write(&mut pair);
    }
    let silent_from = pair.now;
    pair.tamper = Some(Box::new(|_, path, _| path == PathId(1)));
    while !pair.ends[SERVER].subflow(PathId(0)).unwrap().stale {
        write(&mut pair);
        assert!(pair.now < silent_from + Duration::from_secs(5));
    }
    let after = pair.now.since(silent_from);
    assert!((Duration::from_millis(700)..Duration::from_millis(900)).contains(&after), "{after}");
}

#[test]
fn acknowledgements_beyond_a_gap_are_not_compressed_without_sack() {
    let config = Config { sack: false, sack_compression: ms(5), initial_window: 20, ..tcp() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(50)]).keep_trace();
    let mut is_first = true;
    pair.tamper =
        Some(Box::new(move |_, _, segment| segment.payload.len == 0 || !core::mem::take(&mut is_first)));
    pair.to_write[SERVER] = 1448 * 15;
    pair.connect();
    pair.run_until(Instant::from_millis(210));
    let duplicates = pair.trace.iter().filter(|s| s.from == CLIENT && s.at > Instant::from_millis(150));
    // NewReno counts an acknowledgement for each segment beyond the gap (RFC 5681, section 4.2).
    assert_eq!(duplicates.count(), 14);
}
