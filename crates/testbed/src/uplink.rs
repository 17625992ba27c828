//! Uplink: a relay from the emulated server to the real network.
//!
//! ```text
//!  device ══ the scenario's paths ══ listeners and sockets │ sockets of the host ── real network
//!                                    in the server's namespace │ in the host's namespace
//! ```
//!
//! The server owns every address. The emulator reports the first packet of each flow before the
//! server receives it; [`FlowOpener`] then opens the listener or the socket that accepts it. Each
//! listener has the port of the destination, which the kernel requires of MP_JOIN.

use crate::Error;
use crate::datagrams::{DatagramRelay, FlowKey};
use crate::topology::{DEVICES, SERVER};
use emulator::{FlowHook, FlowPacket};
use linux::namespace::Namespace;
use linux::socket::{self, Options, Protocol};
use proxy::config::{Clients, Limits};
use proxy::destination::{Ports, Rules};
use proxy::network::Network;
use proxy::{Config, Proxy};
use std::collections::HashSet;
use std::fmt::Write;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

/// Port of name servers.
const DNS_PORT: u16 = 53;
/// Address of the name server for the device.
pub(crate) const NAME_SERVER: SocketAddr = SocketAddr::new(SERVER, DNS_PORT);
/// Configuration of the host's resolver. Without it the programs of an uplink resolve no names.
pub const RESOLV_CONF: &str = "/etc/resolv.conf";
/// Maximum number of listeners of a run. Each has a file, and some kilobytes of the kernel's memory.
pub(crate) const MAX_LISTENERS: usize = 8192;
/// Maximum number of connections. Each has two files.
const MAX_CONNECTIONS: usize = 256;

/// Running relay. Dropping it ends all connections to the real network.
#[derive(Debug)]
pub(crate) struct Uplink {
    proxy: Arc<Proxy>,
    datagrams: DatagramRelay,
    /// Content of `/etc/resolv.conf` for the device; empty if the host has none.
    pub(crate) resolv_conf: String,
}

impl Uplink {
    /// Starts the relay. Its connections to the real network leave from the namespace of the
    /// calling thread.
    pub(crate) fn start(server: &Namespace) -> Result<Self, Error> {
        let text = resolver_configuration(Path::new(RESOLV_CONF))?;
        let resolver = name_server(text.as_deref().unwrap_or_default());
        let resolv_conf = text.as_deref().map(device_resolv_conf).unwrap_or_default();
        let proxy = Arc::new(Proxy::start(proxy_config(), None)?);
        let listen = || socket::listen(NAME_SERVER, Protocol::Mptcp, &Options::default());
        // Fails if the server's program is a name server. It then answers the device.
        let listener = server.run(listen).ok();
        let datagrams = DatagramRelay::start(destinations(), resolver, listener)?;
        Ok(Self { proxy, datagrams, resolv_conf })
    }

    /// Function for the emulator that opens listeners and sockets in the server's namespace.
    /// `congestion` is the congestion control of connections to the device.
    pub(crate) fn hook(&self, server: &Namespace, congestion: Option<String>) -> Result<FlowHook, Error> {
        let mut opener = FlowOpener {
            proxy: Arc::clone(&self.proxy),
            datagrams: self.datagrams.clone(),
            listeners: HashSet::new(),
            congestion,
        };
        let server = server.try_clone()?;
        let mut is_inside = false;
        Ok(Box::new(move |packet| {
            // The emulator's thread needs no namespace of its own: its devices are open.
            is_inside = is_inside || server.enter().is_ok();
            if is_inside {
                opener.open(packet);
            }
        }))
    }
}

/// Opens a listener per port and a socket per UDP flow, on the emulator's thread.
struct FlowOpener {
    proxy: Arc<Proxy>,
    datagrams: DatagramRelay,
    /// Addresses of the open listeners.
    listeners: HashSet<SocketAddr>,
    congestion: Option<String>,
}

impl FlowOpener {
    fn open(&mut self, packet: FlowPacket) {
        match packet {
            // Only the server's own programs and the name server are at its own address.
            FlowPacket::Syn { to } if to.ip() == SERVER => {}
            FlowPacket::Datagram { to, .. } if to.ip() == SERVER && to != NAME_SERVER => {}
            FlowPacket::Syn { to } => self.open_listener(to),
            FlowPacket::Datagram { from, to } => {
                self.datagrams.open(FlowKey { device: from, destination: to });
            }
        }
    }

    /// Opens a listener at the destination's port, unless there is one. Where the server or its
    /// program holds the port at another address, it is open at the destination's address only.
    /// After [`MAX_LISTENERS`] new destinations are refused.
    fn open_listener(&mut self, to: SocketAddr) {
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, to.port()));
        let addresses = [any, to];
        let is_open = addresses.iter().any(|address| self.listeners.contains(address));
        if is_open || self.listeners.len() >= MAX_LISTENERS {
            return;
        }
        // Both fail if a program of the server listens at all addresses: connections are its own.
        let is_opened =
            |address: &SocketAddr| self.proxy.forward_from_here(*address, self.congestion.as_deref()).is_ok();
        self.listeners.extend(addresses.into_iter().find(is_opened));
    }
}

/// Destinations that the device may reach: all but the host itself and the emulated network.
fn destinations() -> Rules {
    Rules {
        deny: Network::new(DEVICES, 16).into_iter().collect(),
        private: true,
        // The device has the ports of its host: SSH as well as HTTP.
        ports: Ports::all(),
        ..Rules::default()
    }
}

/// Configuration of a proxy that accepts only the device, and no connection before the first hook.
fn proxy_config() -> Config {
    Config {
        listen: Vec::new(),
        clients: Clients { allow: Network::new(DEVICES, 16).into_iter().collect(), ..Clients::default() },
        destinations: destinations(),
        limits: Limits { connections: MAX_CONNECTIONS, per_client: MAX_CONNECTIONS, ..Limits::default() },
        workers: Some(1),
        ..Config::default()
    }
}

/// Content of resolv.conf(5), `None` without the file: addresses need no names.
fn resolver_configuration(path: &Path) -> Result<Option<String>, Error> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => {
            let doing = format!("read {}, which names the host's name server", path.display());
            Err(linux::Error::System { doing, source }.into())
        }
    }
}

/// First name server of a resolv.conf(5). Without one, the resolver asks this host.
fn name_server(text: &str) -> SocketAddr {
    let mut named = text.lines().filter_map(|line| line.trim_start().strip_prefix("nameserver"));
    let address = named.find_map(|rest| rest.trim().parse::<IpAddr>().ok());
    SocketAddr::new(address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), DNS_PORT)
}

/// The host's resolv.conf(5) with the name server of the device.
fn device_resolv_conf(text: &str) -> String {
    let mut all = format!("nameserver {SERVER}\n");
    let kept = text.lines().filter(|line| {
        ["search", "domain", "options"].iter().any(|keyword| line.trim_start().starts_with(keyword))
    });
    for line in kept {
        _ = writeln!(all, "{line}");
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_asks_the_server_and_keeps_the_search_list() {
        let text = "# by hand\nnameserver 127.0.0.53\nnameserver 9.9.9.9\noptions edns0 trust-ad\nsearch example.org\n";
        assert_eq!(name_server(text).to_string(), "127.0.0.53:53");
        assert_eq!(
            device_resolv_conf(text),
            "nameserver 10.77.255.1\noptions edns0 trust-ad\nsearch example.org\n"
        );
        assert_eq!(
            name_server("nameserver fe80::1%eth0\nnameserver 2001:db8::1").to_string(),
            "[2001:db8::1]:53"
        );
        assert_eq!(name_server("").to_string(), "127.0.0.1:53");
    }
    #[test]
    fn missing_resolver_configuration_is_no_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("resolv.conf");
        assert!(matches!(resolver_configuration(&path), Ok(None)));
        std::os::unix::fs::symlink("../run/stub-resolv.conf", &path).expect("the folder is ours");
        assert!(matches!(resolver_configuration(&path), Ok(None)), "a link of a stopped resolver");
        let error = resolver_configuration(folder.path()).expect_err("it is a directory");
        assert!(error.to_string().contains("name server"), "{error}");
    }
}
