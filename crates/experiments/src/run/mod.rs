//! A single run of a scenario, simulated or on a kernel, with tables, series and report.

mod json;
mod kernel_tables;
mod page;
pub(crate) mod series;
mod tables;

pub use tables::{Scalar, scalars};

use crate::traces;
use crate::warnings::{self, Warning, World};
use core::ops::ControlFlow;
use mptcp::{CongestionChoice, SchedulerChoice};
use policy::{PolicyConfig, PolicyError};
use report::{Page, Table};
use scenario::{Scenario, UsedTrace};
use serde_json::Value;
use sim::{Experiment, Outcome};
use units::{Bytes, Duration, Seed};

/// Changes of a scenario for one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// Seed in place of the scenario's.
    pub seed: Option<Seed>,
    /// Policy in place of the scenario's.
    pub policy: Option<PolicyConfig>,
    /// Scheduler in place of the scenario's.
    pub scheduler: Option<SchedulerChoice>,
    /// Congestion control in place of the scenario's.
    pub congestion: Option<CongestionChoice>,
    /// Whether to capture every packet, also if the scenario does not.
    pub capture: bool,
}

impl Settings {
    /// Sets scheduler and congestion control.
    pub(crate) fn apply(&self, config: &mut mptcp::Config) {
        if let Some(scheduler) = &self.scheduler {
            config.scheduler = scheduler.clone();
        }
        if let Some(congestion) = &self.congestion {
            config.congestion = congestion.clone();
        }
    }
}

/// A finished run of a scenario.
#[derive(Debug, Clone)]
pub struct Run {
    /// The scenario's title.
    pub title: String,
    /// The scenario's description.
    pub description: Option<String>,
    /// The scenario's text.
    pub source: String,
    /// The experiment with the settings applied.
    pub experiment: Experiment,
    /// Outcome of the experiment.
    pub outcome: Outcome,
    /// Settings without effect, and suspicious figures.
    pub warnings: Vec<Warning>,
    /// The trace files.
    pub traces: Vec<UsedTrace>,
    /// Measurements of the kernel run; `None` for a simulation.
    pub kernel: Option<Kernel>,
}

/// Time until a path carries no more payload after the policy has stopped using it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaction {
    /// The path's name.
    pub path: String,
    /// From the decision to the last payload: sum of `signalling`, `sender` and `link`.
    pub total: Duration,
    /// From the decision until the server received the signal.
    pub signalling: Duration,
    /// From the signal until the last payload left the server's queue of the path's subflow.
    pub sender: Duration,
    /// From then until the payload arrived: the link's queue and delay.
    pub link: Duration,
    /// Transmission time on the path of the bytes in `committed`.
    pub committed_time: Duration,
    /// Bytes, with headers, that the server had committed to the subflow before the signal.
    pub committed: Bytes,
}

/// Byte counts of a subflow in the capture and in the device's kernel, for the same packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedSubflow {
    /// The path's name.
    pub path: String,
    /// The device's address and port.
    pub client: String,
    /// Bytes received in order, by the capture and by the kernel.
    pub received: [u64; 2],
    /// Bytes acknowledged, by the capture and by the kernel.
    pub acknowledged: [u64; 2],
}

impl CapturedSubflow {
    /// Whether capture and kernel agree.
    pub fn agrees(&self) -> bool {
        self.received[0] == self.received[1] && self.acknowledged[0] == self.acknowledged[1]
    }
}

/// Measurements of a run on a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// Kernel release, such as `6.18.0`.
    pub release: String,
    /// Implementations of Multipath TCP at the device and at the server: `linux` or `tandem`.
    pub stacks: [&'static str; 2],
    /// Delay of packets in the emulator behind the model: median, 99th percentile and maximum.
    pub lateness: [Duration; 3],
    /// Number of MP_PRIO options that the server received.
    pub priorities_heard: u64,
    /// Reaction to each decision to stop using a path.
    pub reactions: Vec<Reaction>,
    /// Byte counts of each subflow in capture and kernel; empty without a capture.
    pub captured: Vec<CapturedSubflow>,
    /// Differences between the kernel's behaviour and the scenario.
    pub notes: Vec<String>,
    /// Problems of the test bed.
    pub warnings: Vec<Warning>,
    /// Measurements of user programs that replaced the scenario's traffic.
    pub programs: Option<Programs>,
}

/// Measurements of user programs that ran over a scenario's paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// Number of the device's connections that requested MPTCP, of accepted ones among them, and of
    /// joined subflows.
    pub multipath: [u64; 3],
    /// Mean one-way delay of packets for each path, down and up, and the part of it beyond the
    /// path's configured delay.
    pub delays: Vec<[Option<(Duration, Duration)>; 2]>,
}

/// Simulates a scenario; `progress` receives the finished share, from 0 to 1, from time to time.
/// Returns `None` if it breaks.
///
/// # Errors
/// The policy does not fit the scenario's paths.
pub fn simulate(
    scenario: &Scenario,
    settings: &Settings,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Option<Run>, PolicyError> {
    let mut experiment = prepare(scenario, settings.seed, settings.policy.as_ref())?;
    experiment.capture |= settings.capture;
    settings.apply(&mut experiment.transport.config);
    let Some(outcome) = sim::run_until(&experiment, progress) else { return Ok(None) };
    let warnings = warnings::of(&experiment, World::Simulation);
    Ok(Some(Run {
        title: scenario.title.clone(),
        description: scenario.description.clone(),
        source: scenario.source.clone(),
        traces: scenario.traces_with_seed(experiment.seed),
        experiment,
        outcome,
        warnings,
        kernel: None,
    }))
}

/// The scenario's experiment with another seed and policy.
///
/// # Errors
/// The policy does not fit the scenario's paths.
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
    /// A run of `experiment`, made from `scenario`, on a kernel. The kernel's notes become warnings.
    pub fn on_kernel(scenario: &Scenario, experiment: Experiment, outcome: Outcome, kernel: Kernel) -> Self {
        let world = match kernel.programs {
            Some(_) => World::of_programs(kernel.stacks),
            None => World::of_stacks(kernel.stacks),
        };
        let mut warnings = warnings::of(&experiment, world);
        warnings.extend(kernel.notes.iter().map(|note| Warning::new(&**note, "`tandem run` simulates it")));
        warnings.extend_from_slice(&kernel.warnings);
        Self {
            title: scenario.title.clone(),
            description: scenario.description.clone(),
            source: scenario.source.clone(),
            traces: scenario.traces_with_seed(experiment.seed),
            experiment,
            outcome,
            warnings,
            kernel: Some(kernel),
        }
    }

    /// All tables: device, paths, energy, connections, then tables that only some runs have.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = self.result_tables();
        tables.extend(traces::table(&self.traces));
        tables
    }

    /// The tables without that of the traces, which are part of the scenario.
    fn result_tables(&self) -> Vec<Table> {
        let mut tables = match self.kernel.as_ref().and_then(|kernel| kernel.programs.as_ref()) {
            Some(programs) => tables::with_programs(&self.experiment, &self.outcome, programs),
            None => tables::tables(&self.experiment, &self.outcome),
        };
        tables.extend(self.kernel.as_ref().map(kernel_tables::kernel));
        tables.extend(self.kernel.as_ref().and_then(kernel_tables::reactions));
        tables.extend(self.kernel.as_ref().and_then(kernel_tables::captured));
        tables
    }

    /// A row for each measured quantity, with its owner.
    pub fn long_table(&self) -> Table {
        tables::long(&self.outcome)
    }

    /// Contents of `result.json`; docs/reference/output.md describes it.
    pub fn to_json(&self) -> Value {
        json::result(self)
    }

    /// Contents of `series.csv`: a row for each sample, with its time in seconds first.
    pub fn series_csv(&self) -> String {
        series::csv(&self.outcome.series)
    }

    /// The HTML report.
    pub fn page(&self) -> Page {
        page::page(self)
    }
}
