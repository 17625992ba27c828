//! Arguments of `tandem agent`.

use super::{Format, LogFormat};
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// Steer the Multipath TCP of this device by a policy.
///
/// Reads the kernel's interface counters and applies the policy: it marks interfaces as backup or
/// regular (MP_PRIO), or closes their subflows. Needs only CAP_NET_ADMIN, opens no network port,
/// and restores its changes at the end; after a kill, the next start restores them. Programs use
/// Multipath TCP by themselves, or under `mptcpize run PROGRAM`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  tandem agent example-config > agent.toml
  sudo tandem agent --config agent.toml --check
  sudo tandem agent --config agent.toml --dry-run
  sudo tandem agent --config agent.toml
  sudo tandem agent status --watch
  tandem agent unit > tandem-agent.service    a hardened systemd unit"
)]
pub(crate) struct Agent {
    #[command(subcommand)]
    pub(crate) command: Option<AgentCommand>,
    /// Configuration, a TOML file (docs/how-to/agent.md)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
    pub(crate) config: Option<PathBuf>,
    /// Log the actions without performing them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Compare the configuration with this machine and exit: interfaces that match, kernel support,
    /// privileges. Changes nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) check: bool,
    /// Override the log filter of the configuration: error, warn, info, debug, trace, also by
    /// module
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// Format of the log on stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    Status(AgentStatus),
    /// Print a commented configuration with every key
    ExampleConfig,
    /// Print a hardened systemd unit
    Unit {
        /// Path of the configuration
        #[arg(long, value_name = "FILE", default_value = "/etc/tandem/agent.toml", value_hint = ValueHint::FilePath)]
        config: PathBuf,
    },
}

/// Show the status of the agent.
///
/// Prints for each interface its rate, share, radio state, energy and allowance; for each
/// connection its subflows with round-trip times and traffic. The totals of a connection include
/// closed subflows.
#[derive(Debug, Args)]
pub(crate) struct AgentStatus {
    /// Socket of the agent [default: that of the configuration, or /run/tandem/agent.sock]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) socket: Option<PathBuf>,
    /// Configuration of the agent, which has its socket
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "socket")]
    pub(crate) config: Option<PathBuf>,
    /// Also explain every column
    #[arg(long)]
    pub(crate) explain: bool,
    /// Repeat every second, until Ctrl-C
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}
