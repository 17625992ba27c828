//! Settings of the parts of a gateway, from the command line.

use super::{runtime, system};
use crate::arguments::{GatewayUp, LogFormat};
use crate::command;
use crate::failure::{Failure, reason};
use crate::unit;
use experiments::files;
use linux::route::{Link, Route, Scope};
use linux::socket::Protocol;
use policy::{InterfaceKind, PolicyConfig};
use proxy::config::{Listen, ListenerProtocol, Upstream, UpstreamProtocol};
use proxy::destination::{Destination, Host, Ports};
use proxy::front::redirected::Rules;
use proxy::network::Network;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;
use tls::ClientTls;
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

/// Time to reach the upstream proxy at the start.
const REACH_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for the upstream proxy to refuse a certificate.
const ALERT_TIMEOUT: Duration = Duration::from_secs(1);
/// With `--forward`, one client takes at most this part of all connections: a quarter.
const MAX_CLIENT_SHARE: usize = 4;
/// Time for open connections to finish at the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// All addresses of both families.
const ANYWHERE: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];

/// Settings of agent, proxy and redirection.
pub(super) struct Plan {
    pub(super) agent: agent::config::Config,
    pub(super) proxy: proxy::Config,
    /// Rules of the nftables table.
    pub(super) rules: Rules,
    pub(super) upstream: SocketAddr,
    /// Addresses at which the clients behind `--forward` reach the proxy.
    pub(super) forward: Vec<SocketAddr>,
}

impl Plan {
    /// Finds the addresses to listen at.
    pub(super) fn of(
        arguments: &GatewayUp,
        agent: agent::config::Config,
        (upstream, tls): (SocketAddr, Option<ClientTls>),
    ) -> Result<Self, Failure> {
        let ipv6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
        let (listen, clients) = listeners(arguments, ipv6)?;
        let is_here = |address: &SocketAddr| address.ip().is_loopback();
        let forward = listen.iter().map(|one| one.address).filter(|address| !is_here(address)).collect();
        let mark = u32::from(arguments.port);
        let destination = Destination { host: Host::Address(upstream.ip()), port: upstream.port() };
        let next = Upstream::new(destination, UpstreamProtocol::Connect, Protocol::Mptcp);
        let mut proxy = proxy::Config {
            listen,
            upstream: Some(Upstream { tls, ..next }),
            mark: Some(mark),
            socket: Some(runtime().join("proxy.sock")),
            ..proxy::Config::default()
        };
        proxy.clients.allow.clone_from(&clients);
        // The nftables rules select destinations, and the server-side proxy applies its own rules.
        proxy.destinations.ports = Ports::all();
        proxy.destinations.allow = ANYWHERE.into_iter().filter_map(|any| Network::new(any, 0)).collect();
        // This machine is one client. Beside others, none of them takes all places.
        let share = if arguments.forward.is_empty() { 1 } else { MAX_CLIENT_SHARE };
        proxy.limits.per_client = proxy.limits.connections / share;
        proxy.timeouts.drain = DRAIN_TIMEOUT;
        let rules = Rules {
            port: arguments.port,
            mark,
            upstream,
            forward: arguments.forward.clone(),
            clients,
            include: arguments.include.clone(),
            exclude: arguments.exclude.clone(),
            ipv6,
        };
        Ok(Self { agent, proxy, rules, upstream, forward })
    }
}

/// Configuration of the agent, from its file or from the options.
pub(super) fn agent_config(arguments: &GatewayUp) -> Result<agent::config::Config, Failure> {
    if let Some(path) = &arguments.config {
        return command::agent::read(path);
    }
    let interfaces = if arguments.interface.is_empty() {
        interfaces_with_default_route()?
    } else {
        arguments.interface.clone()
    };
    let quoted = |text: String| serde_json::Value::from(text);
    let mut text = format!("policy = {}\n", quoted(arguments.policy.to_string()));
    for (name, kind) in interfaces {
        _ = write!(text, "[[interface]]\nmatch = {}\nkind = \"{kind}\"\n", quoted(name));
    }
    let read = |file: &str| files::read(Path::new(file));
    agent::config::Config::parse("the command line", text.as_bytes(), &read).map_err(|problems| {
        Failure::Usage {
            message: problems.first().map(|one| one.message.clone()).unwrap_or_default(),
            hint: problems.into_iter().next().and_then(|one| one.hint).unwrap_or_default(),
        }
    })
}

/// Keys of the agent's configuration that do not apply to a gateway.
pub(super) fn ignored_keys(config: &agent::config::Config) -> Vec<&'static str> {
    let keys = [
        ("state", config.state.is_some()),
        ("status.socket", config.socket.is_some()),
        ("log", config.log != "info"),
    ];
    keys.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key).collect()
}

/// Interfaces with a default route; their kinds follow from the usual prefixes of names
/// (systemd.net-naming-scheme(7)).
fn interfaces_with_default_route() -> Result<Vec<(String, InterfaceKind)>, Failure> {
    let mut route = Route::open().map_err(|error| system(&error))?;
    let routes = route.routes().map_err(|error| system(&error))?;
    let links = route.links().map_err(|error| system(&error))?;
    let has_default = |link: &&Link| routes.iter().any(|one| one.prefix == 0 && one.device == link.index);
    let found: Vec<_> =
        links.iter().filter(has_default).map(|link| (link.name.clone(), kind_by_name(&link.name))).collect();
    if found.is_empty() {
        return Err(Failure::Other {
            message: "no interface has a default route".to_owned(),
            hint: "name the interfaces: --interface wlan0=wifi --interface wwan0=lte".to_owned(),
        });
    }
    Ok(found)
}

fn kind_by_name(name: &str) -> InterfaceKind {
    match name.get(..2) {
        Some("wl") => InterfaceKind::Wifi,
        Some("ww" | "lt") => InterfaceKind::Lte,
        Some("en" | "et") => InterfaceKind::Ethernet,
        _ => InterfaceKind::Other,
    }
}

/// The first address of the upstream proxy that accepts a connection, and a TLS session if wanted.
pub(super) fn reach(destination: &Destination, tls: Option<&ClientTls>) -> Result<SocketAddr, Failure> {
    let name = destination.to_string();
    let mut hint =
        "run `tandem proxy --listen ADDRESS:PORT --allow NETWORK` there; a firewall may block the port";
    let unreachable = |why: &str, hint: &str| Failure::Other {
        message: format!("cannot reach the server-side proxy {name}: {why}; nothing was redirected"),
        hint: hint.to_owned(),
    };
    let addresses = name.to_socket_addrs().map_err(|_| unreachable("the name does not resolve", hint))?;
    let mut why = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, REACH_TIMEOUT) {
            Ok(stream) => {
                match tls.map(|tls| open_session(stream, tls, &destination.host.certificate_name())) {
                    None | Some(Ok(())) => return Ok(address),
                    Some(Err(error)) => {
                        why = tls::handshake_reason(&error);
                        hint = "--ca, --server-name and --client-cert have to fit the certificates of that proxy";
                    }
                }
            }
            Err(error) => why = reason(&error),
        }
    }
    Err(unreachable(&why, hint))
}

/// Opens a TLS session and waits for an alert: a server may refuse the client's certificate only
/// after the handshake (RFC 8446, section 4.4.2).
fn open_session(stream: TcpStream, tls: &ClientTls, host: &str) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::from_std(stream)?;
        let mut session = timeout(REACH_TIMEOUT, tls.connect(stream, host)).await??;
        let mut first = [0];
        match timeout(ALERT_TIMEOUT, session.read(&mut first)).await {
            Ok(Err(error)) => Err(error),
            Ok(Ok(0)) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(Ok(_)) | Err(_) => Ok(()),
        }
    })
}

/// Listeners for this machine and for the clients behind `--forward`, and the networks of clients.
fn listeners(arguments: &GatewayUp, ipv6: bool) -> Result<(Vec<Listen>, Vec<Network>), Failure> {
    let listen = |address: IpAddr| Listen {
        address: SocketAddr::new(address, arguments.port),
        serve: ListenerProtocol::Redirected,
        protocol: Protocol::Tcp,
        tls: false,
        send_buffer: None,
    };
    let mut all = vec![listen(Ipv4Addr::LOCALHOST.into())];
    if ipv6 {
        all.push(listen(Ipv6Addr::LOCALHOST.into()));
    }
    let mut clients = Vec::new();
    let mut route = Route::open().map_err(|error| system(&error))?;
    for name in &arguments.forward {
        let index = route.link(name).map_err(|error| system(&error))?.index;
        let addresses = route.addresses().map_err(|error| system(&error))?;
        let before = all.len();
        for one in addresses.iter().filter(|one| one.index == index && one.scope == Scope::Global) {
            all.push(listen(one.address));
            clients.extend(Network::containing(one.address, one.prefix));
        }
        if all.len() == before {
            return Err(Failure::Other {
                message: format!("the interface {name} has no address"),
                hint: "`--forward` needs the address at which its clients reach this machine".to_owned(),
            });
        }
    }
    Ok((all, clients))
}

/// Arguments that start the gateway as these options do.
pub(super) fn command_line(arguments: &GatewayUp) -> Result<Vec<OsString>, Failure> {
    let mut line: Vec<OsString> = ["gateway", "up"].map(OsString::from).to_vec();
    let mut add = |option: &str, value: OsString| line.extend([option.into(), value]);
    add("--upstream", arguments.upstream.to_string().into());
    let tls = &arguments.upstream_tls;
    for (option, file) in [("--ca", &tls.client.ca), ("--client-cert", &tls.client.client_cert)] {
        if let Some(file) = file {
            add(option, unit::absolute(file)?.into());
        }
    }
    if let Some(name) = &tls.server_name {
        add("--server-name", name.into());
    }
    for (name, kind) in &arguments.interface {
        add("--interface", format!("{name}={kind}").into());
    }
    match &arguments.config {
        Some(path) => add("--config", unit::absolute(path)?.into()),
        None => add("--policy", policy_text(&arguments.policy)?.into()),
    }
    for name in &arguments.forward {
        add("--forward", name.into());
    }
    for (option, networks) in [("--include", &arguments.include), ("--exclude", &arguments.exclude)] {
        for network in networks {
            add(option, network.to_string().into());
        }
    }
    add("--port", arguments.port.to_string().into());
    add("--log", arguments.log.clone().into());
    if arguments.log_format == LogFormat::Json {
        add("--log-format", "json".into());
    }
    if tls.upstream_tls {
        line.push("--upstream-tls".into());
    }
    Ok(line)
}

/// Written form of a policy, with an absolute path of its file.
fn policy_text(policy: &PolicyConfig) -> Result<String, Failure> {
    let text = policy.to_string();
    // The file is the last parameter.
    match policy.file().and_then(|file| Some((text.strip_suffix(file)?, file))) {
        Some((start, file)) => Ok(format!("{start}{}", unit::absolute(Path::new(file))?.display())),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        up: GatewayUp,
    }

    fn parse(more: &[&str]) -> GatewayUp {
        let options = ["up", "--upstream", "203.0.113.5:1080", "--interface", "wlan0=wifi"];
        CommandLine::try_parse_from([&options, more].concat()).expect("valid options").up
    }

    #[test]
    fn map_of_a_policy_is_read_and_absolute_in_the_unit() {
        let name = "../policy/src/best_known/built_in.toml";
        let arguments = parse(&["--policy", &format!("best-known:map={name}")]);
        let config = agent_config(&arguments).unwrap_or_else(|failure| panic!("{}", failure.to_text()));
        assert_eq!(config.policy.file(), Some(name));
        let line = command_line(&arguments).unwrap_or_else(|failure| panic!("{}", failure.to_text()));
        let folder = std::env::current_dir().expect("a folder");
        let policy = format!("best-known:map={}", folder.join(name).display());
        assert!(line.contains(&policy.clone().into()), "{policy} in {line:?}");
    }
}
