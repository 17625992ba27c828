//! Packets sent within a window, buffered until all connections have run.

use crate::network::{IP_HEADER_BYTES, Network};
use crate::packet::{Packet, PacketLabel};
use radio::Direction;
use units::Instant;
use wire::{Segment, Span};

/// Packets that one event made an end send: a range of [`Departures::packets`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SentRange {
    first: u32,
    pub(crate) count: u32,
}

/// A timer that made an end send.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimerFire {
    pub(super) at: Instant,
    /// Orders timers that fire at the same time.
    pub(super) source: u32,
    pub(super) sent: SentRange,
}

#[derive(Debug)]
pub(super) struct Departure {
    packet: Packet,
    size: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Departures {
    /// Packets in the order in which connections sent them; elements from `count` on are free slots
    /// of earlier windows.
    pub(super) packets: Vec<Departure>,
    pub(super) count: usize,
    pub(super) timer_fires: Vec<TimerFire>,
}

impl Departures {
    /// Packs a segment into the next free slot.
    #[inline]
    pub(crate) fn push(&mut self, label: PacketLabel, segment: &Segment<Span>) {
        if self.count == self.packets.len() {
            self.packets.push(Departure { packet: Packet::blank(), size: 0 });
        }
        let departure = &mut self.packets[self.count];
        departure.packet.pack_over(label, segment);
        departure.size = segment.wire_len() as u32 + IP_HEADER_BYTES;
        self.count += 1;
    }

    /// Number of packets sent in this window so far.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Packets sent since [`len`](Self::len) was `first`.
    #[inline]
    pub(crate) fn sent_since(&self, first: usize) -> SentRange {
        SentRange { first: first as u32, count: (self.count - first) as u32 }
    }

    /// Records that the timer with this source number fired at `at` and made its end send.
    pub(crate) fn push_timer_fire(&mut self, at: Instant, source: u32, sent: SentRange) {
        self.timer_fires.push(TimerFire { at, source, sent });
    }
}

/// Queues the packets that one event sent at `at` on their media.
#[inline]
pub(super) fn transmit(packets: &mut [Departure], sent: SentRange, network: &mut Network, at: Instant) {
    for departure in &mut packets[sent.first as usize..][..sent.count as usize] {
        let label = departure.packet.label();
        let path = &mut network.paths[usize::from(label.path)];
        let port = if label.down { path.down } else { path.up };
        if !label.down {
            path.count(at, Direction::Up, departure.size);
        }
        network.media[port.medium].push_with(at, port.station, departure.size, || departure.packet.take());
    }
}
