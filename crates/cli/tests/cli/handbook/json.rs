//! `docs/reference/output.md` names every member of the JSON that the commands print.

use crate::support::{Place, repository};
use serde_json::Value;
use std::collections::BTreeSet;

/// Members that hold names from the input or from a protocol, such as a path's.
const MAPS: [&str; 5] = ["figures", "difference_percent", "options", "values", "percentiles"];

/// Names of all members below a value, except below a member of `MAPS`.
fn members(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                into.insert(name.clone());
                if !MAPS.contains(&name.as_str()) {
                    members(value, into);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| members(value, into)),
        _ => {}
    }
}

/// Words in code of a page, by spaces and punctuation.
fn code_words(page: &str) -> BTreeSet<&str> {
    let is_word = |one: char| one.is_ascii_alphanumeric() || one == '_';
    let text = page.split('`').flat_map(|part| part.split(|one| !is_word(one)));
    text.filter(|word| !word.is_empty()).collect()
}

fn assert_documented(commands: &[&[&str]]) {
    let page = std::fs::read_to_string(repository().join("docs/reference/output.md")).expect("the page");
    let session = std::fs::read_to_string(repository().join("docs/reference/session.md")).expect("the page");
    let words: BTreeSet<&str> = code_words(&page).into_iter().chain(code_words(&session)).collect();
    let place = Place::new();
    for shared in ["scenarios", "traces"] {
        std::os::unix::fs::symlink(repository().join(shared), place.path().join(shared)).expect("a link");
    }
    for command in commands {
        let out = place.run(command).out;
        let value: Value =
            serde_json::from_str(&out).unwrap_or_else(|error| panic!("{command:?}: {error}\n{out}"));
        let mut names = BTreeSet::new();
        members(&value, &mut names);
        let missing: Vec<_> = names.iter().filter(|name| !words.contains(name.as_str())).collect();
        assert!(missing.is_empty(), "{command:?}: docs/reference/output.md does not name {missing:?}");
    }
}

#[test]
fn members_of_a_run_are_documented() {
    let runs = [
        ("middleboxes", "5s"),
        ("codel-background", "5s"),
        ("video", "5s"),
        ("wifi-weakens", "5s"),
        ("mptcp-rec", "5s"),
        ("short-files-tail", "90s"),
    ];
    for (name, duration) in runs {
        let scenario = format!("scenarios/{name}.toml");
        assert_documented(&[&["run", &scenario, "--format", "json", "--duration", duration]]);
    }
}

#[test]
fn members_of_comparisons_traces_and_problems_are_documented() {
    assert_documented(&[
        &["compare", "tiny.toml", "--policies", "none,wifi-first", "--seeds", "2", "--format", "json"],
        &["trace", "lte.csv", "--format", "json"],
        &["check", "tiny.toml", "lte.csv", "--format", "json"],
    ]);
}

#[test]
fn members_of_captures_sweeps_and_reproductions_are_documented() {
    let run = [
        "run",
        "scenarios/middleboxes.toml",
        "--duration",
        "5s",
        "--pcap",
        "--out",
        "run",
        "--format",
        "json",
    ];
    let rate = "path.wifi.down.rate=5Mbps,10Mbps";
    assert_documented(&[
        &run,
        &["capture", "run/capture.pcapng", "--format", "json"],
        &["sweep", "tiny.toml", "--vary", rate, "--seeds", "2", "--out", "sweep", "--format", "json"],
        &["reproduce", "emtcp", "--seeds", "1", "--format", "json"],
        &["reproduce", "lwi", "--seeds", "1", "--format", "json"],
    ]);
}
