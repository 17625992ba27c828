//! The commands in groups, for the help of the program.

use super::Arguments;
use clap::{CommandFactory as _, FromArgMatches as _};
use std::fmt::Write as _;

/// Headings with the names of their commands. A command without a group is listed last.
const GROUPS: [(&str, &[&str]); 6] = [
    ("First steps", &["init", "examples", "check"]),
    ("Simulation", &["run", "compare", "sweep", "map", "reproduce"]),
    ("Linux kernel", &["testbed", "emulate", "fidelity", "interop"]),
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

/// The command line. Its help lists the commands in groups.
pub(crate) fn command() -> clap::Command {
    let command = Arguments::command();
    let list = list(&command);
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{{options}}{{after-help}}"
    ))
}

/// The commands by the heading of their group. Commands without a group are last, with no heading.
/// Hidden ones and `help` are left out.
pub(super) fn grouped(command: &clap::Command) -> Vec<(Option<&'static str>, Vec<&clap::Command>)> {
    let shown = || command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help");
    let members = |names: &[&str]| {
        names.iter().filter_map(|name| shown().find(|one| one.get_name() == *name)).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = GROUPS.iter().map(|(heading, names)| (Some(*heading), members(names))).collect();
    let has_group = |one: &clap::Command| GROUPS.iter().any(|(_, names)| names.contains(&one.get_name()));
    all.push((None, shown().filter(|one| !has_group(one)).collect()));
    all.retain(|(_, members)| !members.is_empty());
    all
}

/// The groups with a line for each command.
fn list(command: &clap::Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let groups = grouped(command);
    let names = groups.iter().flat_map(|(_, members)| members).map(|one| one.get_name());
    let width = names.map(str::len).max().unwrap_or(0);
    let mut text = String::new();
    for (heading, members) in groups {
        let _ = writeln!(text, "{header}{}:{header:#}", heading.unwrap_or("Other"));
        for one in members {
            let _ = writeln!(text, "  {literal}{:width$}{literal:#}  {}", one.get_name(), about(one));
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{header}Global options:{header:#}");
    text
}

/// The first line of a command's help.
pub(super) fn about(command: &clap::Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}
