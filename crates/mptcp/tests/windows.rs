//! Receive windows and window updates.

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, CongestionKind, PathId};
use units::{Duration, Instant};

#[test]
fn window_updates_are_not_duplicate_acknowledgements() {
    let config = Config {
        mptcp: false,
        sack: false,
        recv_buffer: 30_000,
        initial_window: 30,
        congestion: CongestionKind::Reno.into(),
        ..Config::default()
    };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(100)]);
    pair.to_write[SERVER] = 200_000;
    pair.read_pace[CLIENT] = Some((Duration::from_millis(20), 3000));
    pair.connect();
    pair.run_until(Instant::from_secs(100));
    assert_eq!(pair.read[CLIENT], 200_000);
    assert_eq!(pair.ends[SERVER].subflow(PathId(0)).unwrap().retransmissions, 0);
}

#[test]
fn slow_reader_gets_no_tiny_segments() {
    for mptcp in [false, true] {
        let config = Config { mptcp, recv_buffer: 20_000, ..Config::default() };
        let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]).keep_trace();
        pair.to_write[SERVER] = 60_000;
        pair.read_pace[CLIENT] = Some((Duration::from_millis(10), 100));
        pair.connect();
        pair.run_until(Instant::from_secs(100));
        assert_eq!(pair.read[CLIENT], 60_000);
        let data = pair.trace.iter().filter(|s| s.from == SERVER && s.segment.payload.len > 0);
        let tiny = data.clone().filter(|s| s.segment.payload.len < 1000).count();
        assert!(tiny <= 2, "{tiny} of {} are tiny (mptcp: {mptcp})", data.count());
    }
}

#[test]
fn offered_window_edge_moves_back_by_rounding_only() {
    // A buffer that is no multiple of the window scale, and a reader that keeps the window moving.
    let config = Config { recv_buffer: 1_000_003, ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::lossy(20, 0.01), PathModel::clean(50)]);
    pair.to_write[SERVER] = 4_000_000;
    pair.read_pace[CLIENT] = Some((Duration::from_millis(3), 7777));
    pair.connect();
    // The harness checks the edge of every acknowledgement, and every byte against it.
    pair.run_until(Instant::from_secs(300));
    assert_eq!(pair.read[CLIENT], 4_000_000);
}

#[test]
fn buffer_takes_no_more_than_its_size_in_small_segments() {
    const BUFFER: u64 = 2 << 20;
    for mptcp in [false, true] {
        let config =
            Config { mptcp, mss: 100, recv_buffer: BUFFER, send_buffer: 4 * BUFFER, ..Config::default() };
        let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]);
        pair.to_write[SERVER] = 3 * BUFFER;
        pair.read_pace[CLIENT] = Some((Duration::from_secs(1000), 1));
        pair.connect();
        pair.run_until(Instant::from_secs(20));
        let unread = pair.ends[CLIENT].unread();
        // A window field counts 64 bytes.
        assert!((BUFFER - 200..BUFFER + 64).contains(&unread), "{unread}");
    }
}

#[test]
fn linux_sends_no_window_probe_while_data_is_outstanding() {
    for probes in [false, true] {
        let linux = Config { recv_buffer: 60_000, autotune: None, ..Config::linux() };
        let config = Config { data_retransmission: !probes, ..linux };
        let mut pair = Pair::new(1, config, vec![PathModel::clean(400), PathModel::clean(5)]).keep_trace();
        pair.to_write[SERVER] = 2_000_000;
        pair.connect();
        pair.run_until(Instant::from_secs(60));
        assert_eq!(pair.read[CLIENT], 2_000_000);
        let data = |s: &&crate::pair::Seen| s.from == SERVER && s.segment.payload.len > 0;
        let first = pair.trace.iter().find(data).map(|s| s.at);
        let empty = pair.trace.iter().filter(|s| s.from == SERVER && s.segment.payload.len == 0);
        let after = empty.filter(|s| Some(s.at) > first && s.segment.signal.is_none());
        assert_eq!(after.count() > 0, probes);
    }
}
