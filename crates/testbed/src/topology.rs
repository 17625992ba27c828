//! The device, the server, and the ways between them.
//!
//! ```text
//!  device                                                         server
//!    wifi 10.77.0.2 ──┐                                ┌── wifi ──┐
//!                     ├── emulated links, and boxes ───┤          ├── lo 10.77.255.1
//!    lte  10.77.1.2 ──┘                                └── lte ───┘
//! ```
//!
//! Each path is a pair of TUN devices and a host route at either end. The first path that is there has the
//! lowest metric, so that connections begin on it, as in simulation; an endpoint for each path lets them
//! join over the others. A path's interface may be given other addresses of its /24 later.

use agent::{EndpointController, Interface};
use emulator::Driver;
use linux::namespace::Namespace;
use linux::pm::{Limits, PathManager};
use linux::route::{Route, RouteEntry};
use linux::tun::{MAX_NAME_BYTES, Tun};
use linux::{Error, sysctl};
use sim::Experiment;
use std::net::{IpAddr, Ipv4Addr};
use units::Instant;

/// The server's address.
pub(crate) const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 255, 1));
/// Headers of IPv4 and TCP, without options.
const HEADERS: u32 = 40;
/// Queues in the model are the only ones: those of the devices must never be full.
const DEVICE_QUEUE: u32 = 100_000;
/// What the kernel allows (MPTCP_PM_ADDR_MAX).
const MOST_SUBFLOWS: u32 = 8;

/// The device's first address on a path.
fn device_address(path: usize) -> IpAddr {
    Ipv4Addr::new(10, 77, path as u8, 2).into()
}

/// The path on which an address is, or was, the device's.
pub(crate) fn path_of(address: IpAddr) -> Option<usize> {
    match address {
        IpAddr::V4(v4) if address != SERVER && v4.octets().starts_with(&[10, 77]) => {
            Some(usize::from(v4.octets()[2]))
        }
        _ => None,
    }
}

/// The address after that one.
fn next_address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, d] = v4.octets();
            // All of them but the network's own and the one for everybody, over and over.
            Ipv4Addr::new(a, b, c, d % 254 + 1).into()
        }
        IpAddr::V6(_) => address,
    }
}

/// Both hosts, and what is needed to change the device's interfaces.
#[derive(Debug)]
pub(crate) struct Topology {
    pub(crate) device: Namespace,
    pub(crate) server: Namespace,
    pub(crate) hands: EndpointController,
    pub(crate) route: Route,
    /// Index of each path's interface on the device.
    pub(crate) indices: Vec<u32>,
    present: Vec<bool>,
    /// The policy wants no new connection to begin there.
    unrouted: Vec<bool>,
    /// The path that a scenario of plain TCP goes over.
    first: Option<usize>,
}

impl Topology {
    /// Makes both hosts and their devices, which may offload. Nothing of it outlives the value and the devices.
    pub(crate) fn build(experiment: &Experiment, offload: bool) -> Result<(Self, Vec<[Tun; 2]>), Error> {
        let (device, server) = (Namespace::create()?, Namespace::create()?);
        for namespace in [&device, &server] {
            namespace.run(|| settle(experiment))?;
        }
        let mut server_route = server.run(Route::open)?;
        let loopback = server_route.link("lo")?.index;
        server_route.add_address(loopback, SERVER, 32)?;
        let mut route = device.run(Route::open)?;
        let mut devices = Vec::new();
        let mut interfaces = Vec::new();
        for (path, spec) in experiment.paths.iter().enumerate() {
            let name = interface_name(&spec.name, path);
            devices.push(Driver::devices(&name, &device, &server, offload)?);
            let mtu = u32::from(experiment.transport.config.mss) + HEADERS;
            let there = server_route.link(&name)?.index;
            server_route.set_mtu(there, mtu)?;
            server_route.set_queue_length(there, DEVICE_QUEUE)?;
            server_route.set_up(there, true)?;
            server_route.add_route(&RouteEntry {
                to: Ipv4Addr::new(10, 77, path as u8, 0).into(),
                prefix: 24,
                device: there,
                via: None,
                source: Some(SERVER),
                metric: 0,
            })?;
            let here = route.link(&name)?.index;
            route.set_mtu(here, mtu)?;
            route.set_queue_length(here, DEVICE_QUEUE)?;
            route.add_address(here, device_address(path), 32)?;
            interfaces.push(Interface {
                name,
                index: here,
                address: device_address(path),
                id: path as u8 + 1,
                backup: spec.backup,
            });
        }
        let mut manager = device.run(PathManager::open)?;
        manager.set_limits(Limits { subflows: MOST_SUBFLOWS, accepted_addresses: 0 })?;
        let mut there = server.run(PathManager::open)?;
        there.set_limits(Limits { subflows: MOST_SUBFLOWS, accepted_addresses: MOST_SUBFLOWS })?;
        let paths = experiment.paths.len();
        let mut topology = Self {
            device,
            server,
            indices: interfaces.iter().map(|interface| interface.index).collect(),
            hands: EndpointController::new(manager, interfaces),
            route,
            present: vec![false; paths],
            unrouted: vec![false; paths],
            first: match experiment.transport.protocol {
                sim::Protocol::Tcp { path } => Some(path),
                sim::Protocol::Mptcp => None,
            },
        };
        for (path, spec) in experiment.paths.iter().enumerate() {
            if spec.join_at == Instant::ZERO {
                topology.come(path)?;
            }
        }
        Ok((topology, devices))
    }

    /// An interface of the device comes up.
    pub(crate) fn come(&mut self, path: usize) -> Result<(), Error> {
        self.route.set_up(self.indices[path], true)?;
        self.present[path] = true;
        self.reach(path)
    }

    /// An interface of the device goes away.
    pub(crate) fn go(&mut self, path: usize) -> Result<(), Error> {
        self.present[path] = false;
        // First the interface, so that no farewell is heard: it is gone.
        self.route.set_up(self.indices[path], false)?;
        self.hands.detach(path)
    }

    /// An interface of the device loses its address and has another one at once.
    pub(crate) fn readdress(&mut self, path: usize) -> Result<(), Error> {
        let old = self.hands.interfaces()[path].address;
        let new = next_address(old);
        // With the old one the kernel takes the way whose source it was.
        self.route.remove_address(self.indices[path], old, 32)?;
        self.route.add_address(self.indices[path], new, 32)?;
        if self.present[path] && !self.unrouted[path] {
            self.route.add_route(&RouteEntry { source: Some(new), ..self.way(path) })?;
        }
        self.hands.set_address(path, new)
    }

    /// The policy opens a path.
    pub(crate) fn open(&mut self, path: usize) -> Result<(), Error> {
        self.unrouted[path] = false;
        if self.present[path] { self.reach(path) } else { Ok(()) }
    }

    /// The policy closes a path: its subflows end, and no connection begins there.
    pub(crate) fn close(&mut self, path: usize) -> Result<(), Error> {
        self.unrouted[path] = true;
        self.hands.detach(path)?;
        if self.present[path] { self.route.remove_route(&self.way(path)) } else { Ok(()) }
    }

    pub(crate) fn is_present(&self, path: usize) -> bool {
        self.present[path]
    }

    /// Name of a path's interface.
    pub(crate) fn interface(&self, path: usize) -> &str {
        &self.hands.interfaces()[path].name
    }

    fn reach(&mut self, path: usize) -> Result<(), Error> {
        if self.unrouted[path] {
            return Ok(());
        }
        let way = self.way(path);
        match self.route.add_route(&way) {
            // It is there already.
            Err(error) if error.errno() == Some(rustix::io::Errno::EXIST.raw_os_error()) => {}
            other => other?,
        }
        self.hands.attach(path)
    }

    fn way(&self, path: usize) -> RouteEntry {
        RouteEntry {
            to: SERVER,
            prefix: 32,
            device: self.indices[path],
            via: None,
            source: Some(self.hands.interfaces()[path].address),
            metric: if self.first == Some(path) { 99 } else { 100 + path as u32 },
        }
    }
}

/// The settings of a host, in its own namespace.
pub(crate) fn settle(experiment: &Experiment) -> Result<(), Error> {
    let config = &experiment.transport.config;
    if sysctl::read("net.mptcp.enabled").is_err() {
        return Err(Error::Lacks {
            what: "this kernel has no Multipath TCP".to_owned(),
            hint: "Linux 5.6 and later have it, where CONFIG_MPTCP is set; `tandem run` needs no kernel"
                .to_owned(),
        });
    }
    let mut route = Route::open()?;
    let loopback = route.link("lo")?.index;
    let quiet = [
        // Router solicitations and the like would wake the radios.
        ("net.ipv6.conf.all.disable_ipv6", "1"),
        ("net.ipv6.conf.default.disable_ipv6", "1"),
        ("net.ipv4.conf.all.rp_filter", "0"),
        ("net.ipv4.conf.default.rp_filter", "0"),
        // One connection is to know nothing of the last.
        ("net.ipv4.tcp_no_metrics_save", "1"),
        ("net.mptcp.enabled", "1"),
    ];
    for (name, value) in quiet {
        sysctl::write(name, value)?;
    }
    sysctl::write("net.mptcp.checksum_enabled", if config.checksum { "1" } else { "0" })?;
    let most = |buffer: u64, start: u64| format!("4096 {} {}", start.min(buffer), buffer.max(8192));
    let start = config.autotune.unwrap_or(131_072);
    sysctl::write("net.ipv4.tcp_rmem", &most(buffer_for(config.recv_buffer), start))?;
    sysctl::write("net.ipv4.tcp_wmem", &most(buffer_for(config.send_buffer), 16_384))?;
    let ecn = match config.ecn {
        mptcp::EcnMode::Off => "0",
        mptcp::EcnMode::Request => "1",
        mptcp::EcnMode::Accept => "2",
    };
    sysctl::write("net.ipv4.tcp_ecn", ecn)?;
    route.set_up(loopback, true)
}

/// How much memory the kernel wants for a window of so many bytes: a packet of 1500 bytes from a TUN device
/// occupies some 2300 (`truesize`), and the window is what is left of the buffer at that rate.
pub(crate) fn buffer_for(window: u64) -> u64 {
    window * 8 / 5
}

/// A name that the kernel takes: the path's own where it is short enough.
fn interface_name(path: &str, number: usize) -> String {
    let plain: String =
        path.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).collect();
    if plain == path && !plain.is_empty() && plain.len() <= MAX_NAME_BYTES && plain != "lo" {
        return plain;
    }
    let kept: String = plain.chars().take(MAX_NAME_BYTES - 4).collect();
    format!("{kept}-{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_its_name_where_the_kernel_takes_it() {
        assert_eq!(interface_name("wifi", 0), "wifi");
        assert_eq!(interface_name("lo", 3), "lo-3");
        assert_eq!(interface_name("a path of many words", 12), "apathofmany-12");
        assert_eq!(interface_name("", 1), "-1");
    }
}
