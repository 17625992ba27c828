//! Simulates a scenario under a policy that is defined here, and compares it with `wifi-first`.
//!
//! ```text
//!  scenario.toml ──> Scenario::parse ──> Experiment ──┬─ WifiFirst ──> sim::run ──┐
//!                                                     └─ RateFloor ──> sim::run ──┴─> table
//! ```

mod rate_floor;

use policy::{PolicyConfig, WifiFirst};
use rate_floor::RateFloor;
use scenario::Scenario;
use sim::{Experiment, Outcome};
use units::Bitrate;

fn main() {
    let experiment = experiment();
    println!("{:28}{:>10}{:>10}{:>12}{:>10}", "policy", "received", "over LTE", "radios used", "changes");
    println!("{:28}{:>10}{:>10}{:>12}{:>10}", "", "MB", "MB", "J", "");
    let floor = Bitrate::from_mbps(7.0);
    for policy in [PolicyConfig::from(WifiFirst), RateFloor { floor }.into()] {
        let outcome = simulate(&experiment, policy);
        println!(
            "{:28}{:>10.1}{:>10.1}{:>12.1}{:>10}",
            outcome.device.policy,
            megabytes(outcome.connections[0].delivered_bytes),
            megabytes(over_lte(&outcome)),
            outcome.device.energy_j,
            outcome.device.policy_changes
        );
    }
}

/// The experiment of `scenario.toml`. Its text is part of the program, and it names no other files.
fn experiment() -> Experiment {
    let no_files = |path: &str| Err(format!("{path}: this scenario needs no files"));
    let scenario = Scenario::parse("scenario.toml", include_str!("../scenario.toml"), &no_files);
    scenario.expect("the scenario of this example is valid").experiment
}

/// Runs the experiment under another policy. The same experiment always gives the same outcome.
fn simulate(experiment: &Experiment, policy: PolicyConfig) -> Outcome {
    let kinds: Vec<_> = experiment.paths.iter().map(|path| path.profile.kind).collect();
    policy.check(&kinds).expect("the device of this example has Wi-Fi");
    let mut experiment = experiment.clone();
    experiment.device.policy = policy;
    sim::run(&experiment)
}

fn over_lte(outcome: &Outcome) -> u64 {
    outcome.paths.iter().filter(|path| path.name == "lte").map(|path| path.payload_down_bytes).sum()
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 * 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_floor_carries_the_stream_that_wifi_first_does_not() {
        let experiment = experiment();
        let wifi_first = simulate(&experiment, WifiFirst.into());
        let rate_floor = simulate(&experiment, RateFloor { floor: Bitrate::from_mbps(7.0) }.into());
        assert_eq!(rate_floor.device.policy, "rate-floor:floor=7Mbps");
        assert_eq!(over_lte(&wifi_first), 0);
        assert!(over_lte(&rate_floor) > 5_000_000, "{}", over_lte(&rate_floor));
        let delivered = |outcome: &Outcome| outcome.connections[0].delivered_bytes;
        assert!(delivered(&rate_floor) > delivered(&wifi_first));
    }

    #[test]
    fn device_without_wifi_is_refused() {
        let policy = PolicyConfig::from(RateFloor { floor: Bitrate::from_mbps(7.0) });
        assert!(policy.check(&[policy::InterfaceKind::Lte]).is_err());
    }
}
