//! Arguments of `tandem proxy`.

use super::{Format, LogFormat, ServerTlsOptions, UpstreamTlsOptions, listening_address};
use clap::{Args, Subcommand, ValueHint};
use proxy::network::NetworkError;
use std::path::PathBuf;

/// Carry the TCP connections of any program over Multipath TCP.
///
/// Accepts HTTP (also CONNECT) and SOCKS5 requests over Multipath TCP, and connects to servers over
/// TCP. With --upstream it is the client-side proxy: programs on this host use it as their proxy,
/// and it forwards their connections over Multipath TCP to the server-side proxy. It listens on
/// this host only unless clients are allowed, and connects to private addresses only if they are
/// allowed. Destinations have the ports 80, 443 or above 1024 unless others are allowed; no range
/// includes port 25 (mail).
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  tandem proxy                                          listen on 127.0.0.1:1080
  tandem proxy --listen 192.0.2.1:1080 --allow 198.51.100.0/24
  tandem proxy --listen 192.0.2.1:1080 --allow 198.51.100.0/24 --allow-port 1-65535
  tandem proxy --upstream proxy.example:1080            a client-side proxy
  tandem proxy --listen 192.0.2.1:1080 --tls-cert proxy.crt --tls-key proxy.key --tls-clients ca.crt
  tandem proxy --upstream proxy.example:1080 --ca ca.crt --client-cert device.crt \\
      --client-key device.key
  curl --proxy http://127.0.0.1:1080 http://example.org/
  tandem proxy example-config > proxy.toml
  tandem proxy --config proxy.toml --check
  tandem proxy --config proxy.toml
  tandem proxy passwd proxy.users ann                   asks for Ann's password
  tandem proxy status
  tandem proxy rules --port 3129 --interface wlan0      for programs without proxy support
  tandem proxy unit > tandem-proxy.service              a hardened systemd unit

SIGHUP reloads the configuration, all of it or nothing. SIGTERM drains open connections; a second one ends them at once."
)]
pub(crate) struct Proxy {
    #[command(subcommand)]
    pub(crate) command: Option<ProxyCommand>,
    /// Configuration, a TOML file (docs/how-to/proxy.md)
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["ServerTlsOptions", "ClientTlsOptions", "UpstreamTlsOptions"]
    )]
    pub(crate) config: Option<PathBuf>,
    /// Address to listen on [default: 127.0.0.1:1080]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listening_address, conflicts_with = "config")]
    pub(crate) listen: Vec<std::net::SocketAddr>,
    /// Network of clients to serve, such as 192.0.2.0/24
    #[arg(long, value_name = "NETWORK", value_parser = network, conflicts_with = "config")]
    pub(crate) allow: Vec<proxy::network::Network>,
    /// Private network of allowed destinations, such as 10.1.0.0/16
    #[arg(long, value_name = "NETWORK", value_parser = network, conflicts_with = "config")]
    pub(crate) allow_destination: Vec<proxy::network::Network>,
    /// Allowed destination port or range, such as 22 or 8000-8100 [default: 80, 443, 1025-65535]
    #[arg(long, value_name = "PORT", value_parser = ports, conflicts_with = "config")]
    pub(crate) allow_port: Vec<proxy::destination::PortRange>,
    /// Server-side proxy to forward all connections to
    #[arg(long, value_name = "HOST:PORT", value_parser = destination, conflicts_with = "config")]
    pub(crate) upstream: Option<proxy::destination::Destination>,
    #[command(flatten)]
    pub(crate) server_tls: ServerTlsOptions,
    #[command(flatten)]
    pub(crate) upstream_tls: UpstreamTlsOptions,
    /// Check the configuration on this machine and exit: kernel support, privileges, names. Opens no
    /// listener
    #[arg(long)]
    pub(crate) check: bool,
    /// Report players, by the CMCD of their requests, to this agent (`tandem agent`)
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath, conflicts_with = "config")]
    pub(crate) agent: Option<PathBuf>,
    /// Format of the log on stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProxyCommand {
    Status(ProxyStatus),
    /// Print a commented configuration with every key
    ExampleConfig,
    Passwd(ProxyPasswd),
    Rules(ProxyRules),
    /// Print a hardened systemd unit
    Unit {
        /// Path of the configuration
        #[arg(long, value_name = "FILE", default_value = "/etc/tandem/proxy.toml", value_hint = ValueHint::FilePath)]
        config: PathBuf,
    },
}

/// Show the status of the proxy.
///
/// Prints its listening addresses and its counters since the start.
#[derive(Debug, Args)]
pub(crate) struct ProxyStatus {
    /// Socket of the proxy [default: that of the configuration, or proxy.sock in /run/tandem or
    /// /run/tandem-proxy]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) socket: Option<PathBuf>,
    /// Configuration of the proxy, which has its socket
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "socket")]
    pub(crate) config: Option<PathBuf>,
    /// Also explain every column
    #[arg(long)]
    pub(crate) explain: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

/// Set the password of a user, or remove the user.
///
/// Asks for the password on the terminal and writes its hash (argon2id) into a file for the key
/// `users` of the configuration. Other lines of the file stay. Only its owner can read the file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem proxy passwd /etc/tandem/proxy.users ann            add Ann, or change her password
  tandem proxy passwd /etc/tandem/proxy.users ann --delete
  pwgen -s 20 1 | tee ann.txt | tandem proxy passwd proxy.users ann --stdin")]
pub(crate) struct ProxyPasswd {
    /// Users file; created if there is none
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Name of the user
    #[arg(value_name = "USER")]
    pub(crate) user: String,
    /// Read the password from the first line of standard input
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Remove the user
    #[arg(long, conflicts_with = "stdin")]
    pub(crate) delete: bool,
}

/// Print nftables rules that redirect connections to a transparent listener.
///
/// The output is a shell script, which changes this host when root runs it.
#[derive(Debug, Args)]
pub(crate) struct ProxyRules {
    /// Port of the transparent listener
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Interface of the clients [default: any]
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Vec<String>,
    /// Destination port to redirect [default: any]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) to: Vec<u16>,
    /// Packet mark, and number of the routing table
    #[arg(long, value_name = "N", default_value = "3129", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) mark: u32,
}

pub(super) fn network(text: &str) -> Result<proxy::network::Network, String> {
    text.parse().map_err(|error: NetworkError| format!("{error}\n  hint: {}", error.hint()))
}

fn ports(text: &str) -> Result<proxy::destination::PortRange, String> {
    text.parse().map_err(|()| "expected a port such as 443, or a range such as 8000-8100".to_owned())
}

pub(super) fn destination(text: &str) -> Result<proxy::destination::Destination, String> {
    text.parse().map_err(|()| "expected a host and port such as proxy.example:1080".to_owned())
}
