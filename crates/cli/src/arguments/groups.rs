//! The commands in groups, for the help of the program.

use super::Arguments;
use clap::{CommandFactory as _, FromArgMatches as _};
use std::fmt::Write as _;

/// Headings with the names of their commands. A command without a group is listed last.
pub(super) const GROUPS: [(&str, &[&str]); 6] = [
    ("First steps", &["init", "examples", "check"]),
    ("Simulation", &["run", "compare", "sweep", "map", "reproduce"]),
    ("Linux kernel", &["testbed", "emulate", "fidelity"]),
    ("Devices and networks", &["agent", "proxy", "gateway"]),
    ("Video", &["play", "serve"]),
    ("Files", &["capture", "trace", "plot", "profiles", "schema"]),
];

/// Parses the command line.
pub(crate) fn parse() -> Result<Arguments, clap::Error> {
    let mut command = command();
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// The command line, whose help lists the commands in groups.
pub(crate) fn command() -> clap::Command {
    let command = Arguments::command();
    let list = list(&command);
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{{options}}{{after-help}}"
    ))
}

/// The groups with a line for each command.
fn list(command: &clap::Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    let all: Vec<(&str, String)> = shown.map(|one| (one.get_name(), about(one))).collect();
    let width = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let mut text = String::new();
    let mut section = |heading: &str, members: Vec<&(&str, String)>| {
        if members.is_empty() {
            return;
        }
        let _ = writeln!(text, "{header}{heading}:{header:#}");
        for (name, about) in members {
            let _ = writeln!(text, "  {literal}{name:width$}{literal:#}  {about}");
        }
        text.push('\n');
    };
    for (heading, names) in GROUPS {
        section(heading, names.iter().filter_map(|name| all.iter().find(|(one, _)| one == name)).collect());
    }
    section("Other", all.iter().filter(|(name, _)| !grouped(name)).collect());
    let _ = writeln!(text, "{header}Global options:{header:#}");
    text
}

fn about(command: &clap::Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}
