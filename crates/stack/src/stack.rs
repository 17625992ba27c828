//! The stack as its owner sees it: listeners, connections, events and timers.

use crate::Tuple;
use crate::config::{Interface, Limits};
use crate::connection::Connection;
use crate::entropy::Entropy;
use crate::event::{ConnectError, ConnectionId, StackEvent, Statistics};
use crate::half_open::HalfOpen;
use crate::memory::Memory;
use crate::peers::Peers;
use crate::refusal::Refusal;
use crate::starved::Starved;
use bytes::Bytes;
use core::net::{IpAddr, SocketAddr};
use mptcp::{Config, Endpoint, PathId, Randomness, SubflowEnds};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use units::Instant;
use wire::{Flags, Segment};

/// A packet to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Transmit<'a> {
    /// Index of the interface.
    pub interface: usize,
    /// IP packet.
    pub packet: &'a [u8],
}

/// Multipath TCP connections of one host.
///
/// Like an [`Endpoint`], a stack does no I/O and reads no clock. After any call that changes it,
/// [`poll_transmit`](Self::poll_transmit) until `None`, then [`poll_event`](Self::poll_event) until
/// `None`; call [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout).
#[derive(Debug)]
pub struct Stack {
    pub(crate) interfaces: Vec<Interface>,
    /// Local addresses and their interfaces. The position is the address identifier, less one.
    pub(crate) addresses: Vec<(IpAddr, usize)>,
    pub(crate) limits: Limits,
    pub(crate) listeners: BTreeMap<u16, Arc<Config>>,
    /// Settings of connections to all other ports, if they are accepted.
    pub(crate) any_port: Option<Arc<Config>>,
    pub(crate) connections: BTreeMap<ConnectionId, Connection>,
    pub(crate) tuples: BTreeMap<Tuple, (ConnectionId, PathId)>,
    pub(crate) tokens: BTreeMap<u32, ConnectionId>,
    pub(crate) timers: BTreeSet<(Instant, ConnectionId)>,
    pub(crate) ready: VecDeque<ConnectionId>,
    /// Ended connections, oldest first.
    pub(crate) ended: VecDeque<ConnectionId>,
    pub(crate) half_open: HalfOpen,
    pub(crate) peers: Peers,
    pub(crate) memory: Memory,
    pub(crate) starved: Starved,
    pub(crate) refusals: VecDeque<Refusal>,
    pub(crate) events: VecDeque<(ConnectionId, StackEvent)>,
    pub(crate) statistics: Statistics,
    pub(crate) entropy: Entropy,
    pub(crate) randomness: Randomness,
    pub(crate) next_id: u64,
    /// Reused for every segment and packet sent.
    pub(crate) segment: Segment<Bytes>,
    pub(crate) buffer: Vec<u8>,
}

impl Stack {
    /// Creates a stack. `entropy` gives keys, sequence numbers and ports: [`Entropy::System`] on a real
    /// network, a [`Seed`](units::Seed) in tests.
    pub fn new(interfaces: Vec<Interface>, limits: Limits, entropy: impl Into<Entropy>) -> Self {
        let entropy = entropy.into();
        let addresses = interfaces.iter().enumerate();
        let addresses = addresses.flat_map(|(i, known)| known.addresses.iter().map(move |&ip| (ip, i)));
        Self {
            addresses: addresses.collect(),
            interfaces,
            limits,
            listeners: BTreeMap::new(),
            any_port: None,
            connections: BTreeMap::new(),
            tuples: BTreeMap::new(),
            tokens: BTreeMap::new(),
            timers: BTreeSet::new(),
            ready: VecDeque::new(),
            ended: VecDeque::new(),
            half_open: HalfOpen::default(),
            peers: Peers::default(),
            memory: Memory::new(limits.memory),
            starved: Starved::default(),
            refusals: VecDeque::new(),
            events: VecDeque::new(),
            statistics: Statistics::default(),
            entropy,
            randomness: entropy.derive("ports"),
            next_id: 1,
            segment: Segment::new((0, 0), 0, 0, Flags::default(), 0),
            buffer: Vec::new(),
        }
    }

    /// Accepts connections to `port` at every address.
    pub fn listen(&mut self, port: u16, config: impl Into<Arc<Config>>) {
        let config = self.fit(config.into());
        self.listeners.insert(port, config);
    }

    /// Accepts connections to every port without a listener of its own.
    pub fn listen_at_every_port(&mut self, config: impl Into<Arc<Config>>) {
        self.any_port = Some(self.fit(config.into()));
    }

    /// Ends a listener. Its connections stay.
    pub fn stop_listening(&mut self, port: u16) {
        self.listeners.remove(&port);
    }

    /// Opens a connection from an address of this host.
    ///
    /// # Errors
    /// If no interface has the address, or a limit is reached.
    pub fn connect(
        &mut self,
        now: Instant,
        local: IpAddr,
        remote: SocketAddr,
        config: impl Into<Arc<Config>>,
    ) -> Result<ConnectionId, ConnectError> {
        let path = self.choose_tuple(local, remote)?;
        if !self.make_room() {
            return Err(ConnectError::Limit);
        }
        let (config, randomness) = (self.fit(config.into()), self.next_randomness());
        let id = self.insert(Connection::new(Endpoint::client(config, randomness), None));
        let ends =
            SubflowEnds { local_port: path.tuple.local.port(), remote_port: remote.port(), address_id: 0 };
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.endpoint.open_between(now, PathId(0), ends, false);
        }
        self.assign(id, PathId(0), path);
        self.make_ready(id);
        Ok(id)
    }

    /// Opens a further subflow of a connection, whichever host has opened it.
    ///
    /// # Errors
    /// If no interface has the address, the connection cannot be joined now, or a limit is reached.
    pub fn join(
        &mut self,
        now: Instant,
        id: ConnectionId,
        local: IpAddr,
        remote: SocketAddr,
        backup: bool,
    ) -> Result<PathId, ConnectError> {
        let path = self.choose_tuple(local, remote)?;
        let address_id = self.address_id(id, local).ok_or(ConnectError::Address)?;
        let connection = self.connections.get_mut(&id).ok_or(ConnectError::Limit)?;
        if connection.denies_joins_to(remote) {
            return Err(ConnectError::Limit);
        }
        let free = connection.free_path().ok_or(ConnectError::Limit)?;
        let ends =
            SubflowEnds { local_port: path.tuple.local.port(), remote_port: remote.port(), address_id };
        if !connection.endpoint.open_between(now, free, ends, backup) {
            return Err(ConnectError::Limit);
        }
        self.assign(id, free, path);
        self.make_ready(id);
        Ok(free)
    }

    /// Identifier of a local address in a connection: 0 for that of the first subflow.
    pub fn address_id(&self, id: ConnectionId, local: IpAddr) -> Option<u8> {
        let connection = self.connections.get(&id)?;
        if connection.first_local() == Some(local) {
            return Some(0);
        }
        let index = self.addresses.iter().position(|&(address, _)| address == local)?;
        u8::try_from(index + 1).ok()
    }

    /// Writes to a connection and returns how many bytes were taken.
    pub fn write(&mut self, id: ConnectionId, data: &Bytes) -> usize {
        let count = self.connections.len();
        let Some(connection) = self.connections.get_mut(&id) else { return 0 };
        let is_over = self.memory.is_over(connection.held, count);
        let taken = if is_over { 0 } else { connection.endpoint.write(data) };
        connection.write_blocked = taken < data.len();
        if is_over {
            self.starved.insert(id, count);
        }
        self.make_ready(id);
        taken
    }

    /// Takes the next piece of received data, of at most `limit` bytes.
    pub fn read(&mut self, id: ConnectionId, limit: usize) -> Option<Bytes> {
        let read_ahead = self.limits.read_ahead;
        let connection = self.connections.get_mut(&id)?;
        let piece = connection.read(limit);
        connection.read_ahead(read_ahead);
        connection.readable_reported = connection.unread() > 0;
        self.make_ready(id);
        piece
    }

    /// Calls methods of an endpoint, such as `close` or `set_priority`. `None` if the connection is
    /// gone.
    pub fn update<R>(
        &mut self,
        id: ConnectionId,
        change: impl FnOnce(&mut Endpoint<Bytes>) -> R,
    ) -> Option<R> {
        let result = change(&mut self.connections.get_mut(&id)?.endpoint);
        self.make_ready(id);
        Some(result)
    }

    /// The endpoint of a connection; `None` if it is gone.
    pub fn endpoint(&self, id: ConnectionId) -> Option<&Endpoint<Bytes>> {
        self.connections.get(&id).map(|connection| &connection.endpoint)
    }

    /// Four-tuple of a subflow.
    pub fn tuple(&self, id: ConnectionId, path: PathId) -> Option<Tuple> {
        Some(self.connections.get(&id)?.paths.get(path.index())?.tuple)
    }

    /// Ends the application's interest in a connection, which is aborted unless it has ended. Without
    /// this call an ended connection stays until its data is read.
    pub fn release(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.is_released = true;
        if !connection.endpoint.is_closed() {
            connection.endpoint.abort();
        }
        self.make_ready(id);
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<(ConnectionId, StackEvent)> {
        self.events.pop_front()
    }

    /// [`poll_event`](Self::poll_event) has an event.
    pub fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// [`poll_transmit`](Self::poll_transmit) may have a packet.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty() || !self.refusals.is_empty()
    }

    /// Latest time of the next [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.first().map(|&(at, _)| at)
    }

    /// Handles the timers that have expired.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, id)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.timer = None;
                connection.endpoint.handle_timeout(now);
                connection.check_orphan(now, self.limits.orphan_timeout);
                self.make_ready(id);
            }
        }
    }

    /// Number of connections, including ended ones that wait for late segments.
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// There is no connection.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Bytes in the buffers of all connections.
    pub fn memory(&self) -> u64 {
        self.memory.held()
    }

    /// Accepted connections that have not completed their handshake.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// Counters since the start.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }
}
