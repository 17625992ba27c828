//! Coupled congestion controls beside subflows that carry nothing.

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, CongestionKind, PathId};
use units::Instant;

/// Growth of the first path's window, in segments per round trip, after a loss while the second path
/// is an idle backup with a large window.
fn growth_beside_an_idle_backup(congestion: CongestionKind) -> f64 {
    let config = Config { congestion: congestion.into(), ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(50), PathModel::clean(50)]);
    let second = Instant::from_secs;
    let (mut sent, mut losses) = ([0, 0], 0);
    pair.tamper = Some(Box::new(move |_, path, segment| {
        let i = path.index();
        sent[i] += u32::from(segment.payload.len > 0);
        // The first path loses one segment in its slow start, the second has a window of hundreds.
        let lost = segment.payload.len > 0 && losses <= i && sent[i] > [50, 1000][i];
        losses += usize::from(lost);
        !lost
    }));
    pair.to_write[SERVER] = 1_000_000_000;
    pair.connect();
    pair.run_until(second(3));
    pair.ends[CLIENT].set_priority(PathId(1), true);
    pair.settle();
    pair.run_until(second(10));
    let window = |pair: &Pair, path| pair.ends[SERVER].subflow(PathId(path)).map_or(0, |one| one.cwnd);
    assert!(window(&pair, 1) > 2 * window(&pair, 0));
    let before = window(&pair, 0);
    pair.run_until(second(20));
    (window(&pair, 0) - before) as f64 / 1424.0 / 100.0
}

#[test]
fn idle_backup_does_not_slow_the_increase_of_the_path_in_use() {
    for kind in [CongestionKind::Lia, CongestionKind::Olia, CongestionKind::Balia] {
        let growth = growth_beside_an_idle_backup(kind);
        assert!((0.8..1.1).contains(&growth), "{kind}: {growth} segments per round trip");
    }
}
