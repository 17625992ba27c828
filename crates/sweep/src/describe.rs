//! Makes the description of a sweep from a scenario and varied keys, and checks every value.

use crate::columns::{self, outcomes_of};
use crate::spec::{Design, Outcome, PolicyText, ScenarioText, Spec, VERSION};
use crate::sweep::{apply, first_setting, invalid_setting};
use crate::{Axis, Sweep, SweepError};
use experiments::run::prepare;
use scenario::{Files, KeptFiles, Scenario, Setting};
use std::collections::BTreeMap;

/// The request of a user for a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Name of the scenario in messages.
    pub name: String,
    /// Text of the scenario, with all settings that do not vary.
    pub text: String,
    /// Choice of the points.
    pub design: Design,
    /// The keys that vary.
    pub axes: Vec<Axis>,
    /// Policies in place of the scenario's; may be empty.
    pub policies: Vec<PolicyText>,
    /// Number of seeds of each point, from the scenario's seed on.
    pub seeds: u32,
}

impl Sweep {
    /// Describes a sweep. Every value of a key is tried with the first values of the others. The
    /// `files` are read once and become part of the description.
    ///
    /// # Errors
    /// An invalid scenario, value, policy or design.
    pub fn describe(request: Request, files: &dyn Files) -> Result<Self, SweepError> {
        let files = KeptFiles::new(|path: &str| files.read(path), BTreeMap::new());
        let Request { name, text, design, axes, policies, seeds } = request;
        let mut axes = axes.into_iter().map(|axis| resolved(axis, &text)).collect::<Result<Vec<_>, _>>()?;
        let scenario = ScenarioText { name, text, files: BTreeMap::new() };
        let first_seed = apply(&scenario, &[], &files)?.experiment.seed.get();
        let mut spec = Spec {
            tandem: VERSION.to_owned(),
            scenario,
            design,
            axes: Vec::new(),
            policies,
            first_seed,
            seeds,
            outcomes: Vec::new(),
        };
        // Designs that cannot be run are refused before any value is tried.
        Self::new(Spec { axes: axes.clone(), ..spec.clone() })?;
        let scenarios = probe(&spec, &mut axes, &files)?;
        spec.axes = axes;
        // A varied key has its column already, such as `path.wifi.radio`.
        let design = columns::schema(&spec);
        spec.outcomes = outcomes(&scenarios);
        spec.outcomes.retain(|outcome| design.column_with_name(&outcome.name).is_none());
        spec.scenario.files = files.into_contents();
        let sweep = Self::new(spec)?;
        for policy in sweep.policies() {
            let fitting = scenarios.iter().map(|scenario| prepare(scenario, None, Some(policy)));
            fitting
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| SweepError::invalid(format!("`{policy}`: {error}"), error.hint()))?;
        }
        Ok(sweep)
    }

    /// The scenario with each value of each key and the first values of the others: those with the
    /// columns of the dataset.
    pub(crate) fn probed(&self) -> Result<Vec<Scenario>, SweepError> {
        let spec = self.spec();
        probe(spec, &mut spec.axes.clone(), &spec.scenario)
    }
}

/// The scenario with each value of each key. A range of whole numbers that the key does not take as
/// fractions becomes one of whole numbers alone.
fn probe(spec: &Spec, axes: &mut [Axis], files: &dyn Files) -> Result<Vec<Scenario>, SweepError> {
    let try_axis = |axes: &[Axis], varied: usize| -> Result<Vec<Scenario>, SweepError> {
        let values = axes[varied].probes().into_iter();
        values.map(|value| apply(&spec.scenario, &settings(axes, varied, &value)?, files)).collect()
    };
    if axes.is_empty() {
        return Ok(vec![apply(&spec.scenario, &[], files)?]);
    }
    let mut scenarios = Vec::new();
    for varied in 0..axes.len() {
        let mut tried = try_axis(axes, varied);
        if let (Err(_), Some(whole)) = (&tried, axes[varied].of_whole_numbers()) {
            let fractional = core::mem::replace(&mut axes[varied], whole);
            match try_axis(axes, varied) {
                Ok(scenarios) => tried = Ok(scenarios),
                Err(_) => axes[varied] = fractional,
            }
        }
        scenarios.extend(tried?);
    }
    Ok(scenarios)
}

/// A value of one key, with the first values of the others.
fn settings(axes: &[Axis], varied: usize, value: &str) -> Result<Vec<Setting>, SweepError> {
    let value_of = |(i, axis): (usize, &Axis)| {
        if i == varied {
            return Setting::new(&axis.key, value).map_err(|error| invalid_setting(&error));
        }
        first_setting(axis)
    };
    axes.iter().enumerate().map(value_of).collect()
}

/// The axis with its whole key.
fn resolved(axis: Axis, text: &str) -> Result<Axis, SweepError> {
    let whole = first_setting(&axis)?.resolve(text).map_err(|error| invalid_setting(&error))?;
    Ok(Axis { key: whole.key(), ..axis })
}

/// The columns of all scenarios, in the order of their first appearance.
fn outcomes(scenarios: &[Scenario]) -> Vec<Outcome> {
    let mut all: Vec<Outcome> = Vec::new();
    for scenario in scenarios {
        for outcome in outcomes_of(scenario) {
            if !all.iter().any(|other| other.name == outcome.name) {
                all.push(outcome);
            }
        }
    }
    all
}
