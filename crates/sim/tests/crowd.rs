//! Several devices that share cells.

mod support;

use core::ops::ControlFlow;
use link::{CellConfig, CellKind, Fading, Impairments, Load, Loss, QueueLimit, StationConfig};
use support::any::any_experiment;
use support::{link, wifi_lte};
use tandem_sim::{
    Backhaul, CellSpec, Crowd, CrowdOutcome, Experiment, Hop, Outcome, energy_costs, run, run_crowd,
};
use traffic::{Direction, Kind, TrafficConfig};
use units::{Bitrate, Duration, Instant, Probability, Rng, Seed};

fn outcome_of(crowd: &Crowd) -> CrowdOutcome {
    run_crowd(crowd, &mut |_| ControlFlow::Continue(())).expect("nothing stops the run")
}

fn cell(name: &str, kind: CellKind, mbps: f64) -> CellSpec {
    let config = CellConfig { kind, rate: Bitrate::from_mbps(mbps), ..CellConfig::default() };
    CellSpec { name: name.to_owned(), config }
}

fn station(cell: usize, snr_db: f64) -> Hop {
    Hop::Cell { cell, station: StationConfig { snr_db: Some(snr_db), ..StationConfig::default() } }
}

fn crowd(cells: Vec<CellSpec>, devices: Vec<Experiment>) -> Crowd {
    Crowd {
        seed: Seed::new(1),
        duration: devices[0].duration,
        sample: Duration::from_secs(1),
        cells,
        backhauls: Vec::new(),
        devices,
    }
}

/// A device with one path over LTE; its downlink joins cell 0.
fn lte_user(seed: u64, snr_db: f64, seconds: u64) -> Experiment {
    let mut device = wifi_lte(Kind::Bulk, seconds);
    device.seed = Seed::new(seed);
    device.sample = Duration::ZERO;
    device.paths.remove(0);
    device.paths[0].down = station(0, snr_db);
    device
}

#[test]
fn experiment_is_a_crowd_of_one_device() {
    for seed in 0..12 {
        let device = any_experiment(seed);
        let alone = run(&device);
        let whole = Crowd { seed: device.seed, ..crowd(Vec::new(), vec![device]) };
        assert!(outcome_of(&whole).devices == [alone], "seed {seed}");
    }
}

#[test]
fn users_of_an_lte_cell_share_its_time_equally() {
    // Without fading, proportional fairness gives each of n users 1/n of the time, thus 1/n of the
    // rate at its SNR.
    let rate = |db: f64| 4.4_f64.min(0.6 * libm::log2(1.0 + libm::pow(10.0, db / 10.0))) / 4.4 * 40.0;
    for decibels in [[12.0, 12.0], [22.0, 4.0]] {
        // Without losses a user always has data in its queue.
        let user = |(seed, db)| {
            let mut device = lte_user(seed, db, 30);
            let station =
                StationConfig { snr_db: Some(db), queue: QueueLimit::Unlimited, ..StationConfig::default() };
            device.paths[0].down = Hop::Cell { cell: 0, station };
            device
        };
        let devices = (1..).zip(decibels).map(user).collect();
        let outcome = outcome_of(&crowd(vec![cell("sector", CellKind::Lte, 40.0)], devices));
        let time =
            |(device, db): (&Outcome, f64)| device.paths[0].wire_down_bytes as f64 * 8e-6 / 30.0 / rate(db);
        let times: Vec<f64> = outcome.devices.iter().zip(decibels).map(time).collect();
        // One user has the time that the other leaves in its slow start.
        assert!((times[0] - times[1]).abs() < 0.01, "{decibels:?} dB: {times:?}");
        let load = outcome.cells[0].load;
        assert!(load > 0.95 && (times[0] + times[1] - load).abs() < 0.005, "{load}: {times:?}");
    }
}

#[test]
fn device_out_of_reach_does_not_stop_the_others() {
    let wifi = |seed, db| {
        let mut device = lte_user(seed, db, 10);
        device.paths[0].up = station(0, db);
        device
    };
    let cells = vec![cell("ap", CellKind::Wifi, 20.0)];
    let outcome = outcome_of(&crowd(cells, vec![wifi(1, -20.0), wifi(2, 30.0)]));
    let goodput: Vec<f64> = outcome.devices.iter().map(|device| device.connections[0].goodput_mbps).collect();
    assert!(goodput[0] == 0.0 && goodput[1] > 10.0, "{goodput:?}");
}

#[test]
fn backhaul_limits_all_stations_of_its_cell() {
    let wifi = |seed| {
        let mut device = lte_user(seed, 40.0, 20);
        device.paths[0].up = station(0, 40.0);
        device
    };
    let cells = vec![cell("bus", CellKind::Wifi, 50.0), cell("sector", CellKind::Lte, 10.0)];
    let backhauls = vec![Backhaul { cell: 0, down: station(1, 40.0), up: Hop::Link(link(5.0, 10)) }];
    let outcome = outcome_of(&Crowd { backhauls, ..crowd(cells, vec![wifi(1), wifi(2)]) });
    let total: f64 = outcome.devices.iter().map(|device| device.connections[0].goodput_mbps).sum();
    assert!((8.5..10.0).contains(&total), "{total}");
    assert!(outcome.cells[1].load > 0.9 && outcome.cells[0].load < 0.5, "{:?}", outcome.cells);
    let backhaul = outcome.cells[0].backhaul.expect("paths cross it");
    assert_eq!(backhaul.down, outcome.cells[1].packets, "the bus has the sector for itself");
    assert!(backhaul.down.dropped > 0, "{backhaul:?}");
}

/// Devices of two paths each, in random Wi-Fi and LTE cells.
fn any_crowd(seed: u64) -> Crowd {
    let mut rng = Seed::new(seed).rng("crowd");
    let mut cells = vec![cell("ap", CellKind::Wifi, 20.0), cell("sector", CellKind::Lte, 30.0)];
    cells[0].config.rate = Bitrate::from_mbps(rng.between(1.0, 40.0));
    cells[1].config.fading = (rng.below(2) == 0).then(Fading::default);
    cells.push(cell("relay", CellKind::Lte, rng.between(2.0, 30.0)));
    let devices = (0..2 + rng.below(5)).map(|i| any_device(&mut rng, seed * 100 + i)).collect();
    let backhaul = Backhaul { cell: 0, down: any_station(&mut rng, 2), up: Hop::Link(link(3.0, 10)) };
    let backhauls = if rng.below(2) == 0 { vec![backhaul] } else { Vec::new() };
    Crowd { seed: Seed::new(seed), backhauls, ..crowd(cells, devices) }
}

fn any_device(rng: &mut Rng, seed: u64) -> Experiment {
    let mut device = any_experiment(seed);
    device.duration = Duration::from_secs(5);
    device.sample = Duration::ZERO;
    device.device.policy = policy::NoPolicy.into();
    device.traffic.push(TrafficConfig::new(Kind::Bulk));
    device.traffic[0].start = Instant::from_millis(rng.below(6000));
    let [mut wifi, mut lte] = <[_; 2]>::try_from(wifi_lte(Kind::Bulk, 1).paths).expect("two paths");
    (wifi.down, wifi.up) = (any_station(rng, 0), any_station(rng, 0));
    lte.down = any_station(rng, 1);
    wifi.leave_at = (rng.below(3) == 0).then(|| Instant::from_secs(3));
    device.paths = vec![wifi, lte];
    device
}

fn any_station(rng: &mut Rng, cell: usize) -> Hop {
    let loss = Loss::Uniform(Probability::new(rng.between(0.0, 0.05)).expect("a probability"));
    let some = || Probability::new(0.01).expect("a probability");
    let impairments = Impairments { duplicate: some(), corrupt: some(), ..Impairments::default() };
    let snr_db = Some(rng.between(-15.0, 30.0));
    Hop::Cell { cell, station: StationConfig { loss, impairments, snr_db, ..StationConfig::default() } }
}

#[test]
fn packets_that_enter_a_cell_leave_it_or_are_dropped_or_wait() {
    let mut delivered = 0;
    for seed in 0..40 {
        let crowd = any_crowd(seed);
        let outcome = outcome_of(&crowd);
        for cell in &outcome.cells {
            let backhaul = cell.backhaul.iter().flat_map(|backhaul| [backhaul.down, backhaul.up]);
            for p in backhaul.chain([cell.packets]) {
                let gone = p.delivered + p.dropped + p.lost + p.damaged + p.waiting;
                assert_eq!(p.entered + p.duplicated, gone, "seed {seed}: {cell:?}");
                delivered += p.delivered;
            }
            assert!((0.0..=1.0).contains(&cell.load), "seed {seed}: {cell:?}");
            let sampled: f64 = cell.samples.iter().map(|sample| sample.load).sum();
            let mean = sampled / cell.samples.len() as f64;
            assert!((mean - cell.load).abs() < 0.01, "seed {seed}: {mean} of {cell:?}");
        }
        // The devices receive all packets that leave the sector's downlink while their radios are up.
        let received: u64 = outcome.devices.iter().map(|device| device.paths[1].wire_down_bytes).sum();
        let left = outcome.cells[1].rate_mbps * crowd.duration.as_secs_f64() / 8e-6;
        assert!((left - received as f64).abs() < 1.0, "seed {seed}: {left} left, {received} received");
    }
    assert!(delivered > 100_000, "{delivered}");
}

#[test]
fn the_same_seed_gives_the_same_crowd() {
    for seed in 0..4 {
        assert!(outcome_of(&any_crowd(seed)) == outcome_of(&any_crowd(seed)), "seed {seed}");
    }
}

#[test]
fn silent_device_before_the_others_leaves_their_channels_as_they_are() {
    let mut cells = vec![cell("sector", CellKind::Lte, 20.0)];
    cells[0].config.fading = Some(Fading::default());
    cells[0].config.others = vec![Load { count: 3, rate: Bitrate::from_mbps(1.0), ..Load::default() }];
    let user = |seed| {
        let mut device = lte_user(seed, 8.0, 5);
        if let Hop::Cell { station, .. } = &mut device.paths[0].down {
            station.loss = Loss::Uniform(Probability::new(0.01).expect("a probability"));
        }
        device
    };
    let mut silent = user(1);
    silent.traffic[0].start = Instant::from_secs(100);
    let alone = outcome_of(&crowd(cells.clone(), vec![user(2)]));
    let both = outcome_of(&crowd(cells, vec![silent, user(2)]));
    assert!(alone.devices[0].paths[0].wire_down_bytes > 100_000);
    assert!(alone.devices[0] == both.devices[1]);
}

#[test]
fn energy_costs_are_those_of_the_mean_channel() {
    let mut cells = vec![cell("sector", CellKind::Lte, 20.0)];
    cells[0].config.fading = Some(Fading { snr_db: 5.0, ..Fading::default() });
    let costs = |hop| {
        let mut device = lte_user(1, 0.0, 1);
        device.paths[0].down = hop;
        energy_costs(&device.paths, &cells, Direction::Down)
    };
    let of_cell = Hop::Cell { cell: 0, station: StationConfig::default() };
    assert_eq!(costs(of_cell), costs(station(0, 5.0)));
}

#[test]
fn capture_has_the_packets_of_its_device_alone() {
    let users = |captured: Option<usize>| {
        let devices =
            (0..3).map(|i| Experiment { capture: captured == Some(i), ..lte_user(i as u64, 20.0, 2) });
        outcome_of(&crowd(vec![cell("sector", CellKind::Lte, 10.0)], devices.collect()))
    };
    let outcome = users(Some(1));
    assert!(outcome.devices[0].capture.is_none() && outcome.devices[2].capture.is_none());
    let path = &outcome.devices[1].paths[0];
    assert_eq!(captured_bytes(&outcome.devices[1]), path.wire_down_bytes + path.wire_up_bytes);
    let plain = users(None);
    assert!(outcome.devices.iter().zip(&plain.devices).all(|(a, b)| a.paths == b.paths));
}

/// Bytes on the wire of all packets in the capture of a device: the sum over its enhanced packet blocks.
fn captured_bytes(device: &Outcome) -> u64 {
    let mut rest = device.capture.as_deref().expect("a capture");
    let mut sum = 0;
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().expect("four bytes"));
        if word(0) == 6 {
            sum += u64::from(word(24));
        }
        rest = &rest[word(4) as usize..];
    }
    sum
}
