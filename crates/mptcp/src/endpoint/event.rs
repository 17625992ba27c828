//! Events and states that an endpoint reports to its owner.

use crate::PathId;
use core::net::IpAddr;

/// Ends of a subflow on a real network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowEnds {
    /// Local port.
    pub local_port: u16,
    /// Port of the peer.
    pub remote_port: u16,
    /// Identifier of the local address in a join (RFC 8684, section 3.2); 0 is the address of the
    /// first subflow.
    pub address_id: u8,
}

/// Protocol that the connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// MP_CAPABLE was offered and not yet answered.
    Offered,
    /// Multipath TCP.
    Mptcp,
    /// Plain TCP: MPTCP was never offered, or the connection fell back (RFC 8684, section 3.7).
    Tcp,
}

/// Reason carried by a received MP_TCPRST (RFC 8684, section 3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResetReason {
    /// 0 unspecified, 1 MPTCP-specific error, 2 lack of resources, 3 administratively prohibited,
    /// 4 too much outstanding data, 5 unacceptable performance, 6 middlebox interference.
    pub code: u8,
    /// A later attempt may succeed. Without this flag [`Endpoint::open`](crate::Endpoint::open)
    /// refuses the path.
    pub transient: bool,
}

/// Why a subflow or the connection ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The peer sent a reset, with the reason if it carried one.
    Reset(Option<ResetReason>),
    /// The peer aborted the whole connection (MP_FASTCLOSE; RFC 8684, section 3.5).
    FastClose,
    /// The peer did not answer.
    TimedOut,
    /// The HMAC in the peer's MP_JOIN is wrong or missing.
    Authentication,
    /// The local interface was removed, or the peer withdrew its address.
    Removed,
    /// The local application aborted the connection.
    Aborted,
    /// The peer violated the protocol.
    Protocol,
    /// Data was modified in transit: the DSS checksum failed here or at the peer (MP_FAIL).
    Checksum,
    /// MPTCP options no longer pass the path (RFC 8684, section 3.7).
    Middlebox,
}

/// A change that the owner of an endpoint may want to act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The connection is established in this mode.
    Connected(Mode),
    /// A subflow is established.
    SubflowUp(PathId),
    /// A subflow has ended; `None` after an orderly close.
    SubflowDown(PathId, Option<Failure>),
    /// The peer changed the backup flag of a subflow (MP_PRIO; RFC 8684, section 3.3.8).
    Priority(PathId, bool),
    /// The peer announced an address: identifier, address, port (RFC 8684, section 3.4.1).
    AddressAdded(u8, IpAddr, Option<u16>),
    /// The peer withdrew the address with this identifier (RFC 8684, section 3.4.2).
    AddressRemoved(u8),
    /// The peer sends no more data, and everything it sent was received in order.
    PeerClosed,
    /// Both ends have closed and all data was acknowledged.
    Closed,
    /// The connection failed.
    Failed(Failure),
}
