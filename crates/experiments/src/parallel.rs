//! Many runs on all cores, with the same result as on one.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many jobs to run at once: as many as asked for, else one a core.
pub fn jobs(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// Does `work` on every item, `jobs` at a time; results come in the order of the items, whatever the
/// order in which they were done. `done` is told after each item how many are.
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
                    *results[i].lock().expect("no other thread panicked with it") = Some(result);
                    done(finished.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
    });
    let take = |cell: Mutex<Option<R>>| {
        cell.into_inner().expect("no thread panicked").expect("every item was worked on")
    };
    results.into_iter().map(take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        for jobs in [1, 2, 7] {
            let squares = map(NonZeroUsize::new(jobs).unwrap(), &items, &|_| {}, |n| n * n);
            assert!(squares.iter().zip(&items).all(|(s, n)| *s == n * n));
        }
    }
}
