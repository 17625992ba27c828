//! A server that supports only TCP, behind a proxy that supports Multipath TCP.
//!
//! ```text
//!  device ══ the scenario's paths, MPTCP ══ proxy ── link `core`, TCP ── server
//!                                           10.77.255.1:3128   10.78.0.1     10.78.0.2
//! ```
//!
//! The proxy runs on the host that is the server of other runs. The device opens a tunnel by
//! CONNECT, as a program with a configured proxy does.

use crate::stream::Stream;
use crate::topology::{DEVICES, SERVER, configure_host};
use emulator::{Driver, Network, RunningDriver, SharedNetwork};
use link::{Delay, Impairments, LinkConfig, Loss, QueueLimit, Rate};
use linux::clock::Clock;
use linux::namespace::Namespace;
use linux::route::{Route, RouteEntry};
use linux::socket::Protocol;
use proxy::config::{Clients, Listen, ListenerProtocol};
use proxy::destination;
use proxy::network::Network as Range;
use proxy::{Config, Proxy, Totals};
use sim::{Experiment, Hop, PathSpec};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time;
use units::{Bitrate, Bytes, Duration, Instant};

/// Address of the server.
const SERVER_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 0, 2));
/// Address of the proxy on the link to the server.
const PROXY_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 0, 1));
/// Name of both interfaces of the link between proxy and server.
const LINK_NAME: &str = "core";
/// Maximum size of a response to CONNECT.
const MAX_RESPONSE_BYTES: usize = 8 << 10;
/// Maximum wait for a part of the response to CONNECT.
const RESPONSE_TIMEOUT: time::Duration = time::Duration::from_secs(30);

/// Proxy and the link between proxy and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxySetup {
    /// One-way delay of the link.
    pub delay: Duration,
    /// Rate of the link in each direction.
    pub rate: Bitrate,
    /// Send buffer of the proxy towards the device; `None` for that of Linux.
    pub send_buffer: Option<Bytes>,
    /// Write-ahead of the proxy ([`Config::ahead`]); zero never pauses.
    pub ahead: Duration,
}

impl ProxySetup {
    /// Default of [`Self::ahead`].
    pub const DEFAULT_AHEAD: Duration = Duration::from_nanos(Config::AHEAD.as_nanos() as u64);
    /// Address at which the proxy listens, with the usual port of HTTP proxies (squid).
    pub const PROXY: SocketAddr = SocketAddr::new(SERVER, 3128);
    /// Address of the server's content, as requested from the proxy.
    pub const CONTENT: SocketAddr = SocketAddr::new(SERVER_ADDRESS, 80);
}

/// Running proxy with its server. Dropping it removes everything.
#[derive(Debug)]
pub(crate) struct ProxiedServer {
    /// Host of the server.
    pub(crate) server: Namespace,
    proxy: Proxy,
    link: RunningDriver,
}

impl ProxiedServer {
    /// Starts the proxy on `host`, and creates the host of the server. With `offload`, the
    /// emulator segments packets for the kernels ([`Driver::devices`]).
    pub(crate) fn build(
        setup: &ProxySetup,
        experiment: &Experiment,
        offload: bool,
        host: &Namespace,
    ) -> Result<Self, crate::Error> {
        let server = Namespace::create()?;
        server.run(|| configure_host(experiment))?;
        let devices = Driver::devices(LINK_NAME, host, &server, offload)?;
        let ends = [(host, PROXY_ADDRESS, SERVER_ADDRESS), (&server, SERVER_ADDRESS, PROXY_ADDRESS)];
        for (namespace, own, other) in ends {
            let mut route = namespace.run(Route::open)?;
            let device = route.link(LINK_NAME)?.index;
            route.add_address(device, own, 32)?;
            route.set_up(device, true)?;
            route.add_route(&RouteEntry {
                to: other,
                prefix: 32,
                device,
                via: None,
                source: Some(own),
                metric: 0,
            })?;
        }
        let network = Network::new(&link_experiment(setup, experiment));
        let link = Driver::new(vec![devices], SharedNetwork::new(network, Clock::start())).start(true)?;
        let proxy = Proxy::start(proxy_config(setup), Some(host))?;
        Ok(Self { server, proxy, link })
    }

    /// Counters of the proxy.
    pub(crate) fn totals(&self) -> Totals {
        self.proxy.totals()
    }

    /// Stops the proxy, then the link.
    pub(crate) fn stop(self) -> Result<(), linux::Error> {
        drop(self.proxy);
        self.link.stop()
    }
}

/// Configuration of a proxy that accepts only the device and connects only to the server.
fn proxy_config(setup: &ProxySetup) -> Config {
    let send_buffer = setup.send_buffer.map(|size| u32::try_from(size.get()).unwrap_or(u32::MAX));
    Config {
        listen: vec![Listen {
            address: ProxySetup::PROXY,
            serve: ListenerProtocol::Http,
            protocol: Protocol::Mptcp,
            tls: false,
            send_buffer,
        }],
        clients: Clients { allow: Range::new(DEVICES, 16).into_iter().collect(), ..Clients::default() },
        destinations: destination::Rules {
            allow: Range::new(SERVER_ADDRESS, 32).into_iter().collect(),
            ports: destination::Ports::all(),
            ..Default::default()
        },
        workers: Some(1),
        ahead: time::Duration::from_nanos(setup.ahead.as_nanos()),
        ..Config::default()
    }
}

/// The link between proxy and server, as an experiment with one path.
fn link_experiment(setup: &ProxySetup, experiment: &Experiment) -> Experiment {
    let link = LinkConfig {
        rate: Rate::Fixed(setup.rate),
        queue: QueueLimit::Unlimited,
        codel: None,
        delay: Delay::Fixed(setup.delay),
        reorder: false,
        loss: Loss::None,
        outages: Vec::new(),
        impairments: Impairments::default(),
    };
    let paths = experiment.paths.iter().take(1).map(|path| PathSpec {
        name: LINK_NAME.to_owned(),
        down: Hop::Link(link.clone()),
        up: Hop::Link(link.clone()),
        middleboxes: Vec::new(),
        backup: false,
        join_at: Instant::ZERO,
        leave_at: None,
        allowance: None,
        ..path.clone()
    });
    Experiment {
        cells: Vec::new(),
        paths: paths.collect(),
        background: Vec::new(),
        capture: false,
        ..experiment.clone()
    }
}

/// Opens a tunnel to a port of the server, over a non-blocking connection to the proxy. Leaves the
/// bytes after the response's header section in the stream. `wait` waits for a moment until the
/// stream is readable, and returns true at the end of the run; the tunnel is then not open, and the
/// result false.
pub(crate) fn open_tunnel(
    stream: &mut Stream,
    port: u16,
    wait: &dyn Fn(&Stream) -> bool,
) -> io::Result<bool> {
    let to = SocketAddr::new(SERVER_ADDRESS, port);
    // Never blocks: the send buffer of a new connection is empty.
    stream.write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes())?;
    let (mut response, mut byte) = (Vec::new(), [0]);
    let end = time::Instant::now() + RESPONSE_TIMEOUT;
    // Reads single bytes, so that no byte of the tunnel is consumed.
    while !response.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) if response.len() == MAX_RESPONSE_BYTES => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => response.extend(byte),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if wait(stream) {
                    return Ok(false);
                }
                if time::Instant::now() >= end {
                    return Err(ErrorKind::TimedOut.into());
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let line = response.split(|&byte| byte == b'\r').next().unwrap_or_default();
    if line.starts_with(b"HTTP/1.1 2") {
        return Ok(true);
    }
    Err(io::Error::other(format!("the proxy responded {:?}", String::from_utf8_lossy(line))))
}
