//! A closed pipe is not an error.

use crate::support::{Place, tandem};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

#[test]
fn closed_pipe_ends_the_program_quietly() {
    for arguments in [&["schema"][..], &["completions", "bash"], &["profiles"]] {
        let mut child = tandem().args(arguments).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(!first.is_empty());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn closed_stdout_does_not_lose_the_files() {
    let place = Place::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = place.command(&["run", "-q", "tiny.toml"]).stdout(Stdio::from(writer)).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(place.list("tandem-out/tiny"), ["report.html", "result.json", "series.csv"]);
}
