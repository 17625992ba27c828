//! Networks of clients, between which limits are shared.

use std::net::{IpAddr, Ipv6Addr};

/// Network of a client: its IPv4 address, or the /64 of its IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network(IpAddr);

impl Network {
    /// Network of an address.
    pub fn of(address: IpAddr) -> Self {
        Self(linux::socket::client_network(address))
    }

    /// Site of the network: its IPv4 address, or the /48 of its IPv6 address, which a site may
    /// divide into 65,536 networks (RFC 6177, section 2).
    pub(super) fn site(self) -> IpAddr {
        match self.0 {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 80 << 80).into(),
            address @ IpAddr::V4(_) => address,
        }
    }
}
