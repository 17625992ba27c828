//! Permits for connection attempts beside the first of their connection. Each has one descriptor.

use crate::budgets::{Budgets, OwnedPermit};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Permits of all connections together.
pub(crate) const MAX_PARALLEL_ATTEMPTS: usize = 256;
/// Part of all permits that one client may hold: an eighth, so that silent addresses of its names
/// leave parallel attempts to others.
const CLIENT_SHARE: usize = 8;

/// Permits in total and by client.
#[derive(Debug)]
pub(crate) struct ParallelAttempts {
    all: Arc<Semaphore>,
    per_client: AtomicUsize,
    clients: Arc<Budgets<IpAddr>>,
}

/// Permit for one attempt.
#[derive(Debug)]
pub(crate) struct AttemptPermit {
    _all: OwnedSemaphorePermit,
    _client: OwnedPermit<IpAddr>,
}

impl ParallelAttempts {
    pub(crate) fn new(permits: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(permits)),
            per_client: AtomicUsize::new(client_share(permits)),
            clients: Arc::default(),
        }
    }

    /// Reduces [`MAX_PARALLEL_ATTEMPTS`] to `permits`.
    pub(crate) fn reduce(&self, permits: usize) {
        self.all.forget_permits(MAX_PARALLEL_ATTEMPTS.saturating_sub(permits));
        self.per_client.store(client_share(permits), Relaxed);
    }

    /// Takes a permit, unless all are in use or the client holds its share.
    pub(crate) fn try_acquire(&self, client: IpAddr) -> Option<AttemptPermit> {
        let own = self.clients.try_acquire(client, self.per_client.load(Relaxed))?;
        let all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(AttemptPermit { _all: all, _client: own })
    }

    /// Permits that are not in use.
    #[cfg(test)]
    pub(crate) fn available(&self) -> usize {
        self.all.available_permits()
    }

    /// Clients with permits.
    #[cfg(test)]
    pub(crate) fn clients(&self) -> usize {
        self.clients.len()
    }
}

fn client_share(permits: usize) -> usize {
    (permits / CLIENT_SHARE).max(1)
}
