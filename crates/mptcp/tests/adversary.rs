//! Every byte once and in order, whatever the network does: thousands of seeds, each with its own
//! paths, loss, duplication, reordering, outages, buffers and algorithms.

mod pair;

use pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, CongestionKind, Event, Failure, PathId, SchedulerKind};
use units::{Duration, Probability, Rng, Seed, Time};

fn any_path(rng: &mut Rng) -> PathModel {
    let p = |x: f64| Probability::new(x).expect("from 0 to 1");
    let mut outages = Vec::new();
    for _ in 0..rng.below(3) {
        let from = rng.below(20_000);
        outages.push((Time::from_millis(from), Time::from_millis(from + 50 + rng.below(4000))));
    }
    PathModel {
        delay: Duration::from_millis(1 + rng.below(120)),
        jitter: Duration::from_millis([0, 0, 2, 40, 200][rng.below(5) as usize]),
        loss: p([0.0, 0.001, 0.01, 0.05, 0.2][rng.below(5) as usize]),
        duplicate: p([0.0, 0.0, 0.01, 0.2][rng.below(4) as usize]),
        outages,
    }
}

fn any_config(rng: &mut Rng, mptcp: bool) -> Config {
    Config {
        mptcp,
        mss: [536, 1200, 1460][rng.below(3) as usize],
        send_buffer: [8_000, 64_000, 1_000_000][rng.below(3) as usize],
        subflow_buffer: [u64::MAX, u64::MAX, 20_000][rng.below(3) as usize],
        recv_buffer: [6_000, 64_000, 1_000_000][rng.below(3) as usize],
        scheduler: SchedulerKind::ALL[rng.below(4) as usize],
        congestion: CongestionKind::ALL[rng.below(CongestionKind::ALL.len() as u64) as usize],
        sack: rng.below(3) > 0,
        timestamps: rng.below(3) > 0,
        delayed_ack: Duration::from_millis([0, 40, 200][rng.below(3) as usize]),
        stale_after: 1 + rng.below(3) as u32,
        max_retries: 100,
        max_rto: Duration::from_secs(5),
        ..Config::default()
    }
}

/// One transfer both ways, to the last byte and both closes.
fn transfer(seed: u64) {
    let mut rng = Seed::new(seed).rng("adversary");
    let mptcp = rng.below(5) > 0;
    let count = 1 + rng.below(3);
    let paths = (0..count).map(|_| any_path(&mut rng)).collect();
    let client = any_config(&mut rng, mptcp);
    let server_offers = mptcp || rng.below(2) == 0;
    let server = any_config(&mut rng, server_offers);
    let mut pair = Pair::with(seed, client, server, paths);
    let up = [0, 1, 7000, 60_000][rng.below(4) as usize];
    let down = [1, 5000, 150_000, 400_000][rng.below(4) as usize];
    pair.to_write = [up, down];
    pair.close_when_done = [true, true];
    for end in [CLIENT, SERVER] {
        if rng.below(4) == 0 {
            pair.appetite[end] = Some((Duration::from_millis(10 + rng.below(300)), 3000));
        }
    }
    pair.connect();
    pair.run_until(Time::from_secs(20_000));
    let never_up = |end: usize| !pair.events[end].iter().any(|(_, e)| matches!(e, Event::Connected(_)));
    if [CLIENT, SERVER].into_iter().all(never_up) && pair.saw(SERVER, &Event::Failed(Failure::TimedOut)) {
        // An outage as long as all tries of a handshake: one seed in some ten thousand.
        return;
    }
    let told = || format!("seed {seed}: read {:?} of {:?}, events {:?}", pair.read, [down, up], pair.events);
    assert_eq!(pair.read, [down, up], "{}", told());
    for end in [CLIENT, SERVER] {
        assert!(pair.saw(end, &Event::PeerClosed), "{}", told());
    }
}

/// The same, while the device does to its paths whatever it can: each path is removed and opened at
/// any time, changes its priority and its share, with buffers down to less than a segment. True if all
/// came through; a connection that loses its last hope must say so.
fn turmoil(seed: u64) -> bool {
    let mut rng = Seed::new(seed).rng("turmoil");
    let mptcp = rng.below(8) > 0;
    let count = 1 + rng.below(3) as usize;
    let paths = (0..count).map(|_| any_path(&mut rng)).collect();
    let tiny = rng.below(3) == 0;
    let [client, server] = [(), ()].map(|()| {
        let mut config = any_config(&mut rng, mptcp);
        if tiny {
            config.recv_buffer = [1, 500, 1500, 3000][rng.below(4) as usize];
            config.send_buffer = [1, 300, 5000][rng.below(3) as usize];
        }
        config
    });
    let mut pair = Pair::with(seed, client, server, paths);
    let most = if tiny { 3000 } else { 300_000 };
    let amounts = [rng.below(most), rng.below(most)];
    pair.to_write = amounts;
    pair.close_when_done = [rng.below(4) > 0, rng.below(4) > 0];
    for end in [CLIENT, SERVER] {
        if rng.below(4) == 0 {
            let bite = if tiny { 70 } else { 3000 };
            pair.appetite[end] = Some((Duration::from_millis(10 + rng.below(300)), bite));
        }
    }
    pair.connect();
    for _ in 0..rng.below(25) {
        let wait = [1, 30, 300, 4000][rng.below(4) as usize];
        pair.run_until(pair.now + Duration::from_millis(rng.below(wait)));
        let path = PathId(rng.below(count as u64) as u8);
        let (end, yes) = (rng.below(2) as usize, rng.below(2) == 0);
        match rng.below(6) {
            0 => pair.ends[CLIENT].remove(path, yes),
            1 | 2 => {
                pair.ends[CLIENT].open(pair.now, path, yes);
            }
            3 => pair.ends[end].set_priority(path, yes),
            4 if rng.below(3) == 0 => {
                let shares: Vec<f64> = (0..count).map(|_| (rng.unit() - 0.2).max(0.0)).collect();
                pair.ends[end].set_shares(&shares);
            }
            // Both ends at once.
            5 if rng.below(3) == 0 => pair.close_when_done = [true, true],
            _ => {}
        }
        pair.settle();
    }
    pair.close_when_done = [true, true];
    let done = |pair: &Pair| {
        let failed = pair.events.iter().flatten().any(|(_, event)| matches!(event, Event::Failed(_)));
        let read = |end| pair.saw(end, &Event::PeerClosed) && pair.ends[end].unread() == 0;
        failed || [CLIENT, SERVER].into_iter().all(read)
    };
    while !done(&pair) {
        assert!(pair.now < Time::from_secs(20_000), "seed {seed}: {:?} {:?}", pair.read, pair.events);
        for path in 0..count {
            pair.ends[CLIENT].open(pair.now, PathId(path as u8), false);
        }
        pair.settle();
        pair.run_until(pair.now + Duration::from_secs(10));
    }
    let whole = pair.read == [amounts[1], amounts[0]];
    let failed = pair.events.iter().flatten().any(|(_, event)| matches!(event, Event::Failed(_)));
    assert!(whole || failed, "seed {seed}: {:?} of {amounts:?}, {:?}", pair.read, pair.events);
    whole
}

fn seeds(default: u64) -> u64 {
    std::env::var("TANDEM_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

#[test]
fn every_byte_once_and_in_order_over_thousands_of_seeds() {
    (0..seeds(3000)).for_each(transfer);
}

#[test]
fn paths_that_come_and_go_lose_nothing() {
    let seeds = seeds(3000);
    let whole = (0..seeds).filter(|&seed| turmoil(seed)).count() as u64;
    // The others lost their only path, or the first before there could be another.
    assert!(whole > seeds * 7 / 10, "{whole} of {seeds}");
}

/// After an abort nothing more comes of that end, whenever it is and whatever still arrives.
#[test]
fn an_abort_is_the_end() {
    for seed in 0..300 {
        let mut rng = Seed::new(seed).rng("abort");
        let paths = (0..2).map(|_| any_path(&mut rng)).collect();
        let mptcp = rng.below(3) > 0;
        let config = any_config(&mut rng, mptcp);
        let mut pair = Pair::new(seed, config, paths);
        pair.to_write = [100_000, 400_000];
        pair.connect();
        pair.run_until(Time::from_millis(rng.below(3000)));
        let end = rng.below(2) as usize;
        pair.ends[end].abort();
        pair.settle();
        let read = pair.read[end];
        pair.run_until(Time::from_secs(200));
        let told = format!("seed {seed}: {:?}", pair.events);
        assert!(pair.ends[end].is_closed() && pair.saw(end, &Event::Failed(Failure::Aborted)), "{told}");
        assert_eq!((pair.read[end], pair.ends[end].poll_timeout()), (read, None), "{told}");
        assert!((0..2).all(|path| pair.ends[end].subflow(PathId(path)).is_none_or(|s| !s.up)), "{told}");
    }
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    let run = || {
        let mut rng = Seed::new(5).rng("adversary");
        let paths = vec![any_path(&mut rng), any_path(&mut rng)];
        let mut pair = Pair::new(5, Config::default(), paths).keep_trace();
        pair.to_write = [10_000, 200_000];
        pair.connect();
        pair.run_until(Time::from_secs(60));
        format!("{:?}", pair.trace)
    };
    assert_eq!(run(), run());
}
