//! A scheduler and a congestion control from outside Tandem, compared with Tandem's own.

mod congestion;
mod scheduler;

pub use congestion::{Scalable, ScalableFactory};
pub use scheduler::{Overflow, OverflowFactory};

use mptcp::{CongestionChoice, CongestionKind, SchedulerChoice, SchedulerKind};
use scenario::{Diagnostic, Scenario};
use sim::{Experiment, Outcome};
use std::fmt::Write as _;
use std::sync::Arc;

/// The scenario of this example.
const SCENARIO: &str = include_str!("../scenario.toml");
/// Bytes that may wait for Wi-Fi: a tenth of a second of the stream.
const OVERFLOW_THRESHOLD_BYTES: u64 = 125_000;

/// Reads the scenario and simulates it with `scheduler` and `congestion`.
///
/// # Errors
/// Everything that is wrong with the scenario.
pub fn simulate(
    scheduler: impl Into<SchedulerChoice>,
    congestion: impl Into<CongestionChoice>,
) -> Result<Outcome, Vec<Diagnostic>> {
    // The scenario names no other files, so there is nothing to read for it.
    let no_files = |path: &str| Err(format!("no file {path}"));
    let scenario = Scenario::parse("scenario.toml", SCENARIO, &no_files)?;
    let mut experiment: Experiment = scenario.experiment;
    // This is where algorithms plug in: the configuration of both ends of every connection.
    experiment.transport.config.scheduler = scheduler.into();
    experiment.transport.config.congestion = congestion.into();
    Ok(sim::run(&experiment))
}

/// Simulates the scenario with min-rtt and with this crate's algorithms; returns a table.
///
/// # Errors
/// Everything that is wrong with the scenario.
pub fn comparison() -> Result<String, Vec<Diagnostic>> {
    let overflow = Arc::new(OverflowFactory { threshold: OVERFLOW_THRESHOLD_BYTES });
    let runs = [
        ("min-rtt, lia", simulate(SchedulerKind::MinRtt, CongestionKind::Lia)?),
        ("overflow, lia", simulate(Arc::clone(&overflow), CongestionKind::Lia)?),
        ("overflow, scalable", simulate(overflow, Arc::new(ScalableFactory))?),
    ];
    let mut table = format!("{:<20}{:>16}{:>12}\n", "", "goodput Mbit/s", "LTE MB");
    for (name, outcome) in runs {
        let goodput = outcome.connections[0].goodput_mbps;
        let lte_mb = lte_bytes(&outcome) as f64 / 1e6;
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{name:<20}{goodput:>16.2}{lte_mb:>12.1}");
    }
    Ok(table)
}

/// Returns the payload that LTE carried, in bytes.
pub fn lte_bytes(outcome: &Outcome) -> u64 {
    outcome.paths.iter().filter(|path| path.name == "lte").map(|path| path.payload_down_bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_scheduler_keeps_data_off_lte_at_equal_goodput() {
        let overflow = Arc::new(OverflowFactory { threshold: OVERFLOW_THRESHOLD_BYTES });
        let own = simulate(overflow, CongestionKind::Lia).expect("the scenario is valid");
        let min_rtt = simulate(SchedulerKind::MinRtt, CongestionKind::Lia).expect("the scenario is valid");
        // LTE helps out while Wi-Fi is slow, and only then.
        assert!(lte_bytes(&own) > 0);
        assert!(lte_bytes(&own) < lte_bytes(&min_rtt));
        let goodput = |outcome: &Outcome| outcome.connections[0].goodput_mbps;
        assert!((goodput(&own) - goodput(&min_rtt)).abs() < 0.1, "{} {}", goodput(&own), goodput(&min_rtt));
    }

    #[test]
    fn custom_algorithms_give_the_same_bytes_for_the_same_seed() {
        let run = || {
            let overflow = Arc::new(OverflowFactory { threshold: OVERFLOW_THRESHOLD_BYTES });
            simulate(overflow, Arc::new(ScalableFactory)).expect("the scenario is valid")
        };
        assert_eq!(run(), run());
    }

    #[test]
    fn table_has_a_row_for_each_run() {
        let table = comparison().expect("the scenario is valid");
        assert_eq!(table.lines().count(), 4);
        assert!(table.contains("overflow, scalable"), "{table}");
    }
}
