//! What lies between the device and the server: media, and the paths across them.

use crate::Experiment;
use crate::agenda::Agenda;
use crate::media::{Port, Ports};
use crate::packet::{Label, Packet};
use link::LinkStats;
use middlebox::Chain;
use radio::{Direction, Meter};
use units::Instant;
use wire::{Segment, Span};

/// The IPv4 header, which every link carries too.
pub(crate) const IP_HEADER: u32 = 20;

pub(crate) type Medium = crate::media::Medium<Packet>;

/// A path as the simulation goes on.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) down: Port,
    pub(crate) up: Port,
    /// Between the access link and the server, if there are any.
    pub(crate) boxes: Option<Box<Chain<Span>>>,
    /// The interface is there.
    pub(crate) present: bool,
    /// The policy wants it to be used.
    pub(crate) wanted: bool,
    /// The policy, or the scenario, wants it as a backup.
    pub(crate) backup: bool,
    /// Its own meter first, then others that measure the same traffic.
    pub(crate) meters: Vec<Meter>,
    /// Payload that reached the device, and that it sent.
    pub(crate) payload_down: u64,
    pub(crate) payload_up: u64,
    /// Bytes with all headers.
    pub(crate) wire_down: u64,
    pub(crate) wire_up: u64,
}

impl Path {
    /// Counts a packet of `bytes` with all headers, in the books and by every meter.
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
                boxes: (!spec.middleboxes.is_empty())
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

    /// Puts a copy of a segment, `size` bytes with its IP header, on its way, and sees to it that the medium
    /// that took it has its next event on the agenda.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Instant,
        size: u32,
        label: Label,
        segment: &Segment<Span>,
        agenda: &mut Agenda,
    ) {
        let path = &self.paths[usize::from(label.path)];
        let port = if label.down { path.down } else { path.up };
        let medium = &mut self.media[port.medium];
        // Nearly always it lies behind others.
        let known = medium.keeps_next();
        medium.push_with(now, port.station, size, || Packet::pack(label, segment));
        if !known {
            agenda.set(port.medium, medium.next());
        }
    }

    /// Bytes that wait before a direction of a path.
    pub(crate) fn queued(&mut self, now: Instant, port: Port) -> u64 {
        self.media[port.medium].queued(now, port.station)
    }

    pub(crate) fn stats(&self, port: Port) -> LinkStats {
        self.media[port.medium].stats(port.station)
    }
}
