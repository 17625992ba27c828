//! Places for client connections: limits in total, per client, and per IPv6 site.
//!
//! A client holds its place from the accept to the end of its session. The tables have at most one
//! entry per open connection.

use crate::Config;
use crate::counters::Counters;
use crate::server::Shared;
use linux::socket::client_network;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

/// Part of all places that one IPv6 site may take: a half.
const SITE_SHARE: u64 = 2;

/// Open connections by client and by site.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<Tables>);

#[derive(Debug, Default)]
struct Tables {
    clients: HashMap<IpAddr, u64>,
    /// IPv6 /48 prefixes: a site may choose its addresses from 65,536 /64 prefixes.
    sites: HashMap<u128, u64>,
}

/// Permit for one client connection; released on drop.
pub(crate) struct ConnectionPermit {
    shared: Arc<Shared>,
    client: IpAddr,
}

impl ConnectionPermit {
    /// Acquires a permit, unless a limit is reached.
    pub(crate) fn take(shared: &Arc<Shared>, config: &Config, client: IpAddr) -> Option<Self> {
        let client = client_network(client);
        let mut tables = shared.clients.0.lock().unwrap_or_else(PoisonError::into_inner);
        let total = shared.connection_limit(config);
        let per_client = shared.per_client_limit(config);
        let count_of = |count: Option<&u64>| count.copied().unwrap_or_default();
        if shared.counters.open.load(Relaxed) >= total || count_of(tables.clients.get(&client)) >= per_client
        {
            return None;
        }
        if let Some(site) = site(client) {
            if count_of(tables.sites.get(&site)) >= per_client.max(total / SITE_SHARE) {
                return None;
            }
            *tables.sites.entry(site).or_default() += 1;
        }
        *tables.clients.entry(client).or_default() += 1;
        Counters::count(&shared.counters.open);
        Some(Self { shared: Arc::clone(shared), client })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut tables = self.shared.clients.0.lock().unwrap_or_else(PoisonError::into_inner);
        release(&mut tables.clients, &self.client);
        if let Some(site) = site(self.client) {
            release(&mut tables.sites, &site);
        }
        self.shared.counters.open.fetch_sub(1, Relaxed);
        self.shared.ended.notify_waiters();
    }
}

fn release<K: Hash + Eq>(counts: &mut HashMap<K, u64>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// /48 prefix of an IPv6 client.
fn site(client: IpAddr) -> Option<u128> {
    match client {
        IpAddr::V6(address) => Some(u128::from(address) >> 80),
        IpAddr::V4(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of places that clients get which ask one after the other.
    fn places(config: &Config, clients: impl Iterator<Item = String>) -> usize {
        let shared = Arc::new(Shared::new(config.clone()));
        let take = |client: String| ConnectionPermit::take(&shared, config, client.parse().unwrap());
        let permits: Vec<_> = clients.filter_map(take).collect();
        let count = permits.len();
        drop(permits);
        let tables = shared.clients.0.lock().unwrap();
        assert!(tables.clients.is_empty() && tables.sites.is_empty(), "all places are free again");
        count
    }

    #[test]
    fn no_address_prefix_or_site_takes_all_places() {
        let mut config = Config::default();
        (config.limits.connections, config.limits.per_client) = (100, 10);
        assert_eq!(places(&config, (0..200).map(|_| "192.0.2.1".to_owned())), 10);
        assert_eq!(places(&config, (0..200).map(|nth| format!("2001:db8::{nth:x}"))), 10, "one /64");
        assert_eq!(places(&config, (0..200).map(|nth| format!("2001:db8:0:{nth:x}::1"))), 50, "one /48");
        assert_eq!(places(&config, (0..200).map(|nth| format!("192.0.2.{nth}"))), 100);
        assert_eq!(places(&config, (0..200).map(|nth| format!("::ffff:192.0.2.{nth}"))), 100, "mapped IPv4");
        config.limits.per_client = 100;
        assert_eq!(places(&config, (0..200).map(|_| "2001:db8::1".to_owned())), 100, "as configured");
    }
}
