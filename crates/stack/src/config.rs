//! Interfaces and limits of a stack.

use core::net::IpAddr;
use units::Duration;

/// Size of an IPv4 and a TCP header without options.
const IPV4_HEADERS: u16 = 40;
/// Size of an IPv6 and a TCP header without options.
const IPV6_HEADERS: u16 = 60;

/// An interface of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its addresses. The stack accepts only packets to these (strong host model; RFC 1122, section
    /// 3.3.4.2). Several interfaces may have the same one: a connection answers over the interface
    /// that its SYN came from, and connections are opened over the first.
    pub addresses: Vec<IpAddr>,
    /// Largest IP packet, in bytes.
    pub mtu: u16,
}

impl Interface {
    /// Largest TCP payload of a segment without options, for every address of the interface.
    pub(crate) fn mss(&self) -> u16 {
        let is_v6 = self.addresses.iter().any(IpAddr::is_ipv6);
        self.mtu.saturating_sub(if is_v6 { IPV6_HEADERS } else { IPV4_HEADERS })
    }
}

/// Limits of the memory that peers can make a stack use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections, including ended ones that wait for late segments. One of the latter gives way
    /// to a new connection, unless the application has not read all of its data.
    pub connections: usize,
    /// Connections that one peer has opened, including half-open and ended ones. Its oldest half-open or
    /// ended one gives way to a new one, as above. A peer is an IPv4 address or an IPv6 network of 64 bits.
    pub per_peer: usize,
    /// Accepted connections that have not completed their handshake. The oldest gives way to a new
    /// one.
    pub half_open: usize,
    /// Memory of the send and receive buffers of all connections, in bytes, with an overhead for each
    /// received piece. Beyond it, connections that hold
    /// more than an equal part can neither write nor receive.
    pub memory: u64,
    /// Longest time in which the peer of an [abandoned](crate::Stack::abandon) connection acknowledges
    /// no data (Linux `tcp_fin_timeout`: 60 s). Then the connection is aborted.
    pub orphan_timeout: Duration,
    /// Bytes of a connection that are read for its application as soon as they are in order, before
    /// they are acknowledged: as by an application that reads at once. Zero leaves them to the
    /// application, which may then read only after the acknowledgement has told a smaller window.
    pub read_ahead: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 65_536,
            per_peer: 8192,
            half_open: 1024,
            memory: 1 << 30,
            orphan_timeout: Duration::from_secs(60),
            read_ahead: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mss_leaves_room_for_the_longer_header() {
        let v4: IpAddr = [10, 0, 0, 1].into();
        let v6: IpAddr = [0xfd00, 0, 0, 0, 0, 0, 0, 1].into();
        assert_eq!(Interface { addresses: vec![v4], mtu: 1500 }.mss(), 1460);
        assert_eq!(Interface { addresses: vec![v4, v6], mtu: 1500 }.mss(), 1440);
        assert_eq!(Interface { addresses: vec![v4], mtu: 20 }.mss(), 0);
    }
}
