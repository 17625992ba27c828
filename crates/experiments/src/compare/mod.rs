//! Several cases of one scenario, with the same seeds: other policies, other settings, or both.

mod figures;
mod page;
mod sweep;
mod tables;

use crate::display::time_unit;
use crate::parallel;
use crate::run::prepare;
use figures::Figure;
use policy::{PolicyConfig, PolicyError};
use report::{Estimate, Page, Table};
use scenario::{Scenario, Setting};
use serde_json::{Value, json};
use sim::{Experiment, Outcome};
use std::num::NonZeroUsize;
use units::{Duration, Seed};

/// One of what is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The scenario, with what was set in it.
    pub scenario: Scenario,
    /// What was set.
    pub settings: Vec<Setting>,
    /// Another policy than the scenario's.
    pub policy: Option<PolicyConfig>,
}

impl Case {
    /// A scenario as it is, under another policy.
    pub fn of_policy(scenario: &Scenario, policy: PolicyConfig) -> Self {
        Self { scenario: scenario.clone(), settings: Vec::new(), policy: Some(policy) }
    }

    /// What tells it from the others: its policy and its settings, by the last part of their keys.
    pub fn name(&self) -> String {
        let whole =
            |setting: &Setting| self.settings.iter().any(|s| s != setting && s.name() == setting.name());
        let policy = self.policy.as_ref().map(|policy| policy.to_string());
        let settings = self.settings.iter().map(|setting| {
            let key = if whole(setting) { setting.key() } else { setting.name().to_owned() };
            format!("{key}={}", setting.text().trim_matches('"'))
        });
        policy.into_iter().chain(settings).collect::<Vec<_>>().join(" ")
    }
}

/// What is to be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The cases; the others are held against the first.
    pub cases: Vec<Case>,
    /// How many seeds, from the scenario's on.
    pub seeds: u32,
    /// How many runs at once. Changes nothing but the time it takes.
    pub jobs: NonZeroUsize,
}

/// Cases side by side.
#[derive(Debug, Clone)]
pub struct Comparison {
    title: String,
    description: Option<String>,
    source: String,
    seeds: Vec<Seed>,
    /// None only if none was asked for.
    cases: Vec<Compared>,
    figures: Vec<Figure>,
    /// Every seed gave the same run.
    repeats: bool,
}

/// One case.
#[derive(Debug, Clone)]
struct Compared {
    name: String,
    settings: Vec<Setting>,
    /// With the first seed, series and all.
    experiment: Experiment,
    /// One a seed; only the first has series.
    outcomes: Vec<Outcome>,
}

/// Runs every case with every seed; `done` is told after each run how many are. `scenario` is what the cases
/// are of.
///
/// # Errors
/// Where a policy does not fit its case's paths.
pub fn compare(
    scenario: &Scenario,
    options: &Options,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Comparison, PolicyError> {
    let first = scenario.experiment.seed.get();
    let seeds: Vec<Seed> =
        (0..u64::from(options.seeds.max(1))).map(|i| Seed::new(first.wrapping_add(i))).collect();
    for case in &options.cases {
        prepare(&case.scenario, None, case.policy.as_ref())?;
    }
    let work: Vec<(&Case, usize)> =
        options.cases.iter().flat_map(|case| (0..seeds.len()).map(move |seed| (case, seed))).collect();
    let mut outcomes = parallel::map(options.jobs, &work, done, |&(case, seed)| {
        let mut experiment = prepare(&case.scenario, Some(seeds[seed]), case.policy.as_ref())
            .expect("the policy was checked above");
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
    let mut cases = Vec::new();
    for case in &options.cases {
        cases.push(Compared {
            name: case.name(),
            settings: case.settings.clone(),
            experiment: prepare(&case.scenario, Some(seeds[0]), case.policy.as_ref())?,
            outcomes: outcomes.by_ref().take(seeds.len()).collect(),
        });
    }
    let figures = cases.first().map_or_else(Vec::new, |first| figures::figures(&first.experiment));
    Ok(Comparison {
        title: scenario.title.clone(),
        description: scenario.description.clone(),
        source: scenario.source.clone(),
        repeats: seeds.len() > 1 && cases.iter().all(Compared::repeats),
        seeds,
        cases,
        figures,
    })
}

impl Compared {
    /// Whether every seed gave the same run.
    fn repeats(&self) -> bool {
        let same =
            |pair: &[Outcome]| pair[0].device == pair[1].device && pair[0].connections == pair[1].connections;
        self.outcomes.windows(2).all(same)
    }
}

impl Comparison {
    /// The means side by side, then the differences to the first case.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = vec![tables::means(self)];
        tables.extend(tables::differences(self));
        tables
    }

    /// Every mean in a row of its own, with its interval and the difference to the first case.
    pub fn long_table(&self) -> Table {
        tables::long(self)
    }

    /// Every single run: a row for each case and seed.
    pub fn runs_table(&self) -> Table {
        tables::runs(self)
    }

    /// The report.
    pub fn page(&self) -> Page {
        page::page(self)
    }

    /// What `result.json` holds; docs/reference/output.md describes it.
    pub fn to_json(&self) -> Value {
        let estimate = |e: Estimate| json!({"mean": e.mean, "ci95": e.ci95});
        let cases: Vec<Value> = self
            .cases
            .iter()
            .enumerate()
            .map(|(i, case)| {
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
                let settings: serde_json::Map<String, Value> =
                    case.settings.iter().map(|s| (s.key(), json!(s.text()))).collect();
                let policy = case.experiment.device.policy.to_string();
                json!({"name": case.name, "policy": policy, "settings": settings, "figures": figures})
            })
            .collect();
        let seeds: Vec<u64> = self.seeds.iter().map(|seed| seed.get()).collect();
        json!({
            "kind": "compare",
            "tandem": env!("CARGO_PKG_VERSION"),
            "title": self.title,
            "seeds": seeds,
            "cases": cases,
        })
    }

    /// What the cases are, for people: policies, where nothing else is different.
    fn noun(&self) -> &'static str {
        if self.cases.iter().all(|case| case.settings.is_empty()) { "policies" } else { "cases" }
    }

    /// Whether every seed gave the same run: nothing in the scenario was random.
    fn repeats(&self) -> bool {
        self.repeats
    }

    /// An interval of no width says less than none.
    fn shown(&self, estimate: Estimate) -> Estimate {
        if self.repeats { Estimate::exact(estimate.mean) } else { estimate }
    }

    /// The unit in which people read a figure of all cases, and what to divide it by.
    fn unit(&self, figure: &Figure) -> (&'static str, f64) {
        match figure.unit {
            "s" => time_unit((0..self.cases.len()).map(|case| self.estimate(figure, case).mean)),
            unit => (unit, 1.0),
        }
    }

    /// What the runs of a case say of a figure; runs that say nothing are left out.
    fn values(&self, figure: &Figure, case: usize) -> Vec<f64> {
        self.cases[case].outcomes.iter().filter_map(|outcome| figure.value(outcome)).collect()
    }

    fn estimate(&self, figure: &Figure, case: usize) -> Estimate {
        crate::stats::estimate(&self.values(figure, case))
    }

    /// How far a case is from the first, in percent of the first's mean. Seed by seed, since the
    /// runs of one seed have their luck in common.
    fn difference(&self, figure: &Figure, case: usize) -> Estimate {
        let pairs: Vec<(f64, f64)> = self.cases[0]
            .outcomes
            .iter()
            .zip(&self.cases[case].outcomes)
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
    use policy::{SinglePath, WifiFirst};

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

    fn none() -> PolicyConfig {
        PolicyConfig::default()
    }

    fn options(scenario: &Scenario, policies: &[PolicyConfig], seeds: u32) -> Options {
        let cases = policies.iter().map(|policy| Case::of_policy(scenario, policy.clone())).collect();
        Options { cases, seeds, jobs: NonZeroUsize::MIN }
    }

    fn comparison(policies: &[PolicyConfig], seeds: u32) -> Comparison {
        let options = options(&scenario(), policies, seeds);
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
        let both = comparison(&[none(), none()], 4);
        for figure in &both.figures {
            let difference = both.difference(figure, 1);
            assert!(difference.mean == 0.0 || difference.mean.is_nan(), "{figure:?}: {difference:?}");
        }
    }

    #[test]
    fn the_difference_is_that_of_the_means_and_its_interval_that_of_the_pairs() {
        let both = comparison(&[none(), SinglePath::WIFI.into()], 4);
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

    /// Every policy with every value of a key.
    fn varied(policies: &[PolicyConfig], key: &str, values: &[&str], seeds: u32) -> Comparison {
        let case = |policy: PolicyConfig, value: &str| {
            let settings = vec![Setting::new(key, value).unwrap()];
            let text = Setting::apply(&settings, LOSSY).unwrap();
            let scenario = Scenario::parse("s.toml", &text, &|_: &str| Err(String::new())).unwrap();
            Case { scenario, settings, policy: Some(policy) }
        };
        let cases =
            values.iter().flat_map(|value| policies.iter().map(move |policy| case(policy.clone(), value)));
        let options = Options { cases: cases.collect(), seeds, jobs: NonZeroUsize::MIN };
        compare(&scenario(), &options, &|_| {}).unwrap()
    }

    #[test]
    fn a_key_that_takes_numbers_is_drawn_over_them() {
        let policies = [none(), WifiFirst.into()];
        let swept = varied(&policies, "path.wifi.down.rate", &["3Mbps", "1Mbps", "'2.5Mbps'"], 2);
        let sweep = sweep::Sweep::of(&swept).unwrap();
        let goodput = swept.figures.iter().find(|figure| figure.key == "goodput_mbps").unwrap();
        let chart = sweep.chart(&swept, goodput);
        assert_eq!(chart.lines.len(), 2);
        for (line, policy) in chart.lines.iter().zip([0, 1]) {
            assert_eq!(line.name, policies[policy].to_string());
            assert_eq!(line.x, [1.0, 2.5, 3.0]);
            // In the order of the cases these are the second, the third and the first value.
            let means = [2 + policy, 4 + policy, policy].map(|case| swept.estimate(goodput, case).mean);
            assert_eq!(line.y, means);
        }
        for values in [&["1Mbps", "2Mbps"][..], &["1Mbps", "2Mbps", "300kbps"]] {
            let few = varied(&policies, "path.wifi.down.rate", values, 1);
            assert_eq!(sweep::Sweep::of(&few), None, "{values:?}");
        }
        let names = varied(&policies, "transport.scheduler", &["min-rtt", "blest", "ecf"], 1);
        assert_eq!(sweep::Sweep::of(&names), None);
    }

    #[test]
    fn a_policy_that_does_not_fit_is_refused_before_anything_runs() {
        let text = LOSSY.replace("huang2012.lte", "huang2012.3g");
        let scenario = Scenario::parse("s.toml", &text, &|_: &str| Err(String::new())).unwrap();
        let options = options(&scenario, &[none(), SinglePath::LTE.into()], 1);
        assert!(compare(&scenario, &options, &|_| panic!("nothing was to run")).is_err());
    }

    #[test]
    fn without_randomness_no_interval_is_shown() {
        let text = LOSSY.replace(", loss = 0.02", "");
        let scenario = Scenario::parse("s.toml", &text, &|_: &str| Err(String::new())).unwrap();
        let options = options(&scenario, &[none(), WifiFirst.into()], 3);
        let same = compare(&scenario, &options, &|_| {}).unwrap();
        assert!(same.repeats());
        let shown = same.tables()[0].to_text(report::TextStyle::PLAIN);
        assert!(!shown.contains(" ± "), "{shown}");
        assert!(!comparison(&[none()], 3).repeats());
    }

    #[test]
    fn where_one_path_carries_everything_the_table_says_that_policies_decide_nothing() {
        let told = |text: &str| {
            let scenario = Scenario::parse("s.toml", text, &|_: &str| Err(String::new())).unwrap();
            let options = options(&scenario, &[none(), WifiFirst.into()], 1);
            let compared = compare(&scenario, &options, &|_| {}).unwrap();
            compared.tables()[0].notes.iter().any(|note| note.contains("nothing to decide"))
        };
        assert!(told(&format!("{LOSSY}\n[transport]\nprotocol = \"tcp\"\npath = \"lte\"\n")));
        assert!(!told(LOSSY));
    }
}
