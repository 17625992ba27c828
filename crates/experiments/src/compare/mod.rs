//! Comparison of several cases of one scenario with the same seeds. Cases differ in policy,
//! settings or both.

mod delay;
mod metrics;
mod page;
mod sweep;
mod tables;

use crate::display::time_unit;
use crate::parallel;
use crate::run::prepare;
use crate::traces;
use crate::warnings::{self, Warning, World};
use metrics::Metric;
use policy::{PolicyConfig, PolicyError};
use report::{Estimate, Page, Table};
use scenario::{Scenario, Setting, UsedTrace};
use serde_json::{Value, json};
use sim::{Experiment, Outcome};
use std::num::NonZeroUsize;
use units::{Duration, Seed};

/// A case to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The scenario with the settings applied.
    pub scenario: Scenario,
    /// The settings.
    pub settings: Vec<Setting>,
    /// Policy in place of the scenario's.
    pub policy: Option<PolicyConfig>,
}

impl Case {
    /// A scenario without settings, with another policy.
    pub fn with_policy(scenario: &Scenario, policy: PolicyConfig) -> Self {
        Self { scenario: scenario.clone(), settings: Vec::new(), policy: Some(policy) }
    }

    /// Name of the case: its policy and its settings. Keys are shortened to their last part if that
    /// is unambiguous.
    pub fn name(&self) -> String {
        let is_ambiguous =
            |setting: &Setting| self.settings.iter().any(|s| s != setting && s.name() == setting.name());
        let policy = self.policy.as_ref().map(ToString::to_string);
        let settings = self.settings.iter().map(|setting| {
            let key = if is_ambiguous(setting) { setting.key() } else { setting.name().to_owned() };
            format!("{key}={}", setting.text().trim_matches('"'))
        });
        policy.into_iter().chain(settings).collect::<Vec<_>>().join(" ")
    }
}

/// The cases and the size of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The cases; the first is the baseline.
    pub cases: Vec<Case>,
    /// Number of seeds, from the scenario's seed on.
    pub seeds: u32,
    /// Number of runs at once; it does not affect the results.
    pub jobs: NonZeroUsize,
}

/// Results of all cases.
#[derive(Debug, Clone)]
pub struct Comparison {
    title: String,
    description: Option<String>,
    source: String,
    seeds: Vec<Seed>,
    /// Empty only for a comparison without cases.
    cases: Vec<Compared>,
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
    settings: Vec<Setting>,
    /// Experiment of the first seed, with its series.
    experiment: Experiment,
    /// One outcome per seed; only the first has series.
    outcomes: Vec<Outcome>,
}

/// Runs every case of `scenario` with every seed; `done` receives the number of finished runs.
///
/// # Errors
/// A policy does not fit the paths of its case.
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
            // Only the series of the first run is drawn; keeping all would need much memory.
            experiment.sample = Duration::ZERO;
        }
        let mut outcome = sim::run(&experiment);
        if seed > 0 {
            outcome.timelines.clear();
        }
        delay::keep_drawn_distributions(&mut outcome);
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
    let experiments = cases.iter().map(|case| (case.name.as_str(), &case.experiment));
    let mut warnings = warnings::of_cases(experiments);
    warnings.extend(equal_cases(&cases));
    let metrics = cases.first().map_or_else(Vec::new, |first| metrics::metrics(&first.experiment));
    let mut traces: Vec<UsedTrace> = Vec::new();
    for trace in options.cases.iter().flat_map(|case| case.scenario.traces_with_seed(seeds[0])) {
        if !traces.contains(&trace) {
            traces.push(trace);
        }
    }
    Ok(Comparison {
        traces,
        title: scenario.title.clone(),
        description: scenario.description.clone(),
        source: scenario.source.clone(),
        repeats: seeds.len() > 1 && cases.iter().all(Compared::repeats),
        seeds,
        cases,
        metrics,
        warnings,
    })
}

/// A warning for each case whose runs equal those of an earlier case without another explanation.
fn equal_cases(cases: &[Compared]) -> Vec<Warning> {
    let equals = |a: &Compared, b: &Compared| {
        let pairs = a.outcomes.iter().zip(&b.outcomes);
        pairs.into_iter().all(|(a, b)| a.paths == b.paths && a.connections == b.connections)
    };
    let mut warnings = Vec::new();
    let unexplained = |case: &&Compared| warnings::of(&case.experiment, World::Simulation).is_empty();
    for (i, case) in cases.iter().enumerate().filter(|(_, case)| unexplained(case)) {
        let Some(first) = cases[..i].iter().find(|first| equals(first, case)) else { continue };
        let message = format!("`{}` and `{}` gave the same runs, byte for byte", first.name, case.name);
        warnings.push(Warning::new(message, reason_of_equality(&first.experiment, &case.experiment)));
    }
    warnings
}

/// The probable reason why two different experiments had the same outcome.
fn reason_of_equality(a: &Experiment, b: &Experiment) -> &'static str {
    if a.transport.config.scheduler == b.transport.config.scheduler {
        return "the varied settings have no effect on this traffic over these paths";
    }
    "these schedulers choose alike until a slow path would block the window or delay the end of the data: \
     try a smaller `transport.recv_buffer`, paths that differ more, or traffic of kind `file`"
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
    /// Means of all cases, then differences from the first case.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = vec![tables::means(self)];
        tables.extend(tables::differences(self));
        tables.extend(traces::table(&self.traces));
        tables
    }

    /// A row for each mean, with its confidence interval and the difference from the first case.
    pub fn long_table(&self) -> Table {
        tables::long(self)
    }

    /// A row for each run: each case and seed.
    pub fn runs_table(&self) -> Table {
        tables::runs(self)
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
        let estimate = |e: Estimate| json!({"mean": e.mean, "ci95": e.ci95});
        let cases: Vec<Value> = self
            .cases
            .iter()
            .enumerate()
            .map(|(i, case)| {
                let metrics: serde_json::Map<String, Value> = self
                    .metrics
                    .iter()
                    .map(|metric| {
                        let found = self.values(metric, i).len();
                        let mut value = estimate(self.estimate(metric, i));
                        value["unit"] = json!(metric.unit);
                        value["runs"] = json!(found);
                        if i > 0 {
                            value["difference_percent"] = estimate(self.difference(metric, i));
                        }
                        (metric.key.clone(), value)
                    })
                    .collect();
                let settings: serde_json::Map<String, Value> =
                    case.settings.iter().map(|s| (s.key(), json!(s.text()))).collect();
                let policy = case.experiment.device.policy.to_string();
                json!({"name": case.name, "policy": policy, "settings": settings, "figures": metrics,
                       "percentiles": delay::percentiles_of(&case.outcomes)})
            })
            .collect();
        let seeds: Vec<u64> = self.seeds.iter().map(|seed| seed.get()).collect();
        json!({
            "kind": "compare",
            "tandem": env!("CARGO_PKG_VERSION"),
            "title": self.title,
            "warnings": warnings::to_json(&self.warnings),
            "seeds": seeds,
            "traces": traces::to_json(&self.traces),
            "cases": cases,
        })
    }

    /// Plural noun for the cases: policies if they differ in nothing else.
    fn noun(&self) -> &'static str {
        if self.cases.iter().all(|case| case.settings.is_empty()) { "policies" } else { "cases" }
    }

    /// Whether every seed gave the same run, because the scenario has no random element.
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
        self.cases[case].outcomes.iter().filter_map(|outcome| metric.value(outcome)).collect()
    }

    fn estimate(&self, metric: &Metric, case: usize) -> Estimate {
        crate::stats::estimate(&self.values(metric, case))
    }

    /// Difference of a case from the first, in percent of the first's mean. Differences are paired
    /// by seed, because the runs of one seed have the same random events.
    fn difference(&self, metric: &Metric, case: usize) -> Estimate {
        let pairs: Vec<(f64, f64)> = self.cases[0]
            .outcomes
            .iter()
            .zip(&self.cases[case].outcomes)
            .filter_map(|(first, other)| Some((metric.value(first)?, metric.value(other)?)))
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
        let cases = policies.iter().map(|policy| Case::with_policy(scenario, policy.clone())).collect();
        Options { cases, seeds, jobs: NonZeroUsize::MIN }
    }

    fn comparison(policies: &[PolicyConfig], seeds: u32) -> Comparison {
        let options = options(&scenario(), policies, seeds);
        compare(&scenario(), &options, &|_| {}).unwrap()
    }

    #[test]
    fn sampling_does_not_change_a_run() {
        let mut experiment = scenario().experiment;
        let sampled = sim::run(&experiment);
        experiment.sample = Duration::ZERO;
        let unsampled = sim::run(&experiment);
        assert!(sampled.series.rows() > 0 && unsampled.series.rows() == 0);
        assert_eq!(serde_json::to_value(sampled).unwrap(), serde_json::to_value(unsampled).unwrap());
    }

    #[test]
    fn policy_has_no_difference_from_itself() {
        let both = comparison(&[none(), none()], 4);
        for metric in &both.metrics {
            let difference = both.difference(metric, 1);
            assert!(difference.mean == 0.0 || difference.mean.is_nan(), "{metric:?}: {difference:?}");
        }
    }

    #[test]
    fn difference_is_of_means_and_its_interval_of_pairs() {
        let both = comparison(&[none(), SinglePath::WIFI.into()], 4);
        let metric = both.metrics.iter().find(|f| f.key == "goodput_mbps").unwrap();
        let (first, other) = (both.estimate(metric, 0).mean, both.estimate(metric, 1).mean);
        let difference = both.difference(metric, 1);
        assert!((difference.mean - 100.0 * (other - first) / first).abs() < 1e-9);
        let percent: Vec<f64> = both
            .values(metric, 0)
            .iter()
            .zip(both.values(metric, 1))
            .map(|(a, b)| 100.0 * (b - a) / first)
            .collect();
        assert_eq!(difference.ci95, crate::stats::estimate(&percent).ci95);
    }

    /// Comparison of every policy with every value of a key.
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
    fn numeric_key_with_enough_values_gives_line_charts() {
        let policies = [none(), WifiFirst.into()];
        let swept = varied(&policies, "path.wifi.down.rate", &["3Mbps", "1Mbps", "'2.5Mbps'"], 2);
        let sweep = sweep::Sweep::find(&swept).unwrap();
        let goodput = swept.metrics.iter().find(|metric| metric.key == "goodput_mbps").unwrap();
        let chart = sweep.chart(&swept, goodput);
        assert_eq!(chart.lines.len(), 2);
        for (line, policy) in chart.lines.iter().zip([0, 1]) {
            assert_eq!(line.name, policies[policy].to_string());
            assert_eq!(line.x, [1.0, 2.5, 3.0]);
            // Sorted by value, these are the second, third and first case.
            let means = [2 + policy, 4 + policy, policy].map(|case| swept.estimate(goodput, case).mean);
            assert_eq!(line.y, means);
        }
        for values in [&["1Mbps", "2Mbps"][..], &["1Mbps", "2Mbps", "300kbps"]] {
            let few = varied(&policies, "path.wifi.down.rate", values, 1);
            assert_eq!(sweep::Sweep::find(&few), None, "{values:?}");
        }
        let names = varied(&policies, "transport.scheduler", &["min-rtt", "blest", "ecf"], 1);
        assert_eq!(sweep::Sweep::find(&names), None);
    }

    #[test]
    fn unsuitable_policy_is_refused_before_any_run() {
        let text = LOSSY.replace("huang2012.lte", "huang2012.3g");
        let scenario = Scenario::parse("s.toml", &text, &|_: &str| Err(String::new())).unwrap();
        let options = options(&scenario, &[none(), SinglePath::LTE.into()], 1);
        assert!(compare(&scenario, &options, &|_| panic!("no run must start")).is_err());
    }

    #[test]
    fn deterministic_scenario_shows_no_interval() {
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
    fn comparison_warns_of_a_policy_without_effect_over_a_single_path() {
        let warns = |text: &str| {
            let scenario = Scenario::parse("s.toml", text, &|_: &str| Err(String::new())).unwrap();
            let options = options(&scenario, &[none(), WifiFirst.into()], 1);
            let compared = compare(&scenario, &options, &|_| {}).unwrap();
            compared
                .warnings()
                .iter()
                .any(|warning| warning.message.contains("the policy `wifi-first` has no effect"))
        };
        assert!(warns(&format!("{LOSSY}\n[transport]\nprotocol = \"tcp\"\npath = \"lte\"\n")));
        assert!(!warns(LOSSY));
    }
}
