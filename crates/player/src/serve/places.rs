//! Places for connections, shared between the networks of the clients.
//!
//! While places are free, any network may take them. When all are taken, a client of another
//! network takes the place of the oldest connection of the network that holds the most, so that no
//! network can shut out the others.

use super::Network;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

#[derive(Clone)]
pub(super) struct Places {
    limit: usize,
    open: Arc<Mutex<Open>>,
    freed: Arc<Notify>,
}

#[derive(Default)]
struct Open {
    next: u64,
    connections: BTreeMap<u64, (Network, Option<AbortHandle>)>,
}

/// Place of one connection; dropping it frees the place.
pub(super) struct Place {
    places: Places,
    number: u64,
}

impl Places {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, open: Arc::default(), freed: Arc::default() }
    }

    /// Waits for a free place.
    pub(super) async fn free(&self) {
        // `notify_one` stores a permit, so that a place freed before the wait is not missed.
        while self.lock().connections.len() >= self.limit {
            self.freed.notified().await;
        }
    }

    /// Makes room for a client: true if a place is free, if need be after the end of another
    /// network's connection.
    pub(super) fn make_room(&self, network: Network) -> bool {
        let mut open = self.lock();
        if open.connections.len() < self.limit {
            return true;
        }
        let mut counts: BTreeMap<Network, usize> = BTreeMap::new();
        for (network, _) in open.connections.values() {
            *counts.entry(*network).or_default() += 1;
        }
        let own = counts.get(&network).copied().unwrap_or(0);
        let Some((largest, count)) = counts.into_iter().max_by_key(|(_, count)| *count) else {
            return false;
        };
        if count <= own + 1 {
            return false;
        }
        let oldest = open.connections.iter().find(|(_, (network, _))| *network == largest);
        let Some(number) = oldest.map(|(number, _)| *number) else { return false };
        let ended = open.connections.remove(&number);
        drop(open);
        if let Some((_, Some(task))) = ended {
            task.abort();
        }
        true
    }

    /// Takes a place.
    pub(super) fn take(&self, network: Network) -> Place {
        let mut open = self.lock();
        let number = open.next;
        open.next += 1;
        open.connections.insert(number, (network, None));
        Place { places: self.clone(), number }
    }

    /// Stores the task of a connection, which ends it. A connection that already ended has no place.
    pub(super) fn set_task(&self, number: u64, task: AbortHandle) {
        if let Some((_, slot)) = self.lock().connections.get_mut(&number) {
            *slot = Some(task);
        }
    }

    /// A panic in another thread leaves the map intact: each change is one call.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().connections.remove(&self.number);
        self.places.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_with_the_most_connections_gives_up_its_oldest() {
        let network = |last: u8| Network::of([192, 0, 2, last].into());
        let places = Places::new(4);
        let held: Vec<Place> = (0..4).map(|_| places.take(network(1))).collect();
        assert!(!places.make_room(network(1)), "its own connections stay");
        assert!(places.make_room(network(2)));
        let other = places.take(network(2));
        assert!(!places.lock().connections.contains_key(&held[0].number()), "the oldest is gone");
        assert!(places.make_room(network(2)), "three against one");
        let _second = places.take(network(2));
        assert!(!places.make_room(network(2)), "two against two");
        assert!(places.make_room(network(3)), "a new client is never shut out by two networks");
        drop((held, other));
        assert_eq!(places.lock().connections.len(), 1);
    }
}
