//! `tandem fidelity` with the kernel's figures of an earlier run.

use crate::support::{Place, interrupted};
use serde_json::{Value, json};

/// A `result.json` with one scenario of the matrix, as far as the command reads it.
fn earlier(place: &Place, runs_mbps: [f64; 2]) {
    let scenario = "\
title = \"fidelity\"
seed = 1
duration = \"10s\"
sample = \"1s\"

[device]
name = \"phone\"

[[path]]
name = \"wifi\"
radio = \"huang2012.wifi\"
down = { rate = \"10Mbps\", delay = \"5000us\", queue = \"100ms\" }
up = { rate = \"10Mbps\", delay = \"5000us\", queue = \"100ms\" }

[transport]
preset = \"linux\"
protocol = \"tcp\"
path = \"wifi\"
congestion = \"reno\"

[[traffic]]
kind = \"bulk\"
";
    let mean = f64::midpoint(runs_mbps[0], runs_mbps[1]);
    let figures =
        json!({"goodput_mbps": mean, "paths_mbps": [mean], "completed_s": null, "range_mbps": runs_mbps});
    let case = json!({"name": "reno, 10Mbps, 10 ms", "scenario": scenario, "kernel": figures});
    let result = json!({"kernel": "6.18.0", "kernel_runs": 2, "cases": [case]});
    place.write("earlier.json", &result.to_string());
}

#[test]
fn earlier_figures_of_the_kernel_are_compared_without_a_kernel() {
    let place = Place::new();
    earlier(&place, [9.6, 9.7]);
    let arguments = ["fidelity", "--kernel", "earlier.json", "--seeds", "1", "--out", "out"];
    let output = place.run(&arguments);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(
        output.err.contains("77 of 78 scenarios are left out: they are not in earlier.json"),
        "{}",
        output.err
    );
    let result: Value = serde_json::from_str(&place.read("out/result.json")).expect("JSON");
    assert_eq!((&result["kernel"], &result["kernel_runs"]), (&json!("6.18.0"), &json!(2)));
    assert_eq!(result["made_by"]["files"][0]["file"], "earlier.json");
    assert_eq!(result["cases"][0]["kernel"]["range_mbps"], json!([9.6, 9.7]));
    let error = result["median_error"].as_f64().expect("a number");
    assert!(error > 0.0 && error < 0.05, "{error}");
    // What it wrote can be read again.
    let again = place.run(&["fidelity", "--kernel", "out/result.json", "--seeds", "1", "--out", "again"]);
    assert_eq!(again.code, 0, "{}", again.err);
}

#[test]
fn scenario_whose_kernel_runs_disagree_is_marked_and_summed_up_apart() {
    let place = Place::new();
    earlier(&place, [5.0, 10.0]);
    let output = place.run(&["fidelity", "--kernel", "earlier.json", "--seeds", "1", "--out", "out"]);
    assert!(output.out.contains("reno, 10Mbps, 10 ms *"), "{}", output.out);
    let summary = |name: &str| {
        let line = output.out.lines().find(|line| line.starts_with(name)).expect(name);
        line[name.len()..].split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(summary("all ")[0], "1");
    assert_eq!(summary("kernel's runs agree within 10 % ")[0], "0");
}

#[test]
fn unusable_file_of_the_kernels_figures_is_reported() {
    let place = Place::new();
    place.write("empty.json", "{}");
    earlier(&place, [9.6, 9.7]);
    let text = place.read("earlier.json").replace("10Mbps\\\", delay", "11Mbps\\\", delay");
    place.write("changed.json", &text);
    let mut told = String::new();
    for file in ["absent.json", "empty.json", "changed.json"] {
        let output = place.run(&["fidelity", "--kernel", file]);
        assert_eq!(output.code, 3, "{file}: {}", output.err);
        told += &output.err;
    }
    let both = place.run(&["fidelity", "--kernel", "earlier.json", "--runs", "2"]);
    assert_eq!(both.code, 2);
    insta::assert_snapshot!(told);
}

#[test]
fn malformed_measured_trace_is_reported_with_its_line() {
    let place = Place::new();
    earlier(&place, [9.6, 9.7]);
    place.write("mpwl_7_1_wifi.csv", "0,1000\n1,many\n");
    place.write("mpwl_7_1_cellular.csv", "0,1000\n1,1000\n");
    let output = place.run(&["fidelity", "--kernel", "earlier.json", "--traces", ".", "--out", "out"]);
    assert_eq!(output.code, 3, "{}", output.err);
    insta::assert_snapshot!(output.err);
}

#[test]
fn simulation_of_earlier_figures_ends_at_the_first_interrupt() {
    let place = Place::new();
    earlier(&place, [9.6, 9.7]);
    // Its 100,000 runs would take minutes.
    let arguments = ["fidelity", "--kernel", "earlier.json", "--seeds", "100000", "--out", "out"];
    let (code, _, err) = interrupted(&place, &arguments);
    assert_eq!(code, Some(130), "{err}");
    assert!(err.ends_with("\ninterrupted; nothing was written\n"), "{err}");
    assert!(!place.path().join("out").exists());
}
