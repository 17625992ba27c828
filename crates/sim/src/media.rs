//! The media that an experiment's paths cross, for packets of any kind: the simulator's, and those of
//! a real kernel that an emulator carries.

use crate::{Experiment, Hop};
use link::{Cell, Link, LinkStats, StationConfig};
use units::{Instant, Seed};

/// A link of its own, or a cell that several share.
#[derive(Debug)]
pub enum Medium<T> {
    /// One direction of one path.
    Link(Box<Link<T>>),
    /// What stations of several paths share.
    Cell(Box<Cell<T>>),
}

/// Where a direction of a path enters a medium.
#[derive(Debug, Clone, Copy)]
pub struct Port {
    /// Index of the medium.
    pub medium: usize,
    /// Which of a cell's stations it is; 0 for a link.
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
    /// Gives it a packet of `size` bytes with its IP header, which is made only if there is room. False
    /// where there is none.
    #[inline]
    pub fn push_with(&mut self, now: Instant, station: usize, size: u32, make: impl FnOnce() -> T) -> bool {
        match self {
            Self::Link(link) => link.push_with(now, size, make),
            Self::Cell(cell) => cell.push(now, station, size, make()),
        }
    }

    /// The next packet that arrives at or before `now`.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<T> {
        match self {
            Self::Link(link) => link.poll(now),
            Self::Cell(cell) => cell.poll(now).map(|(_, packet)| packet),
        }
    }

    /// When to poll next.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        match self {
            Self::Link(link) => link.next(),
            Self::Cell(cell) => cell.next(),
        }
    }

    /// Whether another packet would leave [`next`](Self::next) as it is.
    #[inline]
    pub fn keeps_next(&self) -> bool {
        match self {
            Self::Link(link) => link.keeps_next(),
            Self::Cell(_) => false,
        }
    }

    /// Bytes that wait at a station.
    pub fn queued(&mut self, now: Instant, station: usize) -> u64 {
        match self {
            Self::Link(link) => link.queued_bytes(now),
            Self::Cell(cell) => cell.queued_bytes(now, station),
        }
    }

    /// What became of a station's packets so far.
    pub fn stats(&self, station: usize) -> LinkStats {
        match self {
            Self::Link(link) => link.stats(),
            Self::Cell(cell) => cell.stats(station),
        }
    }
}

/// The media of an experiment, cells first, and where each of its paths enters them. The same seed
/// draws the same losses and delays, whatever the packets are. `mark` marks a packet that met
/// congestion (RFC 3168), or says that it cannot.
pub fn media<T: Clone>(experiment: &Experiment, mark: fn(&mut T) -> bool) -> (Vec<Medium<T>>, Vec<Ports>) {
    let mut stations: Vec<Vec<StationConfig>> = vec![Vec::new(); experiment.cells.len()];
    let mut links = Vec::new();
    let cells = experiment.cells.len();
    let mut attach = |hop: &Hop, seed: Seed| match hop {
        Hop::Cell { cell, station } => {
            stations[*cell].push(station.clone());
            Port { medium: *cell, station: stations[*cell].len() - 1 }
        }
        Hop::Link(config) => {
            links.push(Medium::Link(Box::new(Link::marking(config, seed, mark))));
            Port { medium: cells + links.len() - 1, station: 0 }
        }
    };
    let mut ports = Vec::new();
    for spec in &experiment.paths {
        let seed = experiment.seed.derive(&spec.name);
        let down = attach(&spec.down, seed.derive("down"));
        let up = attach(&spec.up, seed.derive("up"));
        ports.push(Ports { down, up });
    }
    let mut media: Vec<Medium<T>> = Vec::new();
    for (spec, stations) in experiment.cells.iter().zip(&stations) {
        let seed = experiment.seed.derive("cell").derive(&spec.name);
        media.push(Medium::Cell(Box::new(Cell::new(&spec.config, stations, seed))));
    }
    media.extend(links);
    (media, ports)
}
