//! Fast paths: header prediction on receive, and direct sending over the fastest subflow. With a
//! fast path disabled, a connection has the same segments, events and bytes.
#![allow(missing_docs)]

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, CongestionKind, EcnMode, SchedulerKind};
use units::{Duration, Instant, Probability, Rng, Seed};
use wire::{Flags, Segment, Span};

/// The urgent flag: both ends ignore it, but it makes header prediction fail.
const URG: Flags = Flags::from_bits(0x20);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn any_config(rng: &mut Rng, mptcp: bool) -> Config {
    let mut coin = |n| rng.below(n) == 0;
    let config = Config {
        mptcp,
        rack: coin(3),
        dsack: coin(3),
        prr: coin(3),
        frto: coin(3),
        undo: coin(3),
        ecn: if coin(6) { EcnMode::Request } else { EcnMode::Accept },
        pacing: coin(4),
        autotune: coin(8).then_some(10_000),
        paws: coin(2),
        challenge_acks: coin(2),
        quickack: coin(3),
        checksum: coin(6),
        sack: !coin(5),
        timestamps: !coin(3),
        ..if coin(3) { Config::linux() } else { Config::default() }
    };
    Config {
        mss: [536, 1460][rng.below(2) as usize],
        recv_buffer: [5000, 50_000, 1_000_000][rng.below(3) as usize],
        delayed_ack: ms([0, 40, 200][rng.below(3) as usize]),
        scheduler: SchedulerKind::ALL[rng.below(SchedulerKind::ALL.len() as u64) as usize].into(),
        congestion: CongestionKind::ALL[rng.below(CongestionKind::ALL.len() as u64) as usize].into(),
        ..config
    }
}

fn any_path(rng: &mut Rng) -> PathModel {
    let chance = |p: f64| Probability::new(p).expect("from 0 to 1");
    let start = Instant::from_millis(rng.below(2000));
    PathModel {
        delay: ms(1 + rng.below(100)),
        jitter: ms([0, 0, 3, 40][rng.below(4) as usize]),
        loss: chance([0.0, 0.0, 0.01, 0.1][rng.below(4) as usize]),
        duplicate: chance([0.0, 0.0, 0.0, 0.05][rng.below(4) as usize]),
        mark: Probability::NEVER,
        outages: if rng.below(4) == 0 { vec![(start, start + ms(700))] } else { Vec::new() },
    }
}

/// Fast paths in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FastPaths {
    All,
    /// The urgent flag disables header prediction.
    NoPrediction,
    /// Equal shares, which limit no path, disable direct sending.
    NoDirectSending,
}

/// Runs a random connection, with `scheduler` if given.
fn play(seed: u64, scheduler: Option<SchedulerKind>, fast_paths: FastPaths) -> Pair {
    let mut rng = Seed::new(seed).rng("predicted");
    let mptcp = rng.below(3) > 0;
    let paths = (0..=rng.below(2)).map(|_| any_path(&mut rng)).collect();
    let [client, server] = [(); 2].map(|()| {
        let config = any_config(&mut rng, mptcp);
        Config { scheduler: scheduler.map_or(config.scheduler, Into::into), ..config }
    });
    let mut pair = Pair::with(seed, client, server, paths).keep_trace();
    pair.to_write = [[0, 3000, 100_000][rng.below(3) as usize], 1 + rng.below(200_000)];
    // An end that closes uses no fast path, so each end closes in half of the runs only.
    pair.close_when_done = [rng.below(2) == 0, rng.below(2) == 0];
    for end in [CLIENT, SERVER] {
        if rng.below(2) == 0 {
            pair.read_pace[end] = Some((ms(1 + rng.below(50)), 1 + rng.below(10_000) as usize));
        }
    }
    if fast_paths == FastPaths::NoDirectSending {
        pair.ends.iter_mut().for_each(|end| end.set_shares(&[1.0; 2]));
    }
    if fast_paths == FastPaths::NoPrediction {
        pair.tamper = Some(Box::new(|_, _, segment: &mut Segment<Span>| {
            segment.flags = segment.flags.with(URG);
            true
        }));
    }
    pair.connect();
    pair.run_until(Instant::from_secs(60));
    pair
}

#[test]
fn receive_fast_path_matches_the_slow_path() {
    let mut data = 0;
    for seed in 0..300 {
        let (plain, mut other) =
            (play(seed, None, FastPaths::All), play(seed, None, FastPaths::NoPrediction));
        for seen in &mut other.trace {
            assert!(seen.segment.flags.has(URG));
            seen.segment.flags = Flags::from_bits(seen.segment.flags.bits() & !URG.bits());
        }
        assert_same(seed, &plain, &other);
        data += plain.read[CLIENT];
    }
    assert!(data > 10_000_000, "{data}");
}

#[test]
fn send_fast_path_matches_the_slow_path() {
    let mut data = 0;
    for seed in 0..300 {
        let fastest = Some(SchedulerKind::MinRtt);
        let (plain, other) =
            (play(seed, fastest, FastPaths::All), play(seed, fastest, FastPaths::NoDirectSending));
        assert_same(seed, &plain, &other);
        data += plain.read[CLIENT];
    }
    assert!(data > 10_000_000, "{data}");
}

fn assert_same(seed: u64, one: &Pair, two: &Pair) {
    for (first, second) in one.trace.iter().zip(&two.trace) {
        assert_eq!(format!("{first:?}"), format!("{second:?}"), "seed {seed}");
    }
    assert_eq!(one.trace.len(), two.trace.len(), "seed {seed}");
    assert_eq!(one.events, two.events, "seed {seed}");
    assert_eq!(one.read, two.read, "seed {seed}");
    for end in [CLIENT, SERVER] {
        let timers = [one, two].map(|pair| pair.ends[end].poll_timeout());
        assert_eq!(timers[0], timers[1], "seed {seed}");
    }
}
