//! Accepted connections of each peer: an IPv4 address, or an IPv6 network of 64 bits.

use crate::ConnectionId;
use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

/// A peer. One host can use all addresses of its IPv6 network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Peer(IpAddr);

impl Peer {
    pub(crate) fn of(remote: IpAddr) -> Self {
        Self(match remote {
            IpAddr::V4(_) => remote,
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Peers {
    counts: BTreeMap<Peer, usize>,
    /// Connections that give way to another one of the same peer: half-open or ended ones.
    yielding: BTreeSet<(Peer, ConnectionId)>,
}

impl Peers {
    /// Number of connections.
    pub(crate) fn count(&self, peer: Peer) -> usize {
        self.counts.get(&peer).copied().unwrap_or(0)
    }

    /// Oldest connection that gives way to another one of the peer.
    pub(crate) fn oldest_yielding(&self, peer: Peer) -> Option<ConnectionId> {
        let range = (peer, ConnectionId(0))..=(peer, ConnectionId(u64::MAX));
        self.yielding.range(range).next().map(|&(_, id)| id)
    }

    /// The peer has opened a connection, which is half-open.
    pub(crate) fn insert(&mut self, peer: Peer, id: ConnectionId) {
        *self.counts.entry(peer).or_default() += 1;
        self.yielding.insert((peer, id));
    }

    pub(crate) fn on_established(&mut self, peer: Peer, id: ConnectionId) {
        self.yielding.remove(&(peer, id));
    }

    pub(crate) fn on_ended(&mut self, peer: Peer, id: ConnectionId) {
        self.yielding.insert((peer, id));
    }

    pub(crate) fn remove(&mut self, peer: Peer, id: ConnectionId) {
        self.yielding.remove(&(peer, id));
        if let Some(count) = self.counts.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_ipv6_network_are_one_peer() {
        let peer = |text: &str| Peer::of(text.parse().expect("an address"));
        assert_eq!(peer("2001:db8:1:2::3"), peer("2001:db8:1:2:ffff::4"));
        assert_ne!(peer("2001:db8:1:2::3"), peer("2001:db8:1:3::3"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
    }

    #[test]
    fn half_open_and_ended_connections_give_way_and_nothing_is_kept() {
        let (mut peers, [one, other]) =
            (Peers::default(), [[10, 0, 0, 1], [10, 0, 0, 2]].map(|ip| Peer::of(ip.into())));
        for id in 1..=3 {
            peers.insert(one, ConnectionId(id));
        }
        peers.on_established(one, ConnectionId(1));
        assert_eq!((peers.count(one), peers.count(other)), (3, 0));
        assert_eq!((peers.oldest_yielding(one), peers.oldest_yielding(other)), (Some(ConnectionId(2)), None));
        peers.on_ended(one, ConnectionId(1));
        assert_eq!(peers.oldest_yielding(one), Some(ConnectionId(1)));
        for id in 1..=3 {
            peers.remove(one, ConnectionId(id));
        }
        assert!(peers.counts.is_empty() && peers.yielding.is_empty());
    }
}
