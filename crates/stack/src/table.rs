//! Connections, and the tables that lead from addresses, ports and tokens to them.

use crate::config::Interface;
use crate::connection::{Connection, PathTuple};
use crate::event::{ConnectError, ConnectionId};
use crate::peers::Peer;
use crate::{Stack, Tuple, ports};
use core::net::{IpAddr, SocketAddr};
use mptcp::{Config, PathId, Randomness};
use std::sync::Arc;

impl Stack {
    /// Reduces the MSS to that of the interfaces.
    pub(crate) fn fit(&self, config: Arc<Config>) -> Arc<Config> {
        let mss = self.interfaces.iter().map(Interface::mss).min().unwrap_or(config.mss);
        if config.mss <= mss { config } else { Arc::new(Config { mss, ..(*config).clone() }) }
    }

    pub(crate) fn next_randomness(&self) -> Randomness {
        self.entropy.derive(&format!("connection {}", self.next_id))
    }

    pub(crate) fn choose_tuple(
        &mut self,
        local: IpAddr,
        remote: SocketAddr,
    ) -> Result<PathTuple, ConnectError> {
        let interface = self.interface_of(local).filter(|_| local.is_ipv4() == remote.is_ipv4());
        let interface = interface.ok_or(ConnectError::Address)?;
        let tuples = &self.tuples;
        let with = |port| Tuple { local: SocketAddr::new(local, port), remote };
        let port = ports::choose(&mut self.randomness, |port| tuples.contains_key(&with(port)));
        Ok(PathTuple { tuple: with(port.ok_or(ConnectError::Ports)?), interface })
    }

    pub(crate) fn has_address(&self, interface: usize, local: IpAddr) -> bool {
        self.interfaces.get(interface).is_some_and(|known| known.addresses.contains(&local))
    }

    /// First interface with an address.
    pub(crate) fn interface_of(&self, local: IpAddr) -> Option<usize> {
        self.addresses.iter().find(|&&(address, _)| address == local).map(|&(_, interface)| interface)
    }

    /// Adds a connection with a token of its own.
    pub(crate) fn insert(&mut self, mut connection: Connection) -> ConnectionId {
        let id = ConnectionId(self.next_id);
        self.next_id += 1;
        let tokens = &self.tokens;
        if connection.endpoint.draw_key(|token| tokens.contains_key(&token)) {
            connection.token = connection.endpoint.token();
            self.tokens.insert(connection.token, id);
        }
        if let Some(peer) = connection.opened_by {
            self.half_open.push(id);
            self.peers.insert(peer, id);
        }
        self.connections.insert(id, connection);
        id
    }

    /// Assigns a four-tuple to a path.
    pub(crate) fn assign(&mut self, id: ConnectionId, path: PathId, tuple: PathTuple) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if let Some(before) = connection.set_path(path, tuple)
            && self.tuples.get(&before) == Some(&(id, path))
        {
            self.tuples.remove(&before);
        }
        self.tuples.insert(tuple.tuple, (id, path));
    }

    /// Makes room for a connection; an ended one may have to go. Returns false without room.
    pub(crate) fn make_room(&mut self) -> bool {
        while self.connections.len() >= self.limits.connections {
            let Some(id) = self.ended.pop_front() else { return false };
            self.remove(id);
        }
        true
    }

    /// Makes room for a connection that a peer opens: its oldest half-open or ended one may have to go.
    /// Returns false without room.
    pub(crate) fn make_room_of_peer(&mut self, peer: Peer) -> bool {
        while self.peers.count(peer) >= self.limits.per_peer {
            let Some(id) = self.peers.oldest_yielding(peer) else { return false };
            let is_half_open = self.connections.get(&id).is_some_and(|known| known.is_half_open);
            self.statistics.half_open_dropped += u64::from(is_half_open);
            self.remove(id);
        }
        true
    }

    /// Forgets a connection.
    pub(crate) fn remove(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else { return };
        for path in &connection.paths {
            if self.tuples.get(&path.tuple).is_some_and(|&(owner, _)| owner == id) {
                self.tuples.remove(&path.tuple);
            }
        }
        if self.tokens.get(&connection.token) == Some(&id) {
            self.tokens.remove(&connection.token);
        }
        if let Some(at) = connection.timer {
            self.timers.remove(&(at, id));
        }
        if connection.is_half_open {
            self.half_open.on_left();
        }
        if let Some(peer) = connection.opened_by {
            self.peers.remove(peer, id);
        }
        self.memory.update(connection.held, 0);
    }

    /// The connection may have something to send or to report.
    pub(crate) fn make_ready(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id)
            && !connection.is_ready
        {
            connection.is_ready = true;
            self.ready.push_back(id);
        }
    }
}
