//! The device, the server, and the paths between them.
//!
//! Each path consists of two TUN devices, `10.77.N.2` at the device and one at the server, and a
//! route on either host. The emulator carries packets between the two. The server's address is
//! `10.77.255.1`, on its loopback interface. As in simulation, connections begin on the first path
//! that is up: its route has the lowest metric. They join over the other paths' endpoints.
//! Interfaces may later change to other addresses of their /24.

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

/// Address of the server.
pub(crate) const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 255, 1));
/// Network of the addresses of both hosts (/16).
pub(crate) const DEVICES: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 0));
/// Size of an IPv4 and a TCP header without options.
const HEADER_BYTES: u32 = 40;
/// Queue length of the TUN devices, in packets. They must never drop: the emulated links have the
/// only queues.
const DEVICE_QUEUE_PACKETS: u32 = 100_000;
/// Linux's maximum number of subflows (MPTCP_PM_ADDR_MAX).
const MAX_SUBFLOWS: u32 = 8;

/// Initial address of the device on a path.
fn device_address(path: usize) -> IpAddr {
    Ipv4Addr::new(10, 77, path as u8, 2).into()
}

/// The path of a present or former address of the device.
pub(crate) fn path_of(address: IpAddr) -> Option<usize> {
    match address {
        IpAddr::V4(v4) if address != SERVER && v4.octets().starts_with(&[10, 77]) => {
            Some(usize::from(v4.octets()[2]))
        }
        _ => None,
    }
}

/// The next host address of the same /24.
fn next_address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, d] = v4.octets();
            // Skips the network address and the broadcast address.
            Ipv4Addr::new(a, b, c, d % 254 + 1).into()
        }
        IpAddr::V6(_) => address,
    }
}

/// Addresses that the device reaches over the paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The server's address.
    Server,
    /// Every IPv4 address. All of them belong to the server's host.
    Everything,
}

/// Both hosts, and the state of the device's interfaces.
#[derive(Debug)]
pub(crate) struct Topology {
    pub(crate) device: Namespace,
    pub(crate) server: Namespace,
    reach: Reach,
    pub(crate) endpoints: EndpointController,
    pub(crate) route: Route,
    /// Index of each path's interface on the device.
    pub(crate) indices: Vec<u32>,
    /// Whether each interface is up.
    is_up: Vec<bool>,
    /// Whether the policy has closed each path.
    is_closed: Vec<bool>,
    /// The only path of a scenario with plain TCP.
    tcp_path: Option<usize>,
}

impl Topology {
    /// Creates both hosts, and returns the TUN devices of each path. With `offload`, the emulator
    /// segments packets for the kernels ([`Driver::devices`]). Everything ends with the returned
    /// values.
    pub(crate) fn build(
        experiment: &Experiment,
        offload: bool,
        reach: Reach,
    ) -> Result<(Self, Vec<[Tun; 2]>), Error> {
        let (device, server) = (Namespace::create()?, Namespace::create()?);
        for namespace in [&device, &server] {
            namespace.run(|| configure_host(experiment))?;
        }
        let mut server_route = server.run(Route::open)?;
        let loopback = server_route.link("lo")?.index;
        server_route.add_address(loopback, SERVER, 32)?;
        let mut route = device.run(Route::open)?;
        let mut devices = Vec::new();
        let mut interfaces = Vec::new();
        let mtu = u32::from(experiment.transport.config.mss) + HEADER_BYTES;
        for (path, spec) in experiment.paths.iter().enumerate() {
            let name = interface_name(&spec.name, path);
            devices.push(Driver::devices(&name, &device, &server, offload)?);
            configure_server_interface(&mut server_route, &name, path, mtu)?;
            let index = configure_device_interface(&mut route, &name, path, mtu)?;
            let (address, id) = (device_address(path), path as u8 + 1);
            interfaces.push(Interface { name, index, address, id, backup: spec.backup });
        }
        if reach == Reach::Everything {
            server_route.deliver_locally(loopback)?;
        }
        let manager = set_limits(&device, &server)?;
        let paths = experiment.paths.len();
        let mut topology = Self {
            device,
            server,
            reach,
            indices: interfaces.iter().map(|interface| interface.index).collect(),
            endpoints: EndpointController::new(manager, interfaces),
            route,
            is_up: vec![false; paths],
            is_closed: vec![false; paths],
            tcp_path: match experiment.transport.protocol {
                sim::Protocol::Tcp { path } => Some(path),
                sim::Protocol::Mptcp => None,
            },
        };
        for (path, spec) in experiment.paths.iter().enumerate() {
            if spec.join_at == Instant::ZERO {
                topology.bring_up(path)?;
            }
        }
        Ok((topology, devices))
    }

    /// Brings an interface of the device up.
    pub(crate) fn bring_up(&mut self, path: usize) -> Result<(), Error> {
        self.route.set_up(self.indices[path], true)?;
        self.is_up[path] = true;
        self.attach(path)
    }

    /// Takes an interface of the device down.
    pub(crate) fn take_down(&mut self, path: usize) -> Result<(), Error> {
        self.is_up[path] = false;
        // The interface goes down before its endpoint, so that no REMOVE_ADDR or FIN leaves over
        // it.
        self.route.set_up(self.indices[path], false)?;
        self.endpoints.detach(path)
    }

    /// Replaces the address of an interface of the device.
    pub(crate) fn change_address(&mut self, path: usize) -> Result<(), Error> {
        let old = self.endpoints.interfaces()[path].address;
        let new = next_address(old);
        // With the old address, the kernel removes the route that has it as source.
        self.route.remove_address(self.indices[path], old, 32)?;
        self.route.add_address(self.indices[path], new, 32)?;
        if self.is_up[path] && !self.is_closed[path] {
            self.route.add_route(&RouteEntry { source: Some(new), ..self.route_entry(path) })?;
        }
        self.endpoints.set_address(path, new)
    }

    /// Opens a path that the policy had closed.
    pub(crate) fn open_path(&mut self, path: usize) -> Result<(), Error> {
        self.is_closed[path] = false;
        if self.is_up[path] { self.attach(path) } else { Ok(()) }
    }

    /// Closes a path for the policy: its subflows end, and no connection begins there.
    pub(crate) fn close_path(&mut self, path: usize) -> Result<(), Error> {
        self.is_closed[path] = true;
        self.endpoints.detach(path)?;
        if self.is_up[path] { self.route.remove_route(&self.route_entry(path)) } else { Ok(()) }
    }

    /// True while the path's interface is up.
    pub(crate) fn is_up(&self, path: usize) -> bool {
        self.is_up[path]
    }

    /// Name of a path's interface.
    pub(crate) fn interface(&self, path: usize) -> &str {
        &self.endpoints.interfaces()[path].name
    }

    /// Adds the route and the endpoint of a path that is up, unless the policy has closed it.
    fn attach(&mut self, path: usize) -> Result<(), Error> {
        if self.is_closed[path] {
            return Ok(());
        }
        match self.route.add_route(&self.route_entry(path)) {
            // The route exists already.
            Err(error) if error.errno() == Some(rustix::io::Errno::EXIST.raw_os_error()) => {}
            other => other?,
        }
        self.endpoints.attach(path)
    }

    fn route_entry(&self, path: usize) -> RouteEntry {
        let (to, prefix) = match self.reach {
            Reach::Server => (SERVER, 32),
            Reach::Everything => (Ipv4Addr::UNSPECIFIED.into(), 0),
        };
        RouteEntry {
            to,
            prefix,
            device: self.indices[path],
            via: None,
            source: Some(self.endpoints.interfaces()[path].address),
            metric: if self.tcp_path == Some(path) { 99 } else { 100 + path as u32 },
        }
    }
}

/// Brings the server's interface of a path up, with a route to all the device's addresses on it.
fn configure_server_interface(route: &mut Route, name: &str, path: usize, mtu: u32) -> Result<(), Error> {
    let index = route.link(name)?.index;
    route.set_mtu(index, mtu)?;
    route.set_queue_length(index, DEVICE_QUEUE_PACKETS)?;
    route.set_up(index, true)?;
    // The table `local` may hold a default route (`Reach::Everything`), so this one is there too.
    route.add_route_before_main(&RouteEntry {
        to: Ipv4Addr::new(10, 77, path as u8, 0).into(),
        prefix: 24,
        device: index,
        via: None,
        source: Some(SERVER),
        metric: 0,
    })
}

/// Configures the device's interface of a path, which stays down. Returns its index.
fn configure_device_interface(route: &mut Route, name: &str, path: usize, mtu: u32) -> Result<u32, Error> {
    let index = route.link(name)?.index;
    route.set_mtu(index, mtu)?;
    route.set_queue_length(index, DEVICE_QUEUE_PACKETS)?;
    route.add_address(index, device_address(path), 32)?;
    Ok(index)
}

/// Sets the limits of both path managers. Returns that of the device.
fn set_limits(device: &Namespace, server: &Namespace) -> Result<PathManager, Error> {
    let mut device_manager = device.run(PathManager::open)?;
    device_manager.set_limits(Limits { subflows: MAX_SUBFLOWS, accepted_addresses: 0 })?;
    let mut server_manager = server.run(PathManager::open)?;
    server_manager.set_limits(Limits { subflows: MAX_SUBFLOWS, accepted_addresses: MAX_SUBFLOWS })?;
    Ok(device_manager)
}

/// Applies the settings of a host. Call inside its namespace.
pub(crate) fn configure_host(experiment: &Experiment) -> Result<(), Error> {
    let config = &experiment.transport.config;
    if sysctl::read("net.mptcp.enabled").is_err() {
        return Err(Error::Lacks {
            what: "this kernel has no Multipath TCP".to_owned(),
            hint: "Linux supports it since 5.6, with CONFIG_MPTCP; `tandem run` does not need it".to_owned(),
        });
    }
    let mut route = Route::open()?;
    let loopback = route.link("lo")?.index;
    let fixed = [
        // Unsolicited IPv6 packets such as router solicitations would wake the radios.
        ("net.ipv6.conf.all.disable_ipv6", "1"),
        ("net.ipv6.conf.default.disable_ipv6", "1"),
        ("net.ipv4.conf.all.rp_filter", "0"),
        ("net.ipv4.conf.default.rp_filter", "0"),
        // Connections must not inherit metrics from earlier ones.
        ("net.ipv4.tcp_no_metrics_save", "1"),
        ("net.mptcp.enabled", "1"),
    ];
    for (name, value) in fixed {
        sysctl::write(name, value)?;
    }
    sysctl::write("net.mptcp.checksum_enabled", if config.checksum { "1" } else { "0" })?;
    let limits = |max: u64, initial: u64| format!("4096 {} {}", initial.min(max), max.max(8192));
    let initial = config.autotune.map_or(131_072, buffer_for_window);
    sysctl::write("net.ipv4.tcp_rmem", &limits(buffer_for_window(config.recv_buffer), initial))?;
    sysctl::write("net.ipv4.tcp_wmem", &limits(buffer_for_window(config.send_buffer), 16_384))?;
    let ecn = match config.ecn {
        mptcp::EcnMode::Off => "0",
        mptcp::EcnMode::Request => "1",
        mptcp::EcnMode::Accept => "2",
    };
    sysctl::write("net.ipv4.tcp_ecn", ecn)?;
    route.set_up(loopback, true)
}

/// Size of the kernel buffer for a window, in bytes. A packet of 1500 bytes from a TUN device
/// occupies about 2300 bytes of the buffer (`truesize`), and the kernel scales the window by this
/// ratio.
pub(crate) fn buffer_for_window(window: u64) -> u64 {
    window * 8 / 5
}

/// A valid interface name for a path: the path's own name, if the kernel accepts it.
fn interface_name(path: &str, number: usize) -> String {
    let valid: String =
        path.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).collect();
    if valid == path && !valid.is_empty() && valid.len() <= MAX_NAME_BYTES && valid != "lo" {
        return valid;
    }
    let kept: String = valid.chars().take(MAX_NAME_BYTES - 4).collect();
    format!("{kept}-{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_has_the_name_of_its_path_if_valid() {
        assert_eq!(interface_name("wifi", 0), "wifi");
        assert_eq!(interface_name("lo", 3), "lo-3");
        assert_eq!(interface_name("a path of many words", 12), "apathofmany-12");
        assert_eq!(interface_name("", 1), "-1");
    }
}
