//! Flows that have a link to themselves, or share it with their like.

use crate::bench::{Bench, PACKET, TCP_PAYLOAD, bdp, fixed, mean, tcp};
use link::{LinkConfig, Loss, QueueLimit};
use mptcp::CongestionKind;
use units::{Instant, Probability};

/// A queue of one bandwidth-delay product is enough for a flow that halves its window (Villamizar and Song
/// 1994; Appenzeller, Keslassy, McKeown 2004, section 2): from 60 s to 150 s at least 95 % of 100 Mbit/s over
/// 100 ms.
#[test]
fn a_queue_of_one_bandwidth_delay_product_keeps_a_clean_link_full() {
    for kind in [CongestionKind::Reno, CongestionKind::Cubic] {
        let mut bench = Bench::new(1);
        let link = bench.link(&fixed(100.0, bdp(100.0, 100.0), 0.0));
        bench.flow(tcp(kind), Instant::ZERO, &[(link, 100.0)], 0.0);
        let used = bench.goodput(60, 150)[0] * PACKET / TCP_PAYLOAD / 100.0;
        println!("{kind}: {used:.4}");
        assert!((0.95..1.0001).contains(&used), "{kind}: {used}");
        let stats = bench.stats(link);
        assert!(stats.dropped_full > 0, "{kind}: it was never full");
    }
}

/// Jain's index of rates: 1 where all are equal, 1/n where one has all.
fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|rate| rate * rate).sum::<f64>())
}

/// Chiu and Jain 1989: additive increase and multiplicative decrease come to equal shares, whoever was
/// first. The second flow comes 20 s later; from 60 s on Jain's index over 100 s is above 0.95.
#[test]
fn a_late_flow_comes_to_an_equal_share() {
    let index = mean(1..=3, |seed| {
        let mut bench = Bench::new(seed);
        let link = bench.link(&fixed(10.0, bdp(10.0, 50.0), 0.0));
        bench.flow(tcp(CongestionKind::Reno), Instant::ZERO, &[(link, 50.0)], 1.0);
        bench.flow(tcp(CongestionKind::Reno), Instant::from_secs(20), &[(link, 50.0)], 1.0);
        let rates = bench.goodput(60, 160);
        println!("{rates:.2?}: {:.4}", jain(&rates));
        jain(&rates)
    });
    assert!(index > 0.95, "{index}");
}

/// With the same loss rate windows are equal and rates inverse to the round trip (Mathis et al. 1997, Eq. 3):
/// 40 ms, 80 ms and 160 ms under 0.3 % loss, within 6 %.
#[test]
fn under_equal_loss_rates_are_inverse_to_the_round_trip() {
    let rate = |rtt_ms: f64| {
        mean(1..=3, |seed| {
            let mut bench = Bench::new(seed);
            let loss = Loss::Uniform(Probability::new(0.003).expect("from 0 to 1"));
            let link = bench.link(&LinkConfig { loss, ..fixed(10_000.0, QueueLimit::Unlimited, 0.0) });
            bench.flow(tcp(CongestionKind::Reno), Instant::ZERO, &[(link, rtt_ms)], 0.0);
            bench.goodput(20, 420)[0]
        })
    };
    let (short, middle, long) = (rate(40.0), rate(80.0), rate(160.0));
    println!("40 ms {short:.2}, 80 ms {middle:.2}, 160 ms {long:.2} Mbit/s");
    for ratio in [short / middle, middle / long, short / long / 2.0] {
        assert!((ratio / 2.0 - 1.0).abs() < 0.06, "{ratio}");
    }
}

/// At a tail-drop queue the flow with the shorter round trip has between the ratio of the round trips (losses
/// independent) and its square (losses at once; Lakshman and Madhow 1997, section V), with the queue counted:
/// 50 ms and 100 ms, and up to 50 ms of queue for both.
#[test]
fn at_a_shared_queue_the_shorter_round_trip_has_more() {
    let ratio = mean(1..=3, |seed| {
        let mut bench = Bench::new(seed);
        let link = bench.link(&fixed(20.0, bdp(20.0, 50.0), 0.0));
        bench.flow(tcp(CongestionKind::Reno), Instant::ZERO, &[(link, 50.0)], 1.0);
        bench.flow(tcp(CongestionKind::Reno), Instant::ZERO, &[(link, 100.0)], 1.0);
        let rates = bench.goodput(60, 260);
        rates[0] / rates[1]
    });
    println!("{ratio:.3}");
    // A full queue gives 150 to 100, an empty one 100 to 50.
    assert!((1.5..=4.0).contains(&ratio), "{ratio}");
}
