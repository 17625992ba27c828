//! The effect of each scheduler on whole connections.

use crate::pair::{CLIENT, Pair, PathModel, SERVER, Seen};
use std::collections::BTreeMap;
use tandem_mptcp::{Config, CongestionKind, PathId, SchedulerKind};
use units::{Duration, Instant};

/// Writes `bytes` every `every`. Returns the longest time without new data at the client, after the
/// first second.
fn write_periodically(pair: &mut Pair, bytes: u64, every: Duration, until: Instant) -> Duration {
    let (mut last, mut longest, mut read) = (Instant::from_secs(1), Duration::ZERO, 0);
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    let mut next = pair.now;
    while pair.now < until {
        if pair.now >= next {
            pair.to_write[SERVER] += bytes;
            next += every;
        }
        pair.run_until(pair.now + Duration::from_millis(1));
        if pair.read[CLIENT] > read {
            longest = longest.max(pair.now.since(last));
            (last, read) = (pair.now, pair.read[CLIENT]);
        }
    }
    longest.max(until.since(last))
}

fn data_of(pair: &Pair) -> impl Iterator<Item = &Seen> {
    pair.trace.iter().filter(|seen| seen.from == SERVER && seen.segment.payload.len > 0)
}

#[test]
fn redundant_loses_only_segments_lost_on_both_paths() {
    let config = Config { scheduler: SchedulerKind::Redundant.into(), ..Config::default() };
    let paths = vec![PathModel::lossy(10, 0.2), PathModel::lossy(20, 0.2)];
    let mut pair = Pair::new(1, config, paths).keep_trace();
    // Full segments, so that both paths divide the stream alike; slow enough that both have room.
    write_periodically(&mut pair, 1424, Duration::from_millis(1500), Instant::from_secs(6000));
    // By offset in the stream: was the first transmission on each path lost?
    let mut first: BTreeMap<u64, [Option<bool>; 2]> = BTreeMap::new();
    for seen in data_of(&pair) {
        first.entry(seen.segment.payload.offset).or_default()[seen.path.index()].get_or_insert(seen.lost);
    }
    let both: Vec<_> = first.values().filter_map(|[a, b]| Some(((*a)?, (*b)?))).collect();
    assert!(both.len() > 3000, "both paths carry nearly all {} segments: {}", first.len(), both.len());
    let share = |lost: usize| lost as f64 / both.len() as f64;
    let first_lost = share(both.iter().filter(|(a, _)| *a).count());
    let both_lost = share(both.iter().filter(|(a, b)| *a && *b).count());
    assert!((first_lost - 0.2).abs() < 0.02, "{first_lost}");
    assert!((both_lost - 0.04).abs() < 0.01, "{both_lost}");
}

#[test]
fn redundant_does_not_stall_when_a_path_dies() {
    let mut paths = vec![PathModel::clean(10), PathModel::clean(15)];
    paths[0].outages.push((Instant::from_secs(3), Instant::from_secs(1000)));
    let stall = |scheduler: SchedulerKind| {
        let config = Config { scheduler: scheduler.into(), ..Config::default() };
        let mut pair = Pair::new(1, config, paths.clone());
        let longest = write_periodically(&mut pair, 3000, Duration::from_millis(20), Instant::from_secs(8));
        assert!(pair.read[CLIENT] > 950_000, "{scheduler}: {}", pair.read[CLIENT]);
        longest
    };
    // One write interval, the difference of the delays, and the time step of the test.
    assert!(stall(SchedulerKind::Redundant) <= Duration::from_millis(27));
    assert!(stall(SchedulerKind::MinRtt) > Duration::from_millis(200), "other schedulers wait for a timeout");
}

#[test]
fn redundant_does_not_copy_delivered_data() {
    // When the slow path has room for a copy, most of the data has arrived already.
    let config =
        Config { scheduler: SchedulerKind::Redundant.into(), recv_buffer: 100_000, ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(5), PathModel::clean(100)]).keep_trace();
    pair.to_write[SERVER] = 20_000_000;
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    let reached = data_of(&pair).map(|seen| seen.segment.payload.offset).max().unwrap_or(0);
    let over_slow = pair.carried(SERVER, 1, Instant::ZERO, Instant::from_secs(5));
    assert!(reached > 10_000_000, "{reached}");
    assert!(over_slow > 1_000_000 && over_slow < reached / 4, "{over_slow} of {reached}");
    // The slow path carries the newest data, not the start of the stream.
    let end = data_of(&pair).filter(|seen| seen.path == PathId(1)).last().map(|s| s.segment.payload.offset);
    assert!(end.is_some_and(|end| end + 1_000_000 > reached), "{end:?} of {reached}");
    // Without loss no path carries a byte twice.
    for path in [0, 1] {
        let mut end = 0;
        for seen in data_of(&pair).filter(|seen| seen.path == PathId(path)) {
            assert!(seen.segment.payload.offset >= end, "twice over path {path}: {seen:?}");
            end = seen.segment.payload.offset + u64::from(seen.segment.payload.len);
        }
    }
}

#[test]
fn redundant_respects_share_limits() {
    let config = Config { scheduler: SchedulerKind::Redundant.into(), ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(10), PathModel::clean(20)]).keep_trace();
    pair.ends[SERVER].set_shares(&[0.8, 0.2]);
    write_periodically(&mut pair, 4000, Duration::from_millis(20), Instant::from_secs(10));
    let [first, second] = [0, 1].map(|path| pair.carried(SERVER, path, Instant::ZERO, pair.now));
    assert_eq!(first, pair.read[CLIENT].max(first), "the first path carries all data");
    let share = second as f64 / (first + second) as f64;
    assert!((0.15..=0.2).contains(&share), "{share}");
}

#[test]
fn window_of_a_full_fast_path_grows_while_a_slower_path_takes_the_rest() {
    for scheduler in [SchedulerKind::MinRtt, SchedulerKind::Ecf, SchedulerKind::Redundant] {
        let config = Config {
            scheduler: scheduler.into(),
            congestion: CongestionKind::Reno.into(),
            ..Config::default()
        };
        let paths = vec![PathModel::clean(10), PathModel::clean(30)];
        let mut pair = Pair::new(1, config, paths).keep_trace();
        // Losses of the first hundred segments cut the window to a few segments.
        let mut sent = 0;
        pair.tamper = Some(Box::new(move |_, path, segment| {
            let counts = path == PathId(0) && segment.payload.len > 0;
            sent += u32::from(counts);
            !counts || sent > 100 || sent % 10 != 0
        }));
        // A stream of 21 segments each round trip of the fast path.
        write_periodically(&mut pair, 30_000, Duration::from_millis(20), Instant::from_secs(30));
        let window = pair.ends[SERVER].subflow(PathId(0)).map_or(0, |subflow| subflow.cwnd);
        assert!(window >= 30_000, "{scheduler}: {window}");
    }
}

#[test]
fn pacing_gap_of_the_fast_path_sends_nothing_over_a_slower_one() {
    let config = Config { pacing: true, congestion: CongestionKind::Cubic.into(), ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(10), PathModel::clean(40)]).keep_trace();
    write_periodically(&mut pair, 20_000, Duration::from_millis(16), Instant::from_secs(10));
    let [fast, slow] = [0, 1].map(|path| pair.carried(SERVER, path, Instant::from_secs(5), pair.now));
    assert!(slow < fast / 100, "{fast} and {slow}");
}

/// A fast path with a small window because of losses, and a slow one.
fn unequal_paths(slow_ms: u64) -> Vec<PathModel> {
    vec![PathModel::lossy(5, 0.01), PathModel::clean(slow_ms)]
}

/// Mean bytes out of order, and bytes read, with a receive window that a slow path can block.
fn small_window(scheduler: SchedulerKind) -> (u64, u64) {
    let config = Config { scheduler: scheduler.into(), recv_buffer: 60_000, ..Config::default() };
    let mut pair = Pair::new(1, config, unequal_paths(150));
    pair.to_write[SERVER] = 1_000_000_000;
    pair.connect();
    let mut sum = 0;
    while pair.now < Instant::from_secs(20) {
        pair.run_until(pair.now + Duration::from_millis(1));
        sum += pair.ends[CLIENT].out_of_order();
    }
    (sum / 20_000, pair.read[CLIENT])
}

#[test]
fn blest_skips_a_slow_path_that_would_block_the_window() {
    let (min_rtt, blest) = (small_window(SchedulerKind::MinRtt), small_window(SchedulerKind::Blest));
    // Losses of the fast path leave data out of order too, in proportion to its rate.
    let out_of_order = |(mean, read): (u64, u64)| mean as f64 / read as f64;
    assert!(2.0 * out_of_order(blest) < out_of_order(min_rtt), "{blest:?}, with minRTT {min_rtt:?}");
    assert!(blest.1 > 4 * min_rtt.1, "read: {blest:?}, with minRTT {min_rtt:?}");
}

/// Bursts with pauses. Returns their mean duration, and the most bytes out of order.
fn bursts(scheduler: SchedulerKind) -> (Duration, u64) {
    let config = Config { scheduler: scheduler.into(), recv_buffer: 300_000, ..Config::default() };
    let mut pair = Pair::new(1, config, unequal_paths(100));
    pair.connect();
    let (mut took, mut most) = (Duration::ZERO, 0);
    for burst in 1..=20 {
        pair.run_until(Instant::from_secs(burst));
        pair.to_write[SERVER] += 60_000;
        while pair.read[CLIENT] < burst * 60_000 {
            pair.run_until(pair.now + Duration::from_millis(1));
            most = most.max(pair.ends[CLIENT].out_of_order());
        }
        took += pair.now.since(Instant::from_secs(burst));
    }
    (took / 20, most)
}

#[test]
fn ecf_finishes_a_burst_over_the_fast_path() {
    let (min_rtt, ecf) = (bursts(SchedulerKind::MinRtt), bursts(SchedulerKind::Ecf));
    assert!(ecf.0 < min_rtt.0 * 95 / 100, "{ecf:?}, with minRTT {min_rtt:?}");
    assert!(2 * ecf.1 < min_rtt.1, "out of order: {ecf:?}, with minRTT {min_rtt:?}");
}

#[test]
fn opportunistic_retransmission_unblocks_the_receive_window() {
    let run = |opportunistic, penalise, send_buffer| {
        let config =
            Config { opportunistic, penalise, send_buffer, recv_buffer: 60_000, ..Config::default() };
        let mut pair = Pair::new(1, config, unequal_paths(150)).keep_trace();
        pair.to_write[SERVER] = 1_000_000_000;
        pair.connect();
        pair.run_until(Instant::from_secs(10));
        let slow = pair.carried(SERVER, 1, Instant::ZERO, pair.now);
        (pair.read[CLIENT], slow, pair.ends[SERVER].reinjected_bytes())
    };
    for send_buffer in [4 << 20, 60_000] {
        let neither = run(false, false, send_buffer);
        let copying = run(true, false, send_buffer);
        let both = run(true, true, send_buffer);
        assert!(2 * copying.0 > 3 * neither.0, "{copying:?}, without {neither:?}");
        // Each stall by the slow path costs one copied segment, not a window of copies.
        assert!(copying.2 > 0 && copying.2 < copying.0 / 4, "{copying:?}");
        assert!(both.0 > neither.0 && both.1 < copying.1, "{both:?}, {copying:?}, {neither:?}");
    }
}

#[test]
fn single_path_is_neither_copied_nor_penalised() {
    let run = |on| {
        let config = Config { opportunistic: on, penalise: on, recv_buffer: 60_000, ..Config::default() };
        let mut pair = Pair::new(1, config, vec![PathModel::clean(20)]);
        pair.to_write[SERVER] = 100_000_000;
        pair.connect();
        pair.run_until(Instant::from_secs(5));
        (pair.read[CLIENT], pair.ends[SERVER].reinjected_bytes())
    };
    assert_eq!(run(true), run(false));
}
