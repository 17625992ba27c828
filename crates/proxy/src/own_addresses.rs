//! Addresses of this host, kept current by the kernel's notifications, so that a check needs no
//! system call.
//!
//! While they cannot be read they are unknown, and destinations that depend on them are refused.

use crate::Error;
use crate::network::Network;
use linux::route::LocalNetworks;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;
use tracing::{info, warn};

/// Delay before another attempt to read the addresses.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Addresses of this host; unknown at first.
#[derive(Debug, Default)]
pub struct OwnAddresses {
    known: RwLock<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    /// Single addresses, usually all but the network of loopback.
    hosts: HashSet<IpAddr>,
    networks: Vec<Network>,
}

impl OwnAddresses {
    /// A fixed set of addresses.
    pub fn of(networks: Vec<Network>) -> Self {
        Self { known: RwLock::new(Some(Known::of(networks))) }
    }

    /// Reads the addresses of the calling thread's network namespace. The result is for
    /// [`Self::watch`].
    ///
    /// # Errors
    /// The kernel does not list the addresses.
    pub fn open(&self) -> Result<LocalNetworks, Error> {
        let mut source = LocalNetworks::open()?;
        self.read(&mut source)?;
        Ok(source)
    }

    /// Whether an address belongs to this host; `None` if that is unknown.
    pub fn contains(&self, address: IpAddr) -> Option<bool> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().map(|known| {
            known.hosts.contains(&address) || known.networks.iter().any(|network| network.contains(address))
        })
    }

    /// Follows changes of the addresses in the namespace of the runtime's threads; never returns.
    pub async fn watch(self: Arc<Self>, mut source: LocalNetworks) {
        loop {
            let Err(error) = self.follow(source).await;
            self.replace(None);
            warn!("the addresses of this host are unknown, so destinations are refused: {error}");
            source = loop {
                sleep(RETRY_DELAY).await;
                if let Ok(source) = self.open() {
                    info!("the addresses of this host are known again");
                    break source;
                }
            };
        }
    }

    async fn follow(&self, source: LocalNetworks) -> Result<core::convert::Infallible, Error> {
        let failed = |error| Error::setup("watch the addresses of this host", error);
        // `register` is unsafe: its descriptor has to stay open and the same, as that of `source` does.
        #[expect(deprecated, reason = "this crate forbids unsafe code")]
        let mut source = AsyncFd::new(source).map_err(failed)?;
        loop {
            let mut ready = source.readable_mut().await.map_err(failed)?;
            let changed = ready.get_inner_mut().drain()?;
            ready.clear_ready();
            if changed {
                self.read(source.get_mut())?;
            }
        }
    }

    fn read(&self, source: &mut LocalNetworks) -> Result<(), linux::Error> {
        let networks = source.list()?.into_iter().filter_map(|(first, prefix)| Network::new(first, prefix));
        self.replace(Some(Known::of(networks.collect())));
        Ok(())
    }

    fn replace(&self, known: Option<Known>) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

impl Known {
    fn of(networks: Vec<Network>) -> Self {
        let (hosts, networks): (Vec<_>, _) = networks.into_iter().partition(Network::is_host);
        Self { hosts: hosts.into_iter().map(|network| network.first()).collect(), networks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_detected() {
        let own = OwnAddresses::default();
        own.open().unwrap();
        for address in ["127.0.0.1", "127.255.255.254"] {
            assert_eq!(own.contains(address.parse().unwrap()), Some(true), "{address}");
        }
        for address in ["255.255.255.255", "8.8.8.8", "2001:4860::8888"] {
            assert_eq!(own.contains(address.parse().unwrap()), Some(false), "{address}");
        }
        assert_eq!(OwnAddresses::default().contains("8.8.8.8".parse().unwrap()), None);
    }
}
