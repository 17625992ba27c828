//! Scenarios of several devices on the command line.

use crate::support::{Place, repository};
use serde_json::Value;

/// Eight phones at one access point, which start at `START`.
const CROWD: &str = r#"duration = "6s"

[[cell]]
name = "ap"
kind = "wifi"
rate = "10Mbps"

[[cell]]
name = "sector"
kind = "lte"
rate = "20Mbps"
fading = { coherence = "20ms" }

[[device]]
name = "phone"
count = 8
policy = "wifi-only"

[[device.path]]
name = "wifi"
radio = "huang2012.wifi"
down = { cell = "ap", snr_db = { uniform = [10, 25] } }

[[device.path]]
name = "lte"
radio = "huang2012.lte"
down = { cell = "sector", snr_db = { uniform = [0, 20] } }
up = { rate = "5Mbps" }

[[device.traffic]]
kind = "bulk"
start = START
"#;

fn place(start: &str) -> Place {
    let place = Place::new();
    place.write("crowd.toml", &CROWD.replace("START", start));
    place
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn jobs_change_no_byte_of_a_comparison() {
    let place = place("{ uniform = [\"0s\", \"2s\"] }");
    let command = ["compare", "crowd.toml", "--vary", "adoption.none=0,0.5,1", "--seeds", "3"];
    let with = |jobs: &str, out: &str| {
        let printed = place.done(&[&command[..], &["--jobs", jobs, "--out", out]].concat());
        let files =
            ["result.json", "runs.csv", "report.html"].map(|file| place.read(&format!("{out}/{file}")));
        (printed, files)
    };
    let (one, three) = (with("1", "one"), with("3", "three"));
    assert!(one == three);
    let cases = json(&one.1[0])["cases"].as_array().expect("a list").clone();
    let figure = |case: usize, key: &str| cases[case]["figures"][key]["mean"].as_f64();
    assert!(figure(0, "goodput_mbps_of_none").is_none(), "no device has adopted it");
    let with = |case: usize, key: &str| figure(case, key).expect("a figure");
    assert!(with(1, "goodput_mbps_of_none") > with(1, "goodput_mbps_of_wifi-only"));
    assert!(with(2, "lte_mb_total") > with(1, "lte_mb_total"));
    assert!(figure(0, "sector_load_percent").is_some_and(|load| load < 0.1));
}

#[test]
fn devices_that_never_start_are_in_no_distribution() {
    let place = place("[\"1s\", \"1h\"]");
    let result = json(&place.done(&["run", "crowd.toml", "--format", "json"]));
    let devices = result["devices"].as_array().expect("a list");
    let started = devices.iter().filter(|device| device["started"] == true).count();
    assert!(started > 0 && started < 8, "{started}");
    assert_eq!(result["started"], started);
    for distribution in result["distributions"].as_array().expect("a list") {
        assert_eq!(distribution["devices"], started, "{distribution}");
    }
    let goodput = &result["distributions"][0];
    assert!(goodput["measure"] == "goodput_mbps" && goodput["p5"].as_f64() > Some(0.1), "{goodput}");
    let idle = devices.iter().find(|device| device["started"] == false).expect("one is idle");
    assert!(idle["figures"]["goodput_mbps"].is_null());
    assert_eq!(json(&place.read("tandem-out/crowd/result.json")), result);
}

#[test]
fn files_that_have_not_arrived_are_told() {
    let place = place("\"0s\"");
    let file = CROWD.replace("kind = \"bulk\"", "kind = \"file\"\nsize = \"1GB\"").replace("START", "\"0s\"");
    place.write("crowd.toml", &file);
    let table = place.done(&["run", "crowd.toml"]);
    let note = "completion: 8 of 8 devices had a file that had not arrived when the run ended";
    assert!(table.contains(note), "{table}");
    let result = json(&place.done(&[
        "compare",
        "crowd.toml",
        "--policies",
        "none",
        "--seeds",
        "2",
        "--format",
        "json",
    ]));
    assert_eq!(result["cases"][0]["figures"]["completion_s_unfinished"]["mean"], 8.0);
}

#[test]
fn videos_without_a_picture_count_in_no_bitrate_and_no_stall() {
    let place = place("\"0s\"");
    let video = "kind = \"video\"\nmanifest = { bitrates = [\"50Mbps\"], duration = \"20s\" }";
    place.write("crowd.toml", &CROWD.replace("kind = \"bulk\"\nstart = START", video));
    let command = ["compare", "crowd.toml", "--policies", "wifi-only", "--seeds", "1"];
    let table = place.done(&command);
    assert!(table.contains("devices until the end"), "{table}");
    let result = json(&place.read("tandem-out/crowd-compare/result.json"));
    let figures = &result["cases"][0]["figures"];
    assert_eq!(figures["initial_load_s_unfinished"]["mean"], 8.0);
    for key in ["bitrate_mbps_mean", "stalled_s_mean", "stalled_s_total"] {
        assert!(figures[key]["mean"].is_null(), "{key}: {}", figures[key]);
    }
}

#[test]
fn devices_that_send_datagrams_only_have_no_goodput() {
    let place = place("\"0s\"");
    let datagrams = "kind = \"vbr\"\nrate = \"200kbps\"\nprotocol = \"udp\"\npath = \"wifi\"";
    let other = CROWD.replace("kind = \"bulk\"\nstart = START", datagrams);
    let (head, devices) = other.split_once("[[device]]").expect("a device");
    let both = format!(
        "{}\n[[device]]{}",
        CROWD.replace("START", "\"0s\""),
        devices.replacen("name = \"phone\"", "name = \"camera\"", 1)
    );
    assert!(CROWD.starts_with(head));
    place.write("crowd.toml", &both);
    let result = json(&place.done(&["run", "crowd.toml", "--format", "json"]));
    assert_eq!((&result["started"], &result["distributions"][0]["devices"]), (&16.into(), &8.into()));
}

/// Several files of one device, one after the other, are not faster than its link.
#[test]
fn goodput_of_a_device_counts_the_time_of_its_connections_once() {
    let place = Place::new();
    let text = CROWD.replace("count = 8", "count = 1").replace("duration = \"6s\"", "duration = \"30s\"");
    let file = |start: &str| format!("kind = \"file\"\nsize = \"5MB\"\nstart = \"{start}\"\n");
    let files = [file("0s"), file("10s"), file("20s")].join("\n[[device.traffic]]\n");
    place.write("crowd.toml", &text.replace("kind = \"bulk\"\nstart = START", &files));
    let result = json(&place.done(&["run", "crowd.toml", "--format", "json"]));
    let goodput = result["devices"][0]["figures"]["goodput_mbps"].as_f64();
    assert!(goodput.is_some_and(|mbps| mbps > 3.0 && mbps < 10.0), "{goodput:?}");
}

#[test]
fn share_that_reaches_nobody_is_warned_of() {
    let place = place("\"0s\"");
    for command in [
        &["run", "crowd.toml", "--set", "adoption.none=0.05"][..],
        &["compare", "crowd.toml", "--vary", "adoption.none=0.05,0.5", "--seeds", "1"],
    ] {
        let output = place.run(command);
        assert_eq!(output.code, 0, "{}", output.err);
        assert!(output.err.contains("reaches none of the 8 devices"), "{command:?}: {}", output.err);
    }
}

#[test]
fn setting_without_effect_on_every_device_is_warned_of() {
    let place = place("\"0s\"");
    let told = |command: &[&str]| {
        let output = place.run(command);
        assert_eq!(output.code, 0, "{}", output.err);
        output.err
    };
    for (settings, warning) in [
        (&["--policy", "qoe"][..], "the policy `qoe` has no effect: no traffic is a video"),
        (&["--policy", "allowance"], "the policy `allowance` has no effect: no path has an allowance"),
        (&["--set", "transport.ecn=request"], "`ecn = \"request\"` has no effect"),
        (&["--set", "adoption.qoe=0.5"], "`phone, qoe`: the policy `qoe` has no effect"),
    ] {
        let run = told(&[&["run", "crowd.toml", "-q"], settings].concat());
        assert!(run.contains(&format!("warning: {warning}")), "{run}");
    }
    let policies = ["compare", "crowd.toml", "-q", "--seeds", "1", "--policies", "none,qoe"];
    assert!(told(&policies).contains("warning: `qoe`: the policy `qoe` has no effect"));
    assert_eq!(told(&["run", "crowd.toml", "-q"]), "");
}

#[test]
fn marking_backhaul_of_a_cell_uses_ecn() {
    let place = place("\"0s\"");
    let backhaul =
        "down = { rate = \"5Mbps\", queue = { codel = { ecn = true } } }, up = { rate = \"5Mbps\" }";
    let marking = CROWD
        .replace("rate = \"10Mbps\"", &format!("rate = \"10Mbps\"\nbackhaul = {{ {backhaul} }}"))
        .replace("START", "\"0s\"");
    place.write("crowd.toml", &format!("{marking}\n[transport]\necn = \"request\"\n"));
    for arguments in [&[][..], &["--device", "phone-2"]] {
        let output = place.run(&[&["run", "crowd.toml", "-q"], arguments].concat());
        assert_eq!((output.code, output.err.as_str()), (0, ""));
    }
}

#[test]
fn time_that_a_device_draws_is_not_warned_of() {
    let place = place("[\"1h\", \"1s\"]");
    let output = place.run(&["run", "crowd.toml", "-q"]);
    assert_eq!((output.code, output.err.as_str()), (0, ""));
}

#[test]
fn run_writes_the_load_of_the_cells() {
    let place = place("\"0s\"");
    let table = place.done(&["run", "crowd.toml"]);
    assert!(table.contains("All 8 devices") && table.contains("Cells"), "{table}");
    let series = place.read("tandem-out/crowd/series.csv");
    let header = series.lines().next().expect("a header");
    assert!(header.starts_with("time_s,ap.load,ap.rate_mbps,ap.queue_kb,sector.load,"), "{header}");
    assert_eq!(series.lines().count(), 7);
    let report = place.read("tandem-out/crowd/report.html");
    assert!(report.contains("Load of the cells") && report.contains("Goodput over devices"));
}

#[test]
fn commands_for_one_device_say_which_take_several() {
    let place = place("\"0s\"");
    for command in [
        &["sweep", "crowd.toml", "--vary", "seed=1,2", "--out", "sweep"][..],
        &["testbed", "crowd.toml"],
        &["emulate", "crowd.toml", "--", "true"],
    ] {
        let output = place.run(command);
        assert_eq!((output.code, output.out.as_str()), (3, ""), "{command:?}: {}", output.err);
        assert!(output.err.contains("crowd.toml:14:"), "{command:?}: {}", output.err);
        assert!(output.err.contains("`tandem run`, `compare` and `check` take several devices"));
    }
}

#[test]
fn problem_of_a_crowd_has_exit_code_three_with_line_and_hint() {
    let place = place("\"0s\"");
    place.write("bad.toml", &CROWD.replace("START", "\"0s\"").replace("count = 8", "count = 0"));
    for command in [&["run", "bad.toml"][..], &["check", "bad.toml"], &["compare", "bad.toml"]] {
        let output = place.run(command);
        assert_eq!(output.code, 3, "{command:?}: {}", output.err);
        assert!(output.err.contains("bad.toml:16:") && output.err.contains("hint:"), "{}", output.err);
    }
}

#[test]
fn one_device_is_not_compared_with_several() {
    let place = place("\"0s\"");
    let output = place.run(&["compare", "crowd.toml", "tiny.toml"]);
    assert_eq!(output.code, 2, "{}", output.err);
}

#[test]
fn run_shows_one_device_among_the_others() {
    let place = place("{ uniform = [\"0s\", \"2s\"] }");
    let all = json(&place.done(&["run", "crowd.toml", "--format", "json"]));
    let one = ["run", "crowd.toml", "--device", "phone-3", "--pcap", "--format", "json"];
    let phone = json(&place.done(&one));
    assert_eq!(phone["device"]["name"], "phone-3");
    let rounded = |value: &Value| (value.as_f64().expect("a number") * 1e6).round();
    let same = &all["devices"][2]["figures"];
    assert_eq!(rounded(&phone["device"]["energy_j"]), rounded(&same["energy_j"]));
    assert_eq!(rounded(&phone["connections"][0]["goodput_mbps"]), rounded(&same["goodput_mbps"]));
    let series = place.read("tandem-out/crowd-phone-3/series.csv");
    assert_eq!(series.lines().count(), 7, "a row for each second: {series}");
    let report = place.read("tandem-out/crowd-phone-3/report.html");
    assert!(report.contains("cell ap") && report.contains("cell sector"), "the report names the cells");
    let capture = place.done(&["capture", "tandem-out/crowd-phone-3/capture.pcapng"]);
    assert!(capture.contains("wifi"), "{capture}");
}

#[test]
fn device_that_the_scenario_lacks_has_a_hint() {
    let place = place("\"0s\"");
    let told = [
        &["run", "crowd.toml", "--device", "phone-9"][..],
        &["run", "crowd.toml", "--pcap"],
        &["run", "tiny.toml", "--device", "phone-1"],
    ]
    .map(|command| {
        let output = place.run(command);
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{command:?}: {}", output.err);
        output.err
    });
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn members_of_a_crowd_are_in_the_documentation() {
    let place = place("\"0s\"");
    let result = json(&place.done(&["run", "crowd.toml", "--format", "json"]));
    let page = std::fs::read_to_string(repository().join("docs/reference/output.md")).expect("the page");
    let section = page.split("## `result.json` of several devices").nth(1).expect("a section");
    let section = section.split("\n## ").next().expect("its text");
    let mut names: Vec<String> = result.as_object().expect("an object").keys().cloned().collect();
    for list in ["distributions", "groups", "cells", "devices"] {
        names.extend(result[list][0].as_object().expect("an object").keys().cloned());
    }
    names.extend(result["cells"][0]["packets"].as_object().expect("an object").keys().cloned());
    assert!(result["cells"][0]["backhaul"].is_null());
    for name in names.iter().filter(|name| *name != "made_by") {
        assert!(section.contains(&format!("`{name}`")), "{name} is not documented");
    }
}
