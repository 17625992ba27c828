//! Media that an experiment's paths cross, generic over the packet: the simulator carries its own
//! packets, the emulator those of a real kernel.

use crate::experiment::{Experiment, Hop, Setup};
use link::{Cell, CellStation, Link, LinkStats, Sender, Sent};
use std::collections::BTreeMap;
use tracing::info_span;
use units::{Duration, Instant, Seed};

/// A dedicated link, or a cell shared by several stations.
#[derive(Debug)]
pub enum Medium<T> {
    /// One direction of one path.
    Link(Box<Link<T>>),
    /// A cell shared by stations of several paths.
    Cell(Box<Cell<T>>),
}

/// Entry of one direction of a path into a medium.
#[derive(Debug, Clone, Copy)]
pub struct Port {
    /// Index of the medium.
    pub medium: usize,
    /// Index of the station within a cell; 0 for a link.
    pub station: usize,
}

/// The ports of a path.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    /// From the server to the device.
    pub down: Port,
    /// From the device to the server.
    pub up: Port,
}

impl<T: Clone> Medium<T> {
    /// Queues the packet returned by `make`, of `size` bytes with its IP header. A link calls
    /// `make` only if it accepts the packet. Returns false if the packet is dropped.
    #[inline]
    pub fn push_with(&mut self, now: Instant, station: usize, size: u32, make: impl FnOnce() -> T) -> bool {
        match self {
            Self::Link(link) => link.push_with(now, size, make),
            Self::Cell(cell) => push_to_cell(cell, now, station, size, make),
        }
    }

    /// Returns the next packet that arrives at or before `now`.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<T> {
        match self {
            Self::Link(link) => link.poll(now),
            Self::Cell(cell) => cell.poll(now).map(|(_, packet)| packet),
        }
    }

    /// Takes the next packet that the device has begun to send at `station` by `now`, if it is an
    /// uplink.
    #[inline]
    pub fn take_sent(&mut self, now: Instant, station: usize) -> Option<Sent> {
        match self {
            Self::Link(link) => link.take_sent(now),
            Self::Cell(cell) => cell.take_sent(now, station),
        }
    }

    fn record_sent(&mut self, station: usize, payload: fn(&T) -> u32) {
        match self {
            Self::Link(link) => link.record_sent(payload),
            Self::Cell(cell) => cell.record_sent(station, payload),
        }
    }

    /// Time at which to call [`poll`](Self::poll) next.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        match self {
            Self::Link(link) => link.next(),
            Self::Cell(cell) => cell.next(),
        }
    }

    /// True if another packet would leave [`next`](Self::next) unchanged.
    #[inline]
    pub fn push_preserves_next(&self) -> bool {
        match self {
            Self::Link(link) => link.push_preserves_next(),
            Self::Cell(_) => false,
        }
    }

    /// Bytes queued at a station.
    pub fn queued(&mut self, now: Instant, station: usize) -> u64 {
        match self {
            Self::Link(link) => link.queued_bytes(now),
            Self::Cell(cell) => cell.queued_bytes(now, station),
        }
    }

    /// Packets of a station that are queued or in flight.
    pub fn in_flight(&self, station: usize) -> u64 {
        match self {
            Self::Link(link) => link.in_flight() as u64,
            Self::Cell(cell) => cell.in_flight(station) as u64,
        }
    }

    /// Number of stations; 1 for a link.
    pub fn station_count(&self) -> usize {
        match self {
            Self::Link(_) => 1,
            Self::Cell(cell) => cell.station_count(),
        }
    }

    /// Time before `now` in which a cell was in use; zero for a link.
    pub fn busy_time(&mut self, now: Instant) -> Duration {
        match self {
            Self::Link(_) => Duration::ZERO,
            Self::Cell(cell) => cell.busy_time(now),
        }
    }

    /// Packet counters of a station.
    pub fn stats(&self, station: usize) -> LinkStats {
        match self {
            Self::Link(link) => link.stats(),
            Self::Cell(cell) => cell.stats(station),
        }
    }
}

/// Out of line, so that the code for links stays small.
#[inline(never)]
fn push_to_cell<T: Clone>(
    cell: &mut Cell<T>,
    now: Instant,
    station: usize,
    size: u32,
    make: impl FnOnce() -> T,
) -> bool {
    cell.push(now, station, size, make())
}

/// Builds the media of an experiment, cells first, and the ports of each path. The same seed gives
/// the same losses and delays for any packet type. `mark` sets the ECN mark CE (RFC 3168) on a
/// packet; it returns false if the packet's transport is not ECN-capable. `payload` returns the
/// payload of a packet, in bytes.
pub fn media<T: Clone>(
    experiment: &Experiment,
    mark: fn(&mut T) -> bool,
    payload: fn(&T) -> u32,
) -> (Vec<Medium<T>>, Vec<Ports>) {
    let (media, ports) = setup_media(&Setup::from(experiment), mark, payload);
    (media, ports.into_iter().map(|(ports, _)| ports).collect())
}

/// Ports of a path, and the backhaul's ports of its cell, down and up, if it has one.
pub(crate) type PathPorts = (Ports, Option<[Port; 2]>);

/// Like [`media`], for all devices; the ports have the order of devices and paths.
pub(crate) fn setup_media<T: Clone>(
    setup: &Setup<'_>,
    mark: fn(&mut T) -> bool,
    payload: fn(&T) -> u32,
) -> (Vec<Medium<T>>, Vec<PathPorts>) {
    let cells = setup.cells.len();
    let mut stations: Vec<Vec<CellStation>> = vec![Vec::new(); cells];
    let mut links = Vec::new();
    let mut attach = |hop: &Hop, sender: Sender, seeds: &mut Seeds| match hop {
        Hop::Cell { cell, station } => {
            let all = &mut stations[*cell];
            let seed = seeds.of_station(*cell, &setup.cells[*cell].name);
            all.push(CellStation { config: station.clone(), sender, seed });
            Port { medium: *cell, station: all.len() - 1 }
        }
        Hop::Link(config) => {
            let direction = if sender == Sender::Client { "up" } else { "down" };
            let seed = seeds.path.derive(direction);
            links.push(Medium::Link(Box::new(Link::with_marking(config, seed, mark))));
            Port { medium: cells + links.len() - 1, station: 0 }
        }
    };
    let mut ports: Vec<PathPorts> = Vec::new();
    for experiment in setup.devices {
        let mut seeds = Seeds::new(experiment.seed);
        for spec in &experiment.paths {
            seeds.path = experiment.seed.derive(&spec.name);
            let span = |direction| info_span!("link", path = %spec.name, direction);
            let down = span("down").in_scope(|| attach(&spec.down, Sender::AccessPoint, &mut seeds));
            let up = span("up").in_scope(|| attach(&spec.up, Sender::Client, &mut seeds));
            ports.push((Ports { down, up }, None));
        }
    }
    for backhaul in setup.backhauls {
        let name = &setup.cells[backhaul.cell].name;
        let mut seeds = Seeds::new(setup.seed.derive("backhaul").derive(name));
        let span = |direction| info_span!("backhaul", cell = %name, direction);
        let down = span("down").in_scope(|| attach(&backhaul.down, Sender::AccessPoint, &mut seeds));
        let up = span("up").in_scope(|| attach(&backhaul.up, Sender::Client, &mut seeds));
        for (path, behind) in &mut ports {
            if path.down.medium == backhaul.cell {
                *behind = Some([down, up]);
            }
        }
    }
    let mut media: Vec<Medium<T>> = Vec::new();
    for (spec, stations) in setup.cells.iter().zip(&stations) {
        let seed = setup.seed.derive("cell").derive(&spec.name);
        let cell = info_span!("cell", name = %spec.name).in_scope(|| Cell::new(&spec.config, stations, seed));
        media.push(Medium::Cell(Box::new(cell)));
    }
    media.extend(links);
    for (Ports { up, .. }, _) in &ports {
        media[up.medium].record_sent(up.station, payload);
    }
    (media, ports)
}

/// Seeds of the links and stations of a device or a backhaul. Others do not change them.
struct Seeds {
    /// Seed of the device or backhaul.
    own: Seed,
    /// Seed of the current path.
    path: Seed,
    /// Number of stations so far in each cell.
    stations: BTreeMap<usize, usize>,
}

impl Seeds {
    fn new(own: Seed) -> Self {
        Self { own, path: own, stations: BTreeMap::new() }
    }

    /// Seed of the next station in a cell.
    fn of_station(&mut self, cell: usize, name: &str) -> Seed {
        let count = self.stations.entry(cell).or_default();
        *count += 1;
        self.own.derive("cell").derive(name).derive(&format!("station {}", *count - 1))
    }
}
