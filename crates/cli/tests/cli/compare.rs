//! What `tandem compare` prints and writes.

use crate::support::Place;
use std::fs;

const POLICIES: &str = "none,wifi-first,emtcp:mp-prio:0.4";

#[test]
fn the_tables_of_a_comparison() {
    let place = Place::new();
    let said = place.run(&["compare", "tiny.toml", "--policies", POLICIES, "--seeds", "5"]);
    assert_eq!(said.err, "\nreport: tandem-out/tiny-compare/report.html\n");
    insta::assert_snapshot!(said.out);
    assert_eq!(place.list("tandem-out/tiny-compare"), ["report.html", "result.json", "runs.csv"]);
}

#[test]
fn the_number_of_jobs_changes_nothing() {
    let place = Place::new();
    let run = |jobs: &str| {
        place.done(&[
            "compare",
            "tiny.toml",
            "--policies",
            POLICIES,
            "--seeds",
            "4",
            "--jobs",
            jobs,
            "--out",
            jobs,
        ])
    };
    assert_eq!(run("1"), run("2"));
    for name in place.list("1") {
        let read = |jobs: &str| fs::read(place.path().join(jobs).join(&name)).unwrap();
        assert!(read("1") == read("2"), "{name}");
    }
}

#[test]
fn one_seed_of_a_comparison_is_that_run() {
    let place = Place::new();
    let compared =
        place.done(&["compare", "tiny.toml", "--policies", "none", "--seeds", "1", "--format", "json"]);
    let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
    let run = place.done(&["run", "tiny.toml", "--policy", "none", "--format", "json"]);
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    assert_eq!(compared["seeds"], serde_json::json!([5]));
    let energy = &compared["policies"][0]["figures"]["energy_j"];
    assert_eq!(energy["mean"], run["device"]["energy_j"]);
    assert_eq!(energy["ci95"], serde_json::Value::Null, "one seed has no interval");
}

#[test]
fn csv_has_a_row_for_each_policy_and_figure() {
    let place = Place::new();
    let arguments =
        ["compare", "tiny.toml", "--policies", "none,wifi-first", "--seeds", "2", "--format", "csv"];
    let printed = place.done(&arguments);
    let mut lines = printed.lines();
    assert_eq!(lines.next(), Some("policy,figure,unit,mean,mean ci95,difference (%),difference ci95 (%)"));
    assert!(lines.clone().any(|line| line.starts_with("wifi-first,efficiency_mbit_per_j,Mbit/J,")));
    assert_eq!(lines.clone().count() % 2, 0);
    let runs = place.read("tandem-out/tiny-compare/runs.csv");
    let starts: Vec<String> =
        runs.lines().skip(1).map(|line| line.split(',').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(starts, ["none 5", "none 6", "wifi-first 5", "wifi-first 6"]);
}
