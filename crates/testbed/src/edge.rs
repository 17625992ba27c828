//! A proxy between the device and a server that knows no Multipath TCP.
//!
//! ```text
//!  device ══ the scenario's paths, MPTCP ══ edge: the proxy ── core: an emulated link, TCP ── content
//!                                           10.77.255.1:3128    10.78.0.1        10.78.0.2
//! ```
//!
//! The edge is the host that is the server otherwise. The device asks the proxy by CONNECT for the content's
//! address, as any program does that has been given a proxy.

use crate::topology::{SERVER, settle};
use emulator::{Driver, Network, Running, Shared};
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
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time;
use units::{Bitrate, Bytes, Duration, Instant};

/// The host of the content.
const CONTENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 0, 2));
/// The edge as the content sees it.
const EDGE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 0, 1));
/// Where the proxy listens: the port of squid, which many take for HTTP proxies.
const PROXY: SocketAddr = SocketAddr::new(SERVER, 3128);
/// Where the device's addresses begin.
const DEVICES: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 0));
/// Name of the link at both of its ends.
const CORE: &str = "core";
/// So long an answer to CONNECT may be, and take.
const LONGEST_ANSWER: usize = 8 << 10;
const ANSWER: time::Duration = time::Duration::from_secs(30);

/// What lies behind the paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// One way from the proxy to the content, and the other.
    pub delay: Duration,
    /// What the link between them carries each way.
    pub rate: Bitrate,
    /// What the proxy may hold of what is on its way to the device; `None` leaves it to Linux.
    pub send_buffer: Option<Bytes>,
    /// How far ahead of its subflows the proxy writes ([`Config::ahead`]); zero is at once.
    pub ahead: Duration,
}

impl Edge {
    /// [`Self::ahead`] of a proxy that is told nothing.
    pub const AHEAD: Duration = Duration::from_nanos(Config::AHEAD.as_nanos() as u64);
    /// Where the proxy listens.
    pub const PROXY: SocketAddr = PROXY;
    /// Where content is served, for who asks the proxy.
    pub const CONTENT: SocketAddr = SocketAddr::new(CONTENT, 80);
}

/// The proxy, and the content behind it.
#[derive(Debug)]
pub(crate) struct Behind {
    pub(crate) content: Namespace,
    proxy: Proxy,
    core: Running,
}

impl Behind {
    /// Makes the host of the content and starts the proxy at the edge. All ends with the value.
    pub(crate) fn build(
        edge: &Edge,
        experiment: &Experiment,
        offload: bool,
        host: &Namespace,
    ) -> Result<Self, crate::Error> {
        let content = Namespace::create()?;
        content.run(|| settle(experiment))?;
        let devices = Driver::devices(CORE, host, &content, offload)?;
        for (place, own, other) in [(host, EDGE, CONTENT), (&content, CONTENT, EDGE)] {
            let mut route = place.run(Route::open)?;
            let device = route.link(CORE)?.index;
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
        let network = Network::new(&core(edge, experiment));
        let core = Driver::new(vec![devices], Shared::new(network, Clock::start())).start(true)?;
        let proxy = Proxy::start(config(edge), Some(host))?;
        Ok(Self { content, proxy, core })
    }

    /// What the proxy has counted.
    pub(crate) fn totals(&self) -> Totals {
        self.proxy.totals()
    }

    /// Ends the proxy and the link behind it.
    pub(crate) fn stop(self) -> Result<(), linux::Error> {
        drop(self.proxy);
        self.core.stop()
    }
}

/// A proxy for this device and this content alone.
fn config(edge: &Edge) -> Config {
    let send_buffer = edge.send_buffer.map(|most| u32::try_from(most.get()).unwrap_or(u32::MAX));
    Config {
        listen: vec![Listen {
            address: PROXY,
            serve: ListenerProtocol::Http,
            protocol: Protocol::Mptcp,
            send_buffer,
        }],
        clients: Clients { allow: Range::new(DEVICES, 16).into_iter().collect(), ..Clients::default() },
        destinations: destination::Rules {
            allow: Range::new(CONTENT, 32).into_iter().collect(),
            ..Default::default()
        },
        workers: Some(1),
        ahead: time::Duration::from_nanos(edge.ahead.as_nanos()),
        ..Config::default()
    }
}

/// The link between edge and content, as an experiment of one path.
fn core(edge: &Edge, experiment: &Experiment) -> Experiment {
    let link = LinkConfig {
        rate: Rate::Fixed(edge.rate),
        queue: QueueLimit::Unlimited,
        codel: None,
        delay: Delay::Fixed(edge.delay),
        reorder: false,
        loss: Loss::None,
        outages: Vec::new(),
        impairments: Impairments::default(),
    };
    let paths = experiment.paths.iter().take(1).map(|path| PathSpec {
        name: CORE.to_owned(),
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

/// Has the proxy connect a stream to the content. What comes after the answer stays in the stream.
pub(crate) fn ask(stream: &mut TcpStream, port: u16) -> io::Result<()> {
    stream.set_read_timeout(Some(ANSWER))?;
    let to = SocketAddr::new(CONTENT, port);
    stream.write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes())?;
    let (mut answer, mut byte) = (Vec::new(), [0]);
    // One byte at a time, so that none of the content's is taken.
    while !answer.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 || answer.len() == LONGEST_ANSWER {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        answer.extend(byte);
    }
    stream.set_read_timeout(None)?;
    let line = answer.split(|&byte| byte == b'\r').next().unwrap_or_default();
    if line.starts_with(b"HTTP/1.1 2") {
        return Ok(());
    }
    Err(io::Error::other(format!("the proxy says {:?}", String::from_utf8_lossy(line))))
}
