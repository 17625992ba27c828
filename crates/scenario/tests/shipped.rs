//! The shipped scenarios, the JSON Schema and the documentation of the keys.
#![allow(clippy::disallowed_methods, reason = "these tests read the repository's own files")]

use std::fs;
use std::path::{Path, PathBuf};
use tandem_scenario::{Diagnostic, Scenario, docs_markdown, json_schema};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn shipped() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = fs::read_dir(root().join("scenarios"))
        .expect("the scenarios are here")
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| {
            let stem = path.file_stem().and_then(|n| n.to_str()).expect("a name in ASCII");
            (format!("scenarios/{stem}.toml"), fs::read_to_string(&path).expect("a scenario can be read"))
        })
        .collect();
    all.sort();
    all
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join("scenarios").join(path)).map_err(|_| "no such file".to_owned())
}

fn list(found: &[Diagnostic]) -> String {
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn shipped_scenarios_are_valid() {
    let all = shipped();
    assert!(all.len() >= 9, "only {} scenarios", all.len());
    for (name, text) in all {
        match Scenario::parse_any(&name, &text, &read) {
            Ok(scenario) => {
                assert!(!scenario.experiment.paths.is_empty());
                assert!(text.starts_with("# "), "{name} opens with its story");
                assert!(text.contains("server"), "{name} has a wiring diagram");
            }
            Err(found) => panic!("{}", list(&found)),
        }
    }
}

#[test]
fn missing_traces_are_named() {
    let (name, text) = shipped().into_iter().find(|(name, _)| name.ends_with("wifi-weakens.toml")).unwrap();
    let found = Scenario::parse(&name, &text, &|_: &str| Err("no such file".to_owned())).unwrap_err();
    insta::assert_snapshot!(list(&found));
}

#[test]
fn json_schema_accepts_every_shipped_scenario() {
    let validator = jsonschema::validator_for(&json_schema()).unwrap();
    for (name, text) in shipped() {
        let value = serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
        let problems: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{name}: {problems:#?}");
    }
}

#[test]
fn json_schema_refuses_what_the_reader_refuses() {
    let validator = jsonschema::validator_for(&json_schema()).unwrap();
    let right = "duration = \"1s\"\n[[path]]\nname = \"a\"\nradio = \"huang2012.wifi\"\ndown = { rate = \"1Mbps\" }\n\
                 [[traffic]]\nkind = \"bulk\"\n";
    let check = |text: &str| {
        let value = serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
        let by_schema = validator.is_valid(&value);
        let by_reader = Scenario::parse("s.toml", text, &read).is_ok();
        (by_schema, by_reader)
    };
    assert_eq!(check(right), (true, true));
    for (piece, by) in [
        ("\"1s\"", "\"1\""),
        ("\"1s\"", "1"),
        ("\"1s\"", "\"-1s\""),
        ("\"1Mbps\"", "\"1mbps\""),
        ("duration", "durations"),
        ("radio = \"huang2012.wifi\"\n", ""),
        ("rate = \"1Mbps\"", "rate = \"1Mbps\", cell = \"home\""),
        ("rate = \"1Mbps\"", "delay = \"1ms\""),
        ("rate = \"1Mbps\"", "rate = \"1Mbps\", loss = 1.4"),
        ("rate = \"1Mbps\"", "rate = \"1Mbps\", queue = 50"),
        ("rate = \"1Mbps\"", "rate = \"1Mbps\", outages = [[\"1s\"]]"),
        ("\"bulk\"", "\"bulky\""),
        ("name = \"a\"", "name = \"a b\""),
        ("kind = \"bulk\"", "kind = \"bulk\"\nstart = true"),
    ] {
        let text = right.replacen(piece, by, 1);
        assert_eq!(check(&text), (false, false), "{text}");
    }
}

#[test]
fn documentation_is_current() {
    let path = root().join("docs/reference/scenario.md");
    let written = docs_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == written,
        "docs/reference/scenario.md is out of date: run the tests with UPDATE_DOCS=1"
    );
}

#[test]
fn generated_channel_follows_the_seed() {
    let (name, text) = shipped().into_iter().find(|(name, _)| name.contains("generated")).unwrap();
    let scenario = Scenario::parse(&name, &text, &read).unwrap();
    assert_eq!(scenario.with_seed(scenario.experiment.seed), scenario.experiment);
    let other = scenario.with_seed(units::Seed::new(2));
    assert_ne!(other.paths[0].down, scenario.experiment.paths[0].down);
    assert_ne!(other.paths[1].down, scenario.experiment.paths[1].down);
    assert_eq!(other.paths[0].up, scenario.experiment.paths[0].up);
}
