//! Settings without effect: a warning on stderr in every format, and in `result.json`.

use crate::support::{Place, TINY};
use serde_json::Value;

/// The warnings of `tandem run` with these arguments, without the address of the report.
fn warnings_of(place: &Place, arguments: &[&str]) -> String {
    let output = place.run(&[&["run", "tiny.toml", "-q"], arguments].concat());
    assert_eq!(output.code, 0, "{}", output.err);
    output.err
}

fn sets<'a>(settings: &[&'a str]) -> Vec<&'a str> {
    settings.iter().flat_map(|&setting| ["--set", setting]).collect()
}

#[test]
fn run_without_useless_settings_has_no_warnings() {
    let place = Place::new();
    assert_eq!(warnings_of(&place, &[]), "");
    let json: Value = serde_json::from_str(&place.read("tandem-out/tiny/result.json")).unwrap();
    assert_eq!(json["warnings"], serde_json::json!([]));
}

#[test]
fn policy_without_effect_is_reported_in_every_format() {
    let place = Place::new();
    let table = warnings_of(&place, &["--policy", "qoe"]);
    insta::assert_snapshot!(table);
    for format in ["csv", "json"] {
        assert_eq!(warnings_of(&place, &["--policy", "qoe", "--format", format]), table);
    }
    let json: Value = serde_json::from_str(&place.read("tandem-out/tiny/result.json")).unwrap();
    let message = json["warnings"][0]["message"].as_str().unwrap();
    assert!(table.contains(message), "{message}");
    assert!(place.read("tandem-out/tiny/report.html").contains("no traffic is a video"));
}

#[test]
fn allowance_without_a_plan_and_a_plan_without_the_policy() {
    let place = Place::new();
    let policy = warnings_of(&place, &["--policy", "allowance"]);
    let plan = warnings_of(&place, &["--set", "path.lte.allowance=2MB"]);
    let both = warnings_of(&place, &["--policy", "allowance", "--set", "path.lte.allowance=2MB"]);
    assert_eq!(both, "");
    insta::assert_snapshot!(format!("{policy}\n{plan}"));
}

#[test]
fn multipath_settings_over_tcp() {
    let place = Place::new();
    let settings = [
        "transport.protocol=tcp",
        "transport.path=wifi",
        "transport.scheduler=blest",
        "transport.penalise=true",
        "transport.max_subflows=2",
        "path.lte.backup=true",
    ];
    insta::assert_snapshot!(warnings_of(&place, &sets(&settings)));
}

#[test]
fn settings_of_the_preset_are_not_taken_for_those_of_the_user() {
    let place = Place::new();
    let settings = ["transport.preset=linux", "transport.sack=false", "transport.timestamps=false"];
    assert_eq!(warnings_of(&place, &sets(&settings)), "");
}

#[test]
fn settings_that_depend_on_others() {
    let place = Place::new();
    let settings = [
        "transport.sack=false",
        "transport.rack=true",
        "transport.timestamps=false",
        "transport.paws=true",
        "transport.subflow_buffer=128KiB",
        "transport.max_addresses=2",
        "transport.ecn=request",
        "transport.keepalive={ idle = \"60s\" }",
        "path.wifi.down.reorder=true",
        "device.policy=none",
    ];
    insta::assert_snapshot!(warnings_of(&place, &sets(&settings)));
}

#[test]
fn settings_that_mptcp_rec_replaces() {
    let place = Place::new();
    let settings = ["transport.protocol=mptcp-rec", "transport.scheduler=ecf", "transport.congestion=olia"];
    insta::assert_snapshot!(warnings_of(&place, &sets(&settings)));
}

#[test]
fn events_after_the_end_and_unused_cells() {
    let place = Place::new();
    let cell = "[[cell]]\nname = \"home\"\nkind = \"wifi\"\nrate = \"20Mbps\"\n[[path]]";
    place.write("tiny.toml", &TINY.replacen("[[path]]", cell, 1));
    let settings = [
        "path.wifi.leave_at=5s",
        "path.wifi.down.outages=[[\"6s\", \"7s\"]]",
        "path.lte.up.rate={ steps = [[\"0s\", \"4Mbps\"], [\"9s\", \"1Mbps\"]] }",
    ];
    insta::assert_snapshot!(warnings_of(&place, &sets(&settings)));
}

#[test]
fn doubtful_figures_of_a_radio() {
    let place = Place::new();
    let radio = "path.lte.radio={ kind = \"lte\", up_per_mbps = \"438W\", down_per_mbps = \"52mW\", \
                 active = \"1288W\", inactivity = \"100ms\", idle = { power = \"0mW\" }, \
                 tail = [{ name = \"DRX\", power = \"1W\", duration = \"11min\" }] }";
    insta::assert_snapshot!(warnings_of(&place, &["--set", radio]));
}

#[test]
fn comparison_names_the_cases_and_equal_schedulers() {
    let place = Place::new();
    let arguments = ["compare", "tiny.toml", "-q", "--seeds", "1"];
    let policies = place.run(&[&arguments[..], &["--policies", "none,qoe"]].concat());
    assert_eq!(policies.code, 0);
    let schedulers = place.run(&[&arguments[..], &["--vary", "transport.scheduler=min-rtt,blest"]].concat());
    insta::assert_snapshot!(format!("{}\n{}", policies.err, schedulers.err));
    let json: Value = serde_json::from_str(&place.read("tandem-out/tiny-compare/result.json")).unwrap();
    assert_eq!(json["warnings"].as_array().map(Vec::len), Some(1));
}

#[test]
#[ignore = "needs root"]
fn needs_root_settings_that_the_kernel_lacks_are_reported_in_every_format() {
    let place = Place::new();
    let settings =
        sets(&["transport.scheduler=blest", "transport.congestion=olia", "transport.initial_window=4"]);
    let arguments = ["testbed", "tiny.toml", "-q", "--duration", "1s", "--format", "csv", "--out", "out"];
    let output = place.run(&[&arguments[..], &settings].concat());
    assert_eq!(output.code, 0, "{}", output.err);
    insta::assert_snapshot!(output.err);
    let json: Value = serde_json::from_str(&place.read("out/result.json")).unwrap();
    assert_eq!(json["warnings"].as_array().map(Vec::len), Some(output.err.matches("warning:").count()));
}

#[test]
fn policy_that_cannot_act_on_the_kinds_of_the_paths() {
    let place = Place::new();
    let told = |radio: &str, policy: &str| {
        let radio = format!("path.wifi.radio={radio}");
        warnings_of(&place, &["--set", &radio, "--policy", policy])
    };
    let two_costly: Vec<String> = ["wifi-first", "when-needed", "qoe", "best-known"]
        .map(|policy| told("huang2012.3g", policy))
        .into_iter()
        .collect();
    let ethernet = "{ kind = \"ethernet\", up_per_mbps = \"1mW\", down_per_mbps = \"1mW\", active = \"500mW\", \
                    inactivity = \"100ms\" }";
    let no_case = told(ethernet, "best-known");
    assert_eq!(told(ethernet, "wifi-first"), "");
    insta::assert_snapshot!(format!("{}\n{no_case}", two_costly.join("\n")));
    let two_cheap = ["--set", "path.lte.radio=aro.wifi", "--policy", "wifi-first"];
    assert!(warnings_of(&place, &two_cheap).contains("no path is cellular or satellite"));
}
