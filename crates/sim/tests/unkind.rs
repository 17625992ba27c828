//! Middleboxes on a path, managed queues, and packets that are late, doubled or damaged.

mod support;

use link::{Codel, Impairments, Late, QueueLimit};
use middlebox::{Finding, Forgotten, Meddling, MiddleboxConfig, On, Options};
use support::{one_path, path, wifi_lte};
use tandem_sim::{BackgroundSpec, Experiment, Hop, Outcome, run};
use traffic::Kind;
use traffic::{Direction, Mix, Vbr};
use units::{Bitrate, Bytes, Duration, Instant, Probability};

const SIZE: u64 = 5_000_000;

fn p(p: f64) -> Probability {
    Probability::new(p).expect("from 0 to 1")
}

/// A file over two paths, with these boxes on each of `on`.
fn through(on: &[usize], boxes: &[Meddling]) -> Outcome {
    let mut experiment = wifi_lte(Kind::File { size: Bytes::new(SIZE) }, 120);
    experiment.paths = vec![path("wifi", "huang2012.wifi", 8.0, 5), path("lte", "huang2012.lte", 8.0, 30)];
    for &i in on {
        experiment.paths[i].middleboxes = boxes.iter().copied().map(MiddleboxConfig::new).collect();
    }
    run(&experiment)
}

fn strip(options: Options, on: On) -> Meddling {
    Meddling::StripOptions { options, on, finding: Finding::Strip, chance: Probability::ALWAYS }
}

#[test]
fn every_byte_comes_through_whatever_stands_on_both_paths() {
    let rewrite = |sack| Meddling::RewriteSequence { up: 0x8000_0000, down: 77, sack };
    for boxes in [
        vec![Meddling::Split { mss: 300 }],
        vec![rewrite(true)],
        vec![Meddling::Split { mss: 536 }, rewrite(true)],
    ] {
        let outcome = through(&[0, 1], &boxes);
        assert_eq!(outcome.connections[0].delivered_bytes, SIZE, "{boxes:?}");
        assert!(outcome.connections[0].completed_s.is_some(), "{boxes:?}");
        for path in &outcome.paths {
            assert_eq!(path.middleboxes.len(), boxes.len());
            assert!(path.middleboxes.iter().all(|b| b.seen > 100 && b.changed + b.added + b.merged > 0));
        }
    }
}

#[test]
fn tcp_does_not_mind_that_its_segments_are_merged() {
    let mut experiment = one_path(8.0, 10, Kind::File { size: Bytes::new(SIZE) }, 60);
    let coalesce = Meddling::Coalesce { most: 65_535, hold: Duration::from_millis(2) };
    experiment.paths[0].middleboxes =
        [Meddling::Split { mss: 536 }, coalesce].map(MiddleboxConfig::new).to_vec();
    let outcome = run(&experiment);
    assert_eq!(outcome.connections[0].delivered_bytes, SIZE);
    let boxes = &outcome.paths[0].middleboxes;
    assert!(boxes[0].added > 1000 && boxes[1].merged > 1000, "{boxes:?}");
}

#[test]
fn a_consistent_rewriter_cannot_be_seen_in_the_result() {
    let without = through(&[], &[]);
    let with = through(&[0, 1], &[Meddling::RewriteSequence { up: 5, down: u32::MAX, sack: true }]);
    assert_eq!(without.connections, with.connections);
}

#[test]
fn a_path_whose_options_are_stripped_does_not_join() {
    let outcome = through(&[1], &[strip(Options::MPTCP, On::All)]);
    assert_eq!((outcome.connections[0].delivered_bytes, outcome.paths[1].payload_down_bytes), (SIZE, 0));
    assert_eq!(outcome.connections[0].protocol, "mptcp");
    // On the first path it is plain TCP from the handshake on.
    let outcome = through(&[0], &[strip(Options::CAPABLE, On::Syn)]);
    assert_eq!((outcome.connections[0].delivered_bytes, outcome.connections[0].protocol), (SIZE, "tcp"));
}

#[test]
fn a_translator_that_forgets_ends_a_subflow_and_not_the_connection() {
    for forgotten in [Forgotten::Renew, Forgotten::Reset, Forgotten::Drop] {
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
        experiment.paths[0].middleboxes = vec![MiddleboxConfig::new(Meddling::ForgetNat { idle, forgotten })];
        let outcome = run(&experiment);
        let connection = &outcome.connections[0];
        assert!(!connection.failed && connection.delivered_bytes * 100 > connection.offered_bytes * 99);
        let nat = &outcome.paths[0].middleboxes[0];
        assert_eq!(nat.answered > 0, forgotten == Forgotten::Reset, "{nat:?}");
        assert_eq!(nat.dropped > 0, forgotten != Forgotten::Renew, "{nat:?}");
    }
}

#[test]
fn without_a_data_checksum_changed_bytes_reach_the_application() {
    let outcome = through(&[0], &[Meddling::Corrupt { chance: p(0.01) }]);
    let connection = &outcome.connections[0];
    assert_eq!(connection.delivered_bytes, SIZE);
    assert!((1000..SIZE / 10).contains(&connection.corrupted_bytes), "{connection:?}");
}

fn with_link(experiment: &mut Experiment, change: impl Fn(&mut link::LinkConfig)) {
    for path in &mut experiment.paths {
        if let Hop::Link(link) = &mut path.down {
            change(link);
        }
    }
}

#[test]
fn codel_keeps_the_wait_short_in_a_deep_buffer_and_the_link_busy() {
    let mut experiment = one_path(20.0, 20, Kind::Bulk, 30);
    experiment.transport.config.recv_buffer = 4_000_000;
    experiment.transport.config.send_buffer = 4_000_000;
    let mut mean = |codel| {
        with_link(&mut experiment, |link| {
            link.queue = QueueLimit::Packets(1000);
            link.codel = codel;
        });
        let outcome = run(&experiment);
        let queue = &outcome.series.column("wifi.queue_kb").expect("the column").values;
        let wait = queue.iter().sum::<f64>() / queue.len() as f64 * 8.0 / 20.0;
        (wait, outcome.connections[0].goodput_mbps)
    };
    let (deep, _) = mean(None);
    let (managed, goodput) = mean(Some(Codel::default()));
    assert!(deep > 100.0 && managed < 15.0, "{deep} ms, {managed} ms");
    assert!(goodput > 15.0, "{goodput}");
}

#[test]
fn with_ecn_codel_marks_and_nothing_is_dropped_or_sent_again() {
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
fn late_doubled_and_damaged_packets_are_counted_and_survived() {
    let mut experiment = wifi_lte(Kind::File { size: Bytes::new(SIZE) }, 120);
    let late = Some(Late { chance: p(0.01), by: Duration::from_millis(8) });
    let impairments = Impairments { corrupt: p(0.002), duplicate: p(0.01), late };
    with_link(&mut experiment, |link| link.impairments = impairments);
    let outcome = run(&experiment);
    assert_eq!(outcome.connections[0].delivered_bytes, SIZE);
    let sum = |of: fn(&tandem_sim::PathOutcome) -> u64| outcome.paths.iter().map(of).sum::<u64>();
    assert!(sum(|path| path.damaged_packets) > 0 && sum(|path| path.doubled_packets) > 10, "{outcome:?}");
}

#[test]
fn background_takes_its_part_of_the_link_and_the_radio() {
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
        // Propagation and its own transmission are the least.
        assert!(flow.mean_delay_s.expect("some arrived") > 0.010);
    }
    // TCP fills the queue downwards: there datagrams wait, and some are dropped.
    assert!(down.mean_delay_s > up.mean_delay_s && down.longest_delay_s < 0.2, "{down:?}");
    let (before, after) = (alone.connections[0].goodput_mbps, with.connections[0].goodput_mbps);
    assert!(after < before - 3.0 && after > 2.0, "{before} {after}");
    // The radio carries both: what was sent up alone costs more than acknowledgements did.
    assert!(with.paths[0].wire_up_bytes > alone.paths[0].wire_up_bytes + 15_000_000);
    assert!(with.paths[0].energy.data_j > alone.paths[0].energy.data_j);
}
