//! BBR against the measurements of its authors: Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR:
//! Congestion-Based Congestion Control", ACM Queue 14(5), 2016.

use crate::bench::{Bench, PACKET, TCP_PAYLOAD, bdp, fixed, mean, tcp};
use link::{LinkConfig, Loss};
use mptcp::{CongestionKind, PathId};
use units::{Instant, Probability};

/// Figures 1 and 5: BBR fills the link without filling the queue. At 20 Mbit/s and 40 ms with a
/// queue of four bandwidth-delay products it uses at least 93 % (PROBE_RTT costs 2 %), with a mean
/// RTT below 1.5 times the minimum. CUBIC fills the queue to more than twice that.
#[test]
fn bbr_fills_the_link_but_not_the_queue() {
    let run = |kind| {
        let mut bench = Bench::new(1);
        let link = bench.link(&fixed(20.0, bdp(20.0, 160.0), 0.0));
        bench.flow(tcp(kind), Instant::ZERO, &[(link, 40.0)], 0.0);
        bench.run(Instant::from_secs(20));
        let before = bench.stats(link).bytes_delivered;
        let mut round_trips = Vec::new();
        for n in 1..=600 {
            bench.run(Instant::from_millis(20_000 + 100 * n));
            let info = bench.sender(0).subflow(PathId(0)).expect("an open subflow");
            round_trips.push(info.srtt.expect("a measured RTT").as_secs_f64());
        }
        let used = (bench.stats(link).bytes_delivered - before) as f64 * 8.0 / 60.0 / 20e6;
        (used, round_trips.iter().sum::<f64>() / 600.0 / 0.04)
    };
    let (used, round_trip) = run(CongestionKind::Bbr);
    let (_, cubic) = run(CongestionKind::Cubic);
    println!("used {used:.3} at {round_trip:.2} of the lowest round trip, CUBIC at {cubic:.2}");
    assert!(used > 0.93, "{used}");
    assert!(round_trip < 1.5 && cubic > 3.0, "{round_trip} {cubic}");
}

/// Figure 8: random loss of some per cent hardly affects BBR, but collapses a loss-based TCP. At
/// 20 Mbit/s, 40 ms and 1 % loss BBR uses at least 90 %, CUBIC less than 25 %.
#[test]
fn random_loss_does_not_slow_bbr() {
    let run = |kind| {
        mean(1..=2, |seed| {
            let mut bench = Bench::new(seed);
            let loss = Loss::Uniform(Probability::new(0.01).expect("from 0 to 1"));
            let link = bench.link(&LinkConfig { loss, ..fixed(20.0, bdp(20.0, 40.0), 0.0) });
            bench.flow(tcp(kind), Instant::ZERO, &[(link, 40.0)], 0.0);
            bench.goodput(10, 70)[0] * PACKET / TCP_PAYLOAD / 20.0
        })
    };
    let (bbr, cubic) = (run(CongestionKind::Bbr), run(CongestionKind::Cubic));
    println!("BBR {bbr:.3}, CUBIC {cubic:.3}");
    assert!(bbr > 0.9 && cubic < 0.25, "{bbr} {cubic}");
}
