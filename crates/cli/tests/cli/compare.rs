//! Output and files of `tandem compare`.

use crate::support::{Place, TINY};
use std::fmt::Write as _;
use std::fs;

const POLICIES: &str = "none,wifi-first,emtcp:mp-prio:0.4";

#[test]
fn tables_of_a_comparison() {
    let place = Place::new();
    let output = place.run(&["compare", "tiny.toml", "--policies", POLICIES, "--seeds", "5"]);
    assert_eq!(output.err, "\nreport: tandem-out/tiny-compare/report.html\n");
    insta::assert_snapshot!(output.out);
    assert_eq!(place.list("tandem-out/tiny-compare"), ["report.html", "result.json", "runs.csv"]);
}

#[test]
fn results_are_independent_of_jobs() {
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
    let energy = &compared["cases"][0]["figures"]["energy_j"];
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
    assert_eq!(
        lines.next(),
        Some(
            "case,figure,unit,mean,mean ci95,difference (%),difference ci95 (%),policy,tandem,\
             scenario_sha256,settings,seed,files,run_id"
        )
    );
    assert!(lines.clone().any(|line| line.starts_with("wifi-first,efficiency_mbit_per_j,Mbit/J,")));
    assert_eq!(lines.clone().count() % 2, 0);
    let runs = place.read("tandem-out/tiny-compare/runs.csv");
    let starts: Vec<String> =
        runs.lines().skip(1).map(|line| line.split(',').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(starts, ["none 5", "none 6", "wifi-first 5", "wifi-first 6"]);
}

#[test]
fn every_combination_of_values_is_a_case() {
    let place = Place::new();
    let vary = "transport.scheduler=min-rtt,redundant";
    let wifi = "path.1.down.rate=2Mbps,\"9Mbps\"";
    let options = ["--vary", vary, "--vary", wifi, "--policies", "none,wifi-first", "--seeds", "1"];
    let printed = place.done(&[&["compare", "tiny.toml", "--format", "json"][..], &options].concat());
    let compared: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let cases = compared["cases"].as_array().unwrap();
    let names: Vec<&str> = cases.iter().map(|case| case["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "none scheduler=min-rtt rate=2Mbps",
            "wifi-first scheduler=min-rtt rate=2Mbps",
            "none scheduler=min-rtt rate=9Mbps",
            "wifi-first scheduler=min-rtt rate=9Mbps",
            "none scheduler=redundant rate=2Mbps",
            "wifi-first scheduler=redundant rate=2Mbps",
            "none scheduler=redundant rate=9Mbps",
            "wifi-first scheduler=redundant rate=9Mbps",
        ]
    );
    let settings = serde_json::json!({"transport.scheduler": "redundant", "path.1.down.rate": "2Mbps"});
    assert_eq!((&cases[4]["settings"], &cases[4]["policy"]), (&settings, &serde_json::json!("none")));
    let set = ["--set", "transport.scheduler=redundant", "--set", "path.1.down.rate=2Mbps"];
    let run = place.done(&[&["run", "tiny.toml", "--policy", "none", "--format", "json"][..], &set].concat());
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    let energy = |case: &serde_json::Value| case["figures"]["energy_j"]["mean"].clone();
    assert_eq!(energy(&cases[4]), run["device"]["energy_j"]);
    assert!(cases.iter().any(|case| energy(case) != energy(&cases[4])));
}

#[test]
fn impossible_variations_are_reported_before_anything_runs() {
    let place = Place::new();
    let mut told = String::new();
    for vary in [
        "transport.scheduler",
        "transport.scheduler=min-rtt,min-rtt",
        "transport.shceduler=blest",
        "transport.scheduler=bless",
        "path.wlan.down.loss=0,0.01",
        "path.1=1",
        "duration.seconds=1",
    ] {
        let output = place.run(&["compare", "tiny.toml", "--vary", vary, "--seeds", "1"]);
        assert!(output.out.is_empty() && matches!(output.code, 2 | 3), "{vary}: {}", output.err);
        writeln!(told, "--vary {vary}: exit code {}\n{}", output.code, output.err).unwrap();
    }
    insta::assert_snapshot!(told);
    let output = place.run(&["run", "tiny.toml", "--set", "path.wlan.down.loss=0.01"]);
    assert_eq!(output.code, 2, "{}", output.err);
}

#[test]
fn key_that_varies_under_two_spellings_is_refused() {
    let place = Place::new();
    let rates = ["--vary", "path.wifi.down.rate=5Mbps,10Mbps", "--vary", "path.1.down.rate=20Mbps,40Mbps"];
    for (command, code) in [("compare", 2), ("sweep", 3)] {
        let output = place.run(&[&[command, "tiny.toml"], &rates[..]].concat());
        assert_eq!(output.code, code, "{}", output.err);
        let message = "`path.1.down.rate` replaces `path.wifi.down.rate`, which varies before it";
        assert!(output.err.contains(message), "{}", output.err);
    }
}

#[test]
fn policy_that_varies_beside_policies_is_refused() {
    let place = Place::new();
    for (command, key, code) in
        [("compare", "device.policy", 2), ("compare", "policy", 2), ("sweep", "device.policy", 3)]
    {
        let vary = format!("{key}=none,wifi-first");
        let output = place.run(&[command, "tiny.toml", "--vary", &vary, "--policies", "wifi-only,lte-only"]);
        assert_eq!(output.code, code, "{}", output.err);
        let message = "`device.policy` cannot vary beside other policies, which replace it";
        assert!(output.err.contains(message), "{}", output.err);
    }
}

#[test]
fn scenarios_of_the_same_name_are_told_apart_by_their_folders() {
    let place = Place::new();
    for (folder, size) in [("a", "400kB"), ("b", "500kB"), ("c/a", "600kB")] {
        place.write(&format!("{folder}/tiny.toml"), &TINY.replace("400kB", size));
        place.write(&format!("{folder}/lte.csv"), &place.read("lte.csv"));
    }
    let cases = |scenarios: &[&str]| -> Vec<String> {
        let fixed = ["--seeds", "1", "--format", "csv", "-q"];
        let csv = place.done(&[&["compare"][..], scenarios, &fixed].concat());
        assert_eq!(place.list("tandem-out"), ["tiny-compare"]);
        std::fs::remove_dir_all(place.path().join("tandem-out")).unwrap();
        let mut names: Vec<String> = csv
            .lines()
            .skip(1)
            .filter_map(|line| line.split(',').find(|cell| cell.ends_with("tiny")))
            .map(str::to_owned)
            .collect();
        names.dedup();
        names
    };
    assert_eq!(cases(&["a/tiny.toml", "b/tiny.toml"]), ["a/tiny", "b/tiny"]);
    assert_eq!(cases(&["tiny.toml", "b/tiny.toml"]), ["./tiny", "b/tiny"]);
    assert_eq!(cases(&["a/tiny.toml", "c/a/tiny.toml"]), ["a/tiny", "c/a/tiny"]);
    let twice = place.run(&["compare", "a/tiny.toml", "./a/tiny.toml", "--seeds", "1"]);
    assert_eq!(twice.code, 2);
    assert!(twice.err.contains("`tiny` is given twice"), "{}", twice.err);
}
