//! Transmitted packets, for the counters of their sender.

use crate::loss::Transmission;
use std::collections::VecDeque;
use units::Instant;

/// A packet in or after transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Time of the first bit.
    pub at: Instant,
    /// Size on the wire, in bytes.
    pub size: u32,
    /// Payload of the packet, in bytes.
    pub payload: u32,
}

/// Transmitted packets in their order, until they are taken.
#[derive(Debug, Clone)]
pub(crate) struct SentLog<T> {
    payload: fn(&T) -> u32,
    packets: VecDeque<Sent>,
}

impl<T> SentLog<T> {
    pub(crate) fn new(payload: fn(&T) -> u32) -> Self {
        Self { payload, packets: VecDeque::new() }
    }

    /// Adds a packet, unless its transmission never ends because the rate is zero.
    #[inline]
    pub(crate) fn push(&mut self, packet: &Transmission, item: &T) {
        if packet.end < Instant::MAX {
            let sent = Sent { at: packet.begin, size: packet.size, payload: (self.payload)(item) };
            self.packets.push_back(sent);
        }
    }

    /// Takes the first packet if its transmission has begun by `now`.
    #[inline]
    pub(crate) fn take(&mut self, now: Instant) -> Option<Sent> {
        let first = *self.packets.front()?;
        if first.at > now {
            return None;
        }
        self.packets.pop_front();
        Some(first)
    }
}
