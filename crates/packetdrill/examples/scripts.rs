//! Plays all `.pkt` scripts below a directory and prints a table of the results.
//!
//! `cargo run -p tandem-packetdrill --example scripts -- DIR [--markdown]`
#![allow(clippy::disallowed_methods, reason = "this program reads scripts")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tandem_packetdrill::{Script, play};

fn scripts(directory: &Path, out: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            scripts(&path, out)?;
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            out.push(path);
        }
    }
    Ok(())
}

fn verdict(path: &Path) -> String {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return format!("cannot be read: {error}"),
    };
    let ipv6 = path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_v6"));
    match Script::parse(&text) {
        Ok(script) => play(&script, ipv6).to_string(),
        Err(error) => format!("cannot be parsed: {error}"),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(directory) = arguments.iter().find(|argument| !argument.starts_with("--")) else {
        eprintln!("usage: scripts DIR [--markdown]");
        return ExitCode::from(2);
    };
    let directory = Path::new(directory);
    let mut paths = Vec::new();
    if let Err(error) = scripts(directory, &mut paths) {
        eprintln!("{}: {error}", directory.display());
        return ExitCode::from(3);
    }
    paths.sort();
    let markdown = arguments.iter().any(|argument| argument == "--markdown");
    let rows: Vec<(String, String)> = paths
        .iter()
        .map(|path| {
            let name = path.strip_prefix(directory).unwrap_or(path).display().to_string();
            (name, verdict(path))
        })
        .collect();
    if markdown {
        println!("| Script | Result |\n|---|---|");
    }
    for (name, verdict) in &rows {
        let verdict = verdict.replace('|', "\\|");
        if markdown { println!("| {name} | {verdict} |") } else { println!("{name:58} {verdict}") }
    }
    let count = |start: &str| rows.iter().filter(|(_, verdict)| verdict.starts_with(start)).count();
    let plain = rows.iter().filter(|(_, verdict)| verdict == "passes");
    println!(
        "\n{} scripts: {} pass, {} of them as written; {} differ, {} do not apply, {} cannot be read.",
        rows.len(),
        count("passes"),
        plain.count(),
        count("differs"),
        count("does not apply"),
        count("cannot"),
    );
    ExitCode::SUCCESS
}
