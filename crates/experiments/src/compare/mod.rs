//! Comparison of several cases of one or more scenarios with the same seeds. Cases differ in
//! scenario, settings, policy or several of them.

mod csv;
mod delay;
mod finished;
mod json;
mod keys;
mod metrics;
mod page;
mod rows;
mod simulate;
mod sweep;
mod tables;
#[cfg(test)]
mod tests;

pub use keys::split_number;
pub use metrics::{Metric, metrics};
pub use simulate::{Control, Progress, compare};

use crate::display::time_unit;
use crate::traces;
use crate::warnings::Warning;
use finished::Finished;
use keys::Key;
use policy::PolicyConfig;
use report::{Estimate, Page, Table};
use scenario::{Scenario, Setting, UsedTrace};
use serde_json::Value;
use sim::{Experiment, Outcome};
use std::num::NonZeroUsize;
use units::Seed;

/// A case to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Name of the scenario file, if cases of several files are compared.
    pub file: Option<String>,
    /// The scenario with the settings applied.
    pub scenario: Scenario,
    /// The settings that vary, with whole keys.
    pub settings: Vec<Setting>,
    /// Policy in place of the scenario's.
    pub policy: Option<PolicyConfig>,
}

impl Case {
    /// A scenario without settings, with another policy.
    pub fn with_policy(scenario: &Scenario, policy: PolicyConfig) -> Self {
        Self { file: None, scenario: scenario.clone(), settings: Vec::new(), policy: Some(policy) }
    }

    /// Name of the case: its file, its policy and its settings. Keys are shortened to their last
    /// part if that is unambiguous.
    pub fn name(&self) -> String {
        let is_ambiguous =
            |setting: &Setting| self.settings.iter().any(|s| s != setting && s.name() == setting.name());
        let policy = self.policy.as_ref().map(ToString::to_string);
        let settings = self.settings.iter().map(|setting| {
            let key = if is_ambiguous(setting) { setting.key() } else { setting.name().to_owned() };
            format!("{key}={}", setting.text().trim_matches('"'))
        });
        self.file.clone().into_iter().chain(policy).chain(settings).collect::<Vec<_>>().join(" ")
    }
}

/// The cases and the size of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The cases; the first is the baseline.
    pub cases: Vec<Case>,
    /// Number of seeds, from the first scenario's seed on.
    pub seeds: u32,
    /// Number of runs at once; it does not affect the results.
    pub jobs: NonZeroUsize,
    /// Whether to keep the time series of every run.
    pub series: bool,
}

/// Results of all cases.
#[derive(Debug, Clone)]
pub struct Comparison {
    title: String,
    description: Option<String>,
    /// Title and text of each scenario.
    sources: Vec<(String, String)>,
    seeds: Vec<Seed>,
    /// Empty only for a comparison without cases.
    cases: Vec<Compared>,
    /// The keys in which the cases differ.
    keys: Vec<Key>,
    metrics: Vec<Metric>,
    /// Whether every seed gave the same run.
    repeats: bool,
    warnings: Vec<Warning>,
    /// The distinct traces of all cases, with the starts of the first seed.
    traces: Vec<UsedTrace>,
}

/// Results of one case.
#[derive(Debug, Clone)]
struct Compared {
    name: String,
    file: Option<String>,
    settings: Vec<Setting>,
    /// Experiment of the first seed, with its series; of several devices, what their kind has in common.
    experiment: Experiment,
    /// Names and values of the parameters for the page.
    facts: Vec<(String, String)>,
    /// Warnings about the crowd of a scenario with several devices.
    of_crowd: Vec<Warning>,
    /// One outcome per seed, `None` if the run was stopped. Only the first has timelines.
    outcomes: Vec<Option<Finished>>,
}

impl Compared {
    /// Whether several seeds finished and all gave the same run.
    fn repeats(&self) -> bool {
        let runs: Vec<&Finished> = self.outcomes.iter().flatten().collect();
        runs.len() > 1 && runs.windows(2).all(|pair| pair[0].repeats(pair[1]))
    }

    /// Outcomes of finished runs of one device.
    fn of_device(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().flatten().filter_map(Finished::device)
    }

    /// Number of finished runs.
    fn finished(&self) -> usize {
        self.outcomes.iter().flatten().count()
    }
}

impl Comparison {
    /// Means of all cases, then differences from the first case.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = self.means();
        tables.extend(self.differences());
        tables.extend(traces::table(&self.traces));
        tables
    }

    /// Means: a row for each case, and pivot tables for two keys. A few policies without other keys
    /// are columns.
    fn means(&self) -> Vec<Table> {
        if self.has_policy_columns() {
            return vec![tables::means(self)];
        }
        let mut tables = rows::means(self);
        tables.extend(rows::pivots(self));
        tables
    }

    fn differences(&self) -> Vec<Table> {
        if self.has_policy_columns() {
            return tables::differences(self).into_iter().collect();
        }
        rows::differences(self)
    }

    /// A row for each mean, with its confidence interval and the difference from the first case.
    pub fn long_table(&self) -> Table {
        csv::long(self)
    }

    /// A row for each finished run: each case and seed.
    pub fn runs_table(&self) -> Table {
        csv::runs(self)
    }

    /// Contents of `series.csv`: a row for each sample of each finished run.
    pub fn series_csv(&self) -> String {
        csv::series(self)
    }

    /// Settings without effect, suspicious figures, and cases with the same outcome.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The HTML report.
    pub fn page(&self) -> Page {
        page::page(self)
    }

    /// Contents of `result.json`; docs/reference/output.md describes it.
    pub fn to_json(&self) -> Value {
        json::result(self)
    }

    /// Whether every case ran with every seed.
    pub fn is_complete(&self) -> bool {
        self.finished() == self.planned()
    }

    /// Number of finished runs.
    pub fn finished(&self) -> usize {
        self.cases.iter().map(Compared::finished).sum()
    }

    /// Number of planned runs.
    pub fn planned(&self) -> usize {
        self.cases.len() * self.seeds.len()
    }

    /// Whether tables have a column for each case: a few policies are all that differs.
    fn has_policy_columns(&self) -> bool {
        /// Maximum number of columns that fit a terminal.
        const MAX_COLUMNS: usize = 4;
        let only_policy = self.keys.iter().all(|key| key.whole == "policy");
        only_policy && self.cases.len() <= MAX_COLUMNS
    }

    /// Title of a legend with all cases, and their names in it: the values of the keys alone.
    fn legend(&self) -> (String, Vec<String>) {
        if self.keys.is_empty() {
            return (String::new(), self.cases.iter().map(|case| case.name.clone()).collect());
        }
        let title = self.keys.iter().map(|key| key.short.as_str()).collect::<Vec<_>>().join(", ");
        let name = |i: usize| {
            let values: Vec<&str> = self.keys.iter().map(|key| key.values[i].text.as_str()).collect();
            values.join(", ")
        };
        (title, (0..self.cases.len()).map(name).collect())
    }

    /// Plural noun for the cases: policies if they differ in the policy alone.
    fn noun(&self) -> &'static str {
        if self.keys.iter().all(|key| key.whole == "policy") { "policies" } else { "cases" }
    }

    /// Whether every seed gave the same run: the scenario has no random element, or only rare ones.
    fn repeats(&self) -> bool {
        self.repeats
    }

    /// Removes the interval if every seed gave the same run.
    fn shown(&self, estimate: Estimate) -> Estimate {
        if self.repeats { Estimate::exact(estimate.mean) } else { estimate }
    }

    /// Display unit of a metric over all cases, and the divisor that converts values to it.
    fn unit(&self, metric: &Metric) -> (&'static str, f64) {
        match metric.unit {
            "s" => time_unit((0..self.cases.len()).map(|case| self.estimate(metric, case).mean)),
            unit => (unit, 1.0),
        }
    }

    /// Values of a metric in the runs of a case that have one.
    fn values(&self, metric: &Metric, case: usize) -> Vec<f64> {
        self.cases[case].outcomes.iter().flatten().filter_map(|run| run.value(metric)).collect()
    }

    fn estimate(&self, metric: &Metric, case: usize) -> Estimate {
        crate::stats::estimate(&self.values(metric, case))
    }

    /// Difference of a case from the first, in percent of the magnitude of the first's mean: a higher
    /// value is a positive difference from a negative mean too. Differences are paired by seed,
    /// because the runs of one seed have the same random events. A single pair beside other values has
    /// no difference: it may contradict the means.
    fn difference(&self, metric: &Metric, case: usize) -> Estimate {
        let pairs = self.pairs(metric, case);
        if pairs.len() == 1 && self.has_unpaired_values(metric, case) {
            return Estimate::exact(f64::NAN);
        }
        crate::stats::relative_difference(&pairs)
    }

    /// Whether a mean of the first case or of another counts runs that their difference leaves out.
    fn has_unpaired_values(&self, metric: &Metric, case: usize) -> bool {
        let pairs = self.pairs(metric, case).len();
        [0, case].iter().any(|&case| self.values(metric, case).len() > pairs)
    }

    /// Whether chance explains the difference of a case from the first, by a paired t-test at 5 %.
    fn is_insignificant(&self, metric: &Metric, case: usize) -> bool {
        let pairs = self.pairs(metric, case);
        let differences: Vec<f64> = pairs.iter().map(|(first, other)| other - first).collect();
        let Estimate { mean, ci95 } = crate::stats::estimate(&differences);
        !self.repeats && mean.abs() <= ci95
    }

    /// Values of the first case and of another, for each seed with both.
    fn pairs(&self, metric: &Metric, case: usize) -> Vec<(f64, f64)> {
        let runs = self.cases[0].outcomes.iter().zip(&self.cases[case].outcomes);
        runs.filter_map(|(first, other)| {
            Some((first.as_ref()?.value(metric)?, other.as_ref()?.value(metric)?))
        })
        .collect()
    }
}
