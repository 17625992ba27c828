//! Help, version, and invalid command lines.

use crate::support::{Place, output_of, tandem};
use std::collections::BTreeSet;

fn help(arguments: &[&str]) -> String {
    let output = output_of(tandem().args(arguments));
    assert_eq!((output.code, output.err.as_str()), (0, ""));
    output.out
}

#[test]
fn help_of_the_program() {
    insta::assert_snapshot!(help(&["--help"]));
}

#[test]
fn help_of_run() {
    insta::assert_snapshot!(help(&["run", "--help"]));
}

#[test]
fn help_of_compare() {
    insta::assert_snapshot!(help(&["compare", "--help"]));
}

#[test]
fn help_of_capture() {
    insta::assert_snapshot!(help(&["capture", "--help"]));
}

#[test]
fn help_of_trace() {
    insta::assert_snapshot!(help(&["trace", "--help"]));
}

#[test]
fn help_of_profiles() {
    insta::assert_snapshot!(help(&["profiles", "--help"]));
}

#[test]
fn help_of_every_command_has_an_example() {
    for command in [
        "run",
        "compare",
        "sweep",
        "map",
        "reproduce",
        "testbed",
        "emulate",
        "fidelity",
        "capture",
        "trace",
        "play",
        "profiles",
        "schema",
        "serve",
        "completions",
    ] {
        let text = help(&[command, "--help"]);
        assert!(text.contains("Example") && text.contains(&format!(" tandem {command}")), "{text}");
    }
}

#[test]
fn examples_need_no_checkout() {
    let place = Place::new();
    for command in ["run", "compare", "sweep"] {
        let text = help(&[command, "--help"]);
        let examples = text.split("Examples:").nth(1).expect("examples");
        let first = examples.lines().find(|line| line.contains("tandem")).expect("an example");
        let copy: Vec<&str> = first.split_whitespace().skip(1).take_while(|word| *word != "write").collect();
        let copied = place.done(&copy);
        let of_scenario = examples.lines().filter(|line| line.contains(&format!("tandem {command} ")));
        let named: BTreeSet<&str> = of_scenario
            .flat_map(str::split_whitespace)
            .filter(|word| word.ends_with("wifi-lte.toml") || word.ends_with("handover.toml"))
            .collect();
        assert_eq!(named, copied.lines().collect(), "{text}");
        for file in named {
            place.done(&["check", file]);
            std::fs::remove_file(place.path().join(file)).expect("the copy is ours");
        }
    }
}

#[test]
fn version_is_that_of_the_package() {
    assert_eq!(help(&["--version"]), format!("tandem {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn invalid_command_line_exits_with_2_and_prints_no_data() {
    let place = Place::new();
    for arguments in [
        &[][..],
        &["runn"],
        &["run"],
        &["run", "tiny.toml", "--seed", "minus one"],
        &["run", "tiny.toml", "--policy", "emtcpp"],
        &["run", "tiny.toml", "--policy", "emtcp:1.4"],
        &["run", "tiny.toml", "--format", "xml"],
        &["compare", "tiny.toml"],
        &["compare", "tiny.toml", "--policies", "none,none"],
        &["compare", "tiny.toml", "--policies", "none,"],
        &["compare", "tiny.toml", "--policies", "none", "--seeds", "0"],
        &["reproduce", "emtcp", "--duration", "20s"],
        &["reproduce", "mptcp-rec", "--duration", "20"],
        &["reproduce", "mptcp-rec", "--duration", "1ms"],
        &["reproduce", "mptcp-rec", "--calibrate"],
        &["reproduce", "mptcp-rec", "--on", "kernel"],
        &["compare", "tiny.toml", "--policies", "none", "--jobs", "0"],
        &["profiles", "huang2012"],
        &["completions", "cmd.exe"],
    ] {
        let output = place.run(arguments);
        assert_eq!(output.code, 2, "{arguments:?}: {}", output.err);
        assert!(output.out.is_empty() && !output.err.is_empty(), "{arguments:?}");
    }
    assert_eq!(place.list(""), ["lte.csv", "tiny.toml"]);
}

#[test]
fn unknown_policy_lists_the_policies() {
    let place = Place::new();
    insta::assert_snapshot!(place.run(&["run", "tiny.toml", "--policy", "wifi-onyl"]).err);
}

#[test]
fn policy_without_required_radio_exits_with_2() {
    let place = Place::new();
    place.write("3g.toml", &crate::support::TINY.replace("huang2012.lte", "huang2012.3g"));
    let output = place.run(&["run", "3g.toml", "--policy", "lte-only"]);
    assert_eq!((output.code, output.out.as_str()), (2, ""));
    insta::assert_snapshot!(output.err);
    assert_eq!(place.run(&["compare", "3g.toml", "--policies", "none,lte-only"]).code, 2);
    assert!(place.list("tandem-out").is_empty());
}

#[test]
fn completions_and_schema_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(help(&["completions", shell]).contains("tandem"));
    }
    let schema: serde_json::Value = serde_json::from_str(&help(&["schema"])).unwrap();
    assert_eq!(schema["title"], "Tandem scenario");
}
