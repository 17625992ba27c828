//! Networks of clients, between which limits are shared.

use std::net::IpAddr;

/// Network of a client: its IPv4 address, or the /64 of its IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network(IpAddr);

impl Network {
    /// Network of an address.
    pub fn of(address: IpAddr) -> Self {
        Self(linux::socket::client_network(address))
    }
}
