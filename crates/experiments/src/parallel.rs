//! Runs many simulations on several threads, with the same result for any number of threads.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of jobs to run at once: as requested, else one per core.
pub fn jobs(requested: Option<NonZeroUsize>) -> NonZeroUsize {
    requested.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// Applies `work` to every item with `jobs` threads. Results have the order of the items. `done`
/// receives the number of finished items after each of them.
pub fn map<T: Sync, R: Send>(
    jobs: NonZeroUsize,
    items: &[T],
    done: &(dyn Fn(usize) + Sync),
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let finished = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..jobs.get().min(items.len()) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(i) else { break };
                    let result = work(item);
                    *results[i].lock().expect("no other thread holds this lock") = Some(result);
                    done(finished.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
    });
    let take = |cell: Mutex<Option<R>>| {
        cell.into_inner().expect("no thread panicked").expect("every item has a result")
    };
    results.into_iter().map(take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        for jobs in [1, 2, 7] {
            let squares = map(NonZeroUsize::new(jobs).unwrap(), &items, &|_| {}, |n| n * n);
            assert!(squares.iter().zip(&items).all(|(s, n)| *s == n * n));
        }
    }
}
