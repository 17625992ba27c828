//! A small test network in which several subflows, of one or of many connections, can share a link.
//!
//! An experiment of `tandem_sim` has separate links for each path and one protocol for all
//! connections.

use link::{Delay, Link, LinkConfig, LinkStats, QueueLimit, Rate};
use mptcp::{Config, Endpoint, PathId};
use tandem_sim::{EventQueue, Slot};
use units::{Bitrate, Bytes, Duration, Instant, Seed};
use wire::{Payload, Segment, Span};

pub(crate) const IP_HEADER_BYTES: u32 = 20;
/// Payload of a full TCP segment with timestamps, in bytes.
pub(crate) const TCP_PAYLOAD: f64 = 1448.0;
/// Size of a full packet with all headers, in bytes.
pub(crate) const PACKET: f64 = 1500.0;
/// Payload of a full MPTCP segment with timestamps and DSS, in bytes.
pub(crate) const MPTCP_PAYLOAD: f64 = 1424.0;

/// A packet with its route.
#[derive(Clone)]
struct Packet {
    flow: usize,
    path: u8,
    to_server: bool,
    /// Links to cross, in reverse order.
    hops: [usize; 2],
    /// Number of links still to cross after the current one.
    left: usize,
    segment: Segment<Span>,
}

struct Flow {
    client: Endpoint<Span>,
    server: Endpoint<Span>,
    /// Slots of the client's and the server's timer.
    timers: [Slot; 2],
    /// Links of each path: two towards the server in reverse order, and one back.
    routes: Vec<([usize; 2], usize)>,
    opened: bool,
    /// The flow sends as much as it can; otherwise the test writes.
    bulk: bool,
    written: u64,
    delivered: u64,
    data_segments: u64,
    /// Number of reductions of a congestion window.
    reductions: u64,
    /// Last congestion window of each path.
    windows: Vec<u64>,
}

#[derive(Clone, Copy)]
enum Source {
    Link(usize),
    Client(usize),
    Server(usize),
}

/// Clients that send bulk data, their servers, and the links between them.
pub(crate) struct Bench {
    seed: Seed,
    links: Vec<(Link<Packet>, Slot)>,
    flows: Vec<Flow>,
    queue: EventQueue<Source>,
    now: Instant,
    /// Every `n`-th data packet of a flow is lost before the links; 0 for none.
    pub(crate) loss_period: u64,
}

pub(crate) fn fixed(mbps: f64, queue: QueueLimit, delay_ms: f64) -> LinkConfig {
    LinkConfig {
        rate: Rate::Fixed(Bitrate::from_mbps(mbps)),
        queue,
        delay: Delay::Fixed(Duration::from_secs_f64(delay_ms / 1e3)),
        ..LinkConfig::default()
    }
}

/// Queue limit of one bandwidth-delay product.
pub(crate) fn bdp(mbps: f64, ms: f64) -> QueueLimit {
    QueueLimit::Bytes(Bytes::new((mbps * 1e3 / 8.0 * ms) as u64))
}

impl Bench {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed: Seed::new(seed),
            links: Vec::new(),
            flows: Vec::new(),
            queue: EventQueue::new(),
            now: Instant::ZERO,
            loss_period: 0,
        }
    }

    pub(crate) fn link(&mut self, config: &LinkConfig) -> usize {
        let seed = self.seed.derive("link").derive(&self.links.len().to_string());
        let slot = self.queue.add(Source::Link(self.links.len()));
        self.links.push((Link::new(config, seed), slot));
        self.links.len() - 1
    }

    /// Adds a connection that starts at `start`, over paths given as bottleneck link and RTT in ms.
    /// The forward delay varies by up to `jitter_ms`.
    pub(crate) fn flow(
        &mut self,
        config: Config,
        start: Instant,
        paths: &[(usize, f64)],
        jitter_ms: f64,
    ) -> usize {
        let half = |ms: f64| Duration::from_secs_f64(ms / 2e3);
        let mut routes = Vec::new();
        for &(bottleneck, rtt_ms) in paths {
            let delay = if jitter_ms > 0.0 {
                Delay::Uniform { min: half(rtt_ms), max: half(rtt_ms + 2.0 * jitter_ms) }
            } else {
                Delay::Fixed(half(rtt_ms))
            };
            let there = LinkConfig { delay, ..fixed(10_000.0, QueueLimit::Unlimited, 0.0) };
            let back = fixed(10_000.0, QueueLimit::Unlimited, rtt_ms / 2.0);
            let there = self.link(&there);
            let back = self.link(&back);
            routes.push(([bottleneck, there], back));
        }
        let seed = self.seed.derive("flow").derive(&self.flows.len().to_string());
        let i = self.flows.len();
        let timers = [Source::Client(i), Source::Server(i)].map(|source| self.queue.add(source));
        self.queue.set(timers[0], Some(start));
        self.flows.push(Flow {
            client: Endpoint::client(config.clone(), seed.derive("client")),
            server: Endpoint::server(config, seed.derive("server")),
            timers,
            routes,
            opened: false,
            bulk: true,
            written: 0,
            delivered: 0,
            data_segments: 0,
            reductions: 0,
            windows: vec![0; paths.len()],
        });
        self.flows.len() - 1
    }

    pub(crate) fn costs(&mut self, flow: usize, joules_per_byte: &[f64]) {
        self.flows[flow].client.set_energy_costs(joules_per_byte);
    }

    pub(crate) fn sender(&self, flow: usize) -> &Endpoint<Span> {
        &self.flows[flow].client
    }

    /// Makes a flow send only the data that the test writes.
    pub(crate) fn set_manual(&mut self, flow: usize) {
        self.flows[flow].bulk = false;
    }

    pub(crate) fn write(&mut self, flow: usize, len: u32) {
        let written = &mut self.flows[flow];
        let taken = written.client.write(&Span::new(written.written, len)) as u64;
        assert_eq!(taken, u64::from(len), "the send buffer is full");
        written.written += taken;
        self.settle(flow);
    }

    /// Bytes read by the server.
    pub(crate) fn delivered(&self, flow: usize) -> u64 {
        self.flows[flow].delivered
    }

    /// Data segments sent by a flow, retransmissions included.
    pub(crate) fn sent(&self, flow: usize) -> u64 {
        self.flows[flow].data_segments
    }

    /// Number of window reductions of a flow: loss indications.
    pub(crate) fn reductions(&self, flow: usize) -> u64 {
        self.flows[flow].reductions
    }

    pub(crate) fn stats(&self, link: usize) -> LinkStats {
        self.links[link].0.stats()
    }

    /// Goodput of each flow between `from` and `to` (seconds), in Mbit/s.
    pub(crate) fn goodput(&mut self, from: u64, to: u64) -> Vec<f64> {
        self.run(Instant::from_secs(from));
        let before: Vec<_> = self.flows.iter().map(|flow| flow.delivered).collect();
        self.run(Instant::from_secs(to));
        let rate =
            |(flow, before): (&Flow, u64)| (flow.delivered - before) as f64 * 8e-6 / (to - from) as f64;
        self.flows.iter().zip(before).map(rate).collect()
    }

    pub(crate) fn run(&mut self, end: Instant) {
        while let Some((at, source)) = self.queue.next().filter(|&(at, _)| at <= end) {
            self.queue.pop();
            self.now = at;
            match source {
                Source::Link(i) => {
                    while let Some(packet) = self.links[i].0.poll(at) {
                        self.arrive(packet);
                    }
                    let (link, slot) = &self.links[i];
                    self.queue.set(*slot, link.next());
                }
                Source::Client(i) => {
                    self.flows[i].client.handle_timeout(at);
                    self.settle(i);
                }
                Source::Server(i) => {
                    self.flows[i].server.handle_timeout(at);
                    self.settle(i);
                }
            }
        }
        self.now = end;
    }

    fn arrive(&mut self, mut packet: Packet) {
        if packet.left > 0 {
            packet.left -= 1;
            self.push(packet.hops[packet.left], packet);
            return;
        }
        let flow = &mut self.flows[packet.flow];
        let (i, path) = (packet.flow, PathId(packet.path));
        if packet.to_server {
            flow.server.handle_segment(self.now, path, packet.segment);
            while let Some(span) = flow.server.read(usize::MAX) {
                flow.delivered += u64::from(span.len);
            }
        } else {
            flow.client.handle_segment(self.now, path, packet.segment);
        }
        self.settle(i);
    }

    fn push(&mut self, link: usize, packet: Packet) {
        let size = packet.segment.wire_len() as u32 + IP_HEADER_BYTES;
        let (link, slot) = &mut self.links[link];
        link.push(self.now, size, packet);
        self.queue.set(*slot, link.next());
    }

    fn settle(&mut self, i: usize) {
        let now = self.now;
        loop {
            let mut is_idle = true;
            let flow = &mut self.flows[i];
            let mut open = !flow.opened;
            while let Some(event) = flow.client.poll_event() {
                open |= matches!(event, mptcp::Event::Connected(_));
            }
            while flow.server.poll_event().is_some() {}
            if open {
                flow.opened = true;
                for path in 0..flow.routes.len() {
                    flow.client.open(now, PathId(path as u8), false);
                }
            }
            while flow.bulk && flow.client.write_space() >= 1 << 16 {
                let taken = flow.client.write(&Span::new(flow.written, 1 << 16)) as u64;
                flow.written += taken;
                if taken == 0 {
                    break;
                }
            }
            while let Some((path, segment)) = self.flows[i].client.poll_transmit(now) {
                is_idle = false;
                self.send(i, path, true, segment);
            }
            while let Some((path, segment)) = self.flows[i].server.poll_transmit(now) {
                is_idle = false;
                self.send(i, path, false, segment);
            }
            if is_idle {
                break;
            }
        }
        let flow = &mut self.flows[i];
        for (path, window) in flow.windows.iter_mut().enumerate() {
            let cwnd = flow.client.subflow(PathId(path as u8)).map_or(0, |info| info.cwnd);
            flow.reductions += u64::from(cwnd < *window);
            *window = cwnd;
        }
        let (client, server) = (flow.client.poll_timeout(), flow.server.poll_timeout());
        self.queue.set(flow.timers[0], client);
        self.queue.set(flow.timers[1], server);
    }

    fn send(&mut self, i: usize, path: PathId, to_server: bool, segment: Segment<Span>) {
        let (there, back) = self.flows[i].routes[path.index()];
        let (hops, left) = if to_server { (there, 1) } else { ([back, 0], 0) };
        if !segment.payload.is_empty() {
            self.flows[i].data_segments += 1;
            if self.loss_period > 0 && self.flows[i].data_segments.is_multiple_of(self.loss_period) {
                return;
            }
        }
        let packet = Packet { flow: i, path: path.0, to_server, hops, left, segment };
        self.push(hops[left], packet);
    }
}

/// TCP with `congestion`, an acknowledgement for every segment, and large buffers.
pub(crate) fn tcp(congestion: mptcp::CongestionKind) -> Config {
    Config {
        mptcp: false,
        congestion: congestion.into(),
        send_buffer: 1 << 28,
        recv_buffer: 1 << 28,
        delayed_ack: Duration::ZERO,
        ..Config::default()
    }
}

/// Multipath TCP with the settings of [`tcp`].
pub(crate) fn multipath(congestion: mptcp::CongestionKind) -> Config {
    Config { mptcp: true, ..tcp(congestion) }
}

/// Mean result of `run` over seeds.
pub(crate) fn mean(seeds: core::ops::RangeInclusive<u64>, run: impl FnMut(u64) -> f64) -> f64 {
    let count = seeds.clone().count() as f64;
    seeds.map(run).sum::<f64>() / count
}
