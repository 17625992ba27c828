//! Goodput, energy, handover and determinism of whole runs.

mod support;

use link::QueueLimit;
use support::{one_path, path, wifi_lte};
use tandem_sim::{BackgroundSpec, Experiment, Hop, Outcome, run};
use traffic::{Direction, Kind, Mix, TrafficConfig, Vbr};
use units::{Bitrate, Bytes, Duration, Instant, Power, Probability, Seed};

fn goodput(outcome: &Outcome) -> f64 {
    outcome.connections.iter().map(|c| c.goodput_mbps).sum()
}

#[test]
fn a_tcp_connection_fills_its_link() {
    let outcome = run(&one_path(10.0, 20, Kind::Bulk, 20));
    // A full packet of 1500 bytes carries 1448 bytes of payload.
    let max = 10.0 * 1448.0 / 1500.0;
    assert!(goodput(&outcome) > 0.95 * max && goodput(&outcome) <= max, "{outcome:#?}");
}

#[test]
fn efficiency_without_connections_is_positive_zero() {
    let mut experiment = wifi_lte(Kind::Bulk, 1);
    experiment.traffic.clear();
    let efficiency = run(&experiment).device.efficiency_mbit_per_j;
    assert_eq!(efficiency.map(f64::to_bits), Some(0.0_f64.to_bits()));
}

#[test]
fn two_paths_carry_more_than_one() {
    let outcome = run(&wifi_lte(Kind::Bulk, 20));
    assert!(goodput(&outcome) > 85.0, "{}", goodput(&outcome));
    assert!(outcome.paths[0].rate_down_mbps > 1.5, "{:#?}", outcome.paths);
    assert_eq!(outcome.connections[0].protocol, "mptcp");
}

#[test]
fn a_policy_decides_before_the_first_connection_opens() {
    for (policy, used) in [(policy::SinglePath::WIFI, 0), (policy::SinglePath::LTE, 1)] {
        let mut experiment = wifi_lte(Kind::Bulk, 5);
        experiment.device.policy = policy.into();
        let outcome = run(&experiment);
        assert!(goodput(&outcome) > 1.0, "{outcome:#?}");
        assert_eq!(outcome.paths[1 - used].wire_down_bytes + outcome.paths[1 - used].wire_up_bytes, 0);
    }
}

#[test]
fn a_tcp_connection_beside_multipath_tcp_keeps_to_its_path() {
    let mut experiment = wifi_lte(Kind::Bulk, 20);
    experiment.paths = ["first", "second"].map(|name| path(name, "huang2012.wifi", 10.0, 20)).to_vec();
    experiment.traffic.push(TrafficConfig { tcp_path: Some(1), ..TrafficConfig::new(Kind::Bulk) });
    let beside = run(&experiment);
    let protocols = beside.connections.iter().map(|connection| connection.protocol).collect::<Vec<_>>();
    assert_eq!(protocols, ["mptcp", "tcp"]);
    // Both share the second path; the first is Multipath TCP's.
    assert!(goodput(&beside) > 17.0, "{beside:#?}");
    assert!((1.0..8.0).contains(&beside.connections[1].goodput_mbps), "{beside:#?}");
    experiment.paths[1].leave_at = Some(Instant::from_secs(10));
    let outcome = run(&experiment);
    let delivered = |outcome: &Outcome, i: usize| outcome.connections[i].delivered_bytes as f64;
    assert!(delivered(&outcome, 1) < 0.6 * delivered(&beside, 1), "it has no other path");
    assert!(delivered(&outcome, 0) > 0.8 * delivered(&beside, 0));
}

#[test]
fn a_file_transfer_completes_in_the_expected_time() {
    let mut experiment = one_path(8.0, 10, Kind::File { size: Bytes::new(1_000_000) }, 30);
    experiment.traffic[0].start = Instant::from_secs(2);
    let outcome = run(&experiment);
    let seconds = outcome.connections[0].completed_s.expect("the file is complete");
    // 1 MB takes 1 s at 8 Mbit/s, plus slow start.
    assert!((1.0..1.6).contains(&seconds), "{seconds}");
    assert_eq!(outcome.connections[0].delivered_bytes, 1_000_000);
}

#[test]
fn a_file_cut_off_by_its_stop_is_incomplete() {
    let mut experiment = one_path(8.0, 10, Kind::File { size: Bytes::new(100_000_000) }, 30);
    experiment.traffic[0].stop = Some(Instant::from_secs(5));
    let outcome = run(&experiment);
    let cut = &outcome.connections[0];
    assert!(cut.delivered_bytes > 4_000_000 && cut.delivered_bytes < 100_000_000, "{cut:#?}");
    assert_eq!(cut.completed_s, None);
    experiment.traffic[0].kind = Kind::Bulk;
    assert!(run(&experiment).connections[0].completed_s.is_some(), "a bulk transfer has no size");
}

#[test]
fn a_path_that_dies_does_not_delay_the_completion_of_a_file() {
    let mut experiment = wifi_lte(Kind::File { size: Bytes::new(40_000_000) }, 60);
    if let Hop::Link(down) = &mut experiment.paths[0].down {
        down.outages.push((Instant::from_secs(2), Instant::from_secs(1000)));
    }
    let outcome = run(&experiment);
    let seconds = outcome.connections[0].completed_s.expect("LTE delivers the file");
    assert!((3.0..10.0).contains(&seconds), "{seconds}");
}

#[test]
fn goodput_of_a_stopped_connection_never_exceeds_the_rate_of_its_link() {
    for (kind, seconds) in [(Kind::Bulk, 4), (Kind::File { size: Bytes::new(100_000_000) }, 30)] {
        let mut experiment = one_path(8.0, 10, kind, seconds);
        experiment.traffic[0].stop = Some(Instant::from_secs(1));
        let outcome = run(&experiment);
        // The sender's buffer holds data of several seconds at the stop.
        assert!(outcome.connections[0].delivered_bytes > 2_000_000, "{outcome:#?}");
        assert!((6.0..8.0).contains(&goodput(&outcome)), "{outcome:#?}");
    }
}

#[test]
fn a_constant_rate_is_delivered_at_the_power_of_the_profile() {
    let kind = Kind::Cbr { rate: Bitrate::from_mbps(1.0), packet: Bytes::new(1000) };
    let outcome = run(&one_path(10.0, 10, kind, 100));
    assert!((goodput(&outcome) - 1.0).abs() < 0.01, "{}", goodput(&outcome));
    // Wi-Fi: 132.86 mW while active, 137.01 mW per Mbit/s down, 283.17 up (Huang et al. 2012). The
    // headers of IP and TCP with timestamps add 52 bytes to each 1000; every second segment is
    // acknowledged.
    let (down, up) = (1052.0 / 1000.0, 0.5 * 52.0 / 1000.0);
    let expected = 0.13286 + 0.13701 * down + 0.28317 * up;
    let power = outcome.device.energy_rate_w;
    assert!((power - expected).abs() < 0.002 * expected, "{power} W, expected {expected} W");
}

#[test]
fn an_upload_costs_energy_when_and_if_it_leaves_the_queue() {
    let mut experiment = one_path(1.0, 10, Kind::File { size: Bytes::new(1) }, 30);
    let rate = Bitrate::from_mbps(10.0);
    let packets = Vbr { low: rate, high: rate, every: Duration::from_secs(1), mix: Mix::IMIX, bursts: None };
    experiment.background = vec![BackgroundSpec {
        path: 0,
        direction: Direction::Up,
        start: Instant::from_secs(2),
        stop: Some(Instant::from_secs(3)),
        packets,
    }];
    let run_with = |queue, experiment: &mut Experiment| {
        let Hop::Link(up) = &mut experiment.paths[0].up else { panic!("a link") };
        up.queue = queue;
        run(experiment)
    };
    // A long queue: ten seconds of transmission, in which the radio is active.
    let long = run_with(QueueLimit::Unlimited, &mut experiment);
    assert_eq!(long.paths[0].dropped_packets, 0);
    let sent = long.paths[0].wire_up_bytes as f64;
    let seconds = sent * 8e-6;
    assert!((9.0..11.0).contains(&seconds), "{seconds}");
    let active = long.paths[0].energy.active_j;
    assert!(active > 0.13286 * seconds && active < 0.13286 * (seconds + 1.0), "{active}");
    // A short one drops nine of ten packets, which cost nothing.
    let short = run_with(QueueLimit::Packets(10), &mut experiment);
    let share = short.paths[0].wire_up_bytes as f64 / sent;
    assert!((0.08..0.13).contains(&share), "{share}");
    let data = |outcome: &Outcome| outcome.paths[0].energy.data_j;
    assert!((data(&short) / data(&long) - share).abs() < 0.001);
}

#[test]
fn the_last_row_of_the_series_has_the_energy_of_the_outcome() {
    let mut experiment = wifi_lte(Kind::Bulk, 5);
    experiment.device.joint_power = Power::from_milliwatts(150.0);
    let outcome = run(&experiment);
    let energy = outcome.series.column("device.energy_j").expect("a column").values.last().copied();
    let difference = energy.expect("a row") - outcome.device.energy_j;
    assert!(difference.abs() < 1e-9, "{difference}");
    assert!(outcome.device.energy_j > 1.02 * outcome.paths.iter().map(|p| p.energy.total_j).sum::<f64>());
}

#[test]
fn traffic_moves_to_the_other_path_when_an_interface_leaves() {
    let kind = Kind::Cbr { rate: Bitrate::from_mbps(1.0), packet: Bytes::new(1000) };
    let mut experiment = wifi_lte(kind, 60);
    experiment.paths[0].leave_at = Some(Instant::from_secs(20));
    let outcome = run(&experiment);
    assert!((goodput(&outcome) - 1.0).abs() < 0.02, "{}", goodput(&outcome));
    let lte = outcome.series.column("lte.rate_down_mbps").expect("a recorded column");
    let after = lte.values[300..].iter().sum::<f64>() / lte.values[300..].len() as f64;
    assert!((after - 1.1).abs() < 0.1, "{after}");
}

#[test]
fn an_interface_that_comes_up_later_carries_data() {
    let mut experiment = wifi_lte(Kind::Bulk, 20);
    experiment.paths[1].join_at = Instant::from_secs(10);
    let outcome = run(&experiment);
    let lte = outcome.series.column("lte.rate_down_mbps").expect("a recorded column");
    assert!(lte.values[..99].iter().all(|&v| v == 0.0));
    assert!(lte.values[150..].iter().sum::<f64>() > 0.0);
}

#[test]
fn all_data_is_delivered_despite_a_silent_outage() {
    let kind = Kind::File { size: Bytes::new(20_000_000) };
    let mut experiment = wifi_lte(kind, 60);
    experiment.paths = vec![path("wifi", "huang2012.wifi", 8.0, 5), path("lte", "huang2012.lte", 8.0, 30)];
    for hop in [&mut experiment.paths[0].down] {
        if let tandem_sim::Hop::Link(link) = hop {
            link.outages.push((Instant::from_secs(3), Instant::from_secs(13)));
        }
    }
    let outcome = run(&experiment);
    assert_eq!(outcome.connections[0].delivered_bytes, 20_000_000, "{outcome:#?}");
    assert!(outcome.connections[0].completed_s.is_some());
}

#[test]
fn throughput_under_loss_follows_the_square_root_formula() {
    // Mathis et al. 1997: rate = MSS/RTT * sqrt(3/2) / sqrt(p) with an ACK for each segment.
    let mut experiment = one_path(1000.0, 50, Kind::Bulk, 400);
    if let tandem_sim::Hop::Link(link) = &mut experiment.paths[0].down {
        link.loss = link::Loss::Uniform(Probability::new(0.005).expect("a probability"));
    }
    experiment.transport.config.delayed_ack = Duration::ZERO;
    let got = goodput(&run(&experiment));
    let formula = 1448.0 * 8e-6 / 0.1 * (1.5_f64 / 0.005).sqrt();
    assert!((got / formula - 1.0).abs() < 0.15, "{got} Mbit/s, formula {formula} Mbit/s");
}

#[test]
fn the_outcome_depends_on_the_seed_only() {
    let mut experiment = wifi_lte(Kind::Bulk, 5);
    if let tandem_sim::Hop::Link(link) = &mut experiment.paths[1].down {
        link.loss = link::Loss::Uniform(Probability::new(0.01).expect("a probability"));
    }
    experiment.capture = true;
    let first = run(&experiment);
    assert_eq!(first, run(&experiment));
    experiment.seed = Seed::new(2);
    assert_ne!(first.connections, run(&experiment).connections);
}

#[test]
fn ecmtcp_shares_data_inversely_to_the_energy_per_byte() {
    // Two equal links with equal loss and different radios: data is shared inversely to the energy
    // per byte at the link's rate, a_d + b / rate, to within 0.04.
    let mut experiment = wifi_lte(Kind::Bulk, 300);
    experiment.paths = vec![path("wifi", "huang2012.wifi", 50.0, 25), path("lte", "huang2012.lte", 50.0, 25)];
    experiment.transport.config.congestion = mptcp::CongestionKind::EcMtcp.into();
    let cost = |path: &tandem_sim::PathSpec| {
        path.profile.energy_per_mbit_in(radio::Direction::Down, Bitrate::from_mbps(50.0))
    };
    let costs = [cost(&experiment.paths[0]), cost(&experiment.paths[1])];
    for path in &mut experiment.paths {
        if let tandem_sim::Hop::Link(link) = &mut path.down {
            link.loss = link::Loss::Uniform(Probability::new(0.005).expect("a probability"));
        }
    }
    let outcome = run(&experiment);
    let got =
        outcome.paths[0].rate_down_mbps / (outcome.paths[0].rate_down_mbps + outcome.paths[1].rate_down_mbps);
    let expected = costs[1] / (costs[0] + costs[1]);
    assert!((expected - 0.5).abs() > 0.1, "the costs are too similar: {costs:?}");
    assert!((got - expected).abs() < 0.04, "share {got}, expected {expected}: {costs:?}");
}
