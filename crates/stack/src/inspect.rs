//! State of connections as their owner sees it.

use crate::connection::Connection;
use crate::event::{ConnectionId, OpenSubflow};
use crate::peers::Peer;
use crate::stack::Stack;
use core::net::IpAddr;
use mptcp::PathId;

impl Stack {
    /// Number of connections that the peer with an address has opened ([`Limits::per_peer`](crate::Limits)).
    pub fn opened_by(&self, remote: IpAddr) -> usize {
        self.peers.count(Peer::of(remote))
    }

    /// In-order bytes of a connection that the application has not read; `None` if it is gone.
    pub fn unread(&self, id: ConnectionId) -> Option<u64> {
        self.connections.get(&id).map(Connection::unread)
    }

    /// A write to the connection would take data.
    pub fn may_write(&self, id: ConnectionId) -> bool {
        let count = self.connections.len();
        self.connections
            .get(&id)
            .is_some_and(|one| one.endpoint.write_space() > 0 && !self.memory.is_over(one.held, count))
    }

    /// Open subflows of a connection.
    pub fn subflows(&self, id: ConnectionId) -> impl Iterator<Item = OpenSubflow> + '_ {
        let connection = self.connections.get(&id);
        let paths = connection.into_iter().flat_map(|one| one.paths.iter().enumerate());
        let known = paths.map(|(i, path)| OpenSubflow {
            path: PathId(i as u8),
            interface: path.interface,
            tuple: path.tuple,
        });
        known.filter(move |one| connection.is_some_and(|known| known.endpoint.has_subflow(one.path)))
    }

    /// Local address of a connection's first subflow.
    pub fn local_address(&self, id: ConnectionId) -> Option<IpAddr> {
        self.connections.get(&id)?.first_local()
    }

    /// Largest number of bytes that a connection has held beyond a gap; `None` if it is gone.
    pub fn peak_out_of_order(&self, id: ConnectionId) -> Option<u64> {
        Some(self.connections.get(&id)?.peak_out_of_order)
    }
}
