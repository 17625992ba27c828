//! Emulated paths between a client and a server, and their addresses.

use emulator::{Driver, Network, RunningDriver, SharedNetwork};
use linux::Error;
use linux::clock::Clock;
use linux::tun::Tun;
use scenario::Scenario;
use stack::Interface;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Third octet of the server's address on its loopback interface, which all paths reach.
const SERVER_NET: u8 = 255;

/// Address of the client on a path.
pub(crate) fn client_address(v6: bool, path: u8) -> IpAddr {
    address(v6, path, 2)
}

/// Address of the server on a path.
pub(crate) fn path_address(v6: bool, path: u8) -> IpAddr {
    address(v6, path, 1)
}

/// Address to which the client connects.
pub(crate) fn server_address(v6: bool) -> IpAddr {
    address(v6, SERVER_NET, 1)
}

fn address(v6: bool, net: u8, host: u8) -> IpAddr {
    if v6 {
        Ipv6Addr::new(0xfd78, u16::from(net), 0, 0, 0, 0, 0, u16::from(host)).into()
    } else {
        Ipv4Addr::new(10, 78, net, host).into()
    }
}

/// Interfaces of Tandem's stack at one end.
pub(crate) fn stack_interfaces(v6: bool, paths: u8, is_client: bool) -> Vec<Interface> {
    let addresses = |path| {
        if is_client {
            vec![client_address(v6, path)]
        } else {
            vec![server_address(v6), path_address(v6, path)]
        }
    };
    (0..paths).map(|path| Interface { addresses: addresses(path), mtu: 1500 }).collect()
}

/// Name of the device of a path.
pub(crate) fn device_name(path: u8) -> String {
    format!("path{path}")
}

/// How to run the emulator.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mode {
    /// At a real-time priority.
    pub(crate) realtime: bool,
    /// Captures the packets.
    pub(crate) capture: bool,
    /// Seed of losses and delays.
    pub(crate) seed: u64,
}

/// Starts the emulator. `links` has the TOML of each path, without its name.
pub(crate) fn start(
    links: &[String],
    devices: Vec<[Tun; 2]>,
    mode: Mode,
) -> Result<(SharedNetwork, RunningDriver), String> {
    let head = "title = 'interop'\nduration = '120s'\n[device]\nname = 'client'\n";
    let mut text = format!("seed = {}\n{head}", mode.seed);
    for (path, link) in links.iter().enumerate() {
        _ = write!(text, "[[path]]\nname = 'path{path}'\nradio = 'huang2012.wifi'\n{link}\n");
    }
    text += "[[traffic]]\nkind = 'bulk'\n";
    let scenario = Scenario::parse("interop", &text, &|_: &str| Err("no files".to_owned()))
        .map_err(|found| format!("{found:?}\n{text}"))?;
    let mut experiment = scenario.experiment;
    experiment.capture = mode.capture;
    let shared = SharedNetwork::new(Network::new(&experiment), Clock::start());
    {
        let (mut network, now) = shared.lock();
        for path in 0..links.len() {
            network.set_present(now, path, true);
        }
    }
    let running = Driver::new(devices, shared.clone())
        .start(mode.realtime)
        .map_err(|error: Error| error.to_string())?;
    Ok((shared, running))
}
