//! Middleboxes, active queue management, background traffic, and reordered, duplicated or corrupted
//! packets.

mod support;

use link::{Codel, Impairments, QueueLimit, Reorder};
use middlebox::{ExpiryAction, MiddleboxConfig, MiddleboxKind, OptionAction, OptionSet, SegmentFilter};
use support::{one_path, path, wifi_lte};
use tandem_sim::{BackgroundSpec, Experiment, Hop, Outcome, run};
use traffic::Kind;
use traffic::{Direction, Mix, Vbr};
use units::{Bitrate, Bytes, Duration, Instant, Probability};

const FILE_BYTES: u64 = 5_000_000;

fn probability(p: f64) -> Probability {
    Probability::new(p).expect("from 0 to 1")
}

/// Transfers a file over two paths, with middleboxes on the paths with indices `on`.
fn run_through(on: &[usize], kinds: &[MiddleboxKind]) -> Outcome {
    let mut experiment = wifi_lte(Kind::File { size: Bytes::new(FILE_BYTES) }, 120);
    experiment.paths = vec![path("wifi", "huang2012.wifi", 8.0, 5), path("lte", "huang2012.lte", 8.0, 30)];
    for &i in on {
        experiment.paths[i].middleboxes = kinds.iter().copied().map(MiddleboxConfig::new).collect();
    }
    run(&experiment)
}

fn strip(options: OptionSet, filter: SegmentFilter) -> MiddleboxKind {
    MiddleboxKind::StripOptions { options, filter, action: OptionAction::Strip, chance: Probability::ALWAYS }
}

#[test]
fn all_data_is_delivered_through_splitting_and_rewriting() {
    let rewrite = |sack| MiddleboxKind::RewriteSequence { up: 0x8000_0000, down: 77, sack };
    for kinds in [
        vec![MiddleboxKind::Split { mss: 300 }],
        vec![rewrite(true)],
        vec![MiddleboxKind::Split { mss: 536 }, rewrite(true)],
    ] {
        let outcome = run_through(&[0, 1], &kinds);
        assert_eq!(outcome.connections[0].delivered_bytes, FILE_BYTES, "{kinds:?}");
        assert!(outcome.connections[0].completed_s.is_some(), "{kinds:?}");
        for path in &outcome.paths {
            assert_eq!(path.middleboxes.len(), kinds.len());
            assert!(path.middleboxes.iter().all(|b| b.seen > 100 && b.changed + b.added + b.merged > 0));
        }
    }
}

#[test]
fn tcp_works_with_merged_segments() {
    let mut experiment = one_path(8.0, 10, Kind::File { size: Bytes::new(FILE_BYTES) }, 60);
    let coalesce = MiddleboxKind::Coalesce { max_bytes: 65_535, hold: Duration::from_millis(2) };
    experiment.paths[0].middleboxes =
        [MiddleboxKind::Split { mss: 536 }, coalesce].map(MiddleboxConfig::new).to_vec();
    let outcome = run(&experiment);
    assert_eq!(outcome.connections[0].delivered_bytes, FILE_BYTES);
    let boxes = &outcome.paths[0].middleboxes;
    assert!(boxes[0].added > 1000 && boxes[1].merged > 1000, "{boxes:?}");
}

#[test]
fn sequence_rewriting_does_not_change_the_outcome() {
    let without = run_through(&[], &[]);
    let with = run_through(&[0, 1], &[MiddleboxKind::RewriteSequence { up: 5, down: u32::MAX, sack: true }]);
    assert_eq!(without.connections, with.connections);
}

#[test]
fn a_path_that_strips_mptcp_options_does_not_join() {
    let outcome = run_through(&[1], &[strip(OptionSet::MPTCP, SegmentFilter::All)]);
    assert_eq!(
        (outcome.connections[0].delivered_bytes, outcome.paths[1].payload_down_bytes),
        (FILE_BYTES, 0)
    );
    assert_eq!(outcome.connections[0].protocol, "mptcp");
    // Stripping on the first path makes the connection fall back to TCP in the handshake.
    let outcome = run_through(&[0], &[strip(OptionSet::CAPABLE, SegmentFilter::Syn)]);
    assert_eq!(
        (outcome.connections[0].delivered_bytes, outcome.connections[0].protocol),
        (FILE_BYTES, "tcp")
    );
}

#[test]
fn a_path_that_begins_to_strip_mappings_leaves_the_other_path_busy() {
    let mut experiment = wifi_lte(Kind::Bulk, 60);
    experiment.paths = vec![path("wifi", "huang2012.wifi", 8.0, 5), path("lte", "huang2012.lte", 8.0, 30)];
    let kind = strip(OptionSet::DSS, SegmentFilter::All);
    experiment.paths[0].middleboxes =
        vec![MiddleboxConfig { from: Instant::from_secs(5), ..MiddleboxConfig::new(kind) }];
    let outcome = run(&experiment);
    // The link of 8 Mbit/s carries headers beside the payload, and loses a burst at first.
    let lte_mbps = outcome.paths[1].payload_down_bytes as f64 * 8.0 / 1e6 / outcome.duration_s;
    assert!(lte_mbps > 0.85 * 8.0, "{lte_mbps} Mbit/s");
}

#[test]
fn an_expired_nat_mapping_fails_the_subflow_only() {
    for on_expiry in [ExpiryAction::Renew, ExpiryAction::Reset, ExpiryAction::Drop] {
        let kind = Kind::OnOff {
            rate: units::Bitrate::from_mbps(2.0),
            packet: Bytes::new(1000),
            on: Duration::from_secs(1),
            off: Duration::from_secs(9),
            exponential: false,
        };
        let mut experiment = wifi_lte(kind, 60);
        experiment.traffic[0].direction = traffic::Direction::Up;
        let idle = Duration::from_secs(4);
        experiment.paths[0].middleboxes = vec![MiddleboxConfig::new(MiddleboxKind::Nat { idle, on_expiry })];
        let outcome = run(&experiment);
        let connection = &outcome.connections[0];
        assert!(!connection.failed && connection.delivered_bytes * 100 > connection.offered_bytes * 99);
        let nat = &outcome.paths[0].middleboxes[0];
        assert_eq!(nat.answered > 0, on_expiry == ExpiryAction::Reset, "{nat:?}");
        assert_eq!(nat.dropped > 0, on_expiry != ExpiryAction::Renew, "{nat:?}");
    }
}

#[test]
fn without_dss_checksum_corrupted_bytes_reach_the_application() {
    let outcome = run_through(&[0], &[MiddleboxKind::Corrupt { chance: probability(0.01) }]);
    let connection = &outcome.connections[0];
    assert_eq!(connection.delivered_bytes, FILE_BYTES);
    assert!((1000..FILE_BYTES / 10).contains(&connection.corrupted_bytes), "{connection:?}");
}

fn with_link(experiment: &mut Experiment, change: impl Fn(&mut link::LinkConfig)) {
    for path in &mut experiment.paths {
        if let Hop::Link(link) = &mut path.down {
            change(link);
        }
    }
}

#[test]
fn codel_keeps_queueing_delay_low_and_the_link_busy() {
    let mut experiment = one_path(20.0, 20, Kind::Bulk, 30);
    experiment.transport.config.recv_buffer = 4_000_000;
    experiment.transport.config.send_buffer = 4_000_000;
    let mut delay_and_goodput = |codel| {
        with_link(&mut experiment, |link| {
            link.queue = QueueLimit::Packets(1000);
            link.codel = codel;
        });
        let outcome = run(&experiment);
        let queue = &outcome.series.column("wifi.queue_kb").expect("the column").values;
        let delay_ms = queue.iter().sum::<f64>() / queue.len() as f64 * 8.0 / 20.0;
        (delay_ms, outcome.connections[0].goodput_mbps)
    };
    let (deep, _) = delay_and_goodput(None);
    let (managed, goodput) = delay_and_goodput(Some(Codel::default()));
    assert!(deep > 100.0 && managed < 15.0, "{deep} ms, {managed} ms");
    assert!(goodput > 15.0, "{goodput}");
}

#[test]
fn codel_with_ecn_marks_and_does_not_drop() {
    let mut experiment = one_path(20.0, 20, Kind::Bulk, 30);
    experiment.transport.config.ecn = mptcp::EcnMode::Request;
    with_link(&mut experiment, |link| {
        link.queue = QueueLimit::Packets(1000);
        link.codel = Some(Codel { ecn: true, ..Codel::default() });
    });
    let path = &run(&experiment).paths[0];
    assert!(path.marked_packets > 20, "{path:?}");
    assert_eq!((path.dropped_packets, path.retransmissions), (0, 0), "{path:?}");
}

#[test]
fn impaired_packets_are_counted_and_all_data_is_delivered() {
    let mut experiment = wifi_lte(Kind::File { size: Bytes::new(FILE_BYTES) }, 120);
    let reorder = Some(Reorder { probability: probability(0.01), extra_delay: Duration::from_millis(8) });
    let impairments = Impairments { corrupt: probability(0.002), duplicate: probability(0.01), reorder };
    with_link(&mut experiment, |link| link.impairments = impairments);
    let outcome = run(&experiment);
    assert_eq!(outcome.connections[0].delivered_bytes, FILE_BYTES);
    let sum = |count: fn(&tandem_sim::PathOutcome) -> u64| outcome.paths.iter().map(count).sum::<u64>();
    assert!(sum(|path| path.damaged_packets) > 0 && sum(|path| path.doubled_packets) > 10, "{outcome:?}");
}

#[test]
fn background_traffic_uses_link_and_radio() {
    let mut experiment = one_path(10.0, 10, Kind::Bulk, 30);
    let alone = run(&experiment);
    let half = Bitrate::from_mbps(5.0);
    let packets = Vbr { low: half, high: half, every: Duration::from_secs(1), mix: Mix::IMIX, bursts: None };
    experiment.background = [Direction::Down, Direction::Up]
        .map(|direction| BackgroundSpec { path: 0, direction, start: Instant::ZERO, stop: None, packets })
        .to_vec();
    let with = run(&experiment);
    let [down, up] = &with.background[..] else { panic!("two flows") };
    for flow in [down, up] {
        let rate = flow.offered_bytes as f64 * 8e-6 / 30.0;
        assert!((rate - 5.0).abs() < 0.3, "{rate}");
        assert!(flow.delivered_packets <= flow.offered_packets);
        // The delay includes 10 ms of propagation.
        assert!(flow.mean_delay_s.expect("some arrived") > 0.010);
    }
    // TCP fills the queue of the downlink: its datagrams wait longer.
    assert!(down.mean_delay_s > up.mean_delay_s && down.longest_delay_s < 0.2, "{down:?}");
    let (before, after) = (alone.connections[0].goodput_mbps, with.connections[0].goodput_mbps);
    assert!(after < before - 3.0 && after > 2.0, "{before} {after}");
    // The radio carries both: the uplink datagrams need more energy than the acknowledgements.
    assert!(with.paths[0].wire_up_bytes > alone.paths[0].wire_up_bytes + 15_000_000);
    assert!(with.paths[0].energy.data_j > alone.paths[0].energy.data_j);
}
