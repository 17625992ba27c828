//! The sans-IO half: packets in, packets out, and what the device's radios and interfaces saw of them.

use crate::Lateness;
use crate::offload::finish;
use crate::packet::{emit, has_priority, is_tcp, mark, payload_len, segment};
use bytes::Bytes;
use core::net::IpAddr;
use link::LinkStats;
use linux::tun::PendingOffload;
use middlebox::{Chain, TransitSegment};
use radio::{Direction, Meter};
use sim::{Background, Experiment, Medium, MiddleboxOutcome, PathTotals, Ports, SNAPLEN, media};
use std::collections::VecDeque;
use units::{Duration, Instant};
use wire::pcapng::{self, Writer};

/// What lies in a medium.
#[derive(Debug, Clone)]
struct Frame {
    path: u8,
    down: bool,
    load: Load,
}

#[derive(Debug, Clone)]
enum Load {
    /// A packet of a kernel.
    Packet { bytes: Vec<u8>, sent: Instant },
    /// A datagram of the background, of which nothing but its size matters.
    Datagram { flow: u16, sent: Instant, size: u32 },
}

fn mark_frame(frame: &mut Frame) -> bool {
    match &mut frame.load {
        Load::Packet { bytes, .. } => mark(bytes),
        Load::Datagram { .. } => false,
    }
}

/// A packet that reaches a host.
#[derive(Debug)]
pub struct Delivery {
    /// Which path it came over.
    pub path: usize,
    /// To the device; otherwise to the server.
    pub down: bool,
    /// The IP packet. Give it back by [`Network::recycle`] when it has been written.
    pub packet: Vec<u8>,
}

/// What one path's interface on the device has carried.
#[derive(Debug)]
pub struct PathCounts {
    /// The interface is there.
    pub present: bool,
    /// Its own meter first, then others that measure the same traffic.
    pub meters: Vec<Meter>,
    /// Payload that reached the device, in bytes.
    pub payload_down: u64,
    /// Payload that the device sent, in bytes.
    pub payload_up: u64,
    /// The same with all headers.
    pub wire_down: u64,
    /// The same with all headers.
    pub wire_up: u64,
    /// When payload last reached the device.
    pub last_payload_down: Instant,
    /// When the server sent that.
    pub last_payload_sent: Instant,
    /// The last priority that [`Network::follow_priority`] was asked to follow.
    pub priority: Option<FollowedPriority>,
    /// How long packets were on their way, from being sent to being received, down and up.
    pub transit: [Transit; 2],
    boxes: Option<Box<Boxes>>,
}

/// A change of priority that the device sends (MP_PRIO), and what the server sends after it has heard it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FollowedPriority {
    /// When the server heard it.
    pub heard: Option<Instant>,
    /// Packets with payload that the server sent over the path since then, in bytes with all headers.
    pub sent_since: u64,
}

/// How long packets were on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Transit {
    packets: u64,
    nanos: u128,
}

impl Transit {
    fn add(&mut self, took: Duration) {
        self.packets += 1;
        self.nanos += u128::from(took.as_nanos());
    }

    /// In the mean; `None` where there was no packet.
    pub fn mean(&self) -> Option<Duration> {
        let nanos = self.nanos.checked_div(u128::from(self.packets))?;
        Some(Duration::from_nanos(nanos as u64))
    }
}

/// Middleboxes look at segments: what comes out of them needs its addresses again.
#[derive(Debug)]
struct Boxes {
    chain: Chain<Bytes>,
    /// Device's and server's address of each flow, by a number.
    flows: Vec<(IpAddr, IpAddr)>,
}

/// The ways between a device and its server. After [`send`](Self::send) and whenever [`next`](Self::next)
/// says, call [`poll`](Self::poll) until `None`. Time never goes back.
#[derive(Debug)]
pub struct Network {
    media: Vec<Medium<Frame>>,
    ports: Vec<Ports>,
    paths: Vec<PathCounts>,
    background: Vec<Background>,
    capture: Option<(Writer, Vec<pcapng::Interface>)>,
    /// Packets that have left the boxes of their path and go to a host.
    ready: VecDeque<Delivery>,
    /// Room for packets, to be used again.
    spare: Vec<Vec<u8>>,
    /// How late each packet was asked for after its time had come.
    late: Lateness,
    segments: u64,
}

/// So many buffers are kept for use again; more are freed.
const MOST_SPARE: usize = 4096;

impl Network {
    /// The network of an experiment, at time zero, with nothing in it. Links draw the same losses and
    /// delays as in simulation.
    pub fn new(experiment: &Experiment) -> Self {
        let (media, ports) = media(experiment, mark_frame);
        let paths = experiment.paths.iter().map(|spec| {
            let own = Meter::new(spec.profile.clone()).with_timeline();
            let others = spec.also_measure.iter().map(|profile| Meter::new(profile.clone()));
            let seed = experiment.seed.derive(&spec.name).derive("middlebox");
            PathCounts {
                present: spec.join_at == Instant::ZERO,
                meters: core::iter::once(own).chain(others).collect(),
                payload_down: 0,
                payload_up: 0,
                wire_down: 0,
                wire_up: 0,
                last_payload_down: Instant::ZERO,
                last_payload_sent: Instant::ZERO,
                priority: None,
                transit: [Transit::default(); 2],
                boxes: (!spec.middleboxes.is_empty()).then(|| {
                    Box::new(Boxes { chain: Chain::new(&spec.middleboxes, seed), flows: Vec::new() })
                }),
            }
        });
        let capture = experiment.capture.then(|| {
            let mut writer = Writer::new("tandem");
            let interfaces = experiment
                .paths
                .iter()
                .map(|path| writer.interface(&path.name, &path.profile.name, SNAPLEN))
                .collect();
            (writer, interfaces)
        });
        Self {
            media,
            ports,
            paths: paths.collect(),
            background: Background::all(experiment),
            capture,
            ready: VecDeque::new(),
            spare: Vec::new(),
            late: Lateness::default(),
            segments: 0,
        }
    }

    /// A host sends a packet over `path`: the device where not `down`, else the server. False where it is
    /// dropped at once.
    pub fn send(&mut self, now: Instant, path: usize, down: bool, packet: &[u8]) -> bool {
        let Some(counts) = self.paths.get_mut(path) else { return false };
        if !down {
            if !counts.present {
                return false;
            }
            let bytes = packet.len() as u32;
            counts.wire_up += u64::from(bytes);
            counts.payload_up += u64::from(payload_len(packet));
            for meter in &mut counts.meters {
                meter.on_packet(now, Direction::Up, bytes);
            }
            self.write_down(now, path, false, packet);
            return self.push(now, path, false, packet);
        }
        if let Some(FollowedPriority { heard: Some(_), sent_since }) = &mut counts.priority
            && payload_len(packet) > 0
        {
            *sent_since += packet.len() as u64;
        }
        if self.paths[path].boxes.is_some() && self.push_boxes(now, path, true, packet) {
            self.drain_boxes(now, path);
            return true;
        }
        self.push(now, path, true, packet)
    }

    /// A host sends what its kernel has not finished: each of the packets that it is, as [`send`](Self::send)
    /// does, all at `now`. Says how many these are.
    pub fn send_unfinished(
        &mut self,
        now: Instant,
        path: usize,
        down: bool,
        packet: &mut [u8],
        unfinished: PendingOffload,
    ) -> usize {
        let mut room = self.spare.pop().unwrap_or_default();
        let mut packets = 0;
        finish(unfinished, packet, &mut room, |packet| {
            packets += 1;
            self.send(now, path, down, packet);
        });
        self.recycle(room);
        packets
    }

    /// The next packet that reaches a host at or before `now`.
    pub fn poll(&mut self, now: Instant) -> Option<Delivery> {
        self.send_background(now);
        loop {
            if let Some(delivery) = self.ready.pop_front() {
                return Some(delivery);
            }
            let medium = self.media.iter().position(|medium| medium.next().is_some_and(|at| at <= now));
            let Some(medium) = medium else {
                let boxes =
                    (0..self.paths.len()).find(|&path| self.boxes_due(path).is_some_and(|at| at <= now))?;
                self.drain_boxes(now, boxes);
                continue;
            };
            let due = self.media[medium].next().unwrap_or(now);
            if let Some(frame) = self.media[medium].poll(now) {
                self.late.add(now.since(due));
                if let Some(delivery) = self.arrive(now, frame) {
                    return Some(delivery);
                }
            }
        }
    }

    /// When to poll next.
    pub fn next(&self) -> Option<Instant> {
        if !self.ready.is_empty() {
            return Some(Instant::ZERO);
        }
        let media = self.media.iter().filter_map(Medium::next);
        let background = self.background.iter().filter_map(Background::next);
        let boxes = (0..self.paths.len()).filter_map(|path| self.boxes_due(path));
        media.chain(background).chain(boxes).min()
    }

    /// Takes back the room of a packet that was delivered.
    pub fn recycle(&mut self, packet: Vec<u8>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(packet);
        }
    }

    /// An interface of the device comes or goes. What is under way to one that is gone is lost.
    pub fn set_present(&mut self, path: usize, present: bool) {
        if let Some(counts) = self.paths.get_mut(path) {
            counts.present = present;
        }
    }

    /// Lets the meters come up to `now`.
    pub fn advance(&mut self, now: Instant) {
        for meter in self.paths.iter_mut().flat_map(|counts| &mut counts.meters) {
            meter.advance(now);
        }
    }

    /// Looks out for the next priority that the device sends over a path, of whichever connection.
    pub fn follow_priority(&mut self, path: usize) {
        if let Some(counts) = self.paths.get_mut(path) {
            counts.priority = Some(FollowedPriority::default());
        }
    }

    /// What the device's interfaces have carried.
    pub fn paths(&self) -> &[PathCounts] {
        &self.paths
    }

    /// Bytes that wait before a path's links, both ways.
    pub fn queued(&mut self, now: Instant, path: usize) -> u64 {
        let Ports { down, up } = self.ports[path];
        let down = self.media[down.medium].queued(now, down.station);
        down + self.media[up.medium].queued(now, up.station)
    }

    /// Bytes that wait before the link to the device.
    pub fn queued_down(&mut self, now: Instant, path: usize) -> u64 {
        let port = self.ports[path].down;
        self.media[port.medium].queued(now, port.station)
    }

    /// How long a packet for the device would wait before it is sent; zero where the path crosses a cell,
    /// in which that is for others to decide too.
    pub fn wait_down(&self, now: Instant, path: usize) -> Duration {
        match &self.media[self.ports[path].down.medium] {
            Medium::Link(link) => link.queueing_delay(now),
            Medium::Cell(_) => Duration::ZERO,
        }
    }

    /// What was counted on a path; `retransmissions` is for the hosts to know.
    pub fn totals(&self, path: usize, retransmissions: u64) -> PathTotals<'_> {
        let counts = &self.paths[path];
        PathTotals {
            meters: &counts.meters,
            payload_down: counts.payload_down,
            payload_up: counts.payload_up,
            wire_down: counts.wire_down,
            wire_up: counts.wire_up,
            stats: self.stats(path),
            retransmissions,
        }
    }

    /// What the middleboxes of a path did.
    pub fn middleboxes(&self, path: usize) -> Vec<MiddleboxOutcome> {
        let boxes = self.paths[path].boxes.iter().flat_map(|boxes| boxes.chain.stats());
        boxes.map(|(config, stats)| MiddleboxOutcome::of(config, &stats)).collect()
    }

    /// The flows of datagrams.
    pub fn background(&self) -> &[Background] {
        &self.background
    }

    /// How late packets were asked for.
    pub fn lateness(&self) -> &Lateness {
        &self.late
    }

    /// TCP segments that reached a host.
    pub const fn segments(&self) -> u64 {
        self.segments
    }

    /// What was captured and not yet taken, as the next bytes of a pcapng file.
    pub fn take_capture(&mut self) -> Option<Vec<u8>> {
        self.capture.as_mut().map(|(writer, _)| writer.take())
    }

    fn stats(&self, path: usize) -> [LinkStats; 2] {
        let Ports { down, up } = self.ports[path];
        [down, up].map(|port| self.media[port.medium].stats(port.station))
    }

    fn push(&mut self, now: Instant, path: usize, down: bool, packet: &[u8]) -> bool {
        let port = if down { self.ports[path].down } else { self.ports[path].up };
        let spare = &mut self.spare;
        self.media[port.medium].push_with(now, port.station, packet.len() as u32, || {
            let mut bytes = spare.pop().unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(packet);
            Frame { path: path as u8, down, load: Load::Packet { bytes, sent: now } }
        })
    }

    /// A frame has crossed its medium.
    fn arrive(&mut self, now: Instant, frame: Frame) -> Option<Delivery> {
        let (path, down) = (usize::from(frame.path), frame.down);
        if !self.paths[path].present {
            if let Load::Packet { bytes, .. } = frame.load {
                self.recycle(bytes);
            }
            return None;
        }
        let packet = match frame.load {
            Load::Packet { bytes, sent } => {
                let counts = &mut self.paths[path];
                counts.transit[usize::from(!down)].add(now.since(sent));
                if down && payload_len(&bytes) > 0 {
                    counts.last_payload_sent = sent;
                }
                bytes
            }
            Load::Datagram { flow, sent, size } => {
                if down {
                    self.hear(now, path, size, 0);
                }
                self.background[usize::from(flow)].on_arrival(now, sent, size);
                return None;
            }
        };
        if !down && self.paths[path].boxes.is_some() && self.push_boxes(now, path, false, &packet) {
            self.recycle(packet);
            self.drain_boxes(now, path);
            return self.ready.pop_front();
        }
        Some(self.deliver(now, path, down, packet))
    }

    fn deliver(&mut self, now: Instant, path: usize, down: bool, packet: Vec<u8>) -> Delivery {
        self.segments += u64::from(is_tcp(&packet));
        if down {
            self.hear(now, path, packet.len() as u32, payload_len(&packet));
            self.write_down(now, path, true, &packet);
        } else if let Some(FollowedPriority { heard: heard @ None, .. }) = &mut self.paths[path].priority
            && has_priority(&packet)
        {
            *heard = Some(now);
        }
        Delivery { path, down, packet }
    }

    /// The device's interface receives something.
    fn hear(&mut self, now: Instant, path: usize, bytes: u32, payload: u32) {
        let counts = &mut self.paths[path];
        counts.wire_down += u64::from(bytes);
        counts.payload_down += u64::from(payload);
        if payload > 0 {
            counts.last_payload_down = now;
        }
        for meter in &mut counts.meters {
            meter.on_packet(now, Direction::Down, bytes);
        }
    }

    fn write_down(&mut self, now: Instant, path: usize, down: bool, packet: &[u8]) {
        if let Some((writer, interfaces)) = &mut self.capture {
            let direction = if down { pcapng::Direction::Inbound } else { pcapng::Direction::Outbound };
            let kept = packet.len().min(SNAPLEN as usize);
            writer.packet(interfaces[path], now, direction, packet.len(), &packet[..kept]);
        }
    }

    fn send_background(&mut self, now: Instant) {
        for flow in 0..self.background.len() {
            while let Some(size) = self.background[flow].take_due(now) {
                let spec = *self.background[flow].spec();
                let (path, down) = (spec.path, spec.direction == traffic::Direction::Down);
                if !down {
                    if !self.paths[path].present {
                        continue;
                    }
                    let counts = &mut self.paths[path];
                    counts.wire_up += u64::from(size);
                    for meter in &mut counts.meters {
                        meter.on_packet(now, Direction::Up, size);
                    }
                }
                let load = Load::Datagram { flow: flow as u16, sent: now, size };
                let port = if down { self.ports[path].down } else { self.ports[path].up };
                let frame = Frame { path: path as u8, down, load };
                self.media[port.medium].push_with(now, port.station, size, || frame);
            }
        }
    }

    fn boxes_due(&self, path: usize) -> Option<Instant> {
        self.paths[path].boxes.as_ref().and_then(|boxes| boxes.chain.next())
    }

    /// Gives a packet to the boxes of its path; false where they do not look at such packets.
    fn push_boxes(&mut self, now: Instant, path: usize, down: bool, packet: &[u8]) -> bool {
        let Some(boxes) = &mut self.paths[path].boxes else { return false };
        let Some((source, destination, segment)) = segment(packet) else { return false };
        let pair = if down { (destination, source) } else { (source, destination) };
        let flow = boxes.flows.iter().position(|&known| known == pair).unwrap_or_else(|| {
            boxes.flows.push(pair);
            boxes.flows.len() - 1
        });
        boxes.chain.push(now, TransitSegment { from_device: !down, flow: flow as u32, segment });
        true
    }

    /// What leaves the boxes of a path goes to the server, or onto the link to the device.
    fn drain_boxes(&mut self, now: Instant, path: usize) {
        while let Some(boxes) = &mut self.paths[path].boxes {
            let Some(TransitSegment { from_device, flow, segment }) = boxes.chain.poll(now) else { break };
            let (device, server) = boxes.flows[flow as usize];
            let mut packet = self.spare.pop().unwrap_or_default();
            let (from, to) = if from_device { (device, server) } else { (server, device) };
            // A box that leaves options which no longer fit leaves a segment that nobody can carry.
            if emit(from, to, &segment, &mut packet).is_err() {
                continue;
            }
            if from_device {
                let delivery = self.deliver(now, path, false, packet);
                self.ready.push_back(delivery);
            } else {
                self.push(now, path, true, &packet);
                self.recycle(packet);
            }
        }
    }
}
