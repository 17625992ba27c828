//! Manual pages: section 1 from the command line, section 5 from the commented configurations and the
//! generated reference of scenarios.

use super::markdown;
use crate::arguments::Arguments;
use clap::builder::Resettable;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};

/// Meaning of the exit codes, as in docs/reference/output.md.
const EXIT_CODES: [(&str, &str); 5] = [
    ("0", "Success."),
    ("1", "Any failure that has no code of its own."),
    ("2", "Invalid command line."),
    ("3", "Invalid input file."),
    ("4", "The system lacks a privilege, a program or a kernel feature."),
];

/// The page of the scenario file.
const SCENARIO: (&str, char) = ("tandem-scenario", '5');
/// Commands that read scenarios.
const SCENARIO_COMMANDS: [&str; 6] = ["init", "check", "run", "compare", "testbed", "emulate"];

/// Configuration files with a page of their own: command, title, text, and a summary.
const CONFIGURATIONS: [(&str, &str, &str); 2] =
    [("agent", agent::config::EXAMPLE, "the agent"), ("proxy", proxy::config::EXAMPLE, "the proxy")];

/// A manual page.
#[derive(Debug)]
pub(super) struct Page {
    name: String,
    section: char,
    /// Source for man(1).
    pub(super) text: String,
}

impl Page {
    pub(super) const fn section(&self) -> char {
        self.section
    }

    pub(super) fn file_name(&self) -> String {
        format!("{}.{}", self.name, self.section)
    }
}

/// A page for each command and configuration file.
pub(super) fn pages(date: &str) -> Vec<Page> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_commands(&command, &[], date, &mut pages);
    pages.extend(CONFIGURATIONS.map(|(name, text, title)| configuration_page(name, text, title, date)));
    pages.push(scenario_page(date));
    pages
}

/// Adds the pages of `command` and of its subcommands. `parents` are its enclosing commands.
fn add_commands(command: &Command, parents: &[&str], date: &str, pages: &mut Vec<Page>) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    pages.push(Page {
        name: name.to_owned(),
        section: '1',
        text: command_page(command, name, parents, date),
    });
    let inner: Vec<&str> = parents.iter().copied().chain([name]).collect();
    for subcommand in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        add_commands(subcommand, &inner, date, pages);
    }
}

fn command_page(command: &Command, name: &str, parents: &[&str], date: &str) -> String {
    let after_help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let command = command.clone().after_help(Resettable::Reset);
    let command = command.subcommand_help_heading("COMMANDS").subcommand_value_name("command");
    let man = Man::new(command).title(name).date(date);
    let mut page = Vec::new();
    // Writing to a vector cannot fail.
    let _ = man.source(source()).manual("Tandem").render(&mut page);
    let mut end = Roff::new();
    add_after_help(&mut end, &after_help);
    end.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in EXIT_CODES {
        end.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    let mut related: Vec<(String, char)> = parents.iter().map(|name| ((*name).to_owned(), '1')).collect();
    related.extend(files_of(name.strip_prefix("tandem-")));
    add_see_also(&mut end, &related);
    join(&String::from_utf8_lossy(&page), &end)
}

/// Pages of the files that a command reads; all of them for the program as a whole.
fn files_of(command: Option<&str>) -> Vec<(String, char)> {
    let configurations =
        CONFIGURATIONS.iter().filter(|(daemon, ..)| command.is_none_or(|one| one == *daemon));
    let mut files: Vec<(String, char)> =
        configurations.map(|(daemon, ..)| (format!("tandem-{daemon}.toml"), '5')).collect();
    if command.is_none_or(|one| SCENARIO_COMMANDS.contains(&one)) {
        files.push((SCENARIO.0.to_owned(), SCENARIO.1));
    }
    files
}

/// Every key of the scenario file.
fn scenario_page(date: &str) -> Page {
    let (name, section) = SCENARIO;
    let mut page = Roff::new();
    page.control("TH", [name, &section.to_string(), date, &source(), "Tandem"]);
    page.control("SH", ["NAME"]).text([roman(format!("{name} - scenario file of Tandem"))]);
    page.control("SH", ["DESCRIPTION"]);
    markdown::add(&mut page, &scenario::docs_markdown());
    let commands = SCENARIO_COMMANDS.iter().map(|command| (format!("tandem-{command}"), '1'));
    add_see_also(&mut page, &commands.collect::<Vec<_>>());
    Page { name: name.to_owned(), section, text: page.render() }
}

/// The commented configuration of a daemon as a page of section 5.
fn configuration_page(command: &str, text: &str, title: &str, date: &str) -> Page {
    let name = format!("tandem-{command}.toml");
    let mut page = Roff::new();
    page.control("TH", [&*name, "5", date, &source(), "Tandem"]);
    page.control("SH", ["NAME"]).text([roman(format!("{name} - configuration of {title} of Tandem"))]);
    page.control("SH", ["DESCRIPTION"]).text([
        roman("The file /etc/tandem/"),
        roman(format!(
            "{command}.toml configures the service tandem-{command}. It is TOML; any other file is "
        )),
        roman(format!("given by --config. tandem {command} --config FILE --check reports mistakes.")),
    ]);
    page.control("SH", ["EXAMPLE"])
        .text([roman(format!("This is printed by tandem {command} example-config:"))]);
    add_verbatim(&mut page, text.lines());
    add_see_also(&mut page, &[(format!("tandem-{command}"), '1'), ("tandem".to_owned(), '1')]);
    Page { name, section: '5', text: page.render() }
}

/// Adds the text below a command's options: its examples, and notes.
fn add_after_help(page: &mut Roff, text: &str) {
    let mut has_notes = false;
    for paragraph in text.split("\n\n").filter(|one| !one.trim().is_empty()) {
        if let Some(examples) = paragraph.strip_prefix("Examples:\n") {
            page.control("SH", ["EXAMPLES"]);
            add_verbatim(page, examples.lines());
        } else if !paragraph.starts_with("Exit codes:") {
            page.control(if has_notes { "PP" } else { "SH" }, (!has_notes).then_some("NOTES"));
            has_notes = true;
            paragraph.lines().for_each(|line| _ = page.text([roman(line.trim())]));
        }
    }
}

/// Adds lines that are shown as they are.
fn add_verbatim<'a>(page: &mut Roff, lines: impl Iterator<Item = &'a str>) {
    page.control("nf", []);
    for line in lines {
        // An empty line would be a paragraph.
        if line.is_empty() {
            page.control("sp", [])
        } else {
            page.text([roman(line)])
        };
    }
    page.control("fi", []);
}

fn add_see_also(page: &mut Roff, pages: &[(String, char)]) {
    if pages.is_empty() {
        return;
    }
    page.control("SH", ["SEE ALSO"]);
    let last = pages.len() - 1;
    for (index, (name, section)) in pages.iter().enumerate() {
        let comma = if index < last { "," } else { "" };
        page.text([bold(name), roman(format!("({section}){comma}"))] as [Inline; 2]);
    }
}

fn source() -> String {
    format!("tandem {}", env!("CARGO_PKG_VERSION"))
}

/// A page and the sections at its end. The preamble is a part of the page.
fn join(page: &str, end: &Roff) -> String {
    let preamble = Roff::new().render();
    let end = end.render();
    // clap_mangen asks for an empty line in three ways at once, which are too many for mandoc.
    let page = page.replace("\n.br\n\n.br\n", "\n.sp\n");
    format!("{page}{}", end.strip_prefix(&preamble).unwrap_or(&end))
}
