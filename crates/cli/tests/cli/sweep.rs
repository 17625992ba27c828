//! Sweeps of `tandem compare`: tables by key, paired keys, patterns, several scenarios, interruption.

use crate::support::{Place, TINY, ended_by, interrupted};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn cases_are_rows_with_a_column_for_each_key() {
    let place = Place::new();
    let arguments = ["compare", "tiny.toml", "--vary", "path.wifi.down.rate=1Mbps,2.5Mbps,10Mbps"];
    let output = place.run(&[&arguments[..], &["--policies", "none,emtcp", "--seeds", "3"]].concat());
    assert_eq!(output.code, 0, "{}", output.err);
    insta::assert_snapshot!(output.out);
    let page = place.read("tandem-out/tiny-compare/report.html");
    assert!(page.contains(">2.5</") && page.contains(">emtcp</"), "cells hold values alone");
    assert!(!page.contains('\u{2026}'), "a label is cut");
}

#[test]
fn runs_have_a_typed_column_for_each_key() {
    let place = Place::new();
    let vary = ["--vary", "path.wifi.down.rate=1Mbps,2.5Mbps", "--vary", "transport.scheduler=min-rtt,ecf"];
    let arguments = [&["compare", "tiny.toml", "--seeds", "1", "--format", "csv"][..], &vary].concat();
    let long = place.done(&arguments);
    let columns = ",path.wifi.down.rate_mbps,transport.scheduler,";
    assert!(long.lines().next().unwrap().contains(columns), "{long}");
    let runs = place.read("tandem-out/tiny-compare/runs.csv");
    let rows: Vec<Vec<&str>> = runs.lines().map(|line| line.split(',').take(4).collect()).collect();
    assert_eq!(rows[0], ["case", "seed", "path.wifi.down.rate_mbps", "transport.scheduler"]);
    let values: Vec<[&str; 2]> = rows[1..].iter().map(|row| [row[2], row[3]]).collect();
    assert_eq!(values, [["1", "min-rtt"], ["1", "ecf"], ["2.5", "min-rtt"], ["2.5", "ecf"]]);
    let result = json_of(&place.read("tandem-out/tiny-compare/result.json"));
    assert_eq!(result["varied"][0], json!({"key": "path.wifi.down.rate", "unit": "Mbps"}));
    assert_eq!(
        result["cases"][2]["values"],
        json!({"path.wifi.down.rate": 2.5, "transport.scheduler": "min-rtt"})
    );
}

#[test]
fn keys_vary_together_over_the_files_of_a_pattern() {
    let place = Place::new();
    let trace = place.read("lte.csv");
    for name in ["b", "a"] {
        place.write(&format!("nested/wifi-{name}.csv"), &trace);
        place.write(&format!("nested/lte-{name}.csv"), &trace);
    }
    let both = TINY.replace(
        "rate = \"4Mbps\", delay = \"5ms\", queue",
        "trace = \"../lte.csv\", delay = \"5ms\", queue",
    );
    place.write("nested/two.toml", &both.replace("\"lte.csv\"", "\"../lte.csv\""));
    let together = "wifi.trace=wifi-*.csv,lte.trace=lte-*.csv";
    let compare = ["compare", "nested/two.toml", "--seeds", "1", "--format", "json"];
    let result = json_of(&place.done(&[&compare[..], &["--vary-together", together]].concat()));
    let settings: Vec<&Value> =
        result["cases"].as_array().unwrap().iter().map(|case| &case["values"]).collect();
    let pair = |name: &str| {
        json!({
            "path.wifi.down.trace": format!("wifi-{name}.csv"),
            "path.lte.down.trace": format!("lte-{name}.csv")
        })
    };
    assert_eq!(settings, [&pair("a"), &pair("b")], "sorted, relative to the scenario");
    let plain = json_of(&place.done(&[&compare[..], &["--vary", "lte.trace=lte-?.csv"]].concat()));
    assert_eq!(plain["cases"].as_array().unwrap().len(), 2);
}

#[test]
fn impossible_sweeps_are_explained() {
    let place = Place::new();
    let mut told = String::new();
    for arguments in [
        &["--vary-together", "wifi.rate=1Mbps,2Mbps,lte.down.delay=30ms"][..],
        &["--vary-together", "wifi.down.rate=1Mbps,2Mbps,lte.down.delay=30ms"],
        &["--vary-together", "1Mbps,2Mbps"],
        &["--vary", "lte.trace=none-*.csv"],
        &["--set", "wifi.delay=5ms", "--vary", "seed=1,2"],
        &[],
    ] {
        let output = place.run(&[&["compare", "tiny.toml"][..], arguments].concat());
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{arguments:?}");
        writeln!(told, "{}\n{}", arguments.join(" "), output.err).unwrap();
    }
    insta::assert_snapshot!(told);
}

#[test]
fn scenarios_are_cases_also_from_the_standard_input() {
    let place = Place::new();
    place.write("other.toml", &TINY.replace("400kB", "800kB"));
    let options = ["--set", "lte.trace=lte.csv", "--duration", "2s", "--seeds", "2", "--format", "json"];
    let compare = |first: &'static str| [&["compare", first, "other.toml"][..], &options].concat();
    let result = json_of(&place.done(&compare("tiny.toml")));
    let names: Vec<&Value> = result["cases"].as_array().unwrap().iter().map(|case| &case["name"]).collect();
    assert_eq!(names, ["tiny", "other"]);
    assert_eq!(result["varied"], json!([{"key": "scenario", "unit": ""}]));
    let run = json_of(&place.done(&["run", "other.toml", "--duration", "2s", "--format", "json"]));
    assert_eq!(run["duration_s"], 2.0);
    let one = json_of(&place.done(&[
        "compare",
        "other.toml",
        "--vary",
        "device.name=tablet",
        "--duration",
        "2s",
        "--seeds",
        "1",
        "--format",
        "json",
    ]));
    assert_eq!(one["cases"][0]["figures"]["energy_j"]["mean"], run["device"]["energy_j"]);

    let mut child = place.command(&compare("-")).stdin(Stdio::piped()).spawn().expect("the program starts");
    child.stdin.take().unwrap().write_all(TINY.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let piped = json_of(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(piped["cases"][0]["figures"], result["cases"][0]["figures"]);
    assert_eq!(piped["cases"][0]["name"], "stdin");
}

#[test]
fn series_of_every_run_are_kept_if_asked() {
    let place = Place::new();
    place.done(&["compare", "tiny.toml", "--policies", "none,wifi-only", "--seeds", "2", "--series"]);
    let series = place.read("tandem-out/tiny-compare/series.csv");
    let rows: Vec<Vec<&str>> = series.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((&rows[0][..3], rows[0].last()), (&["case", "seed", "time_s"][..], Some(&"run_id")));
    let runs: Vec<String> = rows[1..].iter().map(|row| row[..3].join(" ")).collect();
    assert_eq!(runs.len(), 2 * 2 * 8);
    assert_eq!((runs[0].as_str(), runs[31].as_str()), ("none 5 0.5", "wifi-only 6 4"));
    // The series of a seed is that of its run.
    place.done(&["run", "tiny.toml", "--policy", "wifi-only", "--seed", "6"]);
    let cut = |row: &[&str]| row[..row.len() - 1].join(",");
    let alone = place.read("tandem-out/tiny/series.csv");
    let alone: Vec<String> =
        alone.lines().skip(1).map(|line| cut(&line.split(',').collect::<Vec<_>>())).collect();
    let kept: Vec<String> = rows[25..].iter().map(|row| cut(&row[2..])).collect();
    assert_eq!(kept, alone);
}

/// A scenario with few samples that takes days to run.
fn endless() -> String {
    TINY.replace("\"4s\"", "\"100h\"").replace("500ms\"\n\n[device]", "1h\"\n\n[device]")
}

#[test]
fn interrupted_comparison_keeps_finished_runs() {
    let place = Place::new();
    place.write("long.toml", &endless().replace("\"1h\"", "\"4s\""));
    let vary = ["--vary", "duration=4s,100h", "--seeds", "3", "--jobs", "2"];
    let (code, out, err) = interrupted(&place, &[&["compare", "long.toml"][..], &vary].concat());
    assert_eq!(code, Some(130), "{err}");
    assert!(err.ends_with("interrupted after 2 of 6 runs; their results are written\n"), "{err}");
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("Seeds: duration=4s 2 of 3, duration=100h 0 of 3."), "{out}");
    let result = json_of(&place.read("tandem-out/long-compare/result.json"));
    assert_eq!((&result["complete"], &result["cases"][0]["runs"]), (&json!(false), &json!(2)));
    assert_eq!(place.read("tandem-out/long-compare/runs.csv").lines().count(), 3);
}

#[test]
fn seed_cannot_vary() {
    let place = Place::new();
    let output = place.run(&["compare", "tiny.toml", "--vary", "seed=1,2"]);
    assert_eq!(output.code, 2, "{}", output.err);
    assert!(output.err.contains("`seed` cannot vary"), "{}", output.err);
}

#[test]
fn settings_of_the_device_alone_are_not_without_effect() {
    let place = Place::new();
    let vary = ["compare", "tiny.toml", "--vary", "device.battery=10Wh,20Wh", "--seeds", "1"];
    let output = place.run(&vary);
    assert!(!output.err.contains("same runs"), "{}", output.err);
}

#[test]
fn interrupted_run_leaves_nothing() {
    let place = Place::new();
    place.write("long.toml", &endless());
    for (signal, code) in [("-INT", Some(130)), ("-TERM", Some(143))] {
        let ended = ended_by(signal, &place, &["run", "long.toml"]);
        let expected = (code, String::new(), "interrupted; nothing was written\n".to_owned());
        assert_eq!(ended, expected, "{signal}");
        assert!(place.list("tandem-out").is_empty());
    }
}

#[test]
fn brackets_of_a_pattern_choose_files_unless_a_file_has_them_in_its_name() {
    let place = Place::new();
    for name in ["lte-a.csv", "lte-b.csv", "lte-c.csv", "lte-[x].csv"] {
        place.write(name, &place.read("lte.csv"));
    }
    let vary = |value: &str| place.run(&["compare", "tiny.toml", "--seeds", "1", "--vary", value]);
    let output = vary("path.lte.down.trace=lte-[ab].csv");
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.contains("lte-a.csv") && output.out.contains("lte-b.csv"), "{}", output.out);
    assert!(!output.out.contains("lte-c.csv"), "{}", output.out);
    let output = vary("path.lte.down.trace=lte.csv,lte-[x].csv");
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.contains("lte-[x].csv"), "{}", output.out);
    let output = vary("path.lte.down.trace=lte.csv,lte-[z].csv");
    assert!(output.code == 2 && output.err.contains("no file matches `lte-[z].csv`"), "{}", output.err);
}

#[test]
#[ignore = "needs root"]
fn needs_root_unreadable_directory_of_a_pattern_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    for name in ["open/lte.csv", "closed/lte.csv"] {
        place.write(name, &place.read("lte.csv"));
    }
    for (folder, mode) in [(".", 0o755), ("closed", 0o300)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path().join(folder), mode).unwrap();
    }
    // Root reads every directory.
    std::fs::copy(crate::support::tandem_path(), place.path().join("tandem")).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "./tandem", "compare", "tiny.toml"]);
    command.args(["--seeds", "1", "--vary", "path.lte.down.trace=*/*.csv"]).current_dir(place.path());
    let output = crate::support::output_of(&mut command);
    assert_eq!(output.code, 3, "{}", output.err);
    let expected = "cannot read the directory closed for the pattern `*/*.csv`: permission denied";
    assert!(output.err.contains(expected), "{}", output.err);
}
