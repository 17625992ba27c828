//! Coupled congestion controls against the goals of RFC 6356, section 1: improve throughput, do no
//! harm, balance congestion.

use crate::bench::{Bench, MPTCP_PAYLOAD, PACKET, TCP_PAYLOAD, bdp, fixed, mean, multipath, tcp};
use link::{Codel, LinkConfig, Loss, QueueLimit};
use mptcp::CongestionKind;
use units::{Instant, Probability};

const LOSS_BASED: [CongestionKind; 6] = [
    CongestionKind::Lia,
    CongestionKind::LinkedIncreases,
    CongestionKind::FullyCoupled,
    CongestionKind::Olia,
    CongestionKind::Balia,
    CongestionKind::EcMtcp,
];

/// Energy cost per byte on each path, for ecMTCP.
const COSTS: [f64; 2] = [1.0, 3.0];

/// If all packets have the same loss probability, two paths of one connection carry as much as one
/// TCP (RFC 6356, section 3.1; Khalili et al. 2013, section V; Peng et al. 2016, section III),
/// within 15 %. LIA and its relatives are up to 10 % above, because `alpha` depends on the varying
/// windows: `max(w) / sum(w)` is at least its value at the mean windows.
#[test]
fn under_equal_loss_two_paths_carry_as_much_as_one_tcp() {
    for p in [0.001, 0.005] {
        for kind in LOSS_BASED {
            let got = mean(1..=2, |seed| {
                let mut bench = Bench::new(seed);
                let loss = Loss::Uniform(Probability::new(p).expect("from 0 to 1"));
                let link = bench.link(&LinkConfig { loss, ..fixed(10_000.0, QueueLimit::Unlimited, 0.0) });
                bench.flow(multipath(kind), Instant::ZERO, &[(link, 50.0), (link, 50.0)], 0.0);
                bench.costs(0, &COSTS);
                bench.goodput(20, 320)[0] * 1e6 / 8.0 / MPTCP_PAYLOAD
            });
            // One mean window of a TCP (see `loss.rs`) per RTT.
            let tcp = 1.3098 / p.sqrt() / 0.05;
            println!("{kind} at {p}: {:.3} of a TCP", got / tcp);
            assert!((got / tcp - 1.0).abs() < 0.15, "{kind} at {p}: {got} against {tcp}");
        }
    }
}

/// Goodput of a second flow that shares a bottleneck of 20 Mbit/s and 50 ms with one TCP: Multipath
/// TCP of this kind, or another TCP.
fn goodput_beside_tcp(link: &LinkConfig, other: CongestionKind, kind: Option<CongestionKind>) -> f64 {
    mean(1..=3, |seed| {
        let mut bench = Bench::new(seed);
        let link = bench.link(link);
        bench.flow(tcp(other), Instant::ZERO, &[(link, 50.0)], 1.0);
        let start = Instant::from_millis(500);
        match kind {
            Some(kind) => {
                bench.flow(multipath(kind), start, &[(link, 50.0), (link, 50.0)], 1.0);
                bench.costs(1, &COSTS);
            }
            None => drop(bench.flow(tcp(other), start, &[(link, 50.0)], 1.0)),
        }
        let payload = if kind.is_some() { MPTCP_PAYLOAD } else { TCP_PAYLOAD };
        bench.goodput(30, 230)[1] / payload
    })
}

/// RFC 6356, goal 2: two subflows that share a bottleneck with one TCP take no more than a single
/// TCP in their place, within 15 %. The queue uses CoDel (RFC 8289), so that losses are
/// proportional to packets. A tail-drop queue loses bursts, which halve the window of a TCP but
/// only one of two subflows. wVegas has no losses and is compared with wVegas on one path at a
/// tail-drop queue.
#[test]
fn at_a_shared_bottleneck_two_subflows_take_no_more_than_one_tcp() {
    let tail = fixed(20.0, bdp(20.0, 50.0), 0.0);
    let managed = LinkConfig { codel: Some(Codel::default()), ..tail.clone() };
    let single = goodput_beside_tcp(&managed, CongestionKind::Reno, None);
    for kind in LOSS_BASED {
        let ratio = goodput_beside_tcp(&managed, CongestionKind::Reno, Some(kind)) / single;
        println!("{kind}: {ratio:.3} of a TCP in its place");
        assert!(ratio < 1.15, "{kind}: {ratio}");
    }
    let single = goodput_beside_tcp(&tail, CongestionKind::WVegas, None);
    let ratio = goodput_beside_tcp(&tail, CongestionKind::WVegas, Some(CongestionKind::WVegas)) / single;
    println!("wvegas: {ratio:.3} of one with one path in its place");
    assert!((ratio - 1.0).abs() < 0.15, "wvegas: {ratio}");
}

/// RFC 6356, goal 1: with separate bottlenecks of 20 and 10 Mbit/s it uses at least 90 % of both.
/// Fully coupled windows use 80 %: a window that a loss has emptied grows slowly beside a large one.
#[test]
fn two_separate_bottlenecks_are_filled() {
    for kind in LOSS_BASED.into_iter().chain([CongestionKind::WVegas]) {
        let mut bench = Bench::new(1);
        let fast = bench.link(&fixed(20.0, bdp(20.0, 50.0), 0.0));
        let slow = bench.link(&fixed(10.0, bdp(10.0, 50.0), 0.0));
        bench.flow(multipath(kind), Instant::ZERO, &[(fast, 50.0), (slow, 50.0)], 1.0);
        bench.costs(0, &COSTS);
        let used = bench.goodput(30, 130)[0] * PACKET / MPTCP_PAYLOAD / 30.0;
        println!("{kind}: {used:.3} of both");
        let least = if kind == CongestionKind::FullyCoupled { 0.8 } else { 0.9 };
        assert!(used >= least, "{kind}: {used}");
    }
}

/// Fully coupled windows leave the more congested path (Wischik et al. 2011, section 2.2): its window
/// falls to the threshold of two segments at each loss, and regrows slowly. With losses of 0.02 % and
/// 0.1 %, LIA's windows are inversely proportional to them; fully coupled, the worse path carries at
/// most 0.7 times as much.
#[test]
fn fully_coupled_leaves_the_more_congested_path() {
    let worse_share = |kind| {
        mean(1..=3, |seed| {
            let mut bench = Bench::new(seed);
            let [better, worse] = [0.0002, 0.001].map(|p| {
                let loss = Loss::Uniform(Probability::new(p).expect("from 0 to 1"));
                bench.link(&LinkConfig { loss, ..fixed(10_000.0, QueueLimit::Unlimited, 0.0) })
            });
            bench.flow(multipath(kind), Instant::ZERO, &[(better, 50.0), (worse, 50.0)], 0.0);
            bench.run(Instant::from_secs(300));
            let [a, b] = [better, worse].map(|link| bench.stats(link).bytes_delivered as f64);
            b / (a + b)
        })
    };
    let (coupled, lia) = (worse_share(CongestionKind::FullyCoupled), worse_share(CongestionKind::Lia));
    println!("over the worse path: {coupled:.3}, with lia {lia:.3}");
    assert!(coupled < 0.7 * lia, "{coupled}, with lia {lia}");
}

/// Windows are inversely proportional to the cost per byte (`congestion/ecmtcp.rs`): under equal
/// loss with costs of 1 and 3 the first path carries three quarters, with equal costs half, within
/// 0.05.
#[test]
fn ecmtcp_shares_data_inversely_to_cost() {
    for (costs, share) in [([1.0, 3.0], 0.75), ([2.0, 2.0], 0.5)] {
        let got = mean(1..=3, |seed| {
            let mut bench = Bench::new(seed);
            let loss = Loss::Uniform(Probability::new(0.003).expect("from 0 to 1"));
            let lossy = LinkConfig { loss, ..fixed(10_000.0, QueueLimit::Unlimited, 0.0) };
            let (first, second) = (bench.link(&lossy), bench.link(&lossy));
            bench.flow(
                multipath(CongestionKind::EcMtcp),
                Instant::ZERO,
                &[(first, 50.0), (second, 50.0)],
                0.0,
            );
            bench.costs(0, &costs);
            bench.run(Instant::from_secs(300));
            let [a, b] = [first, second].map(|link| bench.stats(link).bytes_delivered as f64);
            a / (a + b)
        });
        println!("costs {costs:?}: {got:.3} over the first path");
        assert!((got - share).abs() < 0.05, "{costs:?}: {got}");
    }
}
