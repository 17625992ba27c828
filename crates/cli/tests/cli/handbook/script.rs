//! Runs the commands of a page in an empty folder and compares their output with the page.

use super::page::{Block, Page, builds_tandem};
use crate::support::{repository, tandem_path};
use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

/// Printed before the output of each block.
const MARKER: &str = "@@block ";

/// Longest time for the commands of one page.
const TIME_LIMIT: &str = "300";

/// Ports of the pages that are replaced by free ones.
const PORTS: [u16; 5] = [8090, 1080, 8000, 8080, 9465];

/// Folder in which the commands of a page ran, with the output of each block.
pub(super) struct Run {
    pub(super) folder: tempfile::TempDir,
    outputs: Vec<(usize, String)>,
}

impl Run {
    /// Runs the blocks of a page that `is_run` selects; saves those with a file name.
    pub(super) fn of(page: &Page, is_run: impl Fn(&Block) -> bool) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut script = String::from("set -eu\n");
        for (number, block) in page.blocks.iter().enumerate() {
            if !block.file.is_empty() {
                // Saved at its place in the page, so that a later version of a file replaces the first.
                let _ = write!(script, "cat >{} <<'@@end'\n{}@@end\n", block.file, block.text);
            } else if block.is_script() && is_run(block) {
                let _ = write!(script, "echo '{MARKER}{number}'\n{}", commands(block));
            }
        }
        let (status, output) = run_script(&script, folder.path());
        if !status {
            return Err(format!("{}: a command failed\n{output}", page.name));
        }
        let pieces = output.split(MARKER).skip(1);
        let outputs = pieces.filter_map(|piece| {
            let (number, text) = piece.split_once('\n')?;
            Some((number.parse().ok()?, text.to_owned()))
        });
        Ok(Self { folder, outputs: outputs.collect() })
    }

    /// Compares the output with each `text` block after commands, and within `console` blocks.
    /// Returns the number of blocks compared. With `UPDATE_DOCS` it first writes the output into the page.
    pub(super) fn compare(&self, page: &Page) -> Result<usize, String> {
        let mut output: Option<&str> = None;
        let mut compared = 0;
        for (number, block) in page.blocks.iter().enumerate() {
            let expected = if block.is_script() {
                output = self.outputs.iter().find(|(own, _)| *own == number).map(|(_, text)| text.as_str());
                if block.language == "console" { block.console_output() } else { String::new() }
            } else if block.language == "text" && block.note("not compared").is_none() {
                block.text.clone()
            } else {
                continue;
            };
            let Some(output) = output.filter(|_| !expected.is_empty()) else { continue };
            let place = format!("{}:{}", page.name, block.line);
            let mut result = compare_lines(&place, &expected, output);
            if result.is_err() && std::env::var_os("UPDATE_DOCS").is_some() {
                let updated = updated_lines(&expected, output);
                replace_lines(&repository().join(&page.name), block.line, &expected, &updated);
                result = compare_lines(&place, &updated, output);
            }
            result?;
            compared += 1;
        }
        Ok(compared)
    }
}

/// Text of a block for the shell, without commands that build Tandem: that is how the test came to be.
fn commands(block: &Block) -> String {
    let commands = block.commands();
    let run: Vec<&str> =
        commands.iter().map(String::as_str).filter(|command| !builds_tandem(command)).collect();
    run.join("\n") + "\n"
}

/// The page with free ports in place of its own.
pub(super) fn with_free_ports(page: Page) -> Page {
    let mut text = page.text;
    for port in PORTS {
        let own = format!("127.0.0.1:{port}");
        if text.contains(&own) {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let free = listener.local_addr().expect("it has one").port();
            text = text.replace(&own, &format!("127.0.0.1:{free}"));
        }
    }
    Page::parse(&page.name, text)
}

/// Runs a shell script, and ends its background jobs with it. Returns true if it succeeded, and both
/// output streams as one text.
fn run_script(script: &str, folder: &Path) -> (bool, String) {
    let bin = folder.join(".bin");
    fs::create_dir(&bin).expect("the folder is ours");
    symlink(tandem_path(), bin.join("tandem")).expect("the folder is ours");
    // The tests run as root where a page needs it.
    symlink("/usr/bin/env", bin.join("sudo")).expect("the folder is ours");
    for shared in ["examples", "scenarios", "traces"] {
        symlink(repository().join(shared), folder.join(shared)).expect("the folder is ours");
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let log = folder.join(".log");
    let file = fs::File::create(&log).expect("the folder is ours");
    // In a pipeline `jobs` would run in a subshell, which has no jobs.
    let jobs_end = "trap 'jobs -p >.jobs; xargs -r kill <.jobs 2>/dev/null || true; wait' EXIT\n";
    let status = Command::new("timeout")
        .args([TIME_LIMIT, "sh", "-c", &format!("{jobs_end}{script}")])
        .current_dir(folder)
        .env("PATH", path)
        .env("COLUMNS", "120")
        .env("RUNTIME_DIRECTORY", folder.join(".run"))
        .env("STATE_DIRECTORY", folder.join(".state"))
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stdout(file.try_clone().expect("a second descriptor"))
        .stderr(file)
        .status()
        .expect("the shell starts");
    (status.success(), fs::read_to_string(&log).expect("the log is text"))
}

/// Every line of `expected` has to appear in `output`, in this order.
fn compare_lines(place: &str, expected: &str, output: &str) -> Result<(), String> {
    let mut lines = output.lines();
    for line in expected.lines().map(str::trim_end).filter(|line| !line.is_empty() && *line != "…") {
        if !lines.any(|printed| matches(line, printed.trim_end())) {
            return Err(format!(
                "{place}: this line is not in the output, or not in this order:\n{line}\n---\n{output}"
            ));
        }
    }
    Ok(())
}

/// The lines of `expected` as `output` has them: found by their text, else by their label. Lines with
/// `…` stay, and those whose label is not in the output.
fn updated_lines(expected: &str, output: &str) -> String {
    let output: Vec<&str> = output.lines().map(str::trim_end).collect();
    let mut rest = output.as_slice();
    let mut updated = String::new();
    for line in expected.lines() {
        let has_text = !line.trim().is_empty() && line.trim() != "…";
        let by_text = || rest.iter().position(|printed| matches(line, printed));
        let by_label = || rest.iter().position(|printed| label(line) == label(printed));
        let at = Some(line).filter(|_| has_text).and_then(|_| by_text().or_else(by_label));
        let new = at.map(|at| rest[at]).filter(|_| !line.contains('…'));
        rest = at.map_or(rest, |at| &rest[at + 1..]);
        let _ = writeln!(updated, "{}", new.unwrap_or(line));
    }
    updated
}

/// First cell of a table's row; a line without cells, without its digits.
fn label(line: &str) -> String {
    let line = line.trim_start();
    let without_digits = || line.replace(|one: char| one.is_ascii_digit(), "");
    line.split_once("  ").map_or_else(without_digits, |(first, _)| first.to_owned())
}

/// Replaces lines of a page from `start` on, each old one by the new one with its number.
fn replace_lines(page: &Path, start: usize, old: &str, new: &str) {
    let text = fs::read_to_string(page).expect("the page is text");
    let mut lines: Vec<&str> = text.lines().collect();
    let mut from = start;
    for (old, new) in old.lines().zip(new.lines()) {
        if let Some(ahead) = lines[from..].iter().position(|line| *line == old) {
            lines[from + ahead] = new;
            from += ahead + 1;
        }
    }
    fs::write(page, lines.join("\n") + "\n").expect("the page can be written");
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
fn updated_lines_are_found_by_text_or_label() {
    let output = "a  1\nb  2\ntotal 30 s\n\nunit  s\na  4\n";
    assert_eq!(updated_lines("a  0\n…\ntotal 29 s\nc  5\n", output), "a  1\n…\ntotal 30 s\nc  5\n");
    assert_eq!(updated_lines("unit s\na  …\n", output), "unit  s\na  …\n");
}

#[test]
fn ellipsis_stands_for_any_text() {
    assert!(matches("a … c", "a  b c"));
    assert!(matches("a …", "a b c"));
    assert!(!matches("a", "a b"));
    assert!(!matches("a … d", "a b c"));
}
