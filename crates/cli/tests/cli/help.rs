//! Help, version, and command lines that cannot be.

use crate::support::{Place, said, tandem};

fn help(arguments: &[&str]) -> String {
    let said = said(tandem().args(arguments));
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    said.out
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
fn help_of_profiles() {
    insta::assert_snapshot!(help(&["profiles", "--help"]));
}

#[test]
fn every_command_shows_an_example() {
    for command in [
        "run",
        "compare",
        "reproduce",
        "testbed",
        "emulate",
        "fidelity",
        "capture",
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
fn the_version_is_that_of_the_package() {
    assert_eq!(help(&["--version"]), format!("tandem {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_bad_command_line_ends_with_2_and_prints_no_data() {
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
        let said = place.run(arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {}", said.err);
        assert!(said.out.is_empty() && !said.err.is_empty(), "{arguments:?}");
    }
    assert_eq!(place.list(""), ["lte.csv", "tiny.toml"]);
}

#[test]
fn a_policy_that_is_none_is_answered_with_those_there_are() {
    let place = Place::new();
    insta::assert_snapshot!(place.run(&["run", "tiny.toml", "--policy", "wifi-onyl"]).err);
}

#[test]
fn a_policy_that_the_device_cannot_follow_is_a_bad_command_line() {
    let place = Place::new();
    place.write("3g.toml", &crate::support::TINY.replace("huang2012.lte", "huang2012.3g"));
    let said = place.run(&["run", "3g.toml", "--policy", "lte-only"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""));
    insta::assert_snapshot!(said.err);
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
