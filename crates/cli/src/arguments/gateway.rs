//! Arguments of `tandem gateway`.

use super::proxy::{destination, network};
use super::{Format, LogFormat, UpstreamTlsOptions, policy};
use clap::{Args, Subcommand, ValueHint};
use policy::{InterfaceKind, PolicyConfig};
use std::path::PathBuf;

/// Carry all TCP connections of this machine over several links.
///
/// Runs the agent, the device's proxy, and nftables rules that redirect outgoing TCP connections to
/// that proxy, which carries them over Multipath TCP to a server-side proxy (`tandem proxy` on a
/// host with a public address). Programs need no change. UDP (also QUIC), private networks and
/// incoming connections stay direct.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo tandem gateway up --upstream proxy.example:1080
  sudo tandem gateway up --upstream proxy.example:1080 --interface wlan0=wifi --interface wwan0=5g \\
      --policy wifi-first
  sudo tandem gateway up --upstream proxy.example:1080 --forward lan0    also the clients behind lan0
  sudo tandem gateway up --upstream proxy.example:1080 --ca ca.crt --client-cert device.crt \\
      --client-key device.key                         encrypted (docs/how-to/proxy-tls.md)
  sudo tandem gateway status
  sudo tandem gateway down
  tandem gateway unit --upstream proxy.example:1080 > tandem-gateway.service

docs/how-to/gateway.md is the guide. The rules are a table of their own, `tandem_gateway`, which the
kernel removes when the process ends, also after kill -9.")]
pub(crate) struct Gateway {
    #[command(subcommand)]
    pub(crate) command: GatewayCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GatewayCommand {
    Up(GatewayUp),
    /// Stop a running gateway, and undo the changes of a killed one
    Down {
        /// Leave a running gateway alone; the systemd unit uses this
        #[arg(long, hide = true)]
        only_undo: bool,
    },
    Status(GatewayStatus),
    /// Print a hardened systemd unit, which runs `gateway up` with the same options
    Unit(GatewayUp),
}

/// Start the gateway and run until a signal.
///
/// Redirects nothing before the server-side proxy is reachable. On SIGTERM or Ctrl-C the redirection
/// of new connections ends first; open ones have five seconds to finish; then the agent undoes its
/// changes.
#[derive(Debug, Args)]
pub(crate) struct GatewayUp {
    /// Server-side proxy. A host name is resolved once, at the start
    #[arg(long, value_name = "HOST:PORT", value_parser = destination)]
    pub(crate) upstream: proxy::destination::Destination,
    #[command(flatten)]
    pub(crate) upstream_tls: UpstreamTlsOptions,
    /// An interface and its kind, such as wwan0=5g [default: all interfaces with a default route]
    #[arg(long, value_name = "NAME=KIND", value_parser = interface, conflicts_with = "config")]
    pub(crate) interface: Vec<(String, InterfaceKind)>,
    /// Policy of the agent
    #[arg(long, value_name = "P", value_parser = policy, default_value = "none", conflicts_with = "config")]
    pub(crate) policy: PolicyConfig,
    /// Configuration of the agent in place of --interface and --policy (docs/how-to/agent.md). Its
    /// keys `state`, `status.socket` and `log` do not apply
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// On a router: interface of clients to redirect too
    #[arg(long, value_name = "NAME")]
    pub(crate) forward: Vec<String>,
    /// Private network that is redirected as well, such as 10.9.0.0/16
    #[arg(long, value_name = "NETWORK", value_parser = network)]
    pub(crate) include: Vec<proxy::network::Network>,
    /// Network that stays direct
    #[arg(long, value_name = "NETWORK", value_parser = network)]
    pub(crate) exclude: Vec<proxy::network::Network>,
    /// Port of the device's proxy, and firewall mark of its own connections
    #[arg(long, value_name = "PORT", default_value = "3129", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Log filter: error, warn, info, debug, trace, also by module
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log: String,
    /// Format of the log on stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// Show links, policy, connections, counters and rules of the gateway.
#[derive(Debug, Args)]
pub(crate) struct GatewayStatus {
    /// Also explain every column
    #[arg(long)]
    pub(crate) explain: bool,
    /// Output format; csv has the interfaces only
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

fn interface(text: &str) -> Result<(String, InterfaceKind), String> {
    let kinds = || InterfaceKind::ALL.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
    let (name, kind) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| format!("expected a name and a kind such as wlan0=wifi; kinds: {}", kinds()))?;
    let kind = kind.parse().map_err(|_| format!("unknown kind `{kind}`; kinds: {}", kinds()))?;
    Ok((name.to_owned(), kind))
}
