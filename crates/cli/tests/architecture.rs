//! Compares ARCHITECTURE.md's table of crates with `cargo metadata`.
#![allow(clippy::disallowed_methods, reason = "this test reads the repository's files and runs cargo")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns each crate below `crates/` with the workspace crates that it depends on, both by folder.
/// Dependencies of tests and examples are left out.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let folder = |path: &Value| {
        let path = path.as_str()?.trim_end_matches("/Cargo.toml");
        path.rsplit_once("/crates/").map(|(_, folder)| folder.to_owned())
    };
    let built_from = |package: &Value| {
        let all = package["dependencies"].as_array().expect("a list");
        all.iter()
            .filter(|dependency| dependency["kind"].is_null())
            .filter_map(|d| folder(&d["path"]))
            .collect()
    };
    let packages = metadata["packages"].as_array().expect("a list");
    packages
        .iter()
        .filter_map(|package| Some((folder(&package["manifest_path"])?, built_from(package))))
        .collect()
}

/// Returns the crates of ARCHITECTURE.md's table in its order: the rows that begin with
/// ``| [`name`](crates/name)``.
fn table() -> Vec<String> {
    let text = std::fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let name = |line: &str| {
        let (_, rest) = line.split_once("](crates/")?;
        let (name, _) = rest.split_once(')')?;
        (line.starts_with("| [`") && !name.contains('/')).then(|| name.to_owned())
    };
    text.lines().filter_map(name).collect()
}

#[test]
fn architecture_lists_every_crate_once() {
    let (mut listed, dependencies) = (table(), dependencies());
    listed.sort_unstable();
    let crates: Vec<&String> = dependencies.keys().collect();
    assert_eq!(listed.iter().collect::<Vec<_>>(), crates);
}

#[test]
fn crates_depend_only_on_crates_in_rows_above_their_own() {
    let row: BTreeMap<String, usize> =
        table().into_iter().enumerate().map(|(row, name)| (name, row)).collect();
    let upwards: Vec<String> = dependencies()
        .iter()
        .flat_map(|(name, from)| from.iter().map(move |dependency| (name, dependency)))
        .filter(|(name, dependency)| row.get(*dependency) >= row.get(*name))
        .map(|(name, dependency)| format!("{name} depends on {dependency}"))
        .collect();
    assert!(upwards.is_empty(), "ARCHITECTURE.md lists these the other way round: {upwards:?}");
}

#[test]
fn architecture_fits_on_four_screens() {
    let text = std::fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let lines = text.lines().count();
    assert!(lines <= 200, "{lines} lines; longer explanations belong in docs/");
}
