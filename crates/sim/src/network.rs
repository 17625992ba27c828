//! State of the paths between device and server, and of the media that they cross.

use crate::event_queue::EventQueue;
use crate::event_source::{EventSlots, EventSource};
use crate::experiment::Experiment;
use crate::media::{Port, Ports};
use crate::packet::{Packet, PacketLabel};
use link::LinkStats;
use middlebox::Chain;
use radio::{Direction, Meter};
use units::Instant;
use wire::{Segment, Span};

/// Size of the IPv4 header, which is added to every segment on a link.
pub(crate) const IP_HEADER_BYTES: u32 = 20;

pub(crate) type Medium = crate::media::Medium<Packet>;

#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) down: Port,
    pub(crate) up: Port,
    /// Middleboxes between the access link and the server, if any.
    pub(crate) middleboxes: Option<Box<Chain<Span>>>,
    /// The interface is up.
    pub(crate) present: bool,
    /// The policy has not closed the path.
    pub(crate) wanted: bool,
    /// The scenario or the policy has made the path a backup.
    pub(crate) backup: bool,
    /// Energy meter of the interface, then those of further profiles for the same traffic.
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
    /// Counts a packet of `bytes` with all headers at the interface and in every meter.
    #[inline]
    pub(crate) fn count(&mut self, now: Instant, direction: Direction, bytes: u32) {
        match direction {
            Direction::Down => self.wire_down += u64::from(bytes),
            Direction::Up => self.wire_up += u64::from(bytes),
        }
        for meter in &mut self.meters {
            meter.on_packet(now, direction, bytes);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) media: Vec<Medium>,
    pub(crate) paths: Vec<Path>,
}

impl Network {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let (media, ports) = crate::media::media(experiment, Packet::mark);
        let mut paths = Vec::new();
        for (spec, &Ports { down, up }) in experiment.paths.iter().zip(&ports) {
            let seed = experiment.seed.derive(&spec.name);
            let own = Meter::new(spec.profile.clone()).with_timeline();
            let others = spec.also_measure.iter().map(|profile| Meter::new(profile.clone()));
            paths.push(Path {
                down,
                up,
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

    /// Queues a segment, `size` bytes with its IP header, on the medium of its path, and schedules
    /// that medium's next event.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Instant,
        size: u32,
        label: PacketLabel,
        segment: &Segment<Span>,
        queue: &mut EventQueue<EventSource>,
        slots: &EventSlots,
    ) {
        let path = &self.paths[usize::from(label.path)];
        let port = if label.down { path.down } else { path.up };
        let medium = &mut self.media[port.medium];
        // Usually true: the packet queues behind others, and the medium's next event stays.
        let is_scheduled = medium.push_preserves_next();
        medium.push_with(now, port.station, size, || Packet::pack(label, segment));
        if !is_scheduled {
            queue.set(slots.media[port.medium], medium.next());
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
