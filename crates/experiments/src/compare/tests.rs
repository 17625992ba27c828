//! Tests of the module.

use super::*;
use policy::{SinglePath, WifiFirst};
use std::sync::atomic::AtomicBool;
use units::Duration;

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
    Options { cases, seeds, jobs: NonZeroUsize::MIN, series: false }
}

fn compared(scenario: &Scenario, options: &Options) -> Comparison {
    let control = Control { progress: &|_| {}, stop: &AtomicBool::new(false) };
    compare(core::slice::from_ref(scenario), options, control).unwrap()
}

fn comparison(policies: &[PolicyConfig], seeds: u32) -> Comparison {
    let options = options(&scenario(), policies, seeds);
    compared(&scenario(), &options)
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
fn difference_is_of_means_paired_by_seed() {
    let both = comparison(&[none(), SinglePath::WIFI.into()], 4);
    let metric = both.metrics.iter().find(|f| f.key == "goodput_mbps").unwrap();
    let (first, other) = (both.estimate(metric, 0).mean, both.estimate(metric, 1).mean);
    let difference = both.difference(metric, 1);
    assert!((difference.mean - 100.0 * (other - first) / first).abs() < 1e-9);
    let pairs: Vec<(f64, f64)> = both.values(metric, 0).into_iter().zip(both.values(metric, 1)).collect();
    assert_eq!(difference, crate::stats::relative_difference(&pairs));
}

#[test]
fn insignificant_differences_are_marked() {
    let marked = |policy: PolicyConfig| {
        let both = comparison(&[none(), policy], 4);
        let table = &both.tables()[1];
        let goodput = table.rows.iter().find(|row| row.cells[0] == "goodput".into()).unwrap();
        goodput.cells[1].badge.is_some()
    };
    assert!(marked(none()));
    assert!(!marked(SinglePath::WIFI.into()));
}

/// Comparison of every policy with every value of a key.
fn varied(policies: &[PolicyConfig], key: &str, values: &[&str], seeds: u32) -> Comparison {
    let case = |policy: PolicyConfig, value: &str| {
        let settings = vec![Setting::new(key, value).unwrap()];
        let text = Setting::apply(&settings, LOSSY).unwrap();
        let scenario = Scenario::parse("s.toml", &text, &|_: &str| Err(String::new())).unwrap();
        Case { file: None, scenario, settings, policy: Some(policy) }
    };
    let cases =
        values.iter().flat_map(|value| policies.iter().map(move |policy| case(policy.clone(), value)));
    let options = Options { cases: cases.collect(), seeds, jobs: NonZeroUsize::MIN, series: false };
    compared(&scenario(), &options)
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
    let control = Control { progress: &|_| panic!("no run must start"), stop: &AtomicBool::new(false) };
    assert!(compare(&[scenario], &options, control).is_err());
}

#[test]
fn name_of_a_case_adds_no_markup_to_the_report() {
    let link = "a`[text](https://other.example)`b";
    let case = |file: &str| Case {
        file: Some(file.to_owned()),
        scenario: scenario(),
        settings: Vec::new(),
        policy: None,
    };
    // Two equal cases have a warning with their names, too.
    let cases = vec![case(link), case("a.toml")];
    let options = Options { cases, seeds: 1, jobs: NonZeroUsize::MIN, series: false };
    let html = compared(&scenario(), &options).page().to_html();
    assert!(html.contains("gave the same runs"), "{html}");
    assert!(html.contains("<code>a.toml</code>") && !html.contains("href=\"https://other.example"), "{html}");
}

#[test]
fn deterministic_scenario_shows_no_interval() {
    let text = LOSSY.replace(", loss = 0.02", "");
    let scenario = Scenario::parse("s.toml", &text, &|_: &str| Err(String::new())).unwrap();
    let options = options(&scenario, &[none(), WifiFirst.into()], 3);
    let same = compared(&scenario, &options);
    assert!(same.repeats());
    let shown = same.tables()[0].to_text(report::TextStyle::PLAIN);
    assert!(!shown.contains(" ± ") && shown.contains("These seeds gave the same run"), "{shown}");
    assert!(!comparison(&[none()], 3).repeats());
}

#[test]
fn policy_without_effect_is_warned_of() {
    let is_warned = |text: &str| {
        let scenario = Scenario::parse("s.toml", text, &|_: &str| Err(String::new())).unwrap();
        let options = options(&scenario, &[none(), WifiFirst.into()], 1);
        let result = compared(&scenario, &options);
        result.warnings().iter().any(|warning| warning.message.contains("has no effect"))
    };
    assert!(is_warned(&format!("{LOSSY}\n[transport]\nprotocol = \"tcp\"\npath = \"lte\"\n")));
    assert!(!is_warned(LOSSY));
}

#[test]
fn wide_interval_is_marked_as_too_few_seeds() {
    let note = |seeds: u32| {
        let text = LOSSY.replace("kind = \"bulk\"", "kind = \"file\"\nsize = \"300kB\"");
        let scenario = Scenario::parse("s.toml", &text, &|_: &str| Err(String::new())).unwrap();
        let result = compared(&scenario, &options(&scenario, &[SinglePath::WIFI.into()], seeds));
        let wide = result.metrics.iter().filter(|metric| metric.in_tables).filter(|metric| {
            let Estimate { mean, ci95 } = result.estimate(metric, 0);
            ci95 > mean.abs() / 3.0
        });
        let count = wide.count();
        let table = &result.tables()[0];
        let marked = table.rows.iter().flat_map(|row| &row.cells).filter(|cell| cell.badge.is_some()).count();
        assert_eq!(marked, count);
        assert_eq!(count > 0, table.notes.iter().any(|note| note.contains("Too few seeds")));
        count
    };
    assert!(note(2) > 0);
    assert!(note(30) < note(2));
}

#[test]
fn stopped_comparison_has_finished_runs_of_all_cases() {
    let scenario = scenario();
    let mut options = options(&scenario, &[none(), WifiFirst.into()], 5);
    options.series = true;
    let stop = AtomicBool::new(false);
    // The fifth run is the first of the third seed.
    let progress = |progress: Progress| stop.store(progress.run == 4, core::sync::atomic::Ordering::Relaxed);
    let control = Control { progress: &progress, stop: &stop };
    let stopped = compare(core::slice::from_ref(&scenario), &options, control).unwrap();
    assert!(!stopped.is_complete());
    assert_eq!((stopped.finished(), stopped.planned()), (4, 10));
    assert!(stopped.cases.iter().all(|case| case.finished() == 2));
    assert_eq!(stopped.runs_table().rows.len(), 4);
    let note =
        "Incomplete: stopped before all runs were finished. Seeds: `none` 2 of 5, `wifi-first` 2 of 5.";
    assert!(stopped.tables()[0].notes.iter().any(|one| one == note), "{:?}", stopped.tables()[0].notes);
    let whole = comparison(&[none(), WifiFirst.into()], 2);
    assert_eq!(stopped.to_json()["cases"], whole.to_json()["cases"]);
}

/// A file that arrives with some seeds only.
const FILE: &str = r#"
    duration = "13.3s"
    [[path]]
    name = "wifi"
    radio = "huang2012.wifi"
    down = { rate = "2Mbps", delay = "10ms", loss = 0.02 }
    [transport]
    protocol = "tcp"
    [[traffic]]
    kind = "file"
    size = "3MB"
"#;

/// Comparison of the file over links with these losses.
fn file_downloads(losses: [&str; 2], seeds: u32) -> Comparison {
    let cases = losses.map(|loss| {
        let settings = vec![Setting::new("path.wifi.down.loss", loss).unwrap()];
        let text = Setting::apply(&settings, FILE).unwrap();
        let scenario = Scenario::parse("s.toml", &text, &|_: &str| Err(String::new())).unwrap();
        Case { file: None, scenario, settings, policy: None }
    });
    let options = Options { cases: cases.into(), seeds, jobs: NonZeroUsize::MIN, series: false };
    compared(&scenario(), &options)
}

#[test]
fn difference_over_some_of_the_runs_tells_their_number() {
    let downloads = file_downloads(["0.02", "0.022"], 8);
    let completion = metric(&downloads, "connection1_completion_s");
    let counts = [0, 1].map(|case| downloads.values(completion, case).len());
    assert_eq!((counts, downloads.pairs(completion, 1).len()), ([5, 4], 4));
    let notes = downloads.differences().pop().unwrap().notes;
    let note = "`loss=0.022`, completion: difference over the 4 of 8 seeds with a value in both cases.";
    assert!(notes.iter().any(|one| one == note), "{notes:?}");
    assert!(!notes.iter().any(|note| note.contains("goodput")), "{notes:?}");
    let figures = &downloads.to_json()["cases"][1]["figures"];
    assert_eq!(figures["connection1_completion_s"]["difference_percent"]["pairs"], 4);
    assert_eq!(figures["goodput_mbps"]["difference_percent"]["pairs"], 8);
}

#[test]
fn single_pair_of_several_runs_has_no_difference() {
    let downloads = file_downloads(["0.02", "0.022"], 4);
    let [completion, goodput] =
        ["connection1_completion_s", "goodput_mbps"].map(|key| metric(&downloads, key));
    assert_eq!(downloads.pairs(completion, 1).len(), 1);
    assert!(downloads.difference(completion, 1).mean.is_nan());
    assert!(downloads.difference(goodput, 1).mean < 0.0);
    let one_seed = file_downloads(["0.02", "0.022"], 1);
    assert!(one_seed.difference(metric(&one_seed, "goodput_mbps"), 1).mean < 0.0);
}

/// A video of 4 Mbit/s over a slower link.
const VIDEO: &str = r#"
    duration = "20s"
    [[path]]
    name = "wifi"
    radio = "huang2012.wifi"
    down = { rate = "2Mbps", delay = "10ms" }
    [transport]
    protocol = "tcp"
    [[traffic]]
    kind = "video"
    manifest = { bitrates = "4Mbps", duration = "10s", segment = "2s" }
"#;

/// Comparison of the video over links of these rates.
fn videos(rates: &[&str]) -> Comparison {
    let case = |rate: &&str| {
        let settings = vec![Setting::new("path.wifi.down.rate", rate).unwrap()];
        let text = Setting::apply(&settings, VIDEO).unwrap();
        let scenario = Scenario::parse("s.toml", &text, &|_: &str| Err(String::new())).unwrap();
        Case { file: None, scenario, settings, policy: None }
    };
    let cases = rates.iter().map(case).collect();
    compared(&scenario(), &Options { cases, seeds: 1, jobs: NonZeroUsize::MIN, series: false })
}

fn metric<'c>(comparison: &'c Comparison, key: &str) -> &'c Metric {
    comparison.metrics.iter().find(|metric| metric.key == key).unwrap()
}

#[test]
fn higher_score_is_a_positive_difference_from_a_negative_one() {
    let swept = videos(&["1Mbps", "1.5Mbps", "2Mbps"]);
    let linear = metric(&swept, "connection1_linear");
    let scores = [0, 1, 2].map(|case| swept.estimate(linear, case).mean);
    assert!(scores[0] < scores[1] && scores[1] < scores[2] && scores[2] < 0.0, "{scores:?}");
    let differences = [1, 2].map(|case| swept.difference(linear, case).mean);
    assert!(0.0 < differences[0] && differences[0] < differences[1], "{differences:?}");
}

#[test]
fn chart_of_negative_means_has_no_lower_end_at_zero() {
    let swept = videos(&["1Mbps", "1.5Mbps", "2Mbps"]);
    let sweep = sweep::Sweep::find(&swept).unwrap();
    let from = |key: &str| sweep.chart(&swept, metric(&swept, key)).y.from;
    assert_eq!(from("connection1_linear"), None);
    assert_eq!(from("goodput_mbps"), Some(0.0));
}

#[test]
fn video_without_a_picture_has_neither_scores_nor_stalls() {
    let swept = videos(&["100kbps", "1Mbps"]);
    for key in ["linear", "mos", "stalls", "stalled_s", "mean_bitrate_mbps", "switches"] {
        let metric = metric(&swept, &format!("connection1_{key}"));
        assert_eq!((swept.values(metric, 0).len(), swept.values(metric, 1).len()), (0, 1), "{key}");
    }
    let load = metric(&swept, "connection1_initial_load_s");
    assert_eq!(swept.values(load, 0), [20.0], "the wait lasts until the end");
}
