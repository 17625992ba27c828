//! The command line. Doc comments here are the help texts, in which `<paper>` is a placeholder.
#![allow(rustdoc::invalid_html_tags, reason = "doc comments here are help texts")]

mod agent;
mod capture;
mod check;
mod compare;
mod emulate;
mod examples;
mod fidelity;
mod gateway;
mod groups;
mod init;
mod interop;
mod map;
mod package_files;
mod play;
mod plot;
mod profiles;
mod proxy;
#[cfg(test)]
mod reference;
mod reproduce;
mod run;
mod schema;
mod serve;
mod sweep;
mod testbed;
mod tls;
mod trace;

pub(crate) use agent::{Agent, AgentCommand, AgentStatus};
pub(crate) use capture::Capture;
pub(crate) use check::{Check, FileKind};
pub(crate) use compare::{Compare, Variation};
pub(crate) use emulate::{Emulate, Sockets};
pub(crate) use examples::Examples;
pub(crate) use fidelity::Fidelity;
pub(crate) use gateway::{Gateway, GatewayCommand, GatewayStatus, GatewayUp};
pub(crate) use groups::parse;
pub(crate) use init::Init;
pub(crate) use interop::Interop;
pub(crate) use map::Map;
pub(crate) use package_files::PackageFiles;
pub(crate) use play::{CmcdMode, Play};
pub(crate) use plot::{Plot, PlotFile, PlotFormat};
pub(crate) use profiles::{Completions, Profiles};
pub(crate) use proxy::{Proxy, ProxyCommand, ProxyPasswd, ProxyRules, ProxyStatus};
pub(crate) use reproduce::{Paper, RecBackground, Reproduce, World};
pub(crate) use run::Run;
pub(crate) use schema::Schema;
pub(crate) use serve::{Serve, ServeCommand, ServeOptions};
pub(crate) use sweep::{DesignKind, Sweep};
pub(crate) use testbed::Testbed;
pub(crate) use tls::{ClientTlsOptions, ServerTlsOptions, UpstreamTlsOptions};
pub(crate) use trace::Trace;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use experiments::files;
use policy::{PolicyConfig, PolicyError};
use scenario::{Setting, SettingError};
use std::path::Path;

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
  tandem init                                 write scenario.toml
  tandem run scenario.toml
  tandem compare scenario.toml --policies none,wifi-first,emtcp
  tandem reproduce emtcp
  tandem sweep scenario.toml --vary wifi.down.rate=5Mbps,10Mbps --seeds 20 --out sweep
  tandem map                                  which policy is the best for which radios and traffic
  sudo tandem testbed scenario.toml
  sudo tandem emulate scenario.toml -- bash
  sudo tandem agent --config /etc/tandem/agent.toml
  tandem proxy --upstream proxy.example:1080
  sudo tandem gateway up --upstream proxy.example:1080
  tandem play https://example.org/film.mpd
  tandem serve
  tandem capture trace.pcapng
  tandem trace wifi.csv lte.csv
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
    Init(Init),
    Examples(Examples),
    Check(Check),
    Run(Run),
    Compare(Compare),
    Sweep(Sweep),
    Map(Map),
    Reproduce(Reproduce),
    Testbed(Testbed),
    Emulate(Emulate),
    Fidelity(Fidelity),
    Interop(Interop),
    Capture(Capture),
    Trace(Trace),
    Agent(Agent),
    Proxy(Proxy),
    Gateway(Gateway),
    Play(Box<Play>),
    Serve(Serve),
    Profiles(Profiles),
    Schema(Schema),
    Completions(Completions),
    #[command(hide = true)]
    PackageFiles(PackageFiles),
}

impl Command {
    /// Whether its time is that of simulations.
    pub(crate) const fn only_simulates(&self) -> bool {
        matches!(self, Self::Run(_) | Self::Compare(_) | Self::Sweep(_) | Self::Map(_) | Self::Reproduce(_))
    }
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

/// Format of the log of a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people; the journal adds the time
    #[default]
    Text,
    /// A line of JSON for each entry: timestamp, level, message, target and fields
    Json,
}

fn time(text: &str) -> Result<units::Duration, String> {
    text.parse().map_err(|error: units::UnitError| {
        let text = text.trim();
        let hint = match error.suggestion() {
            Some(meant) => format!("did you mean {meant}?"),
            None if text.parse::<f64>().is_ok_and(|number| number >= 0.0) => {
                format!("add the unit: `{text}s`")
            }
            None => "a time such as `20s`; units: ns, us, ms, s, min, h".to_owned(),
        };
        format!("{error}\n  hint: {hint}")
    })
}

/// A time above zero.
fn positive_time(text: &str) -> Result<units::Duration, String> {
    match time(text)? {
        units::Duration::ZERO => Err("it is zero\n  hint: a time above zero, such as `20s`".to_owned()),
        time => Ok(time),
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        let why = if text.starts_with('-') { "a seed is not negative" } else { "a seed is a whole number" };
        format!("{why}\n  hint: any whole number from 0 to {}, such as 7", u64::MAX)
    })
}

/// An address with a port to listen on.
fn listening_address(text: &str) -> Result<std::net::SocketAddr, String> {
    text.parse().map_err(|_| {
        let port = text.trim_start_matches(':');
        let (host, host_port) = text.rsplit_once(':').unwrap_or((text, ""));
        let hint = if port.parse::<u16>().is_ok() {
            format!("`127.0.0.1:{port}` for programs of this host, `0.0.0.0:{port}` for every interface")
        } else if let Ok(address) = text.trim_matches(['[', ']']).parse::<std::net::IpAddr>() {
            format!("add a port: `{}`", std::net::SocketAddr::new(address, 1080))
        } else if host == "localhost" && host_port.parse::<u16>().is_ok() {
            format!("`127.0.0.1:{host_port}`")
        } else if !host.is_empty() && host_port.parse::<u16>().is_ok() {
            format!("an address, not a name: `getent ahosts {host}` shows it")
        } else {
            "such as `127.0.0.1:1080` or `[::1]:1080`".to_owned()
        };
        format!("expected an IP address and a port\n  hint: {hint}")
    })
}

fn setting(text: &str) -> Result<Setting, String> {
    text.parse().map_err(|error: SettingError| format!("{error}\n  hint: {}", error.hint()))
}

fn policy(text: &str) -> Result<PolicyConfig, String> {
    if text.trim().is_empty() {
        let names: Vec<&str> = policy::REGISTRY.iter().map(|entry| entry.name).collect();
        let hint = format!("remove a comma too many, or write one of {}", names.join(", "));
        return Err(format!("the name of a policy is missing\n  hint: {hint}"));
    }
    let policy: PolicyConfig =
        text.parse().map_err(|error: PolicyError| format!("{error}\n  hint: {}", error.hint()))?;
    let Some(path) = policy.file() else { return Ok(policy) };
    let hint = "`tandem map` writes the file of `best-known`";
    let content = files::read(Path::new(path))
        .map_err(|reason| format!("cannot read `{path}`: {reason}\n  hint: {hint}"))?;
    policy.with_file(path, &content).map_err(|found| {
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        told.join("\n")
    })
}
