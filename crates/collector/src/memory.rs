//! Bounds for clients, in sum and for each network: a budget of memory, and permits for tasks.

use player::serve::Network;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Bytes that a request or a response may hold without a share of the budget: the number of
/// connections bounds them.
pub(crate) const FREE_BYTES: u64 = 64 << 10;

#[derive(Debug)]
pub(crate) struct Budget {
    total: u64,
    per_network: u64,
    held: Mutex<BTreeMap<Network, u64>>,
}

/// Part of a budget, returned when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    network: Network,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(total: u64, per_network: u64) -> Arc<Self> {
        Arc::new(Self { total, per_network, held: Mutex::default() })
    }

    /// Empty share of a network.
    pub(crate) fn share(self: &Arc<Self>, network: Network) -> Share {
        Share { budget: Arc::clone(self), network, bytes: 0 }
    }

    /// A panic in another thread leaves the map intact: each change is one call.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Network, u64>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Enlarges the share to cover `bytes`, of which [`FREE_BYTES`] are free; false if the budget of
    /// the network, or of all, is used up.
    pub(crate) fn cover(&mut self, bytes: u64) -> bool {
        let more = bytes.saturating_sub(FREE_BYTES).saturating_sub(self.bytes);
        if more == 0 {
            return true;
        }
        let mut held = self.budget.lock();
        let all: u64 = held.values().sum();
        let own = held.entry(self.network).or_default();
        if all + more > self.budget.total || *own + more > self.budget.per_network {
            if *own == 0 {
                held.remove(&self.network);
            }
            return false;
        }
        *own += more;
        self.bytes += more;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.budget.lock();
        if let Some(own) = held.get_mut(&self.network) {
            *own = own.saturating_sub(self.bytes);
            if *own == 0 {
                held.remove(&self.network);
            }
        }
    }
}

/// Permits for tasks that run at the same time. A network has at most half of them, so that its
/// requests wait for each other and not others for them.
#[derive(Debug)]
pub(crate) struct Permits {
    all: Arc<Semaphore>,
    per_network: usize,
    networks: Mutex<BTreeMap<Network, Arc<Semaphore>>>,
}

impl Permits {
    pub(crate) fn new(count: usize) -> Self {
        let per_network = count.div_ceil(2);
        Self { all: Arc::new(Semaphore::new(count)), per_network, networks: Mutex::default() }
    }

    /// Permits without a limit of their sum.
    pub(crate) fn for_each_network(count: usize) -> Self {
        let all = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        Self { all, per_network: count, networks: Mutex::default() }
    }

    /// Waits for a permit; dropping the result returns it.
    pub(crate) async fn acquire(
        &self,
        network: Network,
    ) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), AcquireError> {
        let own = {
            let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
            // A permit holds its semaphore, so an unused one has one owner, the map.
            networks.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
            let new = || Arc::new(Semaphore::new(self.per_network));
            Arc::clone(networks.entry(network).or_insert_with(new))
        };
        let own = own.acquire_owned().await?;
        Ok((own, Arc::clone(&self.all).acquire_owned().await?))
    }

    /// Runs `act` in a thread for blocking work once a permit is free. The thread holds the permit,
    /// since it works on after its client has disconnected.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        network: Network,
        act: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TaskFailed> {
        let permit = self.acquire(network).await.map_err(|_| TaskFailed)?;
        let work = move || {
            let result = act();
            drop(permit);
            result
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| TaskFailed)
    }
}

/// Task that panicked, or that the end of the collector prevented.
#[derive(Debug)]
pub(crate) struct TaskFailed;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_is_bounded_in_sum_and_by_network() {
        let network = |last: u8| Network::of([192, 0, 2, last].into());
        let budget = Budget::new(100, 60);
        let mut first = budget.share(network(1));
        assert!(first.cover(FREE_BYTES) && first.cover(FREE_BYTES + 60) && !first.cover(FREE_BYTES + 61));
        assert!(!budget.share(network(1)).cover(FREE_BYTES + 1), "the network has its part");
        let mut second = budget.share(network(2));
        assert!(!second.cover(FREE_BYTES + 41) && second.cover(FREE_BYTES + 40));
        assert!(second.cover(FREE_BYTES + 30), "a smaller cover changes nothing");
        drop(first);
        assert!(second.cover(FREE_BYTES + 60));
        drop(second);
        assert!(budget.lock().is_empty());
    }

    #[test]
    fn network_that_waits_for_permits_leaves_some_to_others() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let network = |last: u8| Network::of([192, 0, 2, last].into());
            let permits = Arc::new(Permits::new(4));
            let first = permits.acquire(network(1)).await.unwrap();
            let _second = permits.acquire(network(1)).await.unwrap();
            let waiting = Arc::clone(&permits);
            let third = tokio::spawn(async move { waiting.acquire(network(1)).await.map(drop) });
            tokio::task::yield_now().await;
            assert!(!third.is_finished());
            drop(permits.acquire(network(2)).await.unwrap());
            drop(first);
            third.await.unwrap().unwrap();
        });
    }

    #[test]
    fn work_of_a_disconnected_client_holds_its_permit_until_it_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let network = Network::of([192, 0, 2, 1].into());
            let permits = Arc::new(Permits::new(1));
            let (begin, begun) = tokio::sync::oneshot::channel();
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let working = Arc::clone(&permits);
            let client = tokio::spawn(async move {
                let work = move || {
                    begin.send(()).unwrap();
                    ended.recv().unwrap();
                };
                working.run_blocking(network, work).await
            });
            begun.await.unwrap();
            client.abort();
            assert!(client.await.unwrap_err().is_cancelled());
            let waiting = Arc::clone(&permits);
            let next = tokio::spawn(async move { waiting.acquire(network).await.map(drop) });
            tokio::task::yield_now().await;
            assert!(!next.is_finished(), "the first task still works");
            end.send(()).unwrap();
            next.await.unwrap().unwrap();
        });
    }
}
