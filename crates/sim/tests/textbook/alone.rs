//! Uncoupled flows on one link: utilisation and fairness.

use crate::bench::{Bench, PACKET, TCP_PAYLOAD, bdp, fixed, mean, tcp};
use link::{LinkConfig, Loss, QueueLimit};
use mptcp::CongestionKind;
use units::{Instant, Probability};

/// A queue of one bandwidth-delay product is enough for a flow that halves its window (Villamizar
/// and Song 1994; Appenzeller, Keslassy, McKeown 2004, section 2): at least 95 % of 100 Mbit/s at
/// 100 ms from 60 s to 150 s.
#[test]
fn a_queue_of_one_bandwidth_delay_product_fills_the_link() {
    for kind in [CongestionKind::Reno, CongestionKind::Cubic] {
        let mut bench = Bench::new(1);
        let link = bench.link(&fixed(100.0, bdp(100.0, 100.0), 0.0));
        bench.flow(tcp(kind), Instant::ZERO, &[(link, 100.0)], 0.0);
        let used = bench.goodput(60, 150)[0] * PACKET / TCP_PAYLOAD / 100.0;
        println!("{kind}: {used:.4}");
        assert!((0.95..1.0001).contains(&used), "{kind}: {used}");
        let stats = bench.stats(link);
        assert!(stats.dropped_full > 0, "{kind}: the queue was never full");
    }
}

/// Jain's fairness index: 1 if all rates are equal, 1/n if one flow has all.
fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|rate| rate * rate).sum::<f64>())
}

/// Chiu and Jain 1989: additive increase and multiplicative decrease converge to equal shares. The
/// second flow starts 20 s after the first; Jain's index from 60 s to 160 s is above 0.95.
#[test]
fn a_late_flow_converges_to_an_equal_share() {
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

/// With equal loss rates windows are equal, so that rates are inversely proportional to the RTT
/// (Mathis et al. 1997, Eq. 3): 40 ms, 80 ms and 160 ms with 0.3 % loss, within 6 %.
#[test]
fn under_equal_loss_rates_are_inverse_to_the_rtt() {
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

/// At a tail-drop queue the ratio of the rates is between the ratio of the RTTs (independent
/// losses) and its square (synchronised losses; Lakshman and Madhow 1997, section V). RTTs are 50
/// ms and 100 ms plus up to 50 ms of queueing.
#[test]
fn at_a_shared_queue_the_shorter_rtt_gets_more() {
    let ratio = mean(1..=3, |seed| {
        let mut bench = Bench::new(seed);
        let link = bench.link(&fixed(20.0, bdp(20.0, 50.0), 0.0));
        bench.flow(tcp(CongestionKind::Reno), Instant::ZERO, &[(link, 50.0)], 1.0);
        bench.flow(tcp(CongestionKind::Reno), Instant::ZERO, &[(link, 100.0)], 1.0);
        let rates = bench.goodput(60, 260);
        rates[0] / rates[1]
    });
    println!("{ratio:.3}");
    // A full queue gives RTTs of 150 and 100 ms, an empty one 100 and 50 ms.
    assert!((1.5..=4.0).contains(&ratio), "{ratio}");
}
