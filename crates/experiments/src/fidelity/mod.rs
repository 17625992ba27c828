//! Fidelity of the simulator: the same scenarios in simulation and on the Linux kernel.

mod cases;
mod generated;
mod tables;

pub use cases::{Case, cases, measured};

use crate::page::kernel_footer;
use crate::stats::mean;
use report::{Page, Section, Table};
use serde_json::{Value, json};
use sim::Outcome;

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
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    /// Goodput of the connection, in Mbit/s.
    pub goodput_mbps: f64,
    /// Payload carried by each path in the direction of the data, in Mbit/s.
    pub paths_mbps: Vec<f64>,
    /// Time from the start to the last byte, in seconds; NaN unless the transfer completed in
    /// every run.
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

impl CaseResult {
    /// Relative error of the simulator's goodput: 0.05 means 5 % above the kernel's.
    pub fn error(&self) -> f64 {
        self.simulated.goodput_mbps / self.kernel.goodput_mbps - 1.0
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

impl Fidelity {
    /// Scenarios that count: not those that depend on the machine.
    fn counted(&self) -> impl Iterator<Item = &CaseResult> {
        self.compared.iter().filter(|each| !each.case.depends_on_machine)
    }

    /// Median and maximum of the magnitude of the relative errors ([`CaseResult::error`]) of the
    /// scenarios that count; NaN without any.
    pub fn errors(&self) -> [f64; 2] {
        let mut errors: Vec<f64> = self.counted().map(|each| each.error().abs()).collect();
        errors.sort_unstable_by(f64::total_cmp);
        let median = match errors.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => errors[n / 2],
            n => f64::midpoint(errors[n / 2 - 1], errors[n / 2]),
        };
        [median, errors.last().copied().unwrap_or(f64::NAN)]
    }

    /// The table of scenarios, then the summary.
    pub fn tables(&self) -> Vec<Table> {
        tables::tables(self)
    }

    /// Contents of `result.json`.
    pub fn to_json(&self) -> Value {
        let [median, largest] = self.errors();
        let figures = |figures: &Measurements| {
            json!({
                "goodput_mbps": figures.goodput_mbps,
                "paths_mbps": figures.paths_mbps,
                "completed_s": figures.completed_s.is_finite().then_some(figures.completed_s),
                "range_mbps": figures.range_mbps,
            })
        };
        let cases: Vec<Value> = self
            .compared
            .iter()
            .map(|each| {
                json!({
                    "name": each.case.name,
                    "group": each.case.group,
                    "simulated": figures(&each.simulated),
                    "kernel": figures(&each.kernel),
                    "error": each.error(),
                    "depends_on_machine": each.case.depends_on_machine,
                })
            })
            .collect();
        json!({
            "kind": "fidelity",
            "tandem": env!("CARGO_PKG_VERSION"),
            "kernel": self.release,
            "seeds": self.runs[0],
            "kernel_runs": self.runs[1],
            "median_error": median,
            "largest_error": largest,
            "cases": cases,
        })
    }

    /// Report with the tables and the source of every scenario.
    pub fn page(&self) -> Page {
        let [median, largest] = self.errors();
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
                self.counted().count(),
                self.release,
                100.0 * median,
                100.0 * largest,
            ))
            .section(section)
            .section(scenarios)
            .footer(kernel_footer())
    }
}
