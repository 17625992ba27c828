//! Every byte once and in order, whatever the network does: thousands of seeds, each with its own
//! paths, loss, duplication, reordering, outages, buffers and algorithms.

mod pair;

use pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, CongestionKind, Event, SchedulerKind};
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
        recv_buffer: [6_000, 64_000, 1_000_000][rng.below(3) as usize],
        scheduler: SchedulerKind::ALL[rng.below(4) as usize],
        congestion: CongestionKind::ALL[rng.below(3) as usize],
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
    let told = || format!("seed {seed}: read {:?} of {:?}, events {:?}", pair.read, [down, up], pair.events);
    assert_eq!(pair.read, [down, up], "{}", told());
    for end in [CLIENT, SERVER] {
        assert!(pair.saw(end, &Event::PeerClosed), "{}", told());
    }
}

#[test]
fn every_byte_once_and_in_order_over_thousands_of_seeds() {
    let seeds: u64 = std::env::var("TANDEM_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(3000);
    for seed in 0..seeds {
        transfer(seed);
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
