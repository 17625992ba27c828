//! Budgets of concurrent work by key, such as a client. The table has an entry only for keys with work.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Budgets of the keys that have work at the moment.
#[derive(Debug)]
pub(crate) struct Budgets<K>(Mutex<HashMap<K, Entry>>);

#[derive(Debug)]
struct Entry {
    permits: Arc<Semaphore>,
    /// Number of [`Budget`]s of the key.
    users: usize,
}

impl<K> Default for Budgets<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// Budget of a key; removed from the table with its last user.
#[derive(Debug)]
pub(crate) struct Budget<K: Eq + Hash> {
    table: Arc<Budgets<K>>,
    key: K,
    permits: Arc<Semaphore>,
}

/// Permit that keeps its budget in the table.
#[derive(Debug)]
pub(crate) struct OwnedPermit<K: Eq + Hash> {
    _permit: OwnedSemaphorePermit,
    _budget: Budget<K>,
}

impl<K: Eq + Hash + Copy> Budgets<K> {
    /// Budget of a key, of `permits` if it has no work yet.
    pub(crate) fn of(self: &Arc<Self>, key: K, permits: usize) -> Budget<K> {
        let mut table = self.lock();
        let new = || Entry { permits: Arc::new(Semaphore::new(permits)), users: 0 };
        let entry = table.entry(key).or_insert_with(new);
        entry.users += 1;
        Budget { table: Arc::clone(self), key, permits: Arc::clone(&entry.permits) }
    }

    /// Takes a permit of a key, if its budget of `permits` has one left.
    pub(crate) fn try_acquire(self: &Arc<Self>, key: K, permits: usize) -> Option<OwnedPermit<K>> {
        let budget = self.of(key, permits);
        let permit = Arc::clone(&budget.permits).try_acquire_owned().ok()?;
        Some(OwnedPermit { _permit: permit, _budget: budget })
    }
}

impl<K: Eq + Hash> Budgets<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keys with work.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }
}

impl<K: Eq + Hash> Budget<K> {
    /// Waits for a permit. Nothing closes the semaphore, so there is always one in the end.
    pub(crate) async fn acquire(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }
}

impl<K: Eq + Hash> Drop for Budget<K> {
    fn drop(&mut self) {
        let mut table = self.table.lock();
        if let Some(entry) = table.get_mut(&self.key) {
            entry.users -= 1;
            if entry.users == 0 {
                table.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn entry_of_a_key_goes_with_its_last_budget() {
        let table = Arc::new(Budgets::default());
        for _ in 0..20 {
            let [first, second] =
                [(); 2].map(|()| (0..10_000).map(|key| table.of(key, 1)).collect::<Vec<_>>());
            assert_eq!(table.len(), 10_000);
            thread::scope(|scope| {
                scope.spawn(|| drop(first));
                scope.spawn(|| drop(second));
            });
            assert_eq!(table.len(), 0);
        }
    }
}
