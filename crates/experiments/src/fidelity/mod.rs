//! Fidelity of the simulator: the same scenarios in simulation and on the Linux kernel.

mod cases;
mod generated;
mod recorded;
mod tables;

pub use cases::{Case, cases, measured};
pub use recorded::Recorded;

use crate::page::kernel_footer;
use crate::stats::{mean, median};
use report::{Page, Section, Table};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use sim::Outcome;

/// Spread of the kernel's own runs, relative to the smallest, above which they say too little about
/// an error of 5 %.
pub const MAX_KERNEL_SPREAD: f64 = 0.10;

/// Results of a scenario in simulation and on the kernel.
#[derive(Debug, Clone)]
pub struct CaseResult {
    /// The scenario.
    pub case: Case,
    /// Means over the seeds in simulation.
    pub simulated: Measurements,
    /// Means over the runs on the kernel.
    pub kernel: Measurements,
}

/// Quantities compared between simulation and kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    /// Goodput of the connection, in Mbit/s.
    pub goodput_mbps: f64,
    /// Payload carried by each path in the direction of the data, in Mbit/s.
    pub paths_mbps: Vec<f64>,
    /// Time from the start to the last byte, in seconds; NaN unless the transfer completed in
    /// every run.
    #[serde(serialize_with = "as_option", deserialize_with = "from_option")]
    pub completed_s: f64,
    /// Smallest and largest goodput of the runs, in Mbit/s.
    pub range_mbps: [f64; 2],
}

impl Measurements {
    /// Means over several runs of one scenario, for its first connection.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let goodputs: Vec<f64> = outcomes.iter().map(|outcome| outcome.connections[0].goodput_mbps).collect();
        let paths = outcomes.first().map_or(0, |outcome| outcome.paths.len());
        let path = |i: usize| {
            let rates = outcomes.iter().map(|outcome| {
                let path = &outcome.paths[i];
                if outcome.connections[0].direction == "up" { path.rate_up_mbps } else { path.rate_down_mbps }
            });
            mean(&rates.collect::<Vec<_>>())
        };
        let completed = outcomes.iter().map(|outcome| outcome.connections[0].completed_s.unwrap_or(f64::NAN));
        Self {
            goodput_mbps: mean(&goodputs),
            paths_mbps: (0..paths).map(path).collect(),
            completed_s: mean(&completed.collect::<Vec<_>>()),
            range_mbps: [
                goodputs.iter().copied().fold(f64::INFINITY, f64::min),
                goodputs.iter().copied().fold(0.0, f64::max),
            ],
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn as_option<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    value.is_finite().then_some(value).serialize(serializer)
}

fn from_option<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

impl CaseResult {
    /// Relative error of the simulator's goodput: 0.05 means 5 % above the kernel's.
    pub fn error(&self) -> f64 {
        self.simulated.goodput_mbps / self.kernel.goodput_mbps - 1.0
    }

    /// The kernel's own runs agree within [`MAX_KERNEL_SPREAD`]. A single run always does.
    pub fn kernel_agrees(&self) -> bool {
        let [low, high] = self.kernel.range_mbps;
        high <= low * (1.0 + MAX_KERNEL_SPREAD)
    }
}

/// Results of all scenarios.
#[derive(Debug, Clone)]
pub struct Fidelity {
    /// One result per scenario, in the order of [`cases()`].
    pub compared: Vec<CaseResult>,
    /// Kernel release.
    pub release: String,
    /// Number of seeds in simulation and of runs on the kernel, for each scenario.
    pub runs: [u64; 2],
}

/// Magnitudes of the relative errors of some scenarios ([`CaseResult::error`]).
#[derive(Debug, Clone)]
pub struct Errors(Vec<f64>);

impl Errors {
    fn of<'a>(results: impl Iterator<Item = &'a CaseResult>) -> Self {
        let mut errors: Vec<f64> = results.map(|each| each.error().abs()).collect();
        errors.sort_unstable_by(f64::total_cmp);
        Self(errors)
    }

    /// Number of scenarios.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Median; NaN without any scenario.
    pub fn median(&self) -> f64 {
        median(&self.0)
    }

    /// Largest error; NaN without any scenario.
    pub fn largest(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::NAN)
    }

    /// Number of errors up to `bound`.
    pub fn within(&self, bound: f64) -> usize {
        self.0.iter().filter(|&&error| error <= bound).count()
    }
}

impl Fidelity {
    /// Errors of all scenarios.
    pub fn errors(&self) -> Errors {
        Errors::of(self.compared.iter())
    }

    /// Errors of the scenarios in which the kernel's own runs agree.
    pub fn errors_of_steady(&self) -> Errors {
        Errors::of(self.compared.iter().filter(|each| each.kernel_agrees()))
    }

    /// The table of scenarios, then the summary.
    pub fn tables(&self) -> Vec<Table> {
        tables::tables(self)
    }

    /// Contents of `result.json`.
    pub fn to_json(&self) -> Value {
        let all = self.errors();
        // One run does not show whether the kernel's runs agree.
        let steady = (self.runs[1] > 1).then(|| self.errors_of_steady());
        let cases: Vec<Value> = self
            .compared
            .iter()
            .map(|each| {
                json!({
                    "name": each.case.name,
                    "group": each.case.group,
                    "scenario": each.case.scenario.source,
                    "files": each.case.files().collect::<Vec<_>>(),
                    "simulated": each.simulated,
                    "kernel": each.kernel,
                    "error": each.error(),
                    "kernel_agrees": each.kernel_agrees(),
                })
            })
            .collect();
        json!({
            "kind": "fidelity",
            "tandem": env!("CARGO_PKG_VERSION"),
            "kernel": self.release,
            "seeds": self.runs[0],
            "kernel_runs": self.runs[1],
            "median_error": all.median(),
            "largest_error": all.largest(),
            "median_error_where_kernel_agrees": steady.as_ref().map(Errors::median),
            "largest_error_where_kernel_agrees": steady.as_ref().map(Errors::largest),
            "cases": cases,
        })
    }

    /// Report with the tables and the source of every scenario.
    pub fn page(&self) -> Page {
        let errors = self.errors();
        let mut section = Section::new("Results by scenario");
        for table in self.tables() {
            section = section.table(table);
        }
        let mut scenarios = Section::new("Scenarios");
        for each in &self.compared {
            scenarios = scenarios.details(&*each.case.name, &*each.case.scenario.source);
        }
        Page::new("Simulator compared with the Linux kernel")
            .lead(format!(
                "{} scenarios ran in simulation and on Linux {}. The median error of the simulated goodput is {:.1} %, \
                 the largest {:.1} %.",
                errors.count(),
                self.release,
                100.0 * errors.median(),
                100.0 * errors.largest(),
            ))
            .section(section)
            .section(scenarios)
            .footer(kernel_footer())
    }
}
