//! Runs of scenarios with several devices: distributions over the devices, load of the cells.

mod figures;
mod json;
mod measure;
mod page;
mod tables;

pub(crate) use figures::{BY_POLICY, CrowdFigures, CrowdMetric, metrics};
pub(crate) use page::distribution_chart;

use crate::run::series::number;
use crate::run::{Run, Settings};
use crate::warnings::{self, Warning, World};
use core::ops::ControlFlow;
use measure::Group;
use policy::{PolicyConfig, PolicyError};
use report::{Page, Table};
use scenario::{Crowd as Plan, Scenario, UsedTrace};
use serde_json::Value;
use sim::{Crowd, CrowdOutcome, Experiment};
use std::fmt::Write as _;

/// A finished run of a scenario with several devices.
#[derive(Debug, Clone)]
pub struct CrowdRun {
    /// The scenario's title.
    pub title: String,
    /// The scenario's description.
    pub description: Option<String>,
    /// The scenario's text.
    pub source: String,
    /// The devices and cells, with the settings applied.
    pub crowd: Crowd,
    /// Outcome of each device and cell.
    pub outcome: CrowdOutcome,
    /// Settings without effect.
    pub warnings: Vec<Warning>,
    /// The trace files.
    pub traces: Vec<UsedTrace>,
    groups: Vec<Group>,
}

/// Simulates a scenario of several devices; `progress` receives the finished share, from 0 to 1,
/// from time to time. Returns `None` if it breaks, or if the scenario has one device. Of the device
/// called `observed`, the time series are kept, and the packets if the settings capture them. Scheduler
/// and congestion control of the settings hold for every device.
///
/// # Errors
/// The policy does not fit the paths of a device.
pub fn simulate(
    scenario: &Scenario,
    settings: &Settings,
    observed: Option<&str>,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Option<CrowdRun>, PolicyError> {
    let seed = settings.seed.unwrap_or(scenario.experiment.seed);
    let Some(mut plan) = plan(scenario, settings.policy.as_ref())? else { return Ok(None) };
    for kind in &mut plan.kinds {
        settings.apply(&mut kind.template.transport.config);
    }
    let mut crowd = plan.draw(seed);
    if let Some(device) = crowd.devices.iter_mut().find(|one| Some(&*one.device.name) == observed) {
        (device.sample, device.capture) = (crowd.sample, settings.capture);
    }
    let Some(outcome) = sim::run_crowd(&crowd, progress) else { return Ok(None) };
    Ok(Some(CrowdRun {
        title: scenario.title.clone(),
        description: scenario.description.clone(),
        source: scenario.source.clone(),
        warnings: warnings::of_crowd(&plan, &crowd),
        traces: scenario.traces_with_seed(seed),
        groups: groups(&plan, &crowd),
        crowd,
        outcome,
    }))
}

/// The devices before their values are drawn, with another policy of their own; `None` for a
/// scenario of one device.
///
/// # Errors
/// The policy does not fit the paths of a device.
pub fn plan(scenario: &Scenario, policy: Option<&PolicyConfig>) -> Result<Option<Plan>, PolicyError> {
    let Some(mut plan) = scenario.crowd.clone() else { return Ok(None) };
    let Some(policy) = policy else { return Ok(Some(plan)) };
    for kind in &mut plan.kinds {
        let radios: Vec<_> = kind.template.paths.iter().map(|path| path.profile.kind).collect();
        policy.check(&radios)?;
        kind.template.device.policy = policy.clone();
    }
    Ok(Some(plan))
}

/// Names and values of the parameters of a crowd for a page.
pub(crate) fn facts(plan: &Plan, crowd: &Crowd) -> Vec<(String, String)> {
    page::facts(crowd, &groups(plan, crowd))
}

/// The groups of devices with one kind and policy; `crowd` are the devices of `plan`.
pub(crate) fn groups(plan: &Plan, crowd: &Crowd) -> Vec<Group> {
    let kinds = plan.kinds.iter();
    let kinds: Vec<String> =
        kinds.flat_map(|kind| core::iter::repeat_n(kind.name.clone(), kind.count)).collect();
    measure::groups(&kinds, crowd)
}

impl CrowdRun {
    /// The run of one device among the others; `None` if none has this name.
    pub fn of_device(&self, name: &str) -> Option<Run> {
        let mut both = self.crowd.devices.iter().zip(&self.outcome.devices);
        let (experiment, outcome) = both.find(|(experiment, _)| experiment.device.name == name)?;
        Some(Run {
            title: format!("{}: {name}", self.title),
            description: self.description.clone(),
            source: self.source.clone(),
            experiment: Experiment { cells: self.crowd.cells.clone(), ..experiment.clone() },
            outcome: outcome.clone(),
            // Without the cells: other devices may use those that this one does not.
            warnings: warnings::of_member(experiment, World::Simulation, &self.crowd.backhauls),
            traces: self.traces.iter().map(|trace| trace.with_seed(experiment.seed)).collect(),
            kernel: None,
        })
    }

    /// Distributions over the devices, then the cells.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = tables::devices(self);
        tables.extend(tables::cells(self));
        tables.extend(crate::traces::table(&self.traces));
        tables
    }

    /// A row for each device and measure.
    pub fn long_table(&self) -> Table {
        tables::long(self)
    }

    /// Contents of `result.json`; docs/reference/output.md describes it.
    pub fn to_json(&self) -> Value {
        json::result(self)
    }

    /// Contents of `series.csv`: a row for each sample with the load, rate and queue of each cell.
    pub fn series_csv(&self) -> String {
        let cells = &self.outcome.cells;
        let mut out = String::from("time_s");
        for cell in cells {
            for column in ["load", "rate_mbps", "queue_kb"] {
                let _ = write!(out, ",{}.{column}", cell.name);
            }
        }
        out.push('\n');
        for row in 0..cells.first().map_or(0, |cell| cell.samples.len()) {
            number(&mut out, cells[0].samples[row].time_s);
            for sample in cells.iter().map(|cell| cell.samples[row]) {
                for value in [sample.load, sample.rate_mbps, sample.queued_kb] {
                    out.push(',');
                    number(&mut out, value);
                }
            }
            out.push('\n');
        }
        out
    }

    /// The HTML report.
    pub fn page(&self) -> Page {
        page::page(self)
    }
}
