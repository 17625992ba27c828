//! `docs/reference/rfc8684.md` maps every section of RFC 8684 to files and tests that exist.
#![allow(clippy::disallowed_methods, reason = "these tests read the files of the repository")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn map() -> String {
    fs::read_to_string(root().join("docs/reference/rfc8684.md")).expect("the map can be read")
}

fn sources(folder: &Path, out: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the directory can be listed").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(fs::read_to_string(&path).expect("the source can be read"));
        }
    }
}

/// The parts of `text` in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The cells of all table rows.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| Section"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

#[test]
fn every_file_named_in_the_map_exists() {
    let map = map();
    let files: Vec<_> = quoted(&map).filter(|name| name.contains('/')).collect();
    assert!(files.len() > 50, "{}", files.len());
    for file in files {
        assert!(root().join(file).is_file(), "{file}");
    }
}

#[test]
fn every_test_named_in_the_map_exists() {
    let map = map();
    let mut all = Vec::new();
    for name in ["mptcp", "wire", "fuzzing", "twin"] {
        sources(&root().join("crates").join(name), &mut all);
    }
    let tests: Vec<&str> = rows(&map).flat_map(|row| quoted(row[3]).collect::<Vec<_>>()).collect();
    assert!(tests.len() > 60, "{}", tests.len());
    for test in tests {
        let declared = format!("fn {test}(");
        let found = all.iter().any(|source| {
            source.find(&declared).is_some_and(|at| {
                let mut above = source[..at].trim_end().lines().rev().map(str::trim);
                let is_test = |line: &str| line == "#[test]";
                above.find(|line| is_test(line) || !line.starts_with(['#', '/'])).is_some_and(is_test)
            })
        });
        assert!(found, "no test {test}");
    }
}

#[test]
fn every_section_is_in_the_map() {
    let map = map();
    let mapped: Vec<&str> = rows(&map).map(|row| row[0]).collect();
    let three = ["1", "2", "3", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4"];
    let data = ["1", "2", "3", "4", "5", "6", "7", "8"].map(|n| format!("3.3.{n}"));
    let rest = ["2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "3.4.1", "3.4.2", "3.9.1", "3.9.2", "3.9.3"];
    let last = ["5", "6", "7", "8", "A", "B", "C", "D", "E"];
    for section in three.into_iter().chain(data.iter().map(String::as_str)).chain(rest).chain(last) {
        let names = |cell: &&str| cell.split(", ").any(|one| one == section);
        assert!(mapped.iter().any(names), "section {section}");
    }
    for row in rows(&map) {
        assert_eq!(row.len(), 4, "{row:?}");
    }
}
