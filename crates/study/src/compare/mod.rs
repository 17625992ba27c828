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

    /// Whether every seed gave the same run: nothing in the scenario was random.
    fn repeats(&self) -> bool {
        let same = |policy: &Compared| {
            let unseeded = |outcome: &Outcome| (outcome.device.clone(), outcome.connections.clone());
            policy.outcomes.windows(2).all(|pair| unseeded(&pair[0]) == unseeded(&pair[1]))
        };
        self.seeds.len() > 1 && self.policies.iter().all(same)
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

#[cfg(test)]
mod tests {
    use super::*;

    const LOSSY: &str = r#"
        duration = "3s"
        [[path]]
        name = "wifi"
        radio = "huang2012.wifi"
        down = { rate = "5Mbps", delay = "10ms", loss = 0.02 }
        [[path]]
        name = "lte"
        radio = "huang2012.lte"
        down = { rate = "5Mbps", delay = "30ms" }
        [[traffic]]
        kind = "bulk"
    "#;

    fn scenario() -> Scenario {
        let no_files = |_: &str| Err("no such file".to_owned());
        Scenario::parse("lossy.toml", LOSSY, &no_files).unwrap()
    }

    fn comparison(policies: &[PolicyConfig], seeds: u32) -> Comparison {
        let options = Options { policies: policies.to_vec(), seeds, jobs: NonZeroUsize::MIN };
        compare(&scenario(), &options, &|_| {}).unwrap()
    }

    #[test]
    fn looking_at_a_run_does_not_change_it() {
        let mut experiment = scenario().experiment;
        let watched = sim::run(&experiment);
        experiment.sample = Duration::ZERO;
        let unwatched = sim::run(&experiment);
        assert!(watched.series.rows() > 0 && unwatched.series.rows() == 0);
        assert_eq!(serde_json::to_value(watched).unwrap(), serde_json::to_value(unwatched).unwrap());
    }

    #[test]
    fn a_policy_is_no_different_from_itself() {
        let both = comparison(&[PolicyConfig::None, PolicyConfig::None], 4);
        for figure in &both.figures {
            let difference = both.difference(figure, 1);
            assert!(difference.mean == 0.0 || difference.mean.is_nan(), "{figure:?}: {difference:?}");
        }
    }

    #[test]
    fn the_difference_is_that_of_the_means_and_its_interval_that_of_the_pairs() {
        let both = comparison(&[PolicyConfig::None, PolicyConfig::WifiOnly], 4);
        let figure = both.figures.iter().find(|f| f.key == "goodput_mbps").unwrap();
        let (first, other) = (both.estimate(figure, 0).mean, both.estimate(figure, 1).mean);
        let difference = both.difference(figure, 1);
        assert!((difference.mean - 100.0 * (other - first) / first).abs() < 1e-9);
        let percent: Vec<f64> = both
            .values(figure, 0)
            .iter()
            .zip(both.values(figure, 1))
            .map(|(a, b)| 100.0 * (b - a) / first)
            .collect();
        assert_eq!(difference.ci95, crate::stats::estimate(&percent).ci95);
    }

    #[test]
    fn a_policy_that_does_not_fit_is_refused_before_anything_runs() {
        let text = LOSSY.replace("huang2012.lte", "huang2012.3g");
        let scenario = Scenario::parse("s.toml", &text, &|_: &str| Err(String::new())).unwrap();
        let options = Options {
            policies: vec![PolicyConfig::None, PolicyConfig::LteOnly],
            seeds: 1,
            jobs: NonZeroUsize::MIN,
        };
        assert!(compare(&scenario, &options, &|_| panic!("nothing was to run")).is_err());
    }

    #[test]
    fn without_randomness_no_interval_is_shown() {
        let text = LOSSY.replace(", loss = 0.02", "");
        let scenario = Scenario::parse("s.toml", &text, &|_: &str| Err(String::new())).unwrap();
        let policies = vec![PolicyConfig::None, PolicyConfig::WifiFirst];
        let options = Options { policies, seeds: 3, jobs: NonZeroUsize::MIN };
        let same = compare(&scenario, &options, &|_| {}).unwrap();
        assert!(same.repeats());
        let shown = same.tables()[0].to_text(report::TextStyle::PLAIN);
        assert!(!shown.contains(" ± "), "{shown}");
        assert!(!comparison(&[PolicyConfig::None], 3).repeats());
    }

    #[test]
    fn where_one_path_carries_everything_the_table_says_that_policies_decide_nothing() {
        let told = |text: &str| {
            let scenario = Scenario::parse("s.toml", text, &|_: &str| Err(String::new())).unwrap();
            let policies = vec![PolicyConfig::None, PolicyConfig::WifiFirst];
            let options = Options { policies, seeds: 1, jobs: NonZeroUsize::MIN };
            let compared = compare(&scenario, &options, &|_| {}).unwrap();
            compared.tables()[0].notes.iter().any(|note| note.contains("nothing to decide"))
        };
        assert!(told(&format!("{LOSSY}\n[transport]\nprotocol = \"tcp\"\npath = \"lte\"\n")));
        assert!(!told(LOSSY));
    }
}
