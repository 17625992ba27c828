//! Compares ARCHITECTURE.md's table of crates with `cargo metadata`, checks the lengths of documents
//! and module headers, and that the tests exist that docs/security.md names.
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

/// An index takes a crate that has a description, a licence, versions of its dependencies, and all
/// files that its sources include. Its users need the texts of the licences too.
#[test]
fn crates_can_be_packaged_for_an_index() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let crates = dependencies();
    for name in crates.keys() {
        for text in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let file = repository().join("crates").join(name).join(text);
            assert!(file.is_file(), "`ln -s ../../{text} crates/{name}/` gives the crate its licence");
        }
    }
    let names: Vec<String> = crates
        .keys()
        .filter(|name| *name != "fuzzing")
        .map(|name| format!("--package=tandem-{name}"))
        .collect();
    let output = Command::new(env!("CARGO"))
        .args(["package", "--no-verify", "--offline", "--allow-dirty", "--target-dir"])
        .arg(folder.path())
        .args(&names)
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let packages = std::fs::read_dir(folder.path().join("package")).expect("cargo made it").flatten();
    let is_crate = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "crate");
    assert_eq!(packages.map(|entry| entry.path()).filter(is_crate).count(), names.len());
}

#[test]
fn documents_are_short() {
    for (name, limit) in [("ARCHITECTURE.md", 200), ("README.md", 150)] {
        let text = std::fs::read_to_string(repository().join(name)).expect(name);
        let lines = text.lines().count();
        assert!(lines <= limit, "{name} has {lines} lines; longer explanations belong in docs/");
    }
}

#[test]
fn module_headers_have_at_most_ten_lines() {
    let folders = ["crates", "examples", "fuzz"].map(|folder| repository().join(folder));
    let too_long: Vec<String> = folders
        .iter()
        .flat_map(|folder| sources(folder, &["rs"]))
        .filter_map(|path| {
            let text = std::fs::read_to_string(&path).expect("a source file is text");
            let lines = text.lines().take_while(|line| line.starts_with("//!")).count();
            (lines > 10).then(|| format!("{}: {lines} lines", path.display()))
        })
        .collect();
    assert!(too_long.is_empty(), "explain the rest in docs/ or on an item: {too_long:#?}");
}

/// Files below a folder with one of these endings, without results of builds and packages.
fn sources(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder exists").filter_map(Result::ok);
    entries
        .flat_map(|entry| {
            let path = entry.path();
            if path.is_dir() && entry.file_name() != "target" && entry.file_name() != "node_modules" {
                sources(&path, endings)
            } else if path.extension().is_some_and(|own| endings.iter().any(|ending| own == *ending)) {
                vec![path]
            } else {
                Vec::new()
            }
        })
        .collect()
}

/// Names of the functions with a test attribute. An ignored one has `needs_` in its path, by which
/// `scripts/test.sh` runs it where its needs are met.
fn test_functions((path, source): &(PathBuf, String)) -> Vec<&str> {
    let is_run_by_need = path.to_string_lossy().contains("needs_");
    let mut tests = Vec::new();
    let mut attributes = Vec::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[") || line.starts_with("//") {
            attributes.push(line);
            continue;
        }
        let attributes = std::mem::take(&mut attributes);
        let function =
            line.trim_start_matches("async ").strip_prefix("fn ").and_then(|rest| rest.split_once('('));
        let Some((name, _)) = function else { continue };
        if attributes.iter().any(|one| one.ends_with("test]") || one.contains("::test(")) {
            let is_ignored = attributes.iter().any(|one| one.starts_with("#[ignore"));
            if !is_ignored || is_run_by_need || name.contains("needs_") {
                tests.push(name);
            }
        }
    }
    tests
}

/// A test is named as a function, or by its title where a page's test has one.
#[test]
fn every_listed_attack_has_a_test_that_runs() {
    let [rust, pages] = [("crates", "rs"), ("web/test", "ts")].map(|(folder, ending)| -> Vec<_> {
        let read = |path: PathBuf| {
            let text = std::fs::read_to_string(&path).expect("a source file is text");
            (path, text)
        };
        sources(&repository().join(folder), &[ending]).into_iter().map(read).collect()
    });
    let functions: std::collections::HashSet<&str> = rust.iter().flat_map(test_functions).collect();
    let text = std::fs::read_to_string(repository().join("docs/security.md")).expect("docs/security.md");
    let mut count = 0;
    for table in text.split("| Attack |").skip(1) {
        for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
            let tests = row.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap_or_default();
            let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
            assert!(!names.is_empty(), "no test: {row}");
            for name in names {
                let title = format!("test('{name}'");
                let is_test = functions.contains(name) || pages.iter().any(|(_, page)| page.contains(&title));
                assert!(is_test, "no such test, or never run: {name}");
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count}");
}
