//! Fairness of MPTCP-rec: a receiver-driven connection should get the share of a TCP.

use crate::bench::{Bench, bdp, fixed, multipath, tcp};
use link::{LinkConfig, Loss};
use mptcp::rec::RoundTrip;
use mptcp::{Config, CongestionKind, Rec};
use units::{Instant, Probability};

const RTT_MS: f64 = 60.0;
const START_S: u64 = 20;
const END_S: u64 = 120;
const SEEDS: u64 = 6;

fn bottleneck(loss: f64) -> LinkConfig {
    LinkConfig {
        loss: Loss::Uniform(Probability::new(loss).expect("from 0 to 1")),
        ..fixed(5.0, bdp(5.0, RTT_MS), 0.0)
    }
}

fn rec(settings: Rec) -> Config {
    Config { rec: Some(settings), ..multipath(CongestionKind::Reno) }
}

/// Rates of two flows over one bottleneck, the first with MPTCP-rec, in Mbit/s.
fn side_by_side(loss: f64, settings: Rec, other: &Config) -> [f64; 2] {
    let mut rates = [0.0; 2];
    for seed in 1..=SEEDS {
        let mut bench = Bench::new(seed);
        let link = bench.link(&bottleneck(loss));
        bench.flow(rec(settings), Instant::ZERO, &[(link, RTT_MS)], 1.0);
        bench.flow(other.clone(), Instant::from_millis(300), &[(link, RTT_MS)], 1.0);
        let both = bench.goodput(START_S, END_S);
        rates.iter_mut().zip(both).for_each(|(rate, one)| *rate += one / SEEDS as f64);
    }
    rates
}

#[test]
fn beside_reno_it_gets_half_to_twice_an_equal_share() {
    for loss in [0.01, 0.02, 0.03, 0.05] {
        let [rec_rate, reno] = side_by_side(loss, Rec::default(), &tcp(CongestionKind::Reno));
        let share = 2.0 * rec_rate / (rec_rate + reno);
        println!("{loss}: {rec_rate:.3} beside {reno:.3}: {share:.2} of its share");
        assert!((0.5..=2.0).contains(&share), "{loss}: {rec_rate:.3} beside {reno:.3}");
    }
}

/// With round-trip times from rounds only, as in the paper, it gets less: a pause lengthens all
/// later rounds.
#[test]
fn with_rounds_as_clock_it_keeps_half_of_its_share() {
    let [echo, _] = side_by_side(0.02, Rec::default(), &tcp(CongestionKind::Reno));
    let settings = Rec { round_trip: RoundTrip::Rounds, ..Rec::default() };
    let [rounds, reno] = side_by_side(0.02, settings, &tcp(CongestionKind::Reno));
    let share = 2.0 * rounds / (rounds + reno);
    println!("{rounds:.3} beside {reno:.3}: {share:.2} of its share");
    assert!((0.5..=2.0).contains(&share) && rounds < echo);
}

#[test]
fn two_receiver_driven_flows_share_equally() {
    for loss in [0.01, 0.02, 0.05] {
        let [one, other] = side_by_side(loss, Rec::default(), &rec(Rec::default()));
        println!("{loss}: {one:.3} beside {other:.3}");
        assert!((one / other - 1.0).abs() <= 0.15, "{loss}: {one:.3} beside {other:.3}");
    }
}
