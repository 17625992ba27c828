//! Network namespaces: a client with two interfaces, a middle host for the proxies, and a server.
//! Veth pairs connect client and middle (c1 to m0, c2 to m1), and middle and server (m2 to s0).

use linux::Error;
use linux::namespace::Namespace;
use linux::pm::{Endpoint, Limits, PathManager};
use linux::route::{Route, RouteEntry};
use std::net::{IpAddr, SocketAddr};
use std::process::Command;

/// Listening address of the proxies on the middle host, reachable over both paths.
pub(crate) const MIDDLE: &str = "10.9.9.9";
/// Address of the server.
pub(crate) const SERVER: &str = "10.3.0.2";

pub(crate) struct World {
    pub(crate) client: Namespace,
    pub(crate) middle: Namespace,
    /// Keeps the server's namespace alive.
    _server: Namespace,
    /// Listening address of the server.
    pub(crate) site: SocketAddr,
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn configure_interface(device: &str, address: &str) -> Result<(), Error> {
    let mut route = Route::open()?;
    let index = route.link(device)?.index;
    route.add_address(index, ip(address), 24)?;
    route.set_up(index, true)
}

fn add_route(to: &str, prefix: u8, device: &str, via: &str, metric: u32) -> Result<(), Error> {
    let mut route = Route::open()?;
    let device = route.link(device)?.index;
    route.add_route(&RouteEntry { to: ip(to), prefix, device, via: Some(ip(via)), source: None, metric })
}

impl World {
    pub(crate) fn new() -> Result<Self, Error> {
        let (client, middle, server) = (Namespace::create()?, Namespace::create()?, Namespace::create()?);
        for namespace in [&client, &middle, &server] {
            namespace.run(|| {
                linux::sysctl::write("net.mptcp.enabled", "1")?;
                // Large enough for the buffers not to limit the throughput.
                linux::sysctl::write("net.ipv4.tcp_rmem", "4096 131072 16777216")?;
                linux::sysctl::write("net.ipv4.tcp_wmem", "4096 65536 16777216")?;
                let mut route = Route::open()?;
                let loopback = route.link("lo")?.index;
                route.set_up(loopback, true)
            })?;
        }
        middle.run(|| {
            let mut route = Route::open()?;
            let loopback = route.link("lo")?.index;
            route.add_address(loopback, ip(MIDDLE), 32)?;
            route.add_veth("m2", "s0", &server)?;
            configure_interface("m2", "10.3.0.1")?;
            linux::sysctl::write("net.ipv4.ip_forward", "1")
        })?;
        server.run(|| {
            configure_interface("s0", SERVER)?;
            add_route("10.1.0.0", 24, "s0", "10.3.0.1", 0)?;
            add_route("10.2.0.0", 24, "s0", "10.3.0.1", 0)
        })?;
        client.run(|| {
            let mut route = Route::open()?;
            for net in ["1", "2"] {
                let (here, there) = (format!("c{net}"), format!("m{}", if net == "1" { "0" } else { "1" }));
                route.add_veth(&here, &there, &middle)?;
                middle.run(|| configure_interface(&there, &format!("10.{net}.0.1")))?;
                configure_interface(&here, &format!("10.{net}.0.2"))?;
                let metric = net.parse().unwrap_or(0);
                for to in [MIDDLE, SERVER] {
                    add_route(to, 32, &here, &format!("10.{net}.0.1"), metric)?;
                }
            }
            // The kernel opens the second subflow on c2, although c1's route has the lower metric.
            let second = route.link("c2")?.index;
            let mut manager = PathManager::open()?;
            manager.set_limits(Limits { subflows: 2, accepted_addresses: 0 })?;
            manager.add(&Endpoint { device: second, ..Endpoint::subflow(2, ip("10.2.0.2")) })?;
            Ok::<_, Error>(())
        })?;
        for namespace in [&middle, &server] {
            namespace
                .run(|| PathManager::open()?.set_limits(Limits { subflows: 2, accepted_addresses: 0 }))?;
        }
        let site = super::load::site(&server)?;
        Ok(Self { client, middle, _server: server, site })
    }

    /// Sets the rate limit of each path toward the client, in Mbit/s; `None` removes it.
    pub(crate) fn shape(&self, mbps: Option<u64>) -> Result<(), Error> {
        self.middle.run(|| {
            for device in ["m0", "m1"] {
                let run = |arguments: &str| {
                    let words = arguments.split(' ');
                    Command::new("tc").args(words).output().map_err(|error| Error::system("run tc", error))
                };
                // The exit status is ignored: without a rate limit, tc fails.
                run(&format!("qdisc del dev {device} root"))?;
                if let Some(mbps) = mbps {
                    run(&format!("qdisc add dev {device} root tbf rate {mbps}mbit burst 256k latency 40ms"))?;
                }
            }
            Ok(())
        })
    }
}
