//! Places for connections, shared between the networks of the clients.
//!
//! While places are free, any network may take them. When all are taken, a client takes the place
//! of the oldest connection of the network that holds the most, within the site that holds the
//! most, so that no site can shut out the others. The networks of a site share its places in the
//! same way.

use super::Network;
use std::cmp::Reverse;
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
        let Some(number) = open.replaceable_by(network) else { return false };
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

impl Open {
    /// Connection whose place a client of `network` takes. Afterwards the client's side has no more
    /// connections than the other one.
    fn replaceable_by(&self, network: Network) -> Option<u64> {
        let held = || self.connections.iter().map(|(number, (network, _))| (*number, *network));
        let sites = counts(held().map(|(_, one)| one.site()));
        let networks = counts(held().map(|(_, one)| one));
        let most = sites.values().copied().max()?;
        let takes_from_site = most > sites.get(&network.site()).copied().unwrap_or(0) + 1;
        let own = networks.get(&network).copied().unwrap_or(0);
        let replaceable = held().filter(|(_, one)| {
            if takes_from_site {
                sites[&one.site()] == most
            } else {
                one.site() == network.site() && networks[one] > own + 1
            }
        });
        // The lowest number is that of the oldest connection.
        let first = replaceable.min_by_key(|(number, one)| (Reverse(networks[one]), *number));
        first.map(|(number, _)| number)
    }
}

/// Number of occurrences of each key.
fn counts<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
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

    /// Network of the given number in a site.
    fn network_of(site: u16, number: u16) -> Network {
        Network::of([0x2001, 0xdb8, site, number, 0, 0, 0, 1].into())
    }

    #[test]
    fn site_with_many_networks_shuts_nobody_out() {
        let places = Places::new(4);
        let held: Vec<Place> = (0..4).map(|number| places.take(network_of(1, number))).collect();
        let is_open = |place: &Place| places.lock().connections.contains_key(&place.number());
        assert!(!places.make_room(network_of(1, 4)), "its own connections stay");
        assert!(places.make_room(network_of(2, 0)), "another site");
        let other = places.take(network_of(2, 0));
        assert!(!is_open(&held[0]), "the oldest is gone");
        assert!(places.make_room(Network::of([192, 0, 2, 1].into())), "a client of IPv4");
        let second = places.take(Network::of([192, 0, 2, 1].into()));
        assert!(!places.make_room(network_of(2, 1)), "two, one and one");
        assert!(!places.make_room(network_of(1, 5)), "the site takes no place back");
        assert!(is_open(&other) && is_open(&second));
    }

    #[test]
    fn networks_of_a_site_take_places_of_each_other_only() {
        let places = Places::new(5);
        let neighbours: Vec<Place> = (0..2).map(|_| places.take(network_of(2, 0))).collect();
        let held: Vec<Place> = [0, 1, 1].map(|number| places.take(network_of(1, number))).into();
        let is_open = |place: &Place| places.lock().connections.contains_key(&place.number());
        assert!(places.make_room(network_of(1, 2)));
        let _new = places.take(network_of(1, 2));
        assert!(neighbours.iter().all(is_open), "two connections of a site with fewer stay");
        assert!(is_open(&held[0]) && !is_open(&held[1]), "the network with two gave up its oldest");
        assert!(!places.make_room(network_of(1, 3)), "one each");
    }
}
