//! Invalid scenarios: diagnostics with their position, exit code 3, and no results.

use crate::support::{Place, TINY};

/// The diagnostics of the tiny scenario with one piece replaced.
fn stderr_with(piece: &str, by: &str) -> String {
    assert!(TINY.contains(piece), "`{piece}` is not in the scenario");
    stderr_of(&Place::new(), &TINY.replacen(piece, by, 1))
}

fn stderr_of(place: &Place, text: &str) -> String {
    place.write("bad.toml", text);
    let before = place.list("");
    let output = place.run(&["run", "bad.toml"]);
    assert_eq!(output.code, 3, "{}", output.err);
    assert_eq!(output.out, "", "nothing is printed as data");
    assert_eq!(place.list(""), before, "no files are left");
    let compared = place.run(&["compare", "bad.toml", "--policies", "none"]);
    assert_eq!((compared.code, &compared.err), (3, &output.err), "both commands report the same");
    assert_eq!(place.list(""), before);
    output.err
}

#[test]
fn unknown_key() {
    insta::assert_snapshot!(stderr_with("battery", "batery"));
}

#[test]
fn missing_unit() {
    insta::assert_snapshot!(stderr_with("\"4Mbps\"", "4"));
}

#[test]
fn negative_rate() {
    insta::assert_snapshot!(stderr_with("\"4Mbps\"", "\"-4Mbps\""));
}

#[test]
fn missing_trace() {
    insta::assert_snapshot!(stderr_with("lte.csv", "none.csv"));
}

#[test]
fn malformed_trace() {
    let place = Place::new();
    place.write("lte.csv", "second,bytes\n2,fast\n3,750000\n");
    insta::assert_snapshot!(stderr_of(&place, TINY));
}

#[test]
fn path_without_radio() {
    insta::assert_snapshot!(stderr_with("radio = \"huang2012.lte\"\n", ""));
}

#[test]
fn duplicate_path_name() {
    insta::assert_snapshot!(stderr_with("name = \"lte\"", "name = \"wifi\""));
}

#[test]
fn share_above_one() {
    insta::assert_snapshot!(stderr_with("0.24", "1.4"));
}

#[test]
fn all_problems_are_reported_and_counted() {
    let text = TINY.replace("battery", "batery").replace("0.24", "1.4");
    insta::assert_snapshot!(stderr_of(&Place::new(), &text));
}

#[test]
fn missing_scenario() {
    let place = Place::new();
    let output = place.run(&["run", "nowhere.toml"]);
    assert_eq!((output.code, output.out.as_str()), (3, ""));
    insta::assert_snapshot!(output.err);
}

#[test]
fn invalid_utf8() {
    let place = Place::new();
    std::fs::write(place.path().join("bad.toml"), b"seed = 1\nduration = \"\xff\xfe\"\n").unwrap();
    let output = place.run(&["run", "bad.toml"]);
    assert_eq!(output.code, 3);
    insta::assert_snapshot!(output.err);
}

#[test]
fn long_line_is_reported_briefly() {
    let place = Place::new();
    let text = format!("1 {}\n", "x".repeat(1_000_000));
    place.write("lte.csv", &text);
    let err = stderr_of(&place, TINY);
    assert!(err.contains("lte.csv:1:1") && err.len() < 2_000, "{} bytes", err.len());
}

#[test]
fn invalid_scenario_keeps_earlier_results() {
    let place = Place::new();
    place.done(&["run", "tiny.toml"]);
    let before = place.read("tandem-out/tiny/result.json");
    place.write("tiny.toml", &TINY.replace("4Mbps", "4"));
    assert_eq!(place.run(&["run", "tiny.toml"]).code, 3);
    assert_eq!(place.read("tandem-out/tiny/result.json"), before);
    assert_eq!(place.list("tandem-out"), ["tiny"]);
}

#[test]
fn color_option_controls_colours() {
    let place = Place::new();
    place.write("bad.toml", &TINY.replace("0.24", "1.4"));
    let coloured = place.run(&["run", "bad.toml", "--color", "always"]).err;
    assert!(coloured.contains("\u{1b}["));
    let plain = place.run(&["--color", "never", "run", "bad.toml"]).err;
    assert!(!plain.contains('\u{1b}'));
    assert!(!place.run(&["run", "bad.toml"]).err.contains('\u{1b}'), "a pipe is no terminal");
}

#[test]
fn scenario_without_an_end_is_refused() {
    let place = Place::new();
    for command in ["run", "check"] {
        let output = place.run(&[command, "/dev/zero"]);
        assert_eq!(output.code, 3, "{}", output.err);
        assert!(output.err.contains("/dev/zero: it is larger than 256 MiB"), "{}", output.err);
    }
}

#[test]
fn other_files_without_an_end_are_refused() {
    let place = Place::new();
    for arguments in [
        &["agent", "--config", "/dev/zero", "--check"] as &[&str],
        &["proxy", "--config", "/dev/zero", "--check"],
        &["proxy", "--listen", "127.0.0.1:0", "--tls-cert", "/dev/zero", "--tls-key", "/dev/zero", "--check"],
        &["play", "/dev/zero", "--server", "http://127.0.0.1:1/"],
        &["serve", "--token-file", "/dev/zero"],
        &["reproduce", "lwi", "--calibration", "/dev/zero"],
        &["fidelity", "--kernel", "/dev/zero"],
        &["compare", "none.toml", "--policies", "best-known:map=/dev/zero"],
    ] {
        let output = place.run(arguments);
        assert!(output.err.contains("it is larger than 256 MiB"), "{arguments:?}: {}", output.err);
    }
}
