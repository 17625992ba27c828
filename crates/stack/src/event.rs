//! Values that a stack reports: identifiers, events, errors, counters.

use crate::Tuple;
use core::fmt;
use mptcp::{Event, PathId};

/// Identifier of a connection; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub(crate) u64);

/// Event of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StackEvent {
    /// A listener at this port accepted the connection, and its handshake is complete.
    Accepted(u16),
    /// There is data to read. Reported again only after a read has left none.
    Readable,
    /// Data can be written again after a write that took less than it was given.
    Writable,
    /// An event of the endpoint.
    Endpoint(Event),
}

/// An open subflow of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenSubflow {
    /// Its path in the endpoint.
    pub path: PathId,
    /// Index of its interface.
    pub interface: usize,
    /// Addresses and ports.
    pub tuple: Tuple,
}

/// Why a connection or a subflow cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectError {
    /// No interface has the local address, or the peer's is of the other family.
    Address,
    /// All local ports to this destination are in use.
    Ports,
    /// The limit of connections, of subflows or of the peer is reached, or the connection cannot be
    /// joined now.
    Limit,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "the local address does not belong to this host, or to the other family",
            Self::Ports => "all local ports to this destination are in use",
            Self::Limit => "a limit of connections or subflows is reached",
        })
    }
}

impl std::error::Error for ConnectError {}

/// Counters of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Packets received.
    pub received: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped because they cannot be decoded, or have a wrong address or checksum.
    pub invalid: u64,
    /// Segments with data dropped for lack of memory.
    pub no_memory: u64,
    /// Resets sent for segments that belong to no connection.
    pub refused: u64,
    /// Half-open connections that gave way to newer ones.
    pub half_open_dropped: u64,
    /// Segments that could not be encoded.
    pub unsendable: u64,
}
