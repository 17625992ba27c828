//! The command line. Doc comments here are the help texts, in which `<paper>` is a placeholder.
#![allow(rustdoc::invalid_html_tags, reason = "doc comments here are help texts")]

mod agent;
mod capture;
mod compare;
mod emulate;
mod fidelity;
mod play;
mod plot;
mod profiles;
mod proxy;
mod reproduce;
mod run;
mod serve;
mod testbed;

pub(crate) use agent::{Agent, AgentCommand, AgentStatus};
pub(crate) use capture::Capture;
pub(crate) use compare::{Compare, Variation};
pub(crate) use emulate::{Emulate, Sockets};
pub(crate) use fidelity::Fidelity;
pub(crate) use play::{CmcdMode, Play};
pub(crate) use plot::{Plot, PlotFile, PlotFormat};
pub(crate) use profiles::{Completions, Profiles};
pub(crate) use proxy::{Proxy, ProxyCommand, ProxyRules, ProxyStatus};
pub(crate) use reproduce::{Paper, Reproduce, World};
pub(crate) use run::Run;
pub(crate) use serve::Serve;
pub(crate) use testbed::Testbed;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use policy::{PolicyConfig, PolicyError};
use scenario::{Setting, SettingError};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Simulate and steer Multipath TCP over several radios.
///
/// Tandem simulates devices with several radios: Multipath TCP over Wi-Fi, LTE and others, the
/// energy that each radio draws, and policies that choose between them. The same scenario and seed
/// give the same result, byte for byte. On Linux it also emulates links, steers the kernel's
/// Multipath TCP, and carries the connections of other programs.
#[derive(Debug, Parser)]
#[command(name = "tandem", version, styles = STYLES, max_term_width = 100, after_help = "\
Examples:
  tandem run scenarios/wifi-lte.toml
  tandem compare scenarios/wifi-lte.toml --policies none,wifi-first,emtcp
  tandem reproduce emtcp
  sudo tandem testbed scenarios/wifi-lte.toml
  sudo tandem emulate scenarios/wifi-lte.toml -- bash
  sudo tandem agent --config /etc/tandem/agent.toml
  tandem proxy --upstream proxy.example:1080
  tandem play https://example.org/film.mpd
  tandem serve
  tandem capture trace.pcapng
  tandem profiles huang2012.lte

Exit codes: 0 success, 2 invalid command line, 3 invalid input file, 4 missing system requirement,
1 any other failure. `tandem help COMMAND` describes a command.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// When to use colours; the variable NO_COLOR disables them as well
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: Colour,
    /// Print only results and errors, no progress and notes
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Compare(Compare),
    Reproduce(Reproduce),
    Testbed(Testbed),
    Emulate(Emulate),
    Fidelity(Fidelity),
    Capture(Capture),
    Agent(Agent),
    Proxy(Proxy),
    Play(Box<Play>),
    Serve(Serve),
    Profiles(Profiles),
    /// Print the JSON Schema of scenario files
    #[command(after_help = "\
Example (for editors with a TOML language server):
  tandem schema > scenario.schema.json")]
    Schema,
    Completions(Completions),
}

/// Format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned text
    Table,
    /// One JSON document
    Json,
    /// Comma-separated values
    Csv,
}

fn time(text: &str) -> Result<units::Duration, String> {
    text.parse().map_err(|error: units::UnitError| error.to_string())
}

fn setting(text: &str) -> Result<Setting, String> {
    text.parse().map_err(|error: SettingError| format!("{error}\n  hint: {}", error.hint()))
}

fn policy(text: &str) -> Result<PolicyConfig, String> {
    text.parse().map_err(|error: PolicyError| format!("{error}\n  hint: {}", error.hint()))
}
