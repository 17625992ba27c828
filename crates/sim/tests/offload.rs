//! The actuators of the policy `emtcp` where Wi-Fi loses packets.

mod support;

use link::Loss;
use mptcp::{CongestionKind, SchedulerKind};
use policy::PolicyConfig;
use support::wifi_lte;
use tandem_sim::{Hop, Outcome, run};
use traffic::Kind;
use units::{Bitrate, Bytes, Probability, Seed};

/// Goodput in Mbit/s and LTE's part of it, over Wi-Fi of 2 Mbit/s with 1 % loss and LTE of 20 Mbit/s.
fn over_lossy_wifi(policy: &str, kind: &Kind, scheduler: SchedulerKind, seed: u64) -> (f64, f64) {
    let mut experiment = wifi_lte(kind.clone(), 60);
    experiment.seed = Seed::new(seed);
    experiment.device.policy = policy.parse::<PolicyConfig>().expect("a registered policy");
    experiment.transport.config.scheduler = scheduler.into();
    experiment.transport.config.congestion = CongestionKind::Reno.into();
    experiment.paths[1] = support::path("lte", "huang2012.lte", 20.0, 50);
    if let Hop::Link(link) = &mut experiment.paths[0].down {
        link.loss = Loss::Uniform(Probability::new(0.01).expect("from 0 to 1"));
    }
    let outcome: Outcome = run(&experiment);
    (outcome.connections[0].goodput_mbps, outcome.paths[1].rate_down_mbps)
}

fn kinds() -> [Kind; 3] {
    let cbr = |mbps| Kind::Cbr { rate: Bitrate::from_mbps(mbps), packet: Bytes::new(1040) };
    [cbr(1.0), cbr(3.0), Kind::Bulk]
}

/// `wifi-first` uses Wi-Fi alone while it is up. `mp-prio` holds LTE back to keep its share, and is
/// never below that.
#[test]
fn mp_prio_over_lossy_wifi_carries_no_less_than_wifi_first() {
    for kind in kinds() {
        for scheduler in [SchedulerKind::Linux, SchedulerKind::RoundRobin] {
            for seed in 1..=5 {
                let [first, held] = ["wifi-first", "emtcp:mp-prio"]
                    .map(|policy| over_lossy_wifi(policy, &kind, scheduler, seed).0);
                println!("{kind:?} {scheduler} {seed}: wifi-first {first:.3}, mp-prio {held:.3}");
                assert!(held >= 0.99 * first, "{kind:?} {scheduler} {seed}: {held}, wifi-first {first}");
            }
        }
    }
}

/// Table I sends over LTE all that Wi-Fi has no window for; an exact division waits for Wi-Fi.
#[test]
fn table_one_over_lossy_wifi_carries_as_much_as_plain_mptcp() {
    for kind in kinds() {
        for seed in 1..=5 {
            let [plain, table_one, exact] = ["none", "emtcp:table1", "emtcp"]
                .map(|policy| over_lossy_wifi(policy, &kind, SchedulerKind::RoundRobin, seed));
            println!("{kind:?} {seed}: none {plain:.3?}, table1 {table_one:.3?}, ideal {exact:.3?}");
            assert!(table_one.0 >= 0.95 * plain.0, "{kind:?} {seed}: {table_one:?}, plain {plain:?}");
            assert!(table_one.1 <= 1.05 * plain.1, "{kind:?} {seed}: {table_one:?}, plain {plain:?}");
        }
    }
}
