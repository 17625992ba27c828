//! The commands of every page, run as a reader would.

use super::page::{Block, Page, without_prompt};
use super::script::{Run, with_free_ports};
use crate::support::tandem_path;
use std::fmt::Write as _;
use std::num::NonZero;
use std::process::Command;
use std::sync::Mutex;

/// Generated pages. Their examples have tests of their own.
const GENERATED: [&str; 3] =
    ["docs/reference/cli.md", "docs/reference/python.md", "docs/reference/scenario.md"];

/// Programs that begin a line of commands.
const PROGRAMS: [&str; 9] =
    ["tandem", "sudo", "cargo", "make", "curl", "python3", "openssl", "systemctl", "journalctl"];

/// Needs of blocks for which there are tests below.
const NEEDS: [&str; 4] = ["root", "curl", "openssl", "python3"];

/// Runs pages on all cores and compares their output.
fn follow(pages: Vec<Page>, is_run: impl Fn(&Block) -> bool + Sync) {
    let queue = Mutex::new(pages.into_iter());
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let Some(page) = { queue.lock().expect("no thread panics").next() } {
            let page = with_free_ports(page);
            let result = Run::of(&page, &is_run).and_then(|run| {
                let output = run.compare(&page);
                let pictures = super::gallery::check_pictures(&page, run.folder.path());
                output.and(pictures)
            });
            failures.lock().expect("no thread panics").extend(result.err());
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().expect("no thread panics");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn pages() -> Vec<Page> {
    let mut pages = super::pages();
    pages.retain(|page| !GENERATED.contains(&page.name.as_str()));
    pages
}

fn is_run(block: &Block) -> bool {
    block.reason_not_to_run().is_none()
}

/// Pages in which a block has a need that `is_wanted` accepts.
fn needing(is_wanted: impl Fn(&[&str]) -> bool) -> Vec<Page> {
    let mut pages = pages();
    pages.retain(|page| {
        page.blocks.iter().any(|block| !block.needs().is_empty() && is_wanted(&block.needs()))
    });
    pages
}

#[test]
fn commands_of_every_page_run() {
    let is_run = |block: &Block| is_run(block) && block.needs().is_empty();
    let mut pages = pages();
    pages.retain(|page| page.blocks.iter().any(|block| block.is_script() && is_run(block)));
    assert!(pages.len() > 10, "only {} pages have commands", pages.len());
    follow(pages, is_run);
}

#[test]
#[ignore = "needs python3"]
fn commands_of_pages_run_needs_python3() {
    let needs_at_most_python = |block: &Block| block.needs().iter().all(|need| *need == "python3");
    follow(needing(|needs| needs == ["python3"]), |block| is_run(block) && needs_at_most_python(block));
}

#[test]
#[ignore = "needs openssl"]
fn commands_of_pages_run_needs_openssl() {
    follow(needing(|needs| needs == ["openssl"]), is_run);
}

#[test]
#[ignore = "needs root, curl, python3"]
fn commands_of_pages_run_needs_root_needs_curl_needs_python3() {
    follow(needing(|needs| needs.contains(&"root")), is_run);
}

#[test]
fn needs_of_blocks_are_known() {
    for page in pages() {
        for block in &page.blocks {
            for need in block.needs() {
                assert!(NEEDS.contains(&need), "{}:{}: no test has this need: {need}", page.name, block.line);
            }
        }
    }
}

#[test]
fn commands_that_are_not_run_have_a_reason() {
    let mut list = String::new();
    let mut count = 0;
    for page in pages() {
        for block in page.blocks.iter().filter(|block| block.is_script()) {
            let Some(reason) = block.reason_not_to_run() else { continue };
            assert!(!reason.is_empty(), "{}:{}: why is it not run?", page.name, block.line);
            let commands = block.commands();
            count += commands.len();
            let _ = writeln!(list, "{}, {}: {}", page.name, reason, commands[0]);
            for command in &commands {
                assert_options_exist(&page, block, command);
            }
        }
    }
    insta::assert_snapshot!(format!("{count} command lines\n\n{list}"));
}

/// Checks the options of each `tandem` in a command line that is not run.
fn assert_options_exist(page: &Page, block: &Block, line: &str) {
    let joined = line.replace("\\\n", " ");
    for (at, _) in joined.match_indices("tandem ") {
        let before = &joined[..at];
        let word_before = before.split_whitespace().last().unwrap_or_default();
        let is_value = word_before.starts_with('-') && word_before != "--";
        if !(before.is_empty() || before.ends_with(' ')) || before.contains('#') || is_value {
            continue;
        }
        let call = &joined[at..];
        let end = [" | ", " >", " &", " #", "  #", ";", ")"].iter().filter_map(|mark| call.find(mark)).min();
        let call = call[..end.unwrap_or(call.len())].trim_start_matches("tandem ");
        // Help stops the command after its options were read.
        let call = match call.split_once(" -- ") {
            Some((call, _)) => format!("{call} --help"),
            None => format!("{call} --help"),
        };
        let output = Command::new("sh")
            .args(["-c", &format!("{} {call}", tandem_path().display())])
            .output()
            .expect("the shell starts");
        let error = String::from_utf8_lossy(&output.stderr);
        // A file that an earlier command writes is read while the command line is.
        let is_right = output.status.success() || error.contains("cannot read `tandem-out");
        assert!(is_right, "{}:{}: tandem {call}\n{error}", page.name, block.line);
    }
}

#[test]
fn every_command_is_in_a_block_of_commands() {
    for page in pages() {
        for block in page.blocks.iter().filter(|block| !block.is_script() && block.file.is_empty()) {
            let command = block.text.lines().find(|line| {
                let line = without_prompt(line).unwrap_or(line);
                line.split_once(' ').is_some_and(|(first, _)| PROGRAMS.contains(&first))
            });
            assert!(
                command.is_none(),
                "{}:{}: mark the block as `sh` or `console`, so that it is run: {command:?}",
                page.name,
                block.line
            );
        }
    }
}
