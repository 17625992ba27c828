//! Sets `TANDEM_VERSION`: the version, and after a `+` a hash of the sources that determine what a
//! sweep yields, so that a changed simulator does not go on with the sweep of another one.
//!
//! Those are the sources of this crate and of every crate of the workspace that it needs. A package
//! from a registry has no workspace around it and gets the version alone.

use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Number of hexadecimal digits of the hash.
const DIGITS: usize = 12;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let hash = match fs::read_to_string(workspace.join("Cargo.toml")) {
        Ok(manifest) => format!("+{}", hash_of_sources(&workspace, &manifest)?),
        Err(_) => String::new(),
    };
    println!("cargo::rustc-env=TANDEM_VERSION={}{hash}", env!("CARGO_PKG_VERSION"));
    Ok(())
}

fn hash_of_sources(workspace: &Path, manifest: &str) -> io::Result<String> {
    let mut hash = Sha256::new();
    for folder in needed_crates(workspace, manifest)? {
        let folder = workspace.join(folder);
        println!("cargo::rerun-if-changed={}", folder.join("Cargo.toml").display());
        println!("cargo::rerun-if-changed={}", folder.join("src").display());
        for file in files(&folder.join("src"))? {
            let name = file.strip_prefix(workspace).unwrap_or(&file).to_string_lossy();
            let content = fs::read(&file)?;
            hash.update(format!("{name} {}\n", content.len()));
            hash.update(content);
        }
    }
    let bytes: [u8; 32] = hash.finalize().into();
    let digits = bytes.map(|byte| format!("{byte:02x}")).concat();
    Ok(digits[..DIGITS].to_owned())
}

/// Folders of this crate and of every crate of the workspace that it needs, from the workspace.
fn needed_crates(workspace: &Path, manifest: &str) -> io::Result<BTreeSet<String>> {
    let folders: BTreeMap<&str, &str> = manifest
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(" = { path = \"")?;
            Some((name, rest.split_once('"')?.0))
        })
        .collect();
    let mut found = BTreeSet::new();
    let mut open = vec!["crates/sweep"];
    while let Some(folder) = open.pop() {
        if !found.insert(folder.to_owned()) {
            continue;
        }
        let manifest = fs::read_to_string(workspace.join(folder).join("Cargo.toml"))?;
        let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
        let names = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| {
            let end = line.find(|c: char| !c.is_alphanumeric() && c != '-' && c != '_')?;
            line.get(..end)
        });
        open.extend(names.filter_map(|name| folders.get(name)));
    }
    Ok(found)
}

/// All files of a folder and its folders in the order of their names, without snapshots of tests.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut all = Vec::new();
    for entry in entries {
        if !entry.is_dir() {
            all.push(entry);
        } else if !entry.ends_with("snapshots") {
            all.extend(files(&entry)?);
        }
    }
    Ok(all)
}
