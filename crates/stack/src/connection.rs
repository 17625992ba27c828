//! One connection of a stack: the endpoint, and the four-tuples of its subflows.

use crate::Tuple;
use crate::orphan::Orphan;
use crate::peers::Peer;
use bytes::Bytes;
use core::net::{IpAddr, SocketAddr};
use mptcp::{Endpoint, PathId};
use std::collections::VecDeque;
use units::Instant;

/// Most four-tuples of a connection, used by open and by recent subflows.
const MAX_PATHS: usize = 32;
/// Memory of a received piece beside its bytes: allocation, shared counter and place in a queue.
const PIECE_OVERHEAD_BYTES: u64 = 128;

/// A four-tuple and the interface of its local address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathTuple {
    pub(crate) tuple: Tuple,
    pub(crate) interface: usize,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) endpoint: Endpoint<Bytes>,
    /// Token by which the peer names the connection in joins.
    pub(crate) token: u32,
    /// By path index.
    pub(crate) paths: Vec<PathTuple>,
    /// Deadline in the stack's timer queue. It may be earlier than that of the endpoint.
    pub(crate) timer: Option<Instant>,
    /// The connection is in the stack's queue of connections with something to send.
    pub(crate) is_ready: bool,
    /// The peer, if it has opened the connection.
    pub(crate) opened_by: Option<Peer>,
    /// The peer has not completed the handshake.
    pub(crate) is_half_open: bool,
    /// The application was told of data that it has not read.
    pub(crate) readable_reported: bool,
    /// The last write took less than the application had.
    pub(crate) write_blocked: bool,
    /// The application has no further interest.
    pub(crate) is_released: bool,
    /// The application has closed the connection, which ends by itself.
    pub(crate) orphan: Option<Orphan>,
    /// The endpoint has ended and its data is read: it gives way to another connection.
    pub(crate) is_ended: bool,
    /// Bytes in its buffers, as counted by the stack.
    pub(crate) held: u64,
    /// Largest number of bytes held beyond a gap so far.
    pub(crate) peak_out_of_order: u64,
    /// Data that was read for the application before it asked.
    read_ahead: VecDeque<Bytes>,
    read_ahead_bytes: u64,
}

impl Connection {
    pub(crate) fn new(endpoint: Endpoint<Bytes>, opened_by: Option<Peer>) -> Self {
        Self {
            token: endpoint.token(),
            endpoint,
            paths: Vec::new(),
            timer: None,
            is_ready: false,
            opened_by,
            is_half_open: opened_by.is_some(),
            readable_reported: false,
            write_blocked: false,
            is_released: false,
            orphan: None,
            is_ended: false,
            held: 0,
            peak_out_of_order: 0,
            read_ahead: VecDeque::new(),
            read_ahead_bytes: 0,
        }
    }

    /// Memory of the send and receive buffers, in bytes.
    pub(crate) fn buffered(&self) -> u64 {
        let endpoint = &self.endpoint;
        let pieces = endpoint.received_pieces() + self.read_ahead.len();
        PIECE_OVERHEAD_BYTES * pieces as u64
            + self.unread()
            + endpoint.out_of_order()
            + endpoint.unmapped()
            + endpoint.written().saturating_sub(endpoint.acknowledged())
    }

    /// The application can still read received data.
    pub(crate) fn has_data_to_read(&self) -> bool {
        !self.is_released && !self.is_half_open && self.unread() > 0
    }

    /// Reads for the application until it has `most` bytes.
    pub(crate) fn read_ahead(&mut self, most: u64) {
        while self.read_ahead_bytes < most
            && let Some(piece) = self.endpoint.read(usize::MAX)
        {
            self.read_ahead_bytes += piece.len() as u64;
            self.read_ahead.push_back(piece);
        }
    }

    /// Takes the next piece of received data, of at most `limit` bytes.
    pub(crate) fn read(&mut self, limit: usize) -> Option<Bytes> {
        let Some(first) = self.read_ahead.front_mut() else { return self.endpoint.read(limit) };
        let piece = first.split_to(limit.min(first.len()));
        if first.is_empty() {
            self.read_ahead.pop_front();
        }
        self.read_ahead_bytes -= piece.len() as u64;
        Some(piece)
    }

    /// In-order bytes that the application has not read.
    pub(crate) fn unread(&self) -> u64 {
        self.read_ahead_bytes + self.endpoint.unread()
    }

    /// Local address of the first subflow.
    pub(crate) fn first_local(&self) -> Option<IpAddr> {
        self.paths.first().map(|path| path.tuple.local.ip())
    }

    /// The peer lets no subflow join at `remote` (RFC 8684, section 3.1, flag C).
    pub(crate) fn denies_joins_to(&self, remote: SocketAddr) -> bool {
        let initial = self.paths.first().map(|path| path.tuple.remote);
        self.endpoint.denies_initial_address() && initial == Some(remote)
    }

    /// Index for another four-tuple: a new one, or that of a subflow that has ended. `None` if the
    /// connection has too many.
    pub(crate) fn free_path(&self) -> Option<PathId> {
        if self.paths.len() < MAX_PATHS {
            return Some(PathId(self.paths.len() as u8));
        }
        (0..MAX_PATHS as u8).map(PathId).find(|&path| !self.endpoint.has_subflow(path))
    }

    /// Assigns a four-tuple to a path of [`free_path`](Self::free_path). Returns the one before.
    pub(crate) fn set_path(&mut self, path: PathId, tuple: PathTuple) -> Option<Tuple> {
        if let Some(known) = self.paths.get_mut(path.index()) {
            return Some(core::mem::replace(known, tuple).tuple);
        }
        self.paths.push(tuple);
        None
    }
}
