//! A sweep that is ready to run: its points by index.
//!
//! The index of a run is the same on every machine. Seeds vary fastest, then policies, then the
//! last list of values; points of a Latin hypercube vary slowest.

use crate::columns::Columns;
use crate::hypercube::Strata;
use crate::spec::{Design, PolicyText, ScenarioText, Spec, VERSION};
use crate::value::unquoted;
use crate::{Axis, SweepError, Values, columns};
use arrow_schema::SchemaRef;
use core::ops::Range;
use policy::PolicyConfig;
use scenario::{Scenario, Setting, SettingError};
use units::Seed;

/// Maximum number of runs.
const MAX_RUNS: u64 = 1_000_000_000_000;

/// A valid sweep.
#[derive(Debug, Clone)]
pub struct Sweep {
    spec: Spec,
    id: String,
    policies: Vec<PolicyConfig>,
    /// The sample of each axis with a range.
    strata: Vec<Option<Strata>>,
    /// The columns of each axis.
    columns: Vec<Columns>,
    schema: SchemaRef,
    runs: u64,
}

/// One run of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Index of the run, from 0.
    pub index: u64,
    /// The varied keys with their values, in the order of the axes.
    pub settings: Vec<Setting>,
    /// Policy in place of the scenario's.
    pub policy: Option<PolicyConfig>,
    /// Seed of the run.
    pub seed: Seed,
}

/// The choices of a run, each as a number.
pub(crate) struct Digits {
    pub(crate) seed: u64,
    pub(crate) policy: u64,
    /// Index of the value of each axis; 0 for a range.
    pub(crate) values: Vec<u64>,
    /// Point of the Latin hypercube.
    pub(crate) sample: u64,
}

impl Sweep {
    /// Prepares the runs of a description.
    ///
    /// # Errors
    /// Axes that do not fit the design, an unknown policy, another version of Tandem, or more than
    /// 10^12 runs.
    pub fn new(spec: Spec) -> Result<Self, SweepError> {
        if spec.tandem != VERSION {
            return Err(SweepError::invalid(
                format!("the sweep was begun by tandem {}, and this is tandem {VERSION}", spec.tandem),
                "finish it with that version, or begin another sweep",
            ));
        }
        check_axes(&spec)?;
        let samples = samples(spec.design);
        let mut factors = spec.axes.iter().map(Axis::count).chain([
            u64::from(samples),
            spec.policies.len().max(1) as u64,
            u64::from(spec.seeds),
        ]);
        let runs = factors.try_fold(1_u64, u64::checked_mul);
        let runs = runs.filter(|runs| *runs <= MAX_RUNS).ok_or_else(|| {
            SweepError::invalid(
                "the sweep has more than 10^12 runs",
                "give fewer values or seeds, or take a sample: `--design lhs --points N`",
            )
        })?;
        if runs == 0 {
            return Err(SweepError::invalid("the sweep has no runs", "give at least one seed and one point"));
        }
        let strata = |axis: &Axis| axis.is_range().then(|| Strata::draw(spec.first_seed, &axis.key, samples));
        Ok(Self {
            id: spec.id(),
            policies: policies(&spec)?,
            strata: spec.axes.iter().map(strata).collect(),
            columns: spec.axes.iter().map(Columns::of).collect(),
            schema: columns::schema(&spec),
            runs,
            spec,
        })
    }

    /// Reads a description and prepares its runs.
    ///
    /// # Errors
    /// As [`new`](Self::new); also text that is not the JSON of a sweep.
    pub fn from_json(json: &str) -> Result<Self, SweepError> {
        Self::new(Spec::from_json(json)?)
    }

    /// The description.
    pub const fn spec(&self) -> &Spec {
        &self.spec
    }

    /// First digits of the hash of the description.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Number of runs, at least one.
    pub const fn runs(&self) -> u64 {
        self.runs
    }

    /// The runs of shard `number` of `count`, from 1: consecutive runs, as many as in every other
    /// shard or one less. Empty if there is no such shard.
    pub fn shard(&self, number: u32, count: u32) -> Range<u64> {
        let end = |number: u32| {
            let end = u128::from(self.runs) * u128::from(number) / u128::from(count.max(1));
            u64::try_from(end).unwrap_or(self.runs).min(self.runs)
        };
        end(number.saturating_sub(1))..end(number)
    }

    /// Number of runs with the same settings: policies times seeds.
    pub(crate) fn runs_of_settings(&self) -> u64 {
        self.policies.len().max(1) as u64 * u64::from(self.spec.seeds)
    }

    /// The columns of each axis.
    pub(crate) fn columns(&self) -> &[Columns] {
        &self.columns
    }

    /// Columns of the dataset.
    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// A run by its index; an index beyond the last run wraps around.
    pub fn point(&self, index: u64) -> Point {
        let digits = self.digits(index);
        let value = |(i, axis): (usize, &Axis)| {
            let text = match &axis.values {
                Values::List(values) => values.get(digits.values[i] as usize).cloned(),
                Values::Range { .. } => axis.sample(self.share(i, digits.sample)?, self.samples()),
            };
            Setting::new(&axis.key, &text?).ok()
        };
        Point {
            index,
            settings: self.spec.axes.iter().enumerate().filter_map(value).collect(),
            policy: self.policies.get(digits.policy as usize).cloned(),
            seed: Seed::new(self.spec.first_seed.wrapping_add(digits.seed)),
        }
    }

    /// The parts of an index.
    pub(crate) fn digits(&self, index: u64) -> Digits {
        let mut rest = index % self.runs;
        let mut take = |count: u64| {
            let digit = rest % count;
            rest /= count;
            digit
        };
        let seed = take(u64::from(self.spec.seeds));
        let policy = take(self.policies.len().max(1) as u64);
        let mut values: Vec<u64> = self.spec.axes.iter().rev().map(|axis| take(axis.count())).collect();
        values.reverse();
        Digits { seed, policy, values, sample: rest }
    }

    /// Place of a point of the Latin hypercube in the range of an axis, from 0 to 1.
    pub(crate) fn share(&self, axis: usize, sample: u64) -> Option<f64> {
        Some(self.strata.get(axis)?.as_ref()?.share(sample))
    }

    /// Number of points of the Latin hypercube; 1 for a grid.
    pub(crate) const fn samples(&self) -> u64 {
        samples(self.spec.design) as u64
    }

    /// The scenario with the settings of a point.
    ///
    /// # Errors
    /// The settings do not fit together.
    pub fn scenario(&self, settings: &[Setting]) -> Result<Scenario, SweepError> {
        apply(&self.spec.scenario, settings, &self.spec.scenario)
    }

    pub(crate) fn policies(&self) -> &[PolicyConfig] {
        &self.policies
    }
}

/// An axis with its first value.
pub(crate) fn first_setting(axis: &Axis) -> Result<Setting, SweepError> {
    let first = axis.probes().into_iter().next().unwrap_or_default();
    Setting::new(&axis.key, &first).map_err(|error| invalid_setting(&error))
}

pub(crate) fn invalid_setting(error: &SettingError) -> SweepError {
    SweepError::invalid(error.to_string(), error.hint())
}

/// A scenario with settings applied.
pub(crate) fn apply(
    scenario: &ScenarioText,
    settings: &[Setting],
    files: &dyn scenario::Files,
) -> Result<Scenario, SweepError> {
    let text = Setting::apply(settings, &scenario.text).map_err(|error| invalid_setting(&error))?;
    Scenario::parse(&scenario.name, &text, files).map_err(|problems| SweepError::Scenario {
        name: scenario.name.clone(),
        settings: settings.to_vec(),
        text,
        problems,
    })
}

const fn samples(design: Design) -> u32 {
    match design {
        Design::Grid => 1,
        Design::Lhs { points } => points,
    }
}

fn check_axes(spec: &Spec) -> Result<(), SweepError> {
    let (axes, design) = (&spec.axes, spec.design);
    let firsts = axes.iter().map(first_setting).collect::<Result<Vec<_>, _>>()?;
    Setting::check_varied(&firsts, &spec.scenario.text).map_err(|error| invalid_setting(&error))?;
    if !spec.policies.is_empty() {
        Setting::check_no_policy(&firsts).map_err(|error| invalid_setting(&error))?;
    }
    for axis in axes {
        if axis.key == "seed" {
            let message = "`seed` cannot vary, because every point runs with the same seeds";
            return Err(SweepError::invalid(
                message,
                "`--seeds N` sets their number, `--set seed=S` the first one",
            ));
        }
        if design == Design::Grid && axis.is_range() {
            let message = format!("`{}` is a range, which a grid has no points of", axis.key);
            return Err(SweepError::invalid(
                message,
                "list its values, or sample it: `--design lhs --points N`",
            ));
        }
    }
    if design != Design::Grid && !axes.iter().any(Axis::is_range) {
        let given = axes.first().and_then(|axis| match &axis.values {
            Values::List(values) => Some(format!(": `{}={}` is not one", axis.key, values.join(","))),
            Values::Range { .. } => None,
        });
        return Err(SweepError::invalid(
            format!("a Latin hypercube needs a range of numbers{}", given.unwrap_or_default()),
            "for example `path.wifi.down.rate=5Mbps..50Mbps`; without one, use `--design grid`",
        ));
    }
    Ok(())
}

fn policies(spec: &Spec) -> Result<Vec<PolicyConfig>, SweepError> {
    let one = |given: &PolicyText| {
        let policy: PolicyConfig = given
            .text
            .parse()
            .map_err(|error: policy::PolicyError| SweepError::invalid(error.to_string(), error.hint()))?;
        let (Some(path), Some(content)) = (policy.file(), &given.file) else { return Ok(policy) };
        policy.with_file(path, content).map_err(|problems| SweepError::Scenario {
            name: path.to_owned(),
            settings: Vec::new(),
            text: content.clone(),
            problems,
        })
    };
    spec.policies.iter().map(one).collect()
}

/// The text of a setting without quotes.
pub(crate) fn shown(setting: &Setting) -> &str {
    unquoted(setting.text())
}
