//! Sans-IO network between a client device and its server: media, middleboxes, background traffic,
//! interface counters, power meters and packet capture.

use crate::Lateness;
use crate::flow_numbers::FlowNumbers;
use crate::offload::complete_offload;
use crate::packet::{emit, has_mp_prio, is_tcp, mark, payload_len, segment};
use bytes::Bytes;
use link::LinkStats;
use linux::tun::PendingOffload;
use middlebox::{Chain, TransitSegment};
use radio::{Direction, Meter};
use sim::{Background, Experiment, Medium, MiddleboxOutcome, PathTotals, Ports, SNAPLEN, media};
use std::collections::VecDeque;
use units::{Duration, Instant};
use wire::pcapng::{self, Writer};

/// A unit of transmission on a medium.
#[derive(Debug, Clone)]
struct Frame {
    path: u8,
    down: bool,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    /// A packet from a kernel.
    Packet { bytes: Vec<u8>, sent: Instant },
    /// A datagram of background traffic; it has a size but no bytes.
    Background { flow: u16, sent: Instant, size: u32 },
}

fn mark_frame(frame: &mut Frame) -> bool {
    match &mut frame.content {
        Content::Packet { bytes, .. } => mark(bytes),
        Content::Background { .. } => false,
    }
}

fn frame_payload(frame: &Frame) -> u32 {
    match &frame.content {
        Content::Packet { bytes, .. } => payload_len(bytes),
        Content::Background { .. } => 0,
    }
}

/// A packet on arrival at a host.
#[derive(Debug)]
pub struct Delivery {
    /// Index of the path.
    pub path: usize,
    /// Direction: to the device if true, else to the server.
    pub down: bool,
    /// IP packet. [`Network::recycle`] takes the buffer back after the write.
    pub packet: Vec<u8>,
}

/// Counters and meters of the device's interface on one path.
#[derive(Debug)]
pub struct PathCounters {
    /// Whether the interface exists.
    pub present: bool,
    /// Meter of the path's own power profile, then the meters of `also_measure`.
    pub meters: Vec<Meter>,
    /// Payload bytes received by the device.
    pub payload_down: u64,
    /// Payload bytes sent by the device.
    pub payload_up: u64,
    /// Bytes received by the device, including headers.
    pub wire_down: u64,
    /// Bytes sent by the device, including headers.
    pub wire_up: u64,
    /// Arrival time of the last payload packet at the device.
    pub last_payload_down: Instant,
    /// Time at which the server sent that packet.
    pub last_payload_sent: Instant,
    /// Priority change tracked since the last [`Network::track_priority`].
    pub priority: Option<FollowedPriority>,
    /// Transit times from sender to receiver, down and up.
    pub transit: [Transit; 2],
    middleboxes: Option<Box<Middleboxes>>,
}

/// A priority change (MP_PRIO) sent by the device, and the server's traffic after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FollowedPriority {
    /// Time at which the server received it.
    pub received_at: Option<Instant>,
    /// Bytes of payload packets sent by the server over the path since then, including headers.
    pub sent_since: u64,
}

/// Accumulated transit times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Transit {
    packets: u64,
    nanos: u128,
}

impl Transit {
    fn record(&mut self, time: Duration) {
        self.packets += 1;
        self.nanos += u128::from(time.as_nanos());
    }

    /// Mean transit time; `None` without packets.
    pub fn mean(&self) -> Option<Duration> {
        let nanos = self.nanos.checked_div(u128::from(self.packets))?;
        Some(Duration::from_nanos(nanos as u64))
    }
}

/// Middleboxes of a path. They process segments without addresses.
#[derive(Debug)]
struct Middleboxes {
    chain: Chain<Bytes>,
    flows: FlowNumbers,
}

/// The network between a device and its server.
///
/// After [`send`](Self::send) and at the time returned by [`next`](Self::next), call
/// [`poll`](Self::poll) until it returns `None`. Time never decreases from call to call.
#[derive(Debug)]
pub struct Network {
    media: Vec<Medium<Frame>>,
    ports: Vec<Ports>,
    paths: Vec<PathCounters>,
    background: Vec<Background>,
    capture: Option<(Writer, Vec<pcapng::Interface>)>,
    /// Packets from middleboxes to a host, ready for delivery.
    ready: VecDeque<Delivery>,
    /// Packet buffers for reuse.
    free_buffers: Vec<Vec<u8>>,
    /// Delay of each poll after the due time of its frame.
    lateness: Lateness,
    segments: u64,
}

/// Maximum number of packet buffers kept for reuse.
const MAX_FREE_BUFFERS: usize = 4096;

impl Network {
    /// Creates the network of an experiment, empty and at time zero. Links draw the same random
    /// losses and delays as in simulation.
    pub fn new(experiment: &Experiment) -> Self {
        let (media, ports) = media(experiment, mark_frame, frame_payload);
        let paths = experiment.paths.iter().map(|spec| {
            let own = Meter::new(spec.profile.clone()).with_timeline();
            let others = spec.also_measure.iter().map(|profile| Meter::new(profile.clone()));
            let seed = experiment.seed.derive(&spec.name).derive("middlebox");
            let middleboxes = (!spec.middleboxes.is_empty()).then(|| {
                Box::new(Middleboxes {
                    chain: Chain::new(&spec.middleboxes, seed),
                    flows: FlowNumbers::default(),
                })
            });
            PathCounters {
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
                middleboxes,
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
            // Twice the duration, since faults may postpone the end of a run.
            background: Background::all(experiment, Instant::ZERO + experiment.duration * 2),
            capture,
            ready: VecDeque::new(),
            free_buffers: Vec::new(),
            lateness: Lateness::default(),
            segments: 0,
        }
    }

    /// Sends a packet over `path`: from the server if `down`, else from the device. Returns false
    /// when the packet is dropped at once.
    pub fn send(&mut self, now: Instant, path: usize, down: bool, packet: &[u8]) -> bool {
        let Some(counters) = self.paths.get_mut(path) else { return false };
        if !down {
            if !counters.present {
                return false;
            }
            self.count_sent(now, path);
            self.capture_packet(now, path, false, packet);
            return self.push(now, path, false, packet);
        }
        if let Some(FollowedPriority { received_at: Some(_), sent_since }) = &mut counters.priority
            && payload_len(packet) > 0
        {
            *sent_since += packet.len() as u64;
        }
        if self.push_to_middleboxes(now, path, true, packet) {
            self.drain_middleboxes(now, path);
            return true;
        }
        self.push(now, path, true, packet)
    }

    /// Completes the pending offload of a packet read from a device and sends the resulting
    /// packets, all at `now`, as [`send`](Self::send) does. Returns their number.
    pub fn send_offloaded(
        &mut self,
        now: Instant,
        path: usize,
        down: bool,
        (pending, packet): (PendingOffload, &mut [u8]),
    ) -> usize {
        let mut buffer = self.free_buffers.pop().unwrap_or_default();
        let mut packets = 0;
        complete_offload(pending, packet, &mut buffer, |packet| {
            packets += 1;
            self.send(now, path, down, packet);
        });
        self.recycle(buffer);
        packets
    }

    /// Returns the next packet with an arrival at or before `now`.
    pub fn poll(&mut self, now: Instant) -> Option<Delivery> {
        self.send_background(now);
        loop {
            if let Some(delivery) = self.ready.pop_front() {
                return Some(delivery);
            }
            let medium = self.media.iter().position(|medium| medium.next().is_some_and(|at| at <= now));
            let Some(medium) = medium else {
                let path = (0..self.paths.len())
                    .find(|&path| self.middleboxes_due(path).is_some_and(|at| at <= now))?;
                self.drain_middleboxes(now, path);
                continue;
            };
            let due = self.media[medium].next().unwrap_or(now);
            if let Some(frame) = self.media[medium].poll(now) {
                self.lateness.record(now.since(due));
                if let Some(delivery) = self.on_frame(now, frame) {
                    return Some(delivery);
                }
            }
        }
    }

    /// Time of the next poll; `None` without pending events.
    pub fn next(&self) -> Option<Instant> {
        if !self.ready.is_empty() {
            return Some(Instant::ZERO);
        }
        let media = self.media.iter().filter_map(Medium::next);
        let background = self.background.iter().filter_map(Background::next);
        let middleboxes = (0..self.paths.len()).filter_map(|path| self.middleboxes_due(path));
        media.chain(background).chain(middleboxes).min()
    }

    /// Takes back the buffer of a delivered packet.
    pub fn recycle(&mut self, packet: Vec<u8>) {
        if self.free_buffers.len() < MAX_FREE_BUFFERS {
            self.free_buffers.push(packet);
        }
    }

    /// Adds or removes an interface of the device. Packets in flight to a removed interface are
    /// lost.
    pub fn set_present(&mut self, now: Instant, path: usize, present: bool) {
        if path < self.paths.len() {
            self.count_sent(now, path);
        }
        if let Some(counters) = self.paths.get_mut(path) {
            counters.present = present;
        }
    }

    /// Counts what the device has sent by `now`, and advances the meters.
    pub fn advance(&mut self, now: Instant) {
        (0..self.paths.len()).for_each(|path| self.count_sent(now, path));
        for meter in self.paths.iter_mut().flat_map(|counters| &mut counters.meters) {
            meter.advance(now);
        }
    }

    /// Starts tracking the next priority change that the device sends over a path, on any
    /// connection.
    pub fn track_priority(&mut self, path: usize) {
        if let Some(counters) = self.paths.get_mut(path) {
            counters.priority = Some(FollowedPriority::default());
        }
    }

    /// Counters of the device's interfaces, by path.
    pub fn paths(&self) -> &[PathCounters] {
        &self.paths
    }

    /// Bytes queued on a path, in both directions.
    pub fn queued(&mut self, now: Instant, path: usize) -> u64 {
        let Ports { down, up } = self.ports[path];
        let down = self.media[down.medium].queued(now, down.station);
        down + self.media[up.medium].queued(now, up.station)
    }

    /// Totals of a path. `retransmissions` come from the hosts.
    pub fn totals(&self, path: usize, retransmissions: u64) -> PathTotals<'_> {
        let counters = &self.paths[path];
        PathTotals {
            meters: &counters.meters,
            payload_down: counters.payload_down,
            payload_up: counters.payload_up,
            wire_down: counters.wire_down,
            wire_up: counters.wire_up,
            stats: self.stats(path),
            retransmissions,
        }
    }

    /// Statistics of a path's middleboxes.
    pub fn middleboxes(&self, path: usize) -> Vec<MiddleboxOutcome> {
        let stats = self.paths[path].middleboxes.iter().flat_map(|middleboxes| middleboxes.chain.stats());
        stats.map(|(config, stats)| MiddleboxOutcome::of(config, &stats)).collect()
    }

    /// Flows of background traffic.
    pub fn background(&self) -> &[Background] {
        &self.background
    }

    /// Distribution of the delay between a packet's due time and its poll.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// TCP segments delivered to a host.
    pub const fn segments(&self) -> u64 {
        self.segments
    }

    /// Takes the packets captured since the last call, as the next bytes of a pcapng file.
    pub fn take_capture(&mut self) -> Option<Vec<u8>> {
        self.capture.as_mut().map(|(writer, _)| writer.take())
    }

    fn stats(&self, path: usize) -> [LinkStats; 2] {
        let Ports { down, up } = self.ports[path];
        [down, up].map(|port| self.media[port.medium].stats(port.station))
    }

    fn push(&mut self, now: Instant, path: usize, down: bool, packet: &[u8]) -> bool {
        let port = if down { self.ports[path].down } else { self.ports[path].up };
        let free_buffers = &mut self.free_buffers;
        self.media[port.medium].push_with(now, port.station, packet.len() as u32, || {
            let mut bytes = free_buffers.pop().unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(packet);
            Frame { path: path as u8, down, content: Content::Packet { bytes, sent: now } }
        })
    }

    /// Handles a frame that has crossed its medium.
    fn on_frame(&mut self, now: Instant, frame: Frame) -> Option<Delivery> {
        let (path, down) = (usize::from(frame.path), frame.down);
        if !self.paths[path].present {
            if let Content::Packet { bytes, .. } = frame.content {
                self.recycle(bytes);
            }
            return None;
        }
        let packet = match frame.content {
            Content::Packet { bytes, sent } => {
                let counters = &mut self.paths[path];
                counters.transit[usize::from(!down)].record(now.since(sent));
                if down && payload_len(&bytes) > 0 {
                    counters.last_payload_sent = sent;
                }
                bytes
            }
            Content::Background { flow, sent, size } => {
                if down {
                    self.count_received(now, path, size, 0);
                }
                self.background[usize::from(flow)].on_arrival(now, sent, size);
                return None;
            }
        };
        if !down && self.push_to_middleboxes(now, path, false, &packet) {
            self.recycle(packet);
            self.drain_middleboxes(now, path);
            return self.ready.pop_front();
        }
        Some(self.deliver(now, path, down, packet))
    }

    fn deliver(&mut self, now: Instant, path: usize, down: bool, packet: Vec<u8>) -> Delivery {
        self.segments += u64::from(is_tcp(&packet));
        if down {
            self.count_received(now, path, packet.len() as u32, payload_len(&packet));
            self.capture_packet(now, path, true, &packet);
        } else if let Some(FollowedPriority { received_at: received_at @ None, .. }) =
            &mut self.paths[path].priority
            && has_mp_prio(&packet)
        {
            *received_at = Some(now);
        }
        Delivery { path, down, packet }
    }

    /// Counts what the device has sent over a path by `now`: a packet counts when its transmission
    /// begins.
    fn count_sent(&mut self, now: Instant, path: usize) {
        let (counters, up) = (&mut self.paths[path], self.ports[path].up);
        while let Some(sent) = self.media[up.medium].take_sent(now, up.station) {
            if !counters.present {
                continue;
            }
            counters.wire_up += u64::from(sent.size);
            counters.payload_up += u64::from(sent.payload);
            for meter in &mut counters.meters {
                meter.on_packet(sent.at, Direction::Up, sent.size);
            }
        }
    }

    /// Counts a packet received by the device.
    fn count_received(&mut self, now: Instant, path: usize, bytes: u32, payload: u32) {
        self.count_sent(now, path);
        let counters = &mut self.paths[path];
        counters.wire_down += u64::from(bytes);
        counters.payload_down += u64::from(payload);
        if payload > 0 {
            counters.last_payload_down = now;
        }
        for meter in &mut counters.meters {
            meter.on_packet(now, Direction::Down, bytes);
        }
    }

    fn capture_packet(&mut self, now: Instant, path: usize, down: bool, packet: &[u8]) {
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
                    self.count_sent(now, path);
                }
                let content = Content::Background { flow: flow as u16, sent: now, size };
                let port = if down { self.ports[path].down } else { self.ports[path].up };
                let frame = Frame { path: path as u8, down, content };
                self.media[port.medium].push_with(now, port.station, size, || frame);
            }
        }
    }

    fn middleboxes_due(&self, path: usize) -> Option<Instant> {
        self.paths[path].middleboxes.as_ref().and_then(|middleboxes| middleboxes.chain.next())
    }

    /// Passes a TCP segment to the middleboxes of its path. Returns false for a path without
    /// middleboxes and for other packets.
    fn push_to_middleboxes(&mut self, now: Instant, path: usize, down: bool, packet: &[u8]) -> bool {
        let Some(middleboxes) = &mut self.paths[path].middleboxes else { return false };
        let Some((source, destination, segment)) = segment(packet) else { return false };
        let addresses = if down { (destination, source) } else { (source, destination) };
        let flow = middleboxes.flows.number(addresses);
        middleboxes.chain.push(now, TransitSegment { from_device: !down, flow, segment });
        true
    }

    /// Forwards the output of a path's middleboxes: to the server, or onto the link to the device.
    fn drain_middleboxes(&mut self, now: Instant, path: usize) {
        while let Some(middleboxes) = &mut self.paths[path].middleboxes {
            let Some(TransitSegment { from_device, flow, segment }) = middleboxes.chain.poll(now) else {
                break;
            };
            let Some((device, server)) = middleboxes.flows.pair(flow) else { continue };
            let (source, destination) = if from_device { (device, server) } else { (server, device) };
            let mut packet = self.free_buffers.pop().unwrap_or_default();
            // A middlebox may produce a segment with options that exceed the TCP header: drop it.
            if emit(source, destination, &segment, &mut packet).is_err() {
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
