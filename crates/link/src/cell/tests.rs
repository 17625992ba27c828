//! Wi-Fi and LTE cells, polled at the times of `next` like in the simulator.

use super::Cell;
use crate::{
    CellConfig, CellKind, CellStation, Delay, Fading, Load, LoadStats, Loss, QueueLimit, Sender,
    StationConfig,
};
use units::{Bitrate, Bytes, Duration, Instant, Probability, Seed};

const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

const fn mbps(mbps: u64) -> Bitrate {
    Bitrate::from_bps(mbps * 1_000_000)
}

/// A cell with clients only.
fn cell(config: &CellConfig, stations: &[StationConfig]) -> Cell<u32> {
    let all: Vec<CellStation> =
        (0..).zip(stations).map(|(i, station)| joined(station, Sender::Client, i)).collect();
    Cell::new(config, &all, Seed::new(1))
}

fn joined(config: &StationConfig, sender: Sender, seed: u64) -> CellStation {
    CellStation { config: config.clone(), sender, seed: Seed::new(seed) }
}

fn wifi(rate: u64) -> CellConfig {
    CellConfig { rate: mbps(rate), ..CellConfig::default() }
}

fn lte(rate: u64) -> CellConfig {
    CellConfig { kind: CellKind::Lte, rate: mbps(rate), ..CellConfig::default() }
}

/// All arrivals: time, station and item.
fn drain(cell: &mut Cell<u32>) -> Vec<(Instant, usize, u32)> {
    let mut all = Vec::new();
    while let Some(at) = cell.next() {
        while let Some((station, item)) = cell.poll(at) {
            all.push((at, station, item));
        }
    }
    all
}

/// Throughput of each station in Mbit/s over `secs` seconds, with a constant backlog of packets of
/// 1000 bytes.
fn backlogged(cell: &mut Cell<u32>, stations: usize, secs: u64) -> Vec<f64> {
    let end = Instant::from_secs(secs);
    for station in 0..stations {
        for _ in 0..50 {
            cell.push(ms(0), station, 1000, 0);
        }
    }
    while let Some(at) = cell.next().filter(|&at| at <= end) {
        while let Some((station, _)) = cell.poll(at) {
            cell.push(at, station, 1000, 0);
        }
    }
    (0..stations).map(|s| cell.stats(s).bytes_delivered as f64 * 8e-6 / secs as f64).collect()
}

#[test]
fn single_wifi_station_behaves_like_a_link() {
    let delay = Delay::Fixed(Duration::from_millis(5));
    let mut cell = cell(&wifi(2), &[StationConfig { delay, ..StationConfig::default() }]);
    assert_eq!(cell.next(), None);
    let mut arrived = Vec::new();
    for (at, item) in [(0, 1), (1, 2), (20, 3)] {
        while let Some(due) = cell.next().filter(|&due| due <= ms(at)) {
            arrived.extend(cell.poll(due).map(|(_, item)| (due, item)));
        }
        assert!(cell.push(ms(at), 0, 1500, item));
    }
    arrived.extend(drain(&mut cell).into_iter().map(|(at, _, item)| (at, item)));
    assert_eq!(arrived, [(ms(11), 1), (ms(17), 2), (ms(31), 3)]);
}

#[test]
fn wifi_frame_includes_overhead() {
    let overhead = Duration::from_millis(1);
    let mut cell = cell(&CellConfig { overhead, ..wifi(2) }, &[StationConfig::default()]);
    cell.push(ms(0), 0, 1500, 1);
    cell.push(ms(0), 0, 0, 2);
    assert_eq!(drain(&mut cell), [(ms(7), 0, 1), (ms(8), 0, 2)]);
}

#[test]
fn backlogged_wifi_stations_share_the_rate_equally() {
    let mut cell = cell(&wifi(20), &vec![StationConfig::default(); 4]);
    let shares = backlogged(&mut cell, 4, 20);
    let total: f64 = shares.iter().sum();
    assert!(total <= 20.0 && total > 19.9, "{total}");
    assert!(shares.iter().all(|s| (s - 5.0).abs() < 0.15), "{shares:?}");
}

#[test]
fn wifi_station_gets_its_share_beside_saturated_loads() {
    // Nine loads offer more than the capacity: ten equal stations share 2 Mbps.
    let load = Load { count: 9, packet: Bytes::new(1000), ..Load::default() };
    let mut cell = cell(&CellConfig { others: vec![load], ..wifi(2) }, &[StationConfig::default()]);
    let shares = backlogged(&mut cell, 1, 100);
    assert!((shares[0] - 0.2).abs() < 0.01, "{shares:?}");
    let loads = cell.load_stats();
    assert!(loads.dropped_full > 0);
    assert!((loads.bytes_sent as f64 * 8e-8 - 1.8).abs() < 0.02, "{loads:?}");
}

#[test]
fn station_gets_the_capacity_left_by_light_loads() {
    for config in [wifi(10), lte(10)] {
        let load = Load { count: 3, jitter: Duration::from_millis(5), ..Load::default() };
        let mut cell = cell(&CellConfig { others: vec![load], ..config }, &[StationConfig::default()]);
        let shares = backlogged(&mut cell, 1, 50);
        assert!((shares[0] - 7.0).abs() < 0.05, "{shares:?}");
        let LoadStats { offered, sent, dropped_full, .. } = cell.load_stats();
        assert!(dropped_full == 0 && offered - sent < 10);
        // Three loads of 1 Mbps, in packets of 1040 bytes.
        assert!((offered as f64 / 50.0 - 3.0 * 120.19).abs() < 1.0, "{offered}");
    }
}

#[test]
fn loads_start_and_stop_as_configured() {
    for config in [wifi(10), lte(10)] {
        let load = Load {
            start: Instant::from_secs(10),
            stop: Some(Instant::from_secs(12)),
            packet: Bytes::new(1000),
            ..Load::default()
        };
        let mut cell = cell(&CellConfig { others: vec![load], ..config }, &[StationConfig::default()]);
        let offered = |cell: &mut Cell<u32>, secs| {
            cell.poll(Instant::from_secs(secs));
            cell.load_stats().offered
        };
        assert_eq!(offered(&mut cell, 9), 0);
        assert!((124..=126).contains(&offered(&mut cell, 11)));
        assert_eq!(offered(&mut cell, 100), 250);
        assert_eq!(cell.next(), None);
    }
}

#[test]
fn access_point_contends_once_for_all_its_downlinks() {
    // DCF: an access point with three clients and one that uploads send equally many frames.
    let senders = [Sender::AccessPoint, Sender::AccessPoint, Sender::Client, Sender::AccessPoint];
    let stations = [0, 1, 2, 3].map(|i| joined(&StationConfig::default(), senders[i], i as u64));
    let mut cell = Cell::new(&wifi(12), &stations, Seed::new(1));
    let shares = backlogged(&mut cell, 4, 50);
    for (share, expected) in shares.iter().zip([2.0, 2.0, 6.0, 2.0]) {
        assert!((share - expected).abs() < 0.1, "{shares:?}");
    }
}

#[test]
fn channel_of_a_station_does_not_depend_on_the_others() {
    let fading = Some(Fading { snr_db: 6.0, ..Fading::default() });
    let config = CellConfig { fading, pf_window: Duration::from_secs(1000), ..lte(20) };
    let station =
        |seed| joined(&StationConfig { snr_db: Some(3.0), ..Default::default() }, Sender::Client, seed);
    // The last station sends alone, whatever stations without data come before it.
    let alone = |stations: &[CellStation]| {
        let mut cell = Cell::new(&config, stations, Seed::new(1));
        for _ in 0..100 {
            cell.push(ms(0), stations.len() - 1, 1000, 0);
        }
        drain(&mut cell).into_iter().map(|(at, ..)| at).collect::<Vec<_>>()
    };
    let first = alone(&[station(7)]);
    assert_eq!(alone(&[station(1), station(2), station(7)]), first);
    assert_ne!(alone(&[station(8)]), first);
}

#[test]
fn coherence_time_need_not_be_whole_milliseconds() {
    // Changes of the rate within a thousand TTIs.
    let changes = |micros| {
        let fading = Some(Fading { coherence: Duration::from_micros(micros), snr_db: 0.0 });
        let station = StationConfig { queue: QueueLimit::Unlimited, ..StationConfig::default() };
        let mut cell = cell(&CellConfig { fading, ..lte(100) }, &[station]);
        for _ in 0..200_000 {
            cell.push(ms(0), 0, 100, 0);
        }
        let mut packets = [0; 1000];
        while let Some(at) = cell.next().filter(|&at| at <= ms(1000)) {
            while cell.poll(at).is_some() {
                packets[at.as_millis() as usize - 1] += 1;
            }
        }
        packets.windows(2).filter(|pair| i32::abs(pair[0] - pair[1]) > 1).count()
    };
    let [one, one_and_a_half, two] = [1000, 1500, 2000].map(changes);
    assert!(one > 850 && two < 500, "{one} {two}");
    assert!((570..=667).contains(&one_and_a_half), "{one_and_a_half}");
}

#[test]
fn rate_of_a_fading_user_has_the_best_channel_as_its_limit() {
    let config = CellConfig { fading: Some(Fading { snr_db: 25.0, ..Fading::default() }), ..lte(8) };
    let mut cell = cell(&config, &[StationConfig::default()]);
    let shares = backlogged(&mut cell, 1, 20);
    assert!(shares[0] > 6.0 && shares[0] <= 8.0, "{shares:?}");
}

#[test]
fn fading_users_with_a_link_rate_have_the_best_channel_as_their_limit() {
    // At this ratio the channel of the best of twenty users is several times the mean channel.
    let config = CellConfig { fading: Some(Fading { snr_db: -10.0, ..Fading::default() }), ..lte(20) };
    let station = StationConfig { link_rate: Some(mbps(15)), ..StationConfig::default() };
    let total: f64 = backlogged(&mut cell(&config, &vec![station; 20]), 20, 20).iter().sum();
    assert!(total > 15.0 && total <= 20.0, "{total}");
}

#[test]
fn queue_limit_in_time_is_that_of_the_mean_channel() {
    let config = CellConfig { fading: Some(Fading { snr_db: 5.0, ..Fading::default() }), ..lte(20) };
    let accepted = |snr_db| {
        let queue = QueueLimit::Time(Duration::from_millis(100));
        let mut cell = cell(&config, &[StationConfig { queue, snr_db, ..StationConfig::default() }]);
        (0..1000).filter(|&item| cell.push(ms(0), 0, 1000, item)).count()
    };
    // 20 Mbit/s * 0.6 log2(1 + snr) / 4.4 is 5.61 Mbit/s.
    assert_eq!(accepted(Some(5.0)), 71);
    assert_eq!(accepted(None), 71);
}

#[test]
fn slow_wifi_station_slows_the_others() {
    let slow = StationConfig { link_rate: Some(mbps(1)), ..StationConfig::default() };
    let mut cell = cell(&wifi(11), &[StationConfig::default(), slow]);
    // Both stations send 8000 bits in every 8000/11 + 8000 us.
    let shares = backlogged(&mut cell, 2, 50);
    assert!(shares.iter().all(|s| (s - 11.0 / 12.0).abs() < 0.03), "{shares:?}");
}

#[test]
fn station_queue_includes_the_packet_on_the_medium() {
    for (config, limit) in [(wifi(2), 3), (lte(2), 3)] {
        let station = StationConfig { queue: QueueLimit::Packets(limit), ..StationConfig::default() };
        let mut cell = cell(&config, &[station]);
        assert_eq!((0..5).filter(|&i| cell.push(ms(0), 0, 1500, i)).count(), 3);
        assert_eq!(cell.poll(ms(0)), None);
        assert_eq!((cell.queued_packets(ms(1), 0), cell.queued_bytes(ms(1), 0)), (3, 4500));
        assert!(!cell.push(ms(1), 0, 1500, 9));
        assert_eq!(cell.stats(0).dropped_full, 3);
        assert_eq!(drain(&mut cell).len(), 3);
        assert_eq!(cell.queued_packets(ms(18), 0), 0);
    }
}

#[test]
fn queue_of_a_wifi_station_in_time_includes_the_overhead_of_its_frames() {
    let overhead = Duration::from_micros(300);
    let queue = QueueLimit::Time(Duration::from_millis(100));
    let station = StationConfig { queue, ..StationConfig::default() };
    let mut cell = cell(&CellConfig { overhead, ..wifi(54) }, &[station]);
    let accepted = (0..1000).filter(|&i| cell.push(ms(0), 0, 1500, i)).count();
    let emptied = drain(&mut cell).last().map(|&(at, ..)| at.since(ms(0)));
    // A packet is accepted while those before it take at most 100 ms.
    let frame = overhead + mbps(54).time_for(Bytes::new(1500));
    assert_eq!(emptied, Some(frame * accepted as u64));
    assert!(
        emptied > Some(Duration::from_millis(100)) && emptied <= Some(Duration::from_millis(100) + frame)
    );
}

#[test]
fn unknown_station_accepts_no_packets() {
    for config in [wifi(2), lte(2)] {
        let mut cell = cell(&config, &[]);
        assert!(!cell.push(ms(0), 0, 100, 1));
        assert_eq!((cell.poll(ms(10)), cell.next(), cell.queued_bytes(ms(10), 3)), (None, None, 0));
    }
}

#[test]
fn lte_packet_departs_at_the_end_of_its_last_tti() {
    // 1000 bytes per TTI.
    let delay = Delay::Fixed(Duration::from_millis(10));
    let mut cell = cell(&lte(8), &[StationConfig { delay, ..StationConfig::default() }]);
    cell.push(Instant::from_nanos(100), 0, 2500, 1);
    for item in 2..5 {
        cell.push(Instant::from_nanos(100), 0, 200, item);
    }
    // TTIs 1 to 3 carry 2500 bytes and 500 more, TTI 4 the last 100.
    let at = |millis, item| (ms(millis), 0, item);
    assert_eq!(drain(&mut cell), [at(14, 1), at(14, 2), at(14, 3), at(15, 4)]);
    // A push at the start of an unallocated TTI uses that TTI.
    cell.push(ms(100), 0, 1000, 5);
    assert_eq!(cell.next(), Some(ms(100)));
    assert_eq!(drain(&mut cell), [(ms(111), 0, 5)]);
}

#[test]
fn lte_users_share_a_tti() {
    let mut cell = cell(&lte(8), &vec![StationConfig::default(); 3]);
    for station in 0..3 {
        cell.push(ms(0), station, 300, 7);
    }
    assert_eq!(drain(&mut cell), [(ms(1), 0, 7), (ms(1), 1, 7), (ms(1), 2, 7)]);
}

#[test]
fn equal_lte_users_share_the_rate_equally() {
    let mut cell = cell(&lte(20), &vec![StationConfig::default(); 4]);
    let shares = backlogged(&mut cell, 4, 20);
    let total: f64 = shares.iter().sum();
    assert!(total <= 20.0 && total > 19.9, "{total}");
    assert!(shares.iter().all(|s| (s - 5.0).abs() < 0.02), "{shares:?}");
}

#[test]
fn unequal_lte_users_share_time_equally() {
    let rates = [40, 20, 5];
    let station = |rate| StationConfig { link_rate: Some(mbps(rate)), ..StationConfig::default() };
    for fading in [None, Some(Fading::default())] {
        // The best channel of the cell, 80 Mbit/s, is above all that they reach.
        let mut cell = cell(&CellConfig { fading, ..lte(80) }, &rates.map(station));
        let shares = backlogged(&mut cell, 3, 60);
        let times: Vec<f64> = shares.iter().zip(rates).map(|(s, r)| s / r as f64).collect();
        let mean = times.iter().sum::<f64>() / 3.0;
        assert!(times.iter().all(|t| (t / mean - 1.0).abs() < 0.05), "{fading:?} {times:?}");
        // Without fading, all time is used. With fading, round robin would give the mean of the
        // rate factor, exp(0.1) E1(0.1) / ln 11 = 0.84. Serving users at their peaks gives more.
        let low = if fading.is_some() { 0.95 } else { 0.99 };
        assert!(mean * 3.0 > low, "{fading:?} {times:?}");
    }
}

/// Mean of `value` over the gain of the better of two Rayleigh channels, whose density is
/// `2 exp(-g) (1 - exp(-g))`.
fn mean_over_better_gain(value: impl Fn(f64) -> f64) -> f64 {
    const STEP: f64 = 1e-4;
    let density = |g: f64| 2.0 * libm::exp(-g) * (1.0 - libm::exp(-g));
    (0..400_000).map(|i| (f64::from(i) + 0.5) * STEP).map(|g| value(g) * density(g) * STEP).sum()
}

#[test]
fn two_equal_fading_users_reach_the_closed_form_of_proportional_fairness() {
    // Equal users have equal means, so that the better channel is served (Viswanath et al. 2002).
    let db = 8.0;
    let fading = Some(Fading { coherence: Duration::from_millis(5), ..Fading::default() });
    let station = StationConfig { snr_db: Some(db), ..StationConfig::default() };
    let pf_window = Duration::from_secs(10);
    let mut cell = cell(&CellConfig { pf_window, fading, ..lte(44) }, &vec![station; 2]);
    let shares = backlogged(&mut cell, 2, 200);
    let snr = libm::pow(10.0, db / 10.0);
    let expected = mean_over_better_gain(|g| 10.0 * crate::spectral_efficiency(snr * g)) / 2.0;
    assert!(shares.iter().all(|share| (share / expected - 1.0).abs() < 0.02), "{shares:?} {expected}");
}

#[test]
fn two_users_at_different_snr_get_half_of_the_time_each() {
    let decibels = [20.0, 3.0];
    let station = |db| StationConfig { snr_db: Some(db), ..StationConfig::default() };
    let shares = backlogged(&mut cell(&lte(44), &decibels.map(station)), 2, 60);
    for (share, db) in shares.iter().zip(decibels) {
        let rate = 10.0 * crate::spectral_efficiency(libm::pow(10.0, db / 10.0));
        assert!((share / (rate / 2.0) - 1.0).abs() < 0.01, "{shares:?} {rate}");
    }
}

#[test]
fn station_out_of_reach_leaves_the_medium_to_the_others() {
    for config in [wifi(20), lte(20)] {
        let far = StationConfig { snr_db: Some(-15.0), ..StationConfig::default() };
        let near = StationConfig { snr_db: Some(40.0), ..StationConfig::default() };
        let mut cell = cell(&config, &[far, near]);
        let shares = backlogged(&mut cell, 2, 5);
        assert!(shares[0] == 0.0 && shares[1] > 19.9, "{shares:?}");
        assert_eq!(cell.in_flight(0), 50);
    }
}

#[test]
fn busy_time_is_the_time_in_which_frames_are_sent() {
    for config in [wifi(8), lte(8)] {
        let mut cell = cell(&config, &[StationConfig::default()]);
        for _ in 0..3 {
            cell.push(ms(0), 0, 1000, 0);
        }
        assert_eq!(cell.busy_time(Instant::from_nanos(1_700_000)), Duration::from_micros(1700));
        assert_eq!(cell.busy_time(ms(2)), Duration::from_millis(2));
        assert_eq!(cell.busy_time(ms(10)), Duration::from_millis(3));
    }
}

#[test]
fn returning_lte_user_catches_up_for_one_pf_window() {
    let mut cell =
        cell(&lte(8), &vec![StationConfig { queue: QueueLimit::Unlimited, ..Default::default() }; 2]);
    for _ in 0..10_000 {
        cell.push(ms(0), 0, 1000, 0);
    }
    while let Some(at) = cell.next().filter(|&at| at < Instant::from_secs(5)) {
        cell.poll(at);
    }
    for _ in 0..5_000 {
        cell.push(Instant::from_secs(5), 1, 1000, 1);
    }
    let arrivals: Vec<_> =
        drain(&mut cell).into_iter().filter(|&(at, ..)| at < Instant::from_secs(7)).collect();
    let newcomer = arrivals.iter().filter(|&&(_, station, _)| station == 1).count();
    // Half of two seconds, and an advantage of about half of ln 2 times the window of 100 ms.
    assert!((1000..1100).contains(&newcomer), "{newcomer}");
}

#[test]
fn lost_packets_of_a_station_occupy_the_medium() {
    for config in [wifi(8), lte(8)] {
        let loss = Loss::Uniform(Probability::new(0.1).unwrap());
        let stations = [StationConfig { loss, ..StationConfig::default() }];
        let mut cell = cell(&config, &stations);
        for i in 0..100 {
            cell.push(ms(0), 0, 1000, i);
        }
        let arrived = drain(&mut cell);
        let stats = cell.stats(0);
        assert_eq!(stats.delivered + stats.lost, 100);
        assert!((1..30).contains(&stats.lost), "{stats:?}");
        // Each packet takes a millisecond, whether it arrives or not.
        assert!(arrived.iter().all(|&(at, _, i)| at == ms(u64::from(i) + 1)), "{arrived:?}");
    }
}

#[test]
fn station_loses_packets_during_its_outage() {
    for config in [wifi(8), lte(8)] {
        let outages = vec![(ms(3), ms(6))];
        let mut cell = cell(&config, &[StationConfig { outages, ..StationConfig::default() }]);
        for i in 0..10 {
            cell.push(ms(0), 0, 1000, i);
        }
        let items: Vec<u32> = drain(&mut cell).into_iter().map(|(.., item)| item).collect();
        assert_eq!(items, [0, 1, 2, 6, 7, 8, 9]);
    }
}

#[test]
fn cell_of_rate_zero_delivers_no_packets() {
    for config in [wifi(0), lte(0)] {
        let load = Load { count: 5, ..Load::default() };
        let mut cell = cell(&CellConfig { others: vec![load], ..config }, &[StationConfig::default()]);
        for i in 0..200 {
            cell.push(ms(u64::from(i)), 0, 1500, i);
            assert_eq!(cell.poll(ms(u64::from(i))), None);
        }
        assert_eq!(cell.in_flight(0), 100);
    }
}
