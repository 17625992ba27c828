//! State of the paths between device and server, and of the media that they cross.

use crate::event_queue::EventQueue;
use crate::event_source::{EventSlots, EventSource};
use crate::experiment::Setup;
use crate::media::{Port, Ports};
use crate::packet::{Packet, PacketLabel};
use link::{LinkStats, Sent};
use middlebox::Chain;
use radio::{Direction, Meter};
use units::Instant;
use wire::{Segment, Span};

/// Size of the IPv4 header, which is added to every segment on a link.
pub(crate) const IP_HEADER_BYTES: u32 = 20;

pub(crate) type Medium = crate::media::Medium<Packet>;

#[derive(Debug)]
pub(crate) struct Path {
    /// Index of the device.
    pub(crate) device: usize,
    pub(crate) down: Port,
    pub(crate) up: Port,
    /// Ports of the backhaul of the path's cell, down and up, if it has one.
    pub(crate) backhaul: Option<[Port; 2]>,
    /// Middleboxes between the access link and the server, if any.
    pub(crate) middleboxes: Option<Box<Chain<Span>>>,
    /// The interface is up.
    pub(crate) present: bool,
    /// The policy has not closed the path.
    pub(crate) wanted: bool,
    /// The scenario or the policy has made the path a backup.
    pub(crate) backup: bool,
    /// Energy meter of the interface, then the meters of further profiles for the same traffic.
    pub(crate) meters: Vec<Meter>,
    /// Payload bytes that the device received.
    pub(crate) payload_down: u64,
    /// Payload bytes that the device sent.
    pub(crate) payload_up: u64,
    /// Bytes with all headers that the device received.
    pub(crate) wire_down: u64,
    /// Bytes with all headers that the device sent.
    pub(crate) wire_up: u64,
}

impl Path {
    /// Port that a packet enters first.
    #[inline]
    fn entry(&self, down: bool) -> Port {
        match self.backhaul {
            Some([backhaul, _]) if down => backhaul,
            _ if down => self.down,
            _ => self.up,
        }
    }

    /// Port that a packet enters after it has crossed `medium`, if that is not the last one.
    #[inline]
    pub(crate) fn next_port(&self, down: bool, medium: usize) -> Option<Port> {
        let [backhaul_down, backhaul_up] = self.backhaul?;
        if down {
            (medium == backhaul_down.medium).then_some(self.down)
        } else {
            (medium == self.up.medium).then_some(backhaul_up)
        }
    }

    /// Counts a received packet of `bytes` with all headers at the interface and in every meter.
    #[inline]
    pub(crate) fn count_received(&mut self, now: Instant, bytes: u32) {
        self.wire_down += u64::from(bytes);
        for meter in &mut self.meters {
            meter.on_packet(now, Direction::Down, bytes);
        }
    }

    /// Counts a sent packet at the interface and in every meter.
    #[inline]
    fn count_sent(&mut self, sent: Sent) {
        self.wire_up += u64::from(sent.size);
        self.payload_up += u64::from(sent.payload);
        for meter in &mut self.meters {
            meter.on_packet(sent.at, Direction::Up, sent.size);
        }
    }
}

/// Event queue with the slots of the media.
pub(crate) struct MediumScheduler<'a> {
    pub(crate) queue: &'a mut EventQueue<EventSource>,
    pub(crate) slots: &'a EventSlots,
}

#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) media: Vec<Medium>,
    pub(crate) paths: Vec<Path>,
}

impl Network {
    pub(crate) fn new(setup: &Setup<'_>) -> Self {
        let (media, ports) = crate::media::setup_media(setup, Packet::mark, Packet::payload_len);
        let specs = setup.devices.iter().enumerate();
        let specs = specs.flat_map(|(device, e)| e.paths.iter().map(move |spec| (device, e.seed, spec)));
        let mut paths = Vec::new();
        for ((device, seed, spec), &(Ports { down, up }, backhaul)) in specs.zip(&ports) {
            let seed = seed.derive(&spec.name);
            let own = Meter::new(spec.profile.clone()).with_timeline();
            let others = spec.also_measure.iter().map(|profile| Meter::new(profile.clone()));
            paths.push(Path {
                device,
                down,
                up,
                backhaul,
                middleboxes: (!spec.middleboxes.is_empty())
                    .then(|| Box::new(Chain::new(&spec.middleboxes, seed.derive("middlebox")))),
                present: spec.join_at == Instant::ZERO,
                wanted: true,
                backup: spec.backup,
                meters: core::iter::once(own).chain(others).collect(),
                payload_down: 0,
                payload_up: 0,
                wire_down: 0,
                wire_up: 0,
            });
        }
        Self { media, paths }
    }

    /// Queues a segment, `size` bytes with its IP header, on the first medium of its path, and
    /// schedules that medium's next event.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Instant,
        size: u32,
        label: PacketLabel,
        segment: &Segment<Span>,
        scheduler: MediumScheduler<'_>,
    ) {
        let port = self.paths[label.path()].entry(label.is_down());
        self.push((now, port), size, label, segment, scheduler);
    }

    /// Queues a segment at a port, like [`send`](Self::send).
    #[inline]
    pub(crate) fn push(
        &mut self,
        (now, port): (Instant, Port),
        size: u32,
        label: PacketLabel,
        segment: &Segment<Span>,
        scheduler: MediumScheduler<'_>,
    ) {
        let MediumScheduler { queue, slots } = scheduler;
        let medium = &mut self.media[port.medium];
        // Usually true: the packet queues behind others, and the medium's next event stays.
        let is_scheduled = medium.push_preserves_next();
        medium.push_with(now, port.station, size, || Packet::pack(label, segment));
        if !is_scheduled {
            queue.set(slots.media[port.medium], medium.next());
        }
    }

    /// Counts what a device has sent over a path by `now`. A packet counts when its transmission
    /// begins: it may wait in the queue for long, or be dropped there. Call it before the path is
    /// read, receives a packet or changes.
    #[inline]
    pub(crate) fn count_sent(&mut self, now: Instant, path: usize) {
        let path = &mut self.paths[path];
        let medium = &mut self.media[path.up.medium];
        while let Some(sent) = medium.take_sent(now, path.up.station) {
            if path.present {
                path.count_sent(sent);
            }
        }
    }

    /// Bytes queued at a port.
    pub(crate) fn queued(&mut self, now: Instant, port: Port) -> u64 {
        self.media[port.medium].queued(now, port.station)
    }

    /// Packet counters of a port.
    pub(crate) fn stats(&self, port: Port) -> LinkStats {
        self.media[port.medium].stats(port.station)
    }
}
