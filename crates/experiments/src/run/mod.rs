//! One scenario, looked at closely.

mod json;
mod page;
mod series;
mod tables;

use policy::{PolicyConfig, PolicyError};
use report::{Page, Table};
use scenario::Scenario;
use serde_json::Value;
use sim::{Experiment, Outcome};
use units::{Bytes, Duration, Seed};

/// What a run changes of its scenario.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// Another seed.
    pub seed: Option<Seed>,
    /// Another policy.
    pub policy: Option<PolicyConfig>,
    /// Write down every packet.
    pub capture: bool,
}

/// A scenario that was run, and what came of it.
#[derive(Debug, Clone)]
pub struct Run {
    /// The scenario's title.
    pub title: String,
    /// More about it.
    pub description: Option<String>,
    /// The scenario's text.
    pub source: String,
    /// What was simulated, the settings applied.
    pub experiment: Experiment,
    /// What came of it.
    pub outcome: Outcome,
    /// What there is to say of the kernel that ran it; `None` where it was simulated.
    pub kernel: Option<Kernel>,
}

/// How soon a path fell silent that was not to be used any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaction {
    /// The path's name.
    pub path: String,
    /// From the decision to the last payload: the sum of the three that follow.
    pub took: Duration,
    /// Until the server heard of it.
    pub order: Duration,
    /// From then until the last payload left the server, which had given it to the path's subflow before.
    pub sender: Duration,
    /// From then until it arrived: the link's queue and its delay.
    pub link: Duration,
    /// How long the path takes for what left the server meanwhile.
    pub needed: Duration,
    /// So much it was, headers and all.
    pub given: Bytes,
}

/// A subflow by the capture and by the device's kernel, which have seen the same packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The path's name.
    pub path: String,
    /// The device's address and port.
    pub client: String,
    /// Bytes that came in order, by the capture and by the kernel.
    pub received: [u64; 2],
    /// Bytes that were acknowledged, likewise.
    pub acknowledged: [u64; 2],
}

impl Captured {
    /// Both say the same.
    pub fn agrees(&self) -> bool {
        self.received[0] == self.received[1] && self.acknowledged[0] == self.acknowledged[1]
    }
}

/// A run on a real kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// Its release, such as `6.18.0`.
    pub release: String,
    /// How far behind the model packets were written: median, 99th percentile and longest.
    pub lateness: [Duration; 3],
    /// How often MP_PRIO reached the server.
    pub priorities_heard: u64,
    /// What came of each decision to use a path no more.
    pub reactions: Vec<Reaction>,
    /// What the capture says of each subflow and what the kernel has counted of it; none without a capture.
    pub captured: Vec<Captured>,
    /// Where the kernel did something else than the scenario says.
    pub notes: Vec<String>,
    /// What there is to say where programs of somebody's own ran in place of the scenario's traffic.
    pub programs: Option<Programs>,
}

/// Programs that ran over a scenario's paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// Connections of the device that asked for Multipath TCP, those of them in which the server agreed, and
    /// the subflows that joined them.
    pub multipath: [u64; 3],
    /// For each path, down and up: how long packets were under way in the mean, and of that how long beyond
    /// the path's own delay.
    pub delays: Vec<[Option<(Duration, Duration)>; 2]>,
}

/// Simulates a scenario; `progress` is told the share that is done, from 0 to 1, now and then.
///
/// # Errors
/// Where the policy asked for does not fit the scenario's paths.
pub fn simulate(
    scenario: &Scenario,
    settings: &Settings,
    progress: &mut dyn FnMut(f64),
) -> Result<Run, PolicyError> {
    let mut experiment = prepare(scenario, settings.seed, settings.policy.as_ref())?;
    experiment.capture = settings.capture;
    let outcome = sim::run_with_progress(&experiment, progress);
    Ok(Run {
        title: scenario.title.clone(),
        description: scenario.description.clone(),
        source: scenario.source.clone(),
        experiment,
        outcome,
        kernel: None,
    })
}

/// The scenario's experiment with another seed and policy.
///
/// # Errors
/// Where the policy does not fit the scenario's paths.
pub fn prepare(
    scenario: &Scenario,
    seed: Option<Seed>,
    policy: Option<&PolicyConfig>,
) -> Result<Experiment, PolicyError> {
    let mut experiment = match seed {
        Some(seed) => scenario.with_seed(seed),
        None => scenario.experiment.clone(),
    };
    if let Some(policy) = policy {
        let kinds: Vec<_> = experiment.paths.iter().map(|path| path.profile.kind).collect();
        policy.check(&kinds)?;
        experiment.device.policy = policy.clone();
    }
    Ok(experiment)
}

impl Run {
    /// A scenario that ran on a kernel: what `experiment` was made of it, and what came of it there.
    pub fn on_kernel(scenario: &Scenario, experiment: Experiment, outcome: Outcome, kernel: Kernel) -> Self {
        Self {
            title: scenario.title.clone(),
            description: scenario.description.clone(),
            source: scenario.source.clone(),
            experiment,
            outcome,
            kernel: Some(kernel),
        }
    }

    /// Device, paths, energy and connections.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = match self.kernel.as_ref().and_then(|kernel| kernel.programs.as_ref()) {
            Some(programs) => tables::of_programs(&self.experiment, &self.outcome, programs),
            None => tables::tables(&self.experiment, &self.outcome),
        };
        tables.extend(self.kernel.as_ref().map(tables::kernel));
        tables.extend(self.kernel.as_ref().and_then(tables::reactions));
        tables.extend(self.kernel.as_ref().and_then(tables::captured));
        tables
    }

    /// Everything that was measured as one long table: a row for each quantity, with its owner.
    pub fn long_table(&self) -> Table {
        tables::long(&self.outcome)
    }

    /// What `result.json` holds; docs/reference/output.md describes it.
    pub fn to_json(&self) -> Value {
        json::result(self)
    }

    /// What `series.csv` holds: a row for each sample, the first column its time in seconds.
    pub fn series_csv(&self) -> String {
        series::csv(&self.outcome.series)
    }

    /// The report.
    pub fn page(&self) -> Page {
        page::page(self)
    }
}
