//! Open connections of one listener, bounded in number.
//!
//! At the bound, a new connection closes the oldest one of the peer that has most. So clients that
//! connect and stay silent delay nobody.

use std::collections::BTreeMap;
use std::net::IpAddr;
use tokio::task::AbortHandle;

/// Maximum number of open connections of a listener.
pub(super) const MAX_CONNECTIONS: usize = 16;

/// Peer of a connection: a user of this host, or an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Peer {
    User(Option<u32>),
    Address(IpAddr),
}

/// Open connections, the oldest first.
#[derive(Debug, Default)]
pub(super) struct ConnectionSlots {
    open: Vec<(Peer, AbortHandle)>,
}

impl ConnectionSlots {
    /// Adds a connection; closes another one at the bound.
    pub(super) fn add(&mut self, peer: Peer, task: AbortHandle) {
        self.open.retain(|(_, task)| !task.is_finished());
        self.open.push((peer, task));
        if self.open.len() > MAX_CONNECTIONS {
            let (_, task) = self.open.remove(self.surplus());
            task.abort();
        }
    }

    /// Position of the oldest connection of the peer that has most.
    fn surplus(&self) -> usize {
        let mut counts: BTreeMap<Peer, usize> = BTreeMap::new();
        for (peer, _) in &self.open {
            *counts.entry(*peer).or_default() += 1;
        }
        let most = counts.values().max();
        self.open.iter().position(|(peer, _)| counts.get(peer) == most).unwrap_or_default()
    }
}
