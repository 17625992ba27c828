//! Settings of the parts of a gateway, from the command line.

use super::{runtime, system};
use crate::arguments::{GatewayUp, LogFormat};
use crate::command;
use crate::failure::{Failure, reason};
use crate::unit;
use linux::route::{Link, Route, Scope};
use linux::socket::Protocol;
use policy::InterfaceKind;
use proxy::config::{Listen, ListenerProtocol, Upstream, UpstreamProtocol};
use proxy::destination::{Destination, Host, Ports};
use proxy::front::redirected::Rules;
use proxy::network::Network;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Time to reach the upstream proxy at the start.
const REACH_TIMEOUT: Duration = Duration::from_secs(10);
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
    /// Chains of the nftables table.
    pub(super) rules: String,
    pub(super) upstream: SocketAddr,
    /// Addresses at which the clients behind `--forward` reach the proxy.
    pub(super) forward: Vec<SocketAddr>,
}

impl Plan {
    /// Finds the addresses to listen at.
    pub(super) fn of(
        arguments: &GatewayUp,
        agent: agent::config::Config,
        upstream: SocketAddr,
    ) -> Result<Self, Failure> {
        let ipv6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
        let (listen, clients) = listeners(arguments, ipv6)?;
        let is_here = |address: &SocketAddr| address.ip().is_loopback();
        let forward = listen.iter().map(|one| one.address).filter(|address| !is_here(address)).collect();
        let mark = u32::from(arguments.port);
        let mut proxy = proxy::Config {
            listen,
            upstream: Some(Upstream::new(
                Destination { host: Host::Address(upstream.ip()), port: upstream.port() },
                UpstreamProtocol::Connect,
                Protocol::Mptcp,
            )),
            mark: Some(mark),
            socket: Some(runtime().join("proxy.sock")),
            ..proxy::Config::default()
        };
        proxy.clients.allow = clients;
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
            include: arguments.include.clone(),
            exclude: arguments.exclude.clone(),
            ipv6,
        };
        Ok(Self { agent, proxy, rules: rules.to_chains(), upstream, forward })
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
    let mut text = format!("policy = \"{}\"\n", arguments.policy);
    for (name, kind) in interfaces {
        _ = write!(text, "[[interface]]\nmatch = {}\nkind = \"{kind}\"\n", serde_json::Value::from(name));
    }
    let no_files = |_: &str| Err("no file".to_owned());
    agent::config::Config::parse("the command line", text.as_bytes(), &no_files).map_err(|problems| {
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

/// The first address of the upstream proxy that accepts a connection.
pub(super) fn reach(destination: &Destination) -> Result<SocketAddr, Failure> {
    let name = destination.to_string();
    let unreachable = |why: &str| Failure::Other {
        message: format!("cannot reach the server-side proxy {name}: {why}; nothing was redirected"),
        hint: "run `tandem proxy --listen ADDRESS:PORT --allow NETWORK` there; a firewall may block the port"
            .to_owned(),
    };
    let addresses = name.to_socket_addrs().map_err(|_| unreachable("the name does not resolve"))?;
    let mut why = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, REACH_TIMEOUT) {
            Ok(_) => return Ok(address),
            Err(error) => why = reason(&error),
        }
    }
    Err(unreachable(&why))
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
    for (name, kind) in &arguments.interface {
        add("--interface", format!("{name}={kind}").into());
    }
    match &arguments.config {
        Some(path) => add("--config", unit::absolute(path)?.into()),
        None => add("--policy", arguments.policy.to_string().into()),
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
    Ok(line)
}
