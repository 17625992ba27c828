//! `docs/reference/cli.md`: the command line as a page. A test keeps it current.

use super::groups::{about, command, grouped};
use clap::{Arg, Command};
use std::fmt::Write as _;
use std::path::Path;

const INTRODUCTION: &str = "\
# Command line

<!-- Generated: UPDATE_DOCS=1 cargo test -p tandem-cli --bin tandem writes this page. -->

After this page you know every command of `tandem` with its arguments and options. The program
prints the same: `tandem help COMMAND`. [Output](output.md) has the exit codes and the files.
";

fn page() -> String {
    let mut command = command();
    command.build();
    let mut text = INTRODUCTION.to_owned();
    for (heading, members) in grouped(&command) {
        let heading = heading.unwrap_or("Other commands");
        let _ = write!(text, "\n## {heading}\n\n| Command | |\n|---|---|\n");
        for one in members {
            let name = one.get_name();
            let _ = writeln!(text, "| [`tandem {name}`](#tandem-{name}) | {} |", prose(&about(one)));
        }
    }
    let _ = write!(text, "\n## Global options\n");
    options(&mut text, &command, true);
    for (_, members) in grouped(&command) {
        for one in members {
            section(&mut text, one, &format!("tandem {}", one.get_name()), 2);
        }
    }
    text
}

/// Adds a command, with its own commands below it. `path` is its name with its parents' before it.
fn section(text: &mut String, command: &Command, path: &str, level: usize) {
    let _ = write!(text, "\n{} {path}\n", "#".repeat(level));
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        for paragraph in about.to_string().split("\n\n") {
            let _ = write!(text, "\n{}\n", prose(paragraph));
        }
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let _ = write!(text, "\n```text\n{}\n```\n", usage.trim());
    let arguments: Vec<&Arg> = command.get_positionals().filter(|one| !one.is_hide_set()).collect();
    table(text, "Argument", &arguments);
    options(text, command, false);
    after_help(text, command);
    for one in command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help") {
        section(text, one, &format!("{path} {}", one.get_name()), level + 1);
    }
}

/// The options in one table for each heading of the help.
fn options(text: &mut String, command: &Command, global: bool) {
    let is_shown = |one: &&Arg| {
        !one.is_hide_set()
            && one.is_global_set() == global
            && !["help", "version"].contains(&one.get_id().as_str())
    };
    let shown: Vec<&Arg> = command.get_opts().chain(flags(command)).filter(is_shown).collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for one in &shown {
        if !headings.contains(&one.get_help_heading()) {
            headings.push(one.get_help_heading());
        }
    }
    for heading in headings {
        let members: Vec<&Arg> =
            shown.iter().copied().filter(|one| one.get_help_heading() == heading).collect();
        table(text, heading.filter(|_| !global).unwrap_or("Option"), &members);
    }
}

/// Options without a value.
fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|one| !one.is_positional() && !one.get_action().takes_values())
}

fn table(text: &mut String, heading: &str, members: &[&Arg]) {
    if members.is_empty() {
        return;
    }
    let _ = write!(text, "\n| {heading} | |\n|---|---|\n");
    for one in members {
        let _ = writeln!(text, "| `{}` | {} |", spelling(one).replace('|', "\\|"), meaning(one));
    }
}

fn spelling(argument: &Arg) -> String {
    if argument.is_positional() {
        return argument.to_string();
    }
    let names = argument.get_value_names().unwrap_or_default();
    let names = if argument.get_action().takes_values() { names } else { &[] };
    let value = names.iter().fold(String::new(), |all, name| format!("{all} <{name}>"));
    let short = argument.get_short().map(|one| format!("-{one}"));
    let long = argument.get_long().map(|one| format!("--{one}"));
    let spellings: Vec<String> = short.into_iter().chain(long).collect();
    format!("{}{value}", spellings.join(", "))
}

fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let mut cell = prose(&help.replace("\n\n", " ")).replace('|', "\\|");
    if !argument.get_action().takes_values() {
        return cell;
    }
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|one| !one.is_hide_set())
        .map(|one| match one.get_help() {
            Some(help) => format!("`{}` ({})", one.get_name(), prose(&help.to_string())),
            None => format!("`{}`", one.get_name()),
        })
        .collect();
    if !values.is_empty() {
        let _ = write!(cell, ". One of {}", values.join(", "));
    }
    let defaults = argument.get_default_values();
    if !defaults.is_empty() && !argument.is_hide_default_value_set() {
        let values: Vec<_> = defaults.iter().map(|one| one.to_string_lossy()).collect();
        let _ = write!(cell, ". Default: `{}`", values.join(","));
    }
    cell
}

/// The text after the options: examples as a block, the rest as paragraphs.
fn after_help(text: &mut String, command: &Command) {
    let Some(help) = command.get_after_long_help().or(command.get_after_help()) else { return };
    for paragraph in help.to_string().split("\n\n") {
        if let Some(examples) = paragraph.strip_prefix("Examples:\n").or(paragraph.strip_prefix("Example:\n"))
        {
            let lines = examples.lines().map(|line| line.strip_prefix("  ").unwrap_or(line));
            let _ = write!(text, "\n```text\n{}\n```\n", lines.collect::<Vec<_>>().join("\n"));
            continue;
        }
        let mut was_indented = false;
        for line in paragraph.lines() {
            let is_indented = line.starts_with(' ');
            let _ = match (is_indented, was_indented) {
                (false, true) => write!(text, "\n\n{}", prose(line)),
                _ => write!(text, "\n{}", prose(line)),
            };
            was_indented = is_indented;
        }
        text.push('\n');
    }
}

/// Plain text as Markdown: marks outside of code are escaped, and pages of `docs/` are linked.
fn prose(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = String::new();
    for (number, part) in text.split('`').enumerate() {
        if number % 2 == 1 {
            let _ = write!(out, "`{part}`");
            continue;
        }
        let words = part.split(' ').map(|word| {
            let bare = word.trim_matches(|one: char| !one.is_ascii_alphanumeric());
            let escaped = word.replace('<', "\\<").replace('*', "\\*").replace('[', "\\[");
            match bare.strip_prefix("docs/") {
                Some(page) if Path::new(page).extension().is_some_and(|ending| ending == "md") => {
                    escaped.replace(bare, &format!("[{bare}](../{page})"))
                }
                _ => escaped,
            }
        });
        out.push_str(&words.collect::<Vec<_>>().join(" "));
    }
    out
}

/// Command lines of a command's examples, without remarks, redirections and other programs.
fn examples(command: &Command) -> Vec<Vec<String>> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let continued: Vec<&str> = help.split("\\\n").map(str::trim_start).collect();
    let joined = continued.join(" ");
    let commands = joined.lines().flat_map(|line| line.split(" | ")).filter_map(|line| {
        let line = line.trim();
        let line = line.trim_start_matches("sudo ").trim_start_matches("TANDEM_TOKEN=… ");
        let line = line.starts_with("tandem ").then_some(line)?;
        let line = line.split_once("    ").map_or(line, |(line, _)| line);
        let line = line.split_once('>').map_or(line, |(line, _)| line.trim_end_matches('2'));
        Some(words(line))
    });
    commands.collect()
}

/// Words of a command line; single quotes group.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in line.split('\'').enumerate() {
        match number % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

fn assert_examples_parse(command: &Command) {
    for example in examples(command) {
        let error = super::groups::command().try_get_matches_from(&example).err();
        // The map of a policy is read while the command line is; `tandem map` writes it.
        let is_right = error.is_none_or(|error| error.to_string().contains("cannot read `tandem-out"));
        assert!(is_right, "an example in the help is not a valid command line: {example:?}");
    }
    command.get_subcommands().for_each(assert_examples_parse);
}

#[test]
fn examples_in_the_help_are_valid_command_lines() {
    assert_examples_parse(&command());
}

#[test]
fn page_of_the_command_line_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "docs/reference/cli.md is out of date: run the tests with UPDATE_DOCS=1");
}
