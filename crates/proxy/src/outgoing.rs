//! Open connections of this proxy to servers, by which it recognizes a connection of its own that
//! comes back to it over any route.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Local and remote addresses of open connections, as 64-bit hashes: a table of addresses would take
/// ten times the memory per connection.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    hasher: RandomState,
    open: Mutex<HashSet<u64>>,
}

/// Entry of an open connection; removed on drop.
#[derive(Debug)]
pub(crate) struct Registration {
    table: Arc<Outgoing>,
    key: u64,
}

impl Outgoing {
    /// Enters a connection.
    pub(crate) fn register(self: &Arc<Self>, local: SocketAddr, remote: SocketAddr) -> Registration {
        let key = self.key(local, remote);
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        Registration { table: Arc::clone(self), key }
    }

    /// Whether a client connection is the other end of a connection of this proxy.
    pub(crate) fn is_own(&self, client: SocketAddr, local: SocketAddr) -> bool {
        let key = self.key(client, local);
        self.open.lock().unwrap_or_else(PoisonError::into_inner).contains(&key)
    }

    fn key(&self, local: SocketAddr, remote: SocketAddr) -> u64 {
        let end = |at: SocketAddr| (at.ip().to_canonical(), at.port());
        self.hasher.hash_one((end(local), end(remote)))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.table.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_end_of_an_own_connection_is_recognized_while_it_is_open() {
        let table = Arc::new(Outgoing::default());
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let one = table.register(at("192.0.2.1:40000"), at("192.0.2.2:1080"));
        assert!(table.is_own(at("192.0.2.1:40000"), at("192.0.2.2:1080")));
        assert!(table.is_own(at("[::ffff:192.0.2.1]:40000"), at("[::ffff:192.0.2.2]:1080")));
        assert!(!table.is_own(at("192.0.2.1:40000"), at("192.0.2.2:1081")), "a client with the same port");
        assert!(!table.is_own(at("192.0.2.2:1080"), at("192.0.2.1:40000")));
        drop(one);
        assert!(!table.is_own(at("192.0.2.1:40000"), at("192.0.2.2:1080")));
        assert!(table.open.lock().unwrap().is_empty());
    }
}
