//! Budgets of concurrent work by key, such as a client. The table has an entry only for keys with work.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Budgets of the keys that have work at the moment.
#[derive(Debug)]
pub(crate) struct Budgets<K>(Mutex<HashMap<K, Arc<Semaphore>>>);

impl<K> Default for Budgets<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// Budget of a key; removed from the table with its last user.
#[derive(Debug)]
pub(crate) struct Budget<'a, K: Eq + Hash> {
    table: &'a Budgets<K>,
    key: K,
    permits: Arc<Semaphore>,
}

impl<K: Eq + Hash + Copy> Budgets<K> {
    /// Budget of a key, of `permits` if it has no work yet.
    pub(crate) fn of(&self, key: K, permits: usize) -> Budget<'_, K> {
        let permits = Arc::clone(self.lock().entry(key).or_insert_with(|| Arc::new(Semaphore::new(permits))));
        Budget { table: self, key, permits }
    }
}

impl<K: Eq + Hash> Budgets<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Arc<Semaphore>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keys with work.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }
}

impl<K: Eq + Hash> Budget<'_, K> {
    /// Waits for a permit. Nothing closes the semaphore, so there is always one in the end.
    pub(crate) async fn acquire(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }
}

impl<K: Eq + Hash> Drop for Budget<'_, K> {
    fn drop(&mut self) {
        let mut table = self.table.lock();
        // The table and this budget.
        if Arc::strong_count(&self.permits) == 2 {
            table.remove(&self.key);
        }
    }
}
