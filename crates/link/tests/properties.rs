//! Invariants of links and cells for arbitrary configurations.

use proptest::prelude::*;
use std::sync::Arc;
use tandem_link::{
    Cell, CellConfig, CellKind, CellStation, Codel, Delay, Fading, GilbertElliott, Impairments, Link,
    LinkConfig, LinkStats, Load, Loss, QueueLimit, Rate, RatePiece, Reorder, Sender, StationConfig, Trace,
};
use units::{Bitrate, Bytes, Duration, Instant, Probability, Seed};

fn millis() -> impl Strategy<Value = Duration> {
    (0_u64..80_000_000).prop_map(Duration::from_nanos)
}

fn probability() -> impl Strategy<Value = Probability> {
    (0.0..=1.0).prop_map(|p| Probability::new(p).expect("between 0 and 1"))
}

fn bitrate() -> impl Strategy<Value = Bitrate> {
    prop_oneof![1 => Just(Bitrate::ZERO), 9 => (10_000_u64..200_000_000).prop_map(Bitrate::from_bps)]
}

fn rate() -> impl Strategy<Value = Rate> {
    let pieces = prop::collection::vec((1_u64..50_000_000, bitrate(), millis()), 1..8);
    let rates = pieces.prop_filter_map("a trace of rate zero", |pieces| {
        let piece =
            |&(nanos, rate, latency)| RatePiece { duration: Duration::from_nanos(nanos), rate, latency };
        Trace::from_rates(&pieces.iter().map(piece).collect::<Vec<_>>())
    });
    let opportunities = prop::collection::vec(0_u32..200, 1..40).prop_filter_map("no period", |mut times| {
        times.sort_unstable();
        Trace::from_opportunities(times)
    });
    prop_oneof![
        bitrate().prop_map(Rate::Fixed),
        prop::collection::vec((0_u64..2000, bitrate()), 0..6).prop_map(|steps| Rate::Steps(
            steps.into_iter().map(|(at, r)| (Instant::from_millis(at), r)).collect()
        )),
        rates.prop_map(|trace| Rate::Trace(Arc::new(trace))),
        opportunities.prop_map(|trace| Rate::Trace(Arc::new(trace))),
    ]
}

fn queue() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (0_u32..30).prop_map(QueueLimit::Packets),
        (0_u64..40_000).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
        millis().prop_map(QueueLimit::Time),
        Just(QueueLimit::Unlimited),
    ]
}

fn delay() -> impl Strategy<Value = Delay> {
    prop_oneof![
        millis().prop_map(Delay::Fixed),
        (millis(), millis()).prop_map(|(min, max)| Delay::Uniform { min, max }),
        (millis(), millis()).prop_map(|(mean, sd)| Delay::Normal { mean, sd }),
    ]
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::None),
        probability().prop_map(Loss::Uniform),
        (probability(), probability(), probability(), probability())
            .prop_map(|(p, r, loss_good, loss_bad)| Loss::from(GilbertElliott { p, r, loss_good, loss_bad })),
    ]
}

fn outages() -> impl Strategy<Value = Vec<(Instant, Instant)>> {
    let time = || (0_u64..3000).prop_map(Instant::from_millis);
    prop::collection::vec((time(), time()), 0..3)
}

fn impairments() -> impl Strategy<Value = Impairments> {
    let some = (probability(), probability(), probability(), millis()).prop_map(
        |(corrupt, duplicate, chance, by)| Impairments {
            corrupt,
            duplicate,
            reorder: Some(Reorder { probability: chance, extra_delay: by }),
        },
    );
    prop_oneof![Just(Impairments::default()), some]
}

fn codel() -> impl Strategy<Value = Option<Codel>> {
    let some = (millis(), millis(), any::<bool>()).prop_map(|(target, interval, ecn)| {
        // Short enough to take effect within the test's traffic.
        Some(Codel { target: target / 20, interval: interval / 4, ecn })
    });
    prop_oneof![Just(None), some]
}

prop_compose! {
    fn link_config()(
        rate in rate(), queue in queue(), codel in codel(), delay in delay(), reorder in any::<bool>(),
        loss in loss(), outages in outages(), impairments in impairments(),
    ) -> LinkConfig {
        LinkConfig { rate, queue, codel, delay, reorder, loss, outages, impairments }
    }
}

prop_compose! {
    fn station()(
        queue in queue(), delay in delay(), reorder in any::<bool>(), loss in loss(), outages in outages(),
        link_rate in prop::option::of(bitrate()), snr_db in prop::option::of(-30.0..40.0),
        impairments in impairments(),
    ) -> StationConfig {
        StationConfig { queue, delay, reorder, loss, outages, impairments, link_rate, snr_db }
    }
}

prop_compose! {
    fn cell_config()(
        kind in prop_oneof![Just(CellKind::Wifi), Just(CellKind::Lte)],
        rate in bitrate(),
        count in 0_u32..5,
        load in (10_000_u64..5_000_000).prop_map(Bitrate::from_bps),
        (jitter, overhead) in (millis(), (0_u64..500_000).prop_map(Duration::from_nanos)),
        fading in any::<bool>(),
    ) -> CellConfig {
        let others = vec![Load { count, rate: load, jitter, ..Load::default() }];
        let fading = fading.then(Fading::default);
        CellConfig { kind, rate, others, overhead, fading, ..CellConfig::default() }
    }
}

/// Packets that have left the link.
fn finished(stats: &LinkStats) -> u64 {
    stats.delivered + stats.dropped_full + stats.dropped_early + stats.lost + stats.corrupted
}

/// Gaps in nanoseconds, stations and sizes.
fn traffic() -> impl Strategy<Value = Vec<(u64, usize, u32)>> {
    let gap = prop_oneof![Just(0), 0_u64..20_000_000];
    prop::collection::vec((gap, 0_usize..3, 0_u32..4000), 1..150)
}

/// The stations in a cell: downlinks and uplinks in turn.
fn joined(stations: &[StationConfig]) -> Vec<CellStation> {
    let senders = [Sender::AccessPoint, Sender::Client].into_iter().cycle();
    let all = (0..).zip(stations).zip(senders);
    all.map(|((i, config), sender)| CellStation { config: config.clone(), sender, seed: Seed::new(i) })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn link_accounts_for_every_packet(
        config in link_config(), traffic in traffic(), seed in any::<u64>(),
    ) {
        // Every other packet is ECN-capable.
        let mut link = Link::with_marking(&config, Seed::new(seed), |item: &mut usize| item.is_multiple_of(2));
        link.record_sent(|_| 40);
        let mut now = Instant::ZERO;
        let (mut accepted, mut sent, mut arrived) = (0, Vec::new(), Vec::new());
        let (mut begun, mut last_begun) = (0, Instant::ZERO);
        for (i, &(gap, _, size)) in traffic.iter().enumerate() {
            now += Duration::from_nanos(gap);
            while let Some(item) = link.poll(now) {
                arrived.push(item);
            }
            let queued = (link.queued_packets(now), link.queued_bytes(now));
            if link.push(now, size, i) {
                accepted += 1;
                sent.push((now, size));
                match config.queue {
                    QueueLimit::Packets(limit) => prop_assert!(queued.0 < limit as usize),
                    QueueLimit::Bytes(limit) => prop_assert!(queued.1 + u64::from(size) <= limit.get()),
                    QueueLimit::Time(_) | QueueLimit::Unlimited => {}
                }
            }
            let stats = link.stats();
            prop_assert_eq!(stats.pushed + stats.duplicated, finished(&stats) + link.in_flight() as u64);
            prop_assert_eq!(stats.pushed - stats.dropped_full, accepted);
            while let Some(packet) = link.take_sent(now) {
                prop_assert!(packet.at >= last_begun && packet.at <= now && packet.payload == 40);
                (begun, last_begun) = (begun + 1, packet.at);
            }
            // Of the queued packets, at most one is in transmission.
            let queued = link.queued_packets(now) as u64;
            let waits = accepted - stats.dropped_early - begun;
            prop_assert!(waits <= queued && queued <= waits + 1, "{waits} {queued}");
        }
        let (mut last, mut idle) = (Instant::ZERO, 0);
        while let Some(at) = link.next() {
            prop_assert!(at >= last && at > now || arrived.is_empty());
            last = at;
            let before = arrived.len();
            while let Some(item) = link.poll(at) {
                arrived.push(item);
            }
            if arrived.len() == before {
                idle += 1;
            }
        }
        // Every poll at `next` has an arrival, except that CoDel may drop each packet once.
        let max_idle = if config.codel.is_some() { accepted } else { 0 };
        prop_assert!(idle <= max_idle);
        prop_assert_eq!(arrived.len() as u64, link.stats().delivered);
        if !config.reorder && config.impairments.reorder.is_none() {
            prop_assert!(arrived.is_sorted());
        }
    }

    #[test]
    fn link_never_exceeds_its_rate(
        bps in 10_000_u64..200_000_000, traffic in traffic(), queue in queue(),
    ) {
        let rate = Bitrate::from_bps(bps);
        let config = LinkConfig { rate: Rate::Fixed(rate), queue, ..LinkConfig::default() };
        let mut link = Link::new(&config, Seed::new(1));
        let mut now = Instant::ZERO;
        for &(gap, _, size) in &traffic {
            now += Duration::from_nanos(gap);
            link.push(now, size, size);
        }
        let mut departures = Vec::new();
        while let Some(at) = link.next() {
            while let Some(size) = link.poll(at) {
                departures.push((at, u64::from(size)));
            }
        }
        // Between two departures, the link has transmitted all packets after the first one.
        for (i, &(from, _)) in departures.iter().enumerate() {
            let mut bytes = 0;
            for &(to, size) in &departures[i + 1..] {
                bytes += size;
                prop_assert!(rate.time_for(Bytes::new(bytes)) <= to.since(from));
            }
        }
    }

    #[test]
    fn busy_link_uses_exactly_the_capacity_of_its_trace(
        pieces in prop::collection::vec((1_u64..50_000_000, 0_u64..50_000_000), 1..8),
        traffic in traffic(),
    ) {
        let piece = |&(nanos, bps)| RatePiece {
            duration: Duration::from_nanos(nanos),
            rate: Bitrate::from_bps(bps),
            latency: Duration::ZERO,
        };
        let trace = Trace::from_rates(&pieces.iter().map(piece).collect::<Vec<_>>());
        prop_assume!(trace.is_some());
        let period: u64 = pieces.iter().map(|p| p.0).sum();
        // Cumulative capacity of the trace, in bits times 10^9, added up piece by piece.
        let capacity = |until: Instant| {
            let part = |within: u64| {
                let (mut left, mut sum) = (within, 0);
                for &(nanos, bps) in &pieces {
                    sum += u128::from(bps) * u128::from(left.min(nanos));
                    left = left.saturating_sub(nanos);
                }
                sum
            };
            u128::from(until.as_nanos() / period) * part(period) + part(until.as_nanos() % period)
        };
        let rate = Rate::Trace(Arc::new(trace.expect("assumed")));
        let mut link = Link::new(&LinkConfig { rate, queue: QueueLimit::Unlimited, ..LinkConfig::default() }, Seed::new(1));
        let (mut now, mut free) = (Instant::ZERO, Instant::ZERO);
        let fastest = u128::from(pieces.iter().map(|p| p.1).max().unwrap_or(0));
        for &(gap, _, size) in &traffic {
            now += Duration::from_nanos(gap);
            while link.poll(now).is_some() {}
            let size = size.max(1);
            link.push(now, size, ());
            let from = now.max(free);
            // The packet just pushed departs last.
            let mut copy = link.clone();
            while let Some(at) = copy.next() {
                free = at;
                while copy.poll(at).is_some() {}
            }
            let (bits, available) = (u128::from(size) * 8_000_000_000, capacity(free) - capacity(from));
            // Departures are rounded up to a nanosecond, at most at the highest rate.
            prop_assert!(bits <= available && available < bits + fastest, "{} {} {}", bits, available, fastest);
        }
    }

    #[test]
    fn cell_accounts_for_every_packet(
        config in cell_config(), stations in prop::collection::vec(station(), 3), traffic in traffic(),
        seed in any::<u64>(),
    ) {
        let mut cell = Cell::new(&config, &joined(&stations), Seed::new(seed));
        let end = Instant::from_secs(3);
        let mut arrived: Vec<Vec<usize>> = vec![Vec::new(); 3];
        let mut pushes = traffic.iter().scan(Instant::ZERO, |now, &(gap, station, size)| {
            *now += Duration::from_nanos(gap);
            Some((*now, station, size))
        }).enumerate().peekable();
        loop {
            let push = pushes.peek().map_or(Instant::MAX, |&(_, (at, ..))| at);
            let poll = cell.next().unwrap_or(Instant::MAX);
            if push.min(poll) > end {
                break;
            }
            if push <= poll {
                if let Some((i, (now, station, size))) = pushes.next() {
                    let before = (cell.queued_packets(now, station), cell.queued_bytes(now, station));
                    if cell.push(now, station, size, i) {
                        match stations[station].queue {
                            QueueLimit::Packets(limit) => prop_assert!(before.0 < limit as usize),
                            QueueLimit::Bytes(limit) => prop_assert!(before.1 + u64::from(size) <= limit.get()),
                            QueueLimit::Time(_) | QueueLimit::Unlimited => {}
                        }
                    }
                }
            } else {
                while let Some((station, item)) = cell.poll(poll) {
                    prop_assert_eq!(traffic[item].1, station);
                    arrived[station].push(item);
                }
                prop_assert!(cell.next().is_none_or(|next| next > poll));
            }
            for station in 0..3 {
                let stats = cell.stats(station);
                let in_flight = cell.in_flight(station) as u64;
                prop_assert_eq!(stats.pushed + stats.duplicated, finished(&stats) + in_flight);
            }
        }
        for (station, items) in arrived.iter().enumerate() {
            prop_assert_eq!(items.len() as u64, cell.stats(station).delivered);
            if !stations[station].reorder && stations[station].impairments.reorder.is_none() {
                prop_assert!(items.is_sorted());
            }
        }
        let loads = cell.load_stats();
        prop_assert!(loads.offered >= loads.sent + loads.dropped_full);
    }

    #[test]
    fn additional_polls_of_a_cell_have_no_effect(
        config in cell_config(), stations in prop::collection::vec(station(), 3), traffic in traffic(),
    ) {
        let run = |often: bool| {
            let mut cell = Cell::new(&config, &joined(&stations), Seed::new(1));
            let (mut now, mut all) = (Instant::ZERO, Vec::new());
            for (i, &(gap, station, size)) in traffic.iter().enumerate() {
                let push = now + Duration::from_nanos(gap);
                while now < push {
                    let next = cell.next().unwrap_or(Instant::MAX).min(push);
                    // Additional polls between events.
                    now = if often { next.min(now + Duration::from_micros(777)) } else { next };
                    if now == push {
                        break;
                    }
                    while let Some(got) = cell.poll(now) {
                        all.push((now, got));
                    }
                }
                cell.push(now, station, size, i);
            }
            all
        };
        prop_assert_eq!(run(true), run(false));
    }

    #[test]
    fn parser_accepts_or_rejects_arbitrary_text(
        text in "[0-9a-z.,\\[\\]{}\": \n-]{0,60}", name in "[a-z]{1,3}(\\.(csv|json))?",
    ) {
        for format in [None].into_iter().chain(tandem_link::TraceFormat::REGISTRY.iter().map(Some)) {
            if let Err(error) = Trace::parse(&name, &text, format) {
                prop_assert!(error.to_string().starts_with(&name));
            }
        }
    }
}

#[test]
fn mean_wait_matches_m_d_1_at_several_loads() {
    // Pollaczek and Khinchine: with service time S and load rho, the mean wait before service is
    // rho S / (2 (1 - rho)).
    for rho in [0.3, 0.6, 0.8] {
        let rate = Rate::Fixed(Bitrate::from_bps(12_000_000));
        let config = LinkConfig { rate, queue: QueueLimit::Unlimited, ..LinkConfig::default() };
        let mut link: Link<Instant> = Link::new(&config, Seed::new(1));
        let mut arrivals = Seed::new(4).rng("arrivals");
        let (mut now, mut wait, n) = (0.0, 0.0, 400_000);
        let mut poll_until = |link: &mut Link<Instant>, until: Instant| {
            while let Some(at) = link.next().filter(|&at| at <= until) {
                if let Some(pushed) = link.poll(at) {
                    wait += at.since(pushed).as_secs_f64() * 1e3 - 1.0;
                }
            }
        };
        for _ in 0..n {
            now += arrivals.exponential(1e-3 / rho);
            let at = Instant::ZERO + Duration::from_secs_f64(now);
            poll_until(&mut link, at);
            link.push(at, 1500, at);
        }
        poll_until(&mut link, Instant::MAX);
        let (mean, expected) = (wait / f64::from(n), rho / (2.0 * (1.0 - rho)));
        assert!((mean / expected - 1.0).abs() < 0.03, "{rho}: {mean} instead of {expected}");
    }
}
