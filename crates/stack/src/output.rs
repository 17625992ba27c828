//! Packets to be sent, and the state that is current only after sending: events, timers, memory.

use crate::event::{ConnectionId, StackEvent};
use crate::stack::{Stack, Transmit};
use bytes::Bytes;
use core::net::IpAddr;
use mptcp::Event;
use units::Instant;
use wire::{Segment, WireError, ip, tcp};

impl Stack {
    /// Returns the next packet to be sent; `None` if there is nothing to send now.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<'_>> {
        let interface = self.fill_buffer(now)?;
        self.statistics.sent += 1;
        Some(Transmit { interface, packet: &self.buffer })
    }

    /// Writes the next packet into the buffer. Returns its interface.
    fn fill_buffer(&mut self, now: Instant) -> Option<usize> {
        while let Some(refusal) = self.refusals.pop_front() {
            let (from, to) = (refusal.tuple.local.ip(), refusal.tuple.remote.ip());
            if encode(from, to, &refusal.segment, &mut self.buffer).is_ok() {
                return Some(refusal.interface);
            }
        }
        while let Some(&id) = self.ready.front() {
            while let Some(connection) = self.connections.get_mut(&id)
                && let Some(path) = connection.endpoint.transmit_into(now, &mut self.segment)
            {
                let Some(known) = connection.paths.get(path.index()) else { continue };
                let (from, to) = (known.tuple.local.ip(), known.tuple.remote.ip());
                let encoded = encode(from, to, &self.segment, &mut self.buffer);
                // Releases the payload.
                self.segment.payload = Bytes::new();
                match encoded {
                    Ok(()) => return Some(known.interface),
                    Err(_) => self.statistics.unsendable += 1,
                }
            }
            self.ready.pop_front();
            self.settle(now, id);
            if self.ready.is_empty() {
                self.wake_starved();
            }
        }
        None
    }

    /// Lets connections report that memory was released for their data.
    fn wake_starved(&mut self) {
        let (count, connections, memory) = (self.connections.len(), &self.connections, &self.memory);
        let is_over = |id| connections.get(&id).is_some_and(|known| memory.is_over(known.held, count));
        for id in self.starved.take(memory.is_full(), count, is_over) {
            self.make_ready(id);
        }
    }

    /// Updates events, memory and timer after a connection has sent all that it can.
    fn settle(&mut self, now: Instant, id: ConnectionId) {
        let count = self.connections.len();
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.is_ready = false;
        let held = connection.buffered();
        self.memory.update(connection.held, held);
        connection.held = held;
        while let Some(event) = connection.endpoint.poll_event() {
            if matches!(event, Event::Connected(_)) && connection.is_half_open {
                connection.is_half_open = false;
                self.half_open.on_left();
                if let Some(peer) = connection.opened_by {
                    self.peers.on_established(peer, id);
                }
                let port = connection.paths.first().map_or(0, |path| path.tuple.local.port());
                self.events.push_back((id, StackEvent::Accepted(port)));
            }
            // The application does not know a connection that was never accepted.
            if !connection.is_half_open {
                self.events.push_back((id, StackEvent::Endpoint(event)));
            }
        }
        if !connection.readable_reported && connection.unread() > 0 && !connection.is_half_open {
            connection.readable_reported = true;
            self.events.push_back((id, StackEvent::Readable));
        }
        let may_write = connection.endpoint.write_space() > 0 && !self.memory.is_over(held, count);
        if connection.write_blocked && may_write {
            connection.write_blocked = false;
            self.events.push_back((id, StackEvent::Writable));
        }
        if connection.abort_orphan_with_data() {
            self.make_ready(id);
            return;
        }
        if connection.endpoint.is_closed() {
            if connection.endpoint.is_gone() && !connection.has_data_to_read() {
                self.remove(id);
                return;
            }
            if !connection.is_ended && !connection.has_data_to_read() {
                connection.is_ended = true;
                self.ended.push_back(id);
                if let Some(peer) = connection.opened_by {
                    self.peers.on_ended(peer, id);
                }
                if self.ended.len() > 2 * self.connections.len() {
                    let connections = &self.connections;
                    self.ended.retain(|known| connections.contains_key(known));
                }
            }
        }
        self.arm(now, id);
    }

    /// Sets the timer of a connection. A later deadline than the present one waits for that, so that
    /// most segments change nothing.
    fn arm(&mut self, now: Instant, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let deadlines = connection.endpoint.poll_timeout().into_iter().chain(connection.orphan_deadline());
        let Some(at) = deadlines.min() else { return };
        if connection.timer.is_some_and(|timer| timer <= at && timer > now) {
            return;
        }
        if let Some(before) = connection.timer.replace(at) {
            self.timers.remove(&(before, id));
        }
        self.timers.insert((at, id));
    }
}

/// Writes a segment as an IP packet.
fn encode(from: IpAddr, to: IpAddr, segment: &Segment<Bytes>, out: &mut Vec<u8>) -> Result<(), WireError> {
    out.clear();
    ip::emit_header((from, to), ip::TCP, segment.ecn, segment.wire_len(), out)?;
    tcp::emit(segment, from, to, &segment.payload, out)
}
