//! Received packets: checks, and the connection that a segment belongs to.

use crate::Tuple;
use crate::connection::{Connection, PathTuple};
use crate::event::ConnectionId;
use crate::peers::Peer;
use crate::refusal::{Reason, refuse};
use crate::stack::Stack;
use bytes::Bytes;
use core::net::{IpAddr, SocketAddr};
use mptcp::{Config, Endpoint, PathId};
use std::sync::Arc;
use units::Instant;
use wire::{Flags, MptcpSignal, Segment, WireError, ip, tcp};

/// Most resets that wait to be sent. Further segments of no connection are ignored.
const MAX_REFUSALS: usize = 256;

impl Stack {
    /// Handles an IP packet received by an interface.
    ///
    /// `is_verified` says that its TCP checksum needs no check, since the packet comes from this
    /// machine and the checksum is left to the device. Such a packet may be longer than the MTU.
    pub fn receive(&mut self, now: Instant, interface: usize, packet: &[u8], is_verified: bool) {
        self.statistics.received += 1;
        match decode(packet, is_verified) {
            // A source that is an address of this host is forged.
            Ok(Some((tuple, _))) if self.interface_of(tuple.remote.ip()).is_some() => {}
            Ok(Some((tuple, segment))) if self.has_address(interface, tuple.local.ip()) => {
                self.dispatch(now, PathTuple { tuple, interface }, &segment);
            }
            // Other protocols, and packets to other hosts.
            Ok(_) => {}
            Err(_) => self.statistics.invalid += 1,
        }
    }

    fn dispatch(&mut self, now: Instant, path: PathTuple, segment: &Segment<Bytes>) {
        let flags = segment.flags;
        let opens = flags.has(Flags::SYN)
            && ![Flags::ACK, Flags::RST, Flags::FIN].into_iter().any(|other| flags.has(other));
        if let Some(&(id, known)) = self.tuples.get(&path.tuple) {
            let connection = self.connections.get(&id);
            let is_ended = connection.is_some_and(|connection| connection.is_ended);
            let is_over = is_ended || connection.is_some_and(|one| !one.endpoint.has_subflow(known));
            let is_wanted = match segment.signal {
                Some(MptcpSignal::JoinSyn { token, .. }) => self.tokens.contains_key(&token),
                _ => self.listener(path.tuple.local.port()).is_some(),
            };
            let gives_way = || connection.is_none_or(|one| one.endpoint.gives_way_to(now, known, segment));
            if !(opens && is_over && is_wanted && gives_way()) {
                self.deliver(now, id, known, segment);
                return;
            }
            // The client uses the port again (RFC 9293, section 3.6.1).
            if is_ended {
                self.remove(id);
            } else {
                self.tuples.remove(&path.tuple);
            }
        }
        let refused = match segment.signal {
            _ if !opens => Some(Reason::MPTCP_ERROR),
            Some(MptcpSignal::JoinSyn { token, .. }) => self.accept_join(now, path, token, segment).err(),
            _ => (!self.accept(now, path, segment)).then_some(Reason::MPTCP_ERROR),
        };
        if let Some(reason) = refused {
            self.refuse(path, segment, reason);
        }
    }

    fn deliver(&mut self, now: Instant, id: ConnectionId, path: PathId, segment: &Segment<Bytes>) {
        let count = self.connections.len();
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let endpoint = &mut connection.endpoint;
        if !segment.payload.is_empty() && self.memory.is_over(connection.held, count) {
            // Data beyond a gap can be neither read nor released before the gap is filled.
            let completes = endpoint.unread() == 0 && endpoint.has_next_data(path, segment);
            if completes && self.memory.has_reserve() {
                endpoint.handle_segment(now, path, segment);
            } else {
                self.statistics.no_memory += 1;
                endpoint.handle_without_data(now, path, segment);
            }
        } else {
            endpoint.handle_segment(now, path, segment);
        }
        connection.read_ahead(self.limits.read_ahead);
        let out_of_order = connection.endpoint.out_of_order();
        connection.peak_out_of_order = connection.peak_out_of_order.max(out_of_order);
        let held = connection.buffered();
        self.memory.update(connection.held, held);
        connection.held = held;
        self.make_ready(id);
    }

    /// Accepts the SYN of a new connection. Returns false if it is to be refused.
    fn accept(&mut self, now: Instant, path: PathTuple, segment: &Segment<Bytes>) -> bool {
        let Some(config) = self.listener(path.tuple.local.port()).cloned() else { return false };
        let peer = Peer::of(path.tuple.remote.ip());
        if !self.make_room_of_peer(peer) {
            return true;
        }
        if self.half_open.len() >= self.limits.half_open {
            self.drop_oldest_half_open();
        }
        if !self.make_room() {
            // As Linux does with a full queue: the client tries again later.
            return true;
        }
        let endpoint = Endpoint::server(config, self.next_randomness());
        let id = self.insert(Connection::new(endpoint, Some(peer)));
        self.assign(id, PathId(0), path);
        self.deliver(now, id, PathId(0), segment);
        let connections = &self.connections;
        self.half_open.compact(|id| connections.get(&id).is_some_and(|known| known.is_half_open));
        true
    }

    /// Settings of new connections to a port, if they are accepted.
    fn listener(&self, port: u16) -> Option<&Arc<Config>> {
        self.listeners.get(&port).or(self.any_port.as_ref())
    }

    fn drop_oldest_half_open(&mut self) {
        let connections = &self.connections;
        let oldest = self.half_open.oldest(|id| connections.get(&id).is_some_and(|known| known.is_half_open));
        if let Some(id) = oldest {
            self.statistics.half_open_dropped += 1;
            self.remove(id);
        }
    }

    /// Accepts the SYN of a join.
    ///
    /// # Errors
    /// The reason of the reset, if no connection has the token or it has too many subflows.
    fn accept_join(
        &mut self,
        now: Instant,
        path: PathTuple,
        token: u32,
        segment: &Segment<Bytes>,
    ) -> Result<(), Reason> {
        let &id = self.tokens.get(&token).ok_or(Reason::MPTCP_ERROR)?;
        let address_id = self.address_id(id, path.tuple.local.ip()).ok_or(Reason::MPTCP_ERROR)?;
        let connection = self.connections.get_mut(&id).ok_or(Reason::MPTCP_ERROR)?;
        let free = connection.free_path().ok_or(Reason::LACK_OF_RESOURCES)?;
        connection.endpoint.set_address_id(free, address_id);
        self.assign(id, free, path);
        self.deliver(now, id, free, segment);
        Ok(())
    }

    fn refuse(&mut self, path: PathTuple, segment: &Segment<Bytes>, reason: Reason) {
        if self.refusals.len() < MAX_REFUSALS
            && let Some(refusal) = refuse(path.interface, path.tuple, segment, reason)
        {
            self.statistics.refused += 1;
            self.refusals.push_back(refusal);
        }
    }
}

/// Decodes a packet; `None` for other protocols than TCP.
fn decode(packet: &[u8], is_verified: bool) -> Result<Option<(Tuple, Segment<Bytes>)>, WireError> {
    let datagram = ip::parse(packet)?;
    let (source, destination) = (datagram.source, datagram.destination);
    if datagram.protocol != ip::TCP || !is_host(source) {
        return Ok(None);
    }
    let inner = tcp::Packet::new(datagram.payload)?;
    if !is_verified {
        inner.verify_checksum(source, destination)?;
    }
    let mut segment = inner.segment(Bytes::copy_from_slice(inner.payload()))?;
    segment.ecn = datagram.ecn;
    let local = SocketAddr::new(destination, segment.destination);
    Ok(Some((Tuple { local, remote: SocketAddr::new(source, segment.source) }, segment)))
}

/// The address may be that of a host: answers must not go to groups (RFC 1122, section 4.2.3.10).
fn is_host(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !(address.is_multicast() || address.is_unspecified() || is_broadcast)
}
