//! The tutorials of `docs/tutorials/`, run as a reader would.
//!
//! A fence with a file name (```` ```toml bus.toml ````) is saved under that name. The `sh` fences of
//! a page are one shell script, run in an empty folder. Every line of a `text` fence after an `sh`
//! fence has to appear in that order in the output of the commands; `…` stands for any text. Port
//! 8090 of a page is replaced by a free one.

use crate::support::{repository, tandem_path};
use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

/// Printed before the output of each `sh` fence.
const MARKER: &str = "@@fence ";

/// A fenced block of a page.
struct Fence<'a> {
    /// Word after the backticks.
    language: &'a str,
    /// Second word after the backticks, or empty.
    file: &'a str,
    text: String,
}

impl Fence<'_> {
    /// Whether its text is run, not saved.
    fn is_script(&self) -> bool {
        self.language == "sh" && self.file.is_empty()
    }
}

fn fences(page: &str) -> Vec<Fence<'_>> {
    let mut fences: Vec<Fence<'_>> = Vec::new();
    let mut is_open = false;
    for line in page.lines() {
        match (line.strip_prefix("```"), is_open) {
            (Some(_), true) => is_open = false,
            (Some(info), false) => {
                let (language, file) = info.split_once(' ').unwrap_or((info, ""));
                fences.push(Fence { language, file, text: String::new() });
                is_open = true;
            }
            (None, true) => {
                let fence = fences.last_mut().expect("an open fence is the last one");
                fence.text.push_str(line);
                fence.text.push('\n');
            }
            (None, false) => {}
        }
    }
    assert!(!is_open, "the last fence is not closed");
    fences
}

/// Runs a tutorial in an empty folder and compares its output with the page.
fn follow(name: &str) {
    let page = fs::read_to_string(repository().join("docs/tutorials").join(name)).expect("the page is here");
    let page = page.replace("127.0.0.1:8090", &format!("127.0.0.1:{}", free_port()));
    let fences = fences(&page);
    let folder = tempfile::tempdir().expect("a folder for the test");
    let mut script = String::from("set -eu\n");
    for (number, fence) in fences.iter().enumerate() {
        if !fence.file.is_empty() {
            // Saved at its place in the page, so that a later version of a file replaces the first.
            let _ = write!(script, "cat >{} <<'@@end'\n{}@@end\n", fence.file, fence.text);
        } else if fence.is_script() {
            let _ = write!(script, "echo '{MARKER}{number}'\n{}", fence.text);
        }
    }
    let output = run_script(&script, folder.path());
    let mut commands_output = "";
    let mut compared = 0;
    for (number, fence) in fences.iter().enumerate() {
        if fence.is_script() {
            let start = format!("{MARKER}{number}\n");
            let (_, rest) = output.split_once(&start).unwrap_or_else(|| panic!("{name}: {output}"));
            commands_output = rest.split(MARKER).next().unwrap_or(rest);
        } else if fence.language == "text" && !commands_output.is_empty() {
            assert_lines(name, &fence.text, commands_output);
            compared += 1;
        }
    }
    assert!(compared > 0, "{name}: no output is compared");
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it has one").port()
}

/// Runs a shell script whose background jobs end with it; returns both output streams as one text.
fn run_script(script: &str, folder: &Path) -> String {
    let log = folder.join(".log");
    let bin = folder.join(".bin");
    fs::create_dir(&bin).expect("the folder is ours");
    std::os::unix::fs::symlink(tandem_path(), bin.join("tandem")).expect("the folder is ours");
    // The tests run as root where a page needs it.
    std::os::unix::fs::symlink("/usr/bin/env", bin.join("sudo")).expect("the folder is ours");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let file = fs::File::create(&log).expect("the folder is ours");
    // In a pipeline `jobs` would run in a subshell, which has no jobs.
    let jobs_end = "trap 'jobs -p >.jobs; xargs -r kill <.jobs 2>/dev/null || true; wait' EXIT\n";
    let status = Command::new("sh")
        .args(["-c", &format!("{jobs_end}{script}")])
        .current_dir(folder)
        .env("PATH", path)
        .env("COLUMNS", "120")
        .env("RUNTIME_DIRECTORY", folder.join(".run"))
        .env("STATE_DIRECTORY", folder.join(".state"))
        .stdin(Stdio::null())
        .stdout(file.try_clone().expect("a second descriptor"))
        .stderr(file)
        .status()
        .expect("the shell starts");
    let output = fs::read_to_string(&log).expect("the log is text");
    assert!(status.success(), "{status}\n{output}");
    output
}

/// Asserts that every line of `expected` appears in `output`, in this order.
fn assert_lines(name: &str, expected: &str, output: &str) {
    let mut lines = output.lines();
    for line in expected.lines().map(str::trim_end).filter(|line| !line.is_empty() && *line != "…") {
        let found = lines.any(|printed| matches(line, printed.trim_end()));
        assert!(
            found,
            "{name}: this line is not in the output, or not in this order:\n{line}\n---\n{output}"
        );
    }
}

/// Whether `printed` is `line`, in which each `…` stands for any text. Runs of spaces are equal.
fn matches(line: &str, printed: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (line, printed) = (words(line), words(printed));
    let mut parts = line.split('…').map(str::trim);
    let Some(mut rest) = parts.next().and_then(|first| printed.strip_prefix(first)) else { return false };
    if !line.contains('…') {
        return rest.is_empty();
    }
    let parts: Vec<&str> = parts.collect();
    let (last, middle) = parts.split_last().expect("a line with an ellipsis has a second part");
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn first_scenario() {
    follow("first-scenario.md");
}

#[test]
#[ignore = "needs python3"]
fn own_trace_needs_python3() {
    follow("own-trace.md");
}

#[test]
#[ignore = "needs python3"]
fn video_quality_needs_python3() {
    follow("video-quality.md");
}

#[test]
#[ignore = "needs root, curl, python3"]
fn robot_needs_root_needs_curl_needs_python3() {
    follow("robot.md");
}

#[test]
fn ellipsis_stands_for_any_text() {
    assert!(matches("a … c", "a  b c"));
    assert!(matches("a …", "a b c"));
    assert!(!matches("a", "a b"));
    assert!(!matches("a … d", "a b c"));
}
