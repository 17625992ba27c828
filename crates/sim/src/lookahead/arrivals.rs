//! Packets that arrive at all clients or at all servers within a window: merged by time, then
//! sorted by connection.

use super::departures::SentRange;
use crate::network::{Medium, Network};
use crate::packet::{Packet, PacketLabel};
use core::ops::Range;
use units::Instant;

/// Maximum number of media for windowed execution. For each arrival, the merge compares the next
/// arrival of every medium that leads to the receiving side.
pub(crate) const MAX_MEDIA: usize = 8;

/// A packet that arrives, in the list ordered by time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) at: Instant,
    pub(super) size: u32,
    /// Index among the packets under way on its medium.
    index: u32,
    /// Packets that the receiving end sent in response.
    pub(super) sent: SentRange,
    connection: u16,
    medium: u8,
    pub(super) path: u8,
}

/// A packet that arrives, in the list ordered by connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    pub(crate) at: Instant,
    /// Index in the list of arrivals.
    pub(crate) arrival: u32,
    /// Index among the packets under way on its medium.
    pub(crate) index: u32,
    pub(crate) medium: u8,
    pub(crate) path: u8,
}

impl Delivery {
    const NONE: Self = Self { at: Instant::MAX, arrival: 0, index: 0, medium: 0, path: 0 };
}

/// Arrivals of one window; its memory is reused for the next window.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Arrivals ordered by time.
    list: Vec<Arrival>,
    /// Number of packets gathered from each medium, lost ones included.
    gathered: [usize; MAX_MEDIA],
    /// Arrivals ordered by connection, then by time.
    deliveries: Vec<Delivery>,
    /// State of a counting sort, for each connection. While gathering: 0 if inactive, else the
    /// number of its deliveries plus 1. After sorting: the end of its range in `deliveries`.
    slots: Vec<u32>,
    /// Connections with something to do in this window.
    active: Vec<u32>,
}

impl Arrivals {
    pub(super) fn new(connections: usize) -> Self {
        Self { slots: vec![0; connections], ..Self::default() }
    }

    /// Marks a connection as active in this window.
    #[inline]
    pub(crate) fn activate(&mut self, connection: usize) {
        if self.slots[connection] == 0 {
            self.slots[connection] = 1;
            self.active.push(connection as u32);
        }
    }

    /// Merges the packets that arrive over `media` before `until`, and activates their connections.
    /// Packets of a path whose interface is down are lost.
    pub(super) fn gather(&mut self, network: &Network, media: &[usize], until: Instant) {
        let mut heads = [Instant::MAX; MAX_MEDIA];
        for (head, &medium) in heads.iter_mut().zip(media) {
            *head = packet_at(&network.media[medium], 0).map_or(Instant::MAX, |(at, ..)| at);
        }
        loop {
            let mut first = 0;
            for other in 1..media.len() {
                if heads[other] < heads[first] {
                    first = other;
                }
            }
            if heads[first] >= until {
                break;
            }
            let medium = media[first];
            let index = self.gathered[medium];
            if let Some((at, size, packet)) = packet_at(&network.media[medium], index) {
                let PacketLabel { connection, path, .. } = packet.label();
                if network.paths[usize::from(path)].present {
                    self.activate(usize::from(connection));
                    self.slots[usize::from(connection)] += 1;
                    let (index, medium, sent) = (index as u32, medium as u8, SentRange::default());
                    self.list.push(Arrival { at, size, index, sent, connection, medium, path });
                }
            }
            self.gathered[medium] += 1;
            let next = packet_at(&network.media[medium], index + 1);
            heads[first] = next.map_or(Instant::MAX, |(at, ..)| at);
        }
    }

    /// Sorts the active connections by number, and the arrivals by connection. Returns the active
    /// connections; give them back with [`clear_active`](Self::clear_active).
    pub(crate) fn sort_by_connection(&mut self) -> Vec<u32> {
        self.active.sort_unstable();
        let mut first = 0;
        for &connection in &self.active {
            let slot = &mut self.slots[connection as usize];
            let count = *slot - 1;
            *slot = first;
            first += count;
        }
        self.deliveries.resize(self.list.len(), Delivery::NONE);
        for (number, &Arrival { at, index, connection, medium, path, .. }) in self.list.iter().enumerate() {
            let slot = &mut self.slots[usize::from(connection)];
            self.deliveries[*slot as usize] = Delivery { at, arrival: number as u32, index, medium, path };
            *slot += 1;
        }
        core::mem::take(&mut self.active)
    }

    /// Returns the range of a connection's deliveries, and marks the connection as inactive. The
    /// caller passes the active connections in order. `first` is the end of the previous range.
    #[inline]
    pub(crate) fn take_range(&mut self, connection: u32, first: usize) -> Range<usize> {
        first..core::mem::take(&mut self.slots[connection as usize]) as usize
    }

    #[inline]
    pub(crate) fn delivery(&self, index: usize) -> Delivery {
        self.deliveries[index]
    }

    /// Takes back and clears the vector from [`sort_by_connection`](Self::sort_by_connection), to
    /// reuse its memory.
    pub(crate) fn clear_active(&mut self, mut active: Vec<u32>) {
        active.clear();
        self.active = active;
    }

    /// Sets the packets that were sent in response to an arrival.
    #[inline]
    pub(crate) fn set_sent(&mut self, arrival: u32, sent: SentRange) {
        self.list[arrival as usize].sent = sent;
    }

    pub(super) fn list(&self) -> &[Arrival] {
        &self.list
    }

    /// Removes the gathered packets from their media.
    pub(super) fn discard_gathered(&mut self, media: &mut [Medium]) {
        for (medium, count) in media.iter_mut().zip(&mut self.gathered) {
            if let Medium::Link(link) = medium {
                link.pop_many(core::mem::take(count));
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.deliveries.clear();
    }
}

/// Returns the packet at `index` among those under way on a link, after its arrival time and size.
/// `None` past the last packet, and on a cell.
#[inline]
pub(crate) fn packet_at(medium: &Medium, index: usize) -> Option<(Instant, u32, &Packet)> {
    match medium {
        Medium::Link(link) => link.arrival(index),
        Medium::Cell(_) => None,
    }
}
