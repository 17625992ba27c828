//! The device, the server, and the paths between them.
//!
//! A path has an interface at the device, `10.77.N.2`, and one at the server. An interface is a TUN
//! device of the kernel, or a wire of Tandem's stack. The emulator carries packets between the two.
//! The server's address is `10.77.255.1`. As in simulation, connections begin on the first path that
//! is up, and join over the others. Interfaces of the kernel may later change to other addresses of
//! their /24.

use crate::device_paths::DevicePaths;
use crate::kernel_paths::KernelPaths;
use crate::stack_end::{StackEnd, StackPaths, tcp_path};
use crate::stacks::{StackKind, Stacks};
use crate::stream::Place;
use crate::uplink::MAX_LISTENERS;
use agent::{EndpointController, Interface};
use emulator::{Driver, RunningDriver};
use linux::clock::Clock;
use linux::namespace::Namespace;
use linux::pm::{Limits, PathManager};
use linux::route::{Route, RouteEntry};
use linux::tun::{MAX_NAME_BYTES, Tun};
use linux::{Error, process, sysctl};
use sim::{Experiment, energy_costs};
use stack::Host;
use std::net::{IpAddr, Ipv4Addr};
use traffic::Direction;
use units::Instant;

/// Address of the server.
pub(crate) const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 255, 1));
/// Network of the addresses of both hosts (/16).
pub(crate) const DEVICES: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 0));
/// Size of an IPv4 and a TCP header without options.
pub(crate) const HEADER_BYTES: u32 = 40;
/// Queue length of the TUN devices, in packets. They must never drop: the emulated links have the
/// only queues.
const DEVICE_QUEUE_PACKETS: u32 = 100_000;
/// A listener, both ends of the connection, and the proxy's connections to them.
const FILES_PER_CONNECTION: u64 = 5;
/// Limit of open files that suffices for devices, namespaces and relays.
const OTHER_FILES: u64 = 1024;
/// Linux's maximum number of subflows (MPTCP_PM_ADDR_MAX).
const MAX_SUBFLOWS: u32 = 8;

/// Name of the loopback interface, and names that the kernel reserves for settings of all
/// interfaces and of new ones.
const RESERVED_NAMES: [&str; 3] = ["lo", "all", "default"];

/// Initial address of the device on a path.
pub(crate) fn device_address(path: usize) -> IpAddr {
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
pub(crate) fn next_address(address: IpAddr) -> IpAddr {
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
    pub(crate) stacks: Stacks,
    /// Namespace of the device; without interfaces if the device uses Tandem's stack.
    pub(crate) device: Namespace,
    /// Namespace of the server; without interfaces if the server uses Tandem's stack.
    pub(crate) server: Namespace,
    pub(crate) paths: DevicePaths,
    server_stack: Option<StackEnd>,
}

impl Topology {
    /// Creates both hosts, and returns the devices of each path. With `offload`, the emulator
    /// segments packets for the kernels ([`Driver::devices`]). Raises this process's limit of open
    /// files; everything else ends with the returned values.
    pub(crate) fn build(
        experiment: &Experiment,
        stacks: Stacks,
        offload: bool,
        reach: Reach,
    ) -> Result<(Self, Vec<[Tun; 2]>), Error> {
        process::raise_open_file_limit(open_files_needed(experiment, reach));
        let (device, server) = (Namespace::create()?, Namespace::create()?);
        let (paths, device_ends) = match stacks.device {
            StackKind::Linux => {
                let (paths, ends) = build_kernel_device(experiment, &device, offload, reach)?;
                (DevicePaths::Kernel(Box::new(paths)), ends)
            }
            StackKind::Tandem => {
                let (end, ends) = StackEnd::device(experiment)?;
                (DevicePaths::Stack(StackPaths::new(end, experiment)), ends)
            }
        };
        let (server_stack, server_ends) = match stacks.server {
            StackKind::Linux => (None, build_kernel_server(experiment, &server, offload, reach)?),
            StackKind::Tandem => {
                server.run(configure_loopback)?;
                let (end, ends) = StackEnd::server(experiment)?;
                (Some(end), ends)
            }
        };
        let mut topology = Self { stacks, device, server, paths, server_stack };
        for (path, spec) in experiment.paths.iter().enumerate() {
            if spec.join_at == Instant::ZERO {
                topology.paths.bring_up(path)?;
            }
        }
        let devices = device_ends.into_iter().zip(server_ends).map(|(device, server)| [device, server]);
        Ok((topology, devices.collect()))
    }

    /// Sets the congestion control of both hosts' sockets that do not choose their own. Notes a
    /// refusal: a namespace's default may only be a congestion control that the machine allows.
    pub(crate) fn set_default_congestion(&self, name: &str, notes: &mut Vec<String>) -> Result<(), Error> {
        const DEFAULT: &str = "net.ipv4.tcp_congestion_control";
        for host in [&self.device, &self.server] {
            let default = host.run(|| {
                // An error leaves the machine's default, which is read next.
                _ = sysctl::write(DEFAULT, name);
                sysctl::read(DEFAULT)
            })?;
            if default != name {
                notes.push(format!(
                    "the congestion control `{name}` has no effect: the programs' sockets use `{default}`, since \
                     this machine does not allow `{name}` in network namespaces \
                     (`net.ipv4.tcp_allowed_congestion_control`)"
                ));
                break;
            }
        }
        Ok(())
    }

    /// Starts Tandem's stacks on the clock of the run.
    pub(crate) fn start_stacks(&mut self, experiment: &Experiment, clock: Clock) -> Result<(), Error> {
        if let DevicePaths::Stack(paths) = &mut self.paths {
            paths.start(clock)?;
        }
        if let Some(end) = &mut self.server_stack {
            end.start(clock)?;
        }
        if experiment.transport.config.congestion.uses_energy_costs() {
            for (host, direction) in
                [(self.device_host(), Direction::Up), (self.server_host(), Direction::Down)]
            {
                if let Some(host) = host {
                    host.set_energy_costs(&energy_costs(&experiment.paths, &experiment.cells, direction));
                }
            }
        }
        Ok(())
    }

    fn stack_ends(&mut self) -> impl Iterator<Item = &mut StackEnd> {
        let device = match &mut self.paths {
            DevicePaths::Kernel(_) => None,
            DevicePaths::Stack(paths) => Some(&mut paths.end),
        };
        device.into_iter().chain(&mut self.server_stack)
    }

    /// The threads of Tandem's stacks run.
    pub(crate) fn stacks_run(&mut self) -> bool {
        self.stack_ends().all(|end| end.is_running())
    }

    /// Stops Tandem's stacks.
    ///
    /// # Errors
    /// Fails when the thread of a stack has ended before, by an error or a panic.
    pub(crate) fn stop_stacks(&mut self) -> Result<(), Error> {
        self.stack_ends().try_for_each(StackEnd::stop)
    }

    /// Packets that were lost between stacks and the emulator so far.
    pub(crate) fn lost_packets(&self, emulator: &RunningDriver) -> u64 {
        emulator.lost_packets() + self.sender_hosts().map(Host::lost_packets).sum::<u64>()
    }

    /// Tandem's stack at the device, once it runs.
    pub(crate) fn device_host(&self) -> Option<&Host> {
        match &self.paths {
            DevicePaths::Kernel(_) => None,
            DevicePaths::Stack(paths) => paths.end.host(),
        }
    }

    /// Tandem's stack at the server, once it runs.
    pub(crate) fn server_host(&self) -> Option<&Host> {
        self.server_stack.as_ref()?.host()
    }

    /// Tandem's stacks, whose sent data a policy can divide among the paths.
    pub(crate) fn sender_hosts(&self) -> impl Iterator<Item = &Host> {
        self.server_host().into_iter().chain(self.device_host())
    }

    /// Where the applications of the device run.
    pub(crate) fn device_place(&self) -> Place<'_> {
        self.device_host().map_or(Place::Kernel(&self.device), |_| Place::Stack)
    }

    /// Where the applications of the server run.
    pub(crate) fn server_place(&self) -> Place<'_> {
        self.server_host().map_or(Place::Kernel(&self.server), |_| Place::Stack)
    }
}

/// Maximum number of open files of a run on these hosts.
fn open_files_needed(experiment: &Experiment, reach: Reach) -> u64 {
    let connections = FILES_PER_CONNECTION * experiment.traffic.len() as u64;
    let listeners = match reach {
        Reach::Server => 0,
        Reach::Everything => MAX_LISTENERS as u64,
    };
    connections + listeners + OTHER_FILES
}

/// Creates the interfaces of a device that uses the kernel. They stay down.
fn build_kernel_device(
    experiment: &Experiment,
    device: &Namespace,
    offload: bool,
    reach: Reach,
) -> Result<(KernelPaths, Vec<Tun>), Error> {
    device.run(|| configure_host(experiment))?;
    let mut route = device.run(Route::open)?;
    let (mut devices, mut interfaces) = (Vec::new(), Vec::new());
    for (path, spec) in experiment.paths.iter().enumerate() {
        let name = interface_name(&spec.name, path);
        devices.push(Driver::device(&name, device, offload)?);
        let index = configure_device_interface(&mut route, &name, path, mtu(experiment))?;
        let (address, id) = (device_address(path), path as u8 + 1);
        interfaces.push(Interface { name, index, address, id, backup: spec.backup });
    }
    let mut manager = device.run(PathManager::open)?;
    manager.set_limits(Limits { subflows: MAX_SUBFLOWS, accepted_addresses: 0 })?;
    let count = experiment.paths.len();
    let paths = KernelPaths {
        reach,
        indices: interfaces.iter().map(|interface| interface.index).collect(),
        endpoints: EndpointController::new(manager, interfaces),
        route,
        is_up: vec![false; count],
        is_closed: vec![false; count],
        tcp_path: tcp_path(experiment),
    };
    Ok((paths, devices))
}

/// Creates the interfaces of a server that uses the kernel.
fn build_kernel_server(
    experiment: &Experiment,
    server: &Namespace,
    offload: bool,
    reach: Reach,
) -> Result<Vec<Tun>, Error> {
    server.run(|| configure_host(experiment))?;
    let mut route = server.run(Route::open)?;
    let loopback = route.link("lo")?.index;
    route.add_address(loopback, SERVER, 32)?;
    let mut devices = Vec::new();
    for (path, spec) in experiment.paths.iter().enumerate() {
        let name = interface_name(&spec.name, path);
        devices.push(Driver::device(&name, server, offload)?);
        configure_server_interface(&mut route, &name, path, mtu(experiment))?;
    }
    if reach == Reach::Everything {
        route.deliver_locally(loopback)?;
    }
    let mut manager = server.run(PathManager::open)?;
    manager.set_limits(Limits { subflows: MAX_SUBFLOWS, accepted_addresses: MAX_SUBFLOWS })?;
    Ok(devices)
}

/// Gives the server's address to its loopback interface, for programs behind Tandem's stack. Call
/// inside the namespace.
fn configure_loopback() -> Result<(), Error> {
    let mut route = Route::open()?;
    let loopback = route.link("lo")?.index;
    route.add_address(loopback, SERVER, 32)?;
    route.set_up(loopback, true)
}

fn mtu(experiment: &Experiment) -> u32 {
    u32::from(experiment.transport.config.mss) + HEADER_BYTES
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
    // Unsolicited IPv6 packets such as router solicitations would wake the radios.
    for name in ["net.ipv6.conf.all.disable_ipv6", "net.ipv6.conf.default.disable_ipv6"] {
        // A kernel without IPv6 lacks the setting.
        if sysctl::read(name).is_ok() {
            sysctl::write(name, "1")?;
        }
    }
    let fixed = [
        ("net.ipv4.conf.all.rp_filter", "0"),
        ("net.ipv4.conf.default.rp_filter", "0"),
        // Connections must not inherit metrics from earlier ones.
        ("net.ipv4.tcp_no_metrics_save", "1"),
        ("net.mptcp.enabled", "1"),
    ];
    for (name, value) in fixed {
        sysctl::write(name, value)?;
    }
    // Linux before 5.14 has no checksums.
    if config.checksum || sysctl::read("net.mptcp.checksum_enabled").is_ok() {
        sysctl::write("net.mptcp.checksum_enabled", if config.checksum { "1" } else { "0" })?;
    }
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
    let is_valid = valid == path && !valid.is_empty() && valid.len() <= MAX_NAME_BYTES;
    if is_valid && !RESERVED_NAMES.contains(&path) {
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
        assert_eq!(interface_name("all", 4), "all-4");
        assert_eq!(interface_name("default", 5), "default-5");
        assert_eq!(interface_name("a path of many words", 12), "apathofmany-12");
        assert_eq!(interface_name("", 1), "-1");
    }
}
