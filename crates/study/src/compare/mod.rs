//! Several policies on one scenario, with the same seeds.

mod figures;
mod page;
mod tables;

use crate::parallel;
use crate::run::prepare;
use figures::Figure;
use policy::{PolicyConfig, PolicyError};
use report::{Estimate, Page, Table};
use scenario::Scenario;
use serde_json::{Value, json};
use sim::{Experiment, Outcome};
use std::num::NonZeroUsize;
use units::{Duration, Seed};

/// What is to be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The policies; the others are held against the first.
    pub policies: Vec<PolicyConfig>,
    /// How many seeds, from the scenario's on.
    pub seeds: u32,
    /// How many runs at once. Changes nothing but the time it takes.
    pub jobs: NonZeroUsize,
}

/// Policies side by side.
#[derive(Debug, Clone)]
pub struct Comparison {
    title: String,
    description: Option<String>,
    source: String,
    seeds: Vec<Seed>,
    /// One a policy; none only if none was asked for.
    policies: Vec<Compared>,
    figures: Vec<Figure>,
}

/// One policy.
#[derive(Debug, Clone)]
struct Compared {
    name: String,
    /// With the first seed, series and all.
    experiment: Experiment,
    /// One a seed; only the first has series.
    outcomes: Vec<Outcome>,
}

/// Runs every policy with every seed; `done` is told after each run how many are.
///
/// # Errors
/// Where a policy does not fit the scenario's paths.
pub fn compare(
    scenario: &Scenario,
    options: &Options,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Comparison, PolicyError> {
    let first = scenario.experiment.seed.get();
    let seeds: Vec<Seed> =
        (0..u64::from(options.seeds.max(1))).map(|i| Seed::new(first.wrapping_add(i))).collect();
    for policy in &options.policies {
        prepare(scenario, None, Some(*policy))?;
    }
    let work: Vec<(PolicyConfig, usize)> = options
        .policies
        .iter()
        .flat_map(|policy| (0..seeds.len()).map(move |seed| (*policy, seed)))
        .collect();
    let mut outcomes = parallel::map(options.jobs, &work, done, |&(policy, seed)| {
        let mut experiment =
            prepare(scenario, Some(seeds[seed]), Some(policy)).expect("the policy was checked above");
        if seed > 0 {
            // A series of every run would fill the memory; only the first is drawn.
            experiment.sample = Duration::ZERO;
        }
        let mut outcome = sim::run(&experiment);
        if seed > 0 {
            outcome.timelines.clear();
        }
        outcome
    })
    .into_iter();
    let mut policies = Vec::new();
    for policy in &options.policies {
        policies.push(Compared {
            name: policy.to_string(),
            experiment: prepare(scenario, None, Some(*policy))?,
            outcomes: outcomes.by_ref().take(seeds.len()).collect(),
        });
    }
    let figures = policies.first().map_or_else(Vec::new, |first| figures::figures(&first.experiment));
    Ok(Comparison {
        title: scenario.title.clone(),
        description: scenario.description.clone(),
        source: scenario.source.clone(),
        seeds,
        policies,
        figures,
    })
}

impl Comparison {
    /// The means side by side, then the differences to the first policy.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = vec![tables::means(self)];
        tables.extend(tables::differences(self));
        tables
    }

    /// Every mean in a row of its own, with its interval and the difference to the first policy.
    pub fn long_table(&self) -> Table {
        tables::long(self)
    }

    /// Every single run: a row for each policy and seed.
    pub fn runs_table(&self) -> Table {
        tables::runs(self)
    }

    /// The report.
    pub fn page(&self) -> Page {
        page::page(self)
    }

    /// What `result.json` holds; docs/output.md describes it.
    pub fn to_json(&self) -> Value {
        let estimate = |e: Estimate| json!({"mean": e.mean, "ci95": e.ci95});
        let policies: Vec<Value> = self
            .policies
            .iter()
            .enumerate()
            .map(|(i, policy)| {
                let figures: serde_json::Map<String, Value> = self
                    .figures
                    .iter()
                    .map(|figure| {
                        let found = self.values(figure, i).len();
                        let mut value = estimate(self.estimate(figure, i));
                        value["unit"] = json!(figure.unit);
                        value["runs"] = json!(found);
                        if i > 0 {
                            value["difference_percent"] = estimate(self.difference(figure, i));
                        }
                        (figure.key.clone(), value)
                    })
                    .collect();
                json!({"policy": policy.name, "figures": figures})
            })
            .collect();
        let seeds: Vec<u64> = self.seeds.iter().map(|seed| seed.get()).collect();
        json!({
            "kind": "compare",
            "tandem": env!("CARGO_PKG_VERSION"),
            "title": self.title,
            "seeds": seeds,
            "policies": policies,
        })
    }

    /// What the runs of a policy say of a figure; runs that say nothing are left out.
    fn values(&self, figure: &Figure, policy: usize) -> Vec<f64> {
        self.policies[policy].outcomes.iter().filter_map(|outcome| figure.value(outcome)).collect()
    }

    fn estimate(&self, figure: &Figure, policy: usize) -> Estimate {
        crate::stats::estimate(&self.values(figure, policy))
    }

    /// How far a policy is from the first, in percent of the first's mean. Seed by seed, since the
    /// runs of one seed have their luck in common.
    fn difference(&self, figure: &Figure, policy: usize) -> Estimate {
        let pairs: Vec<(f64, f64)> = self.policies[0]
            .outcomes
            .iter()
            .zip(&self.policies[policy].outcomes)
            .filter_map(|(first, other)| Some((figure.value(first)?, figure.value(other)?)))
            .collect();
        let first: Vec<f64> = pairs.iter().map(|(first, _)| *first).collect();
        let mean = crate::stats::mean(&first);
        if mean == 0.0 {
            return Estimate::exact(f64::NAN);
        }
        let percent: Vec<f64> = pairs.iter().map(|(first, other)| 100.0 * (other - first) / mean).collect();
        crate::stats::estimate(&percent)
    }
}
