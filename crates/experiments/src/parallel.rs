//! Runs many simulations on several threads, with the same result for any number of threads.

use core::ops::ControlFlow;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
    let done = |count| {
        done(count);
        ControlFlow::Continue(())
    };
    map_while(jobs, items, &done, work).expect("no work was stopped")
}

/// Like [`map`], until `done` breaks. Then there is no result.
pub fn map_while<T: Sync, R: Send>(
    jobs: NonZeroUsize,
    items: &[T],
    done: &(dyn Fn(usize) -> ControlFlow<()> + Sync),
    work: impl Fn(&T) -> R + Sync,
) -> Option<Vec<R>> {
    let finished = AtomicUsize::new(0);
    let results = map_until(jobs, items, |_, item| {
        let result = work(item);
        done(finished.fetch_add(1, Ordering::Relaxed) + 1).is_continue().then_some(result)
    });
    results.into_iter().collect()
}

/// A progress of finished and all runs that never breaks.
pub fn to_the_end(
    progress: &(dyn Fn(usize, usize) + Sync),
) -> impl Fn(usize, usize) -> ControlFlow<()> + Sync {
    move |done, total| {
        progress(done, total);
        ControlFlow::Continue(())
    }
}

/// Applies `work` to every item and its index with `jobs` threads, until it returns `None`. Items
/// whose work has not begun by then have no result either.
pub fn map_until<T: Sync, R: Send>(
    jobs: NonZeroUsize,
    items: &[T],
    work: impl Fn(usize, &T) -> Option<R> + Sync,
) -> Vec<Option<R>> {
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..jobs.get().min(items.len()) {
            scope.spawn(|| {
                while !stopped.load(Ordering::Relaxed) {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(i) else { break };
                    let result = work(i, item);
                    stopped.fetch_or(result.is_none(), Ordering::Relaxed);
                    *results[i].lock().expect("no other thread holds this lock") = result;
                }
            });
        }
    });
    results.into_iter().map(|cell| cell.into_inner().expect("no thread panicked")).collect()
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

    #[test]
    fn broken_work_has_no_result() {
        let items: Vec<u64> = (0..100).collect();
        let until =
            |count| move |done| if done < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        assert_eq!(map_while(NonZeroUsize::MIN, &items, &until(3), |n| n * n), None);
        assert_eq!(map_while(NonZeroUsize::MIN, &items, &until(101), |n| *n), Some(items));
    }

    #[test]
    fn stopped_work_keeps_finished_results() {
        let items: Vec<u64> = (0..100).collect();
        let some = map_until(NonZeroUsize::MIN, &items, |i, n| (i < 3).then_some(n * n));
        assert_eq!(some[..4], [Some(0), Some(1), Some(4), None]);
        assert!(some.len() == items.len() && some[4..].iter().all(Option::is_none));
    }
}
