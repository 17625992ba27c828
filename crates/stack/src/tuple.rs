//! Addresses and ports of a subflow.

use core::net::SocketAddr;

/// Both ends of a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tuple {
    /// End at this host.
    pub local: SocketAddr,
    /// End at the peer.
    pub remote: SocketAddr,
}
