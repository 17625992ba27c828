//! Plays many cases at once.

use crate::case::Case;
use crate::play::play;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Result of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// The problem.
    pub error: Option<String>,
    /// Time that it took.
    pub took: Duration,
}

/// Plays `cases`, `jobs` at once. Calls `report` for each when it ends, and returns the outcomes in
/// the order of the cases.
pub fn run_all(cases: &[Case], jobs: usize, mut report: impl FnMut(&Outcome)) -> Vec<Outcome> {
    let (next, (sender, outcomes)) = (AtomicUsize::new(0), channel());
    let mut all: Vec<(usize, Outcome)> = Vec::with_capacity(cases.len());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { return };
                    let start = Instant::now();
                    let error = play(case).err();
                    let outcome = Outcome { case: *case, error, took: start.elapsed() };
                    if sender.send((index, outcome)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (index, outcome) in outcomes {
            report(&outcome);
            all.push((index, outcome));
        }
    });
    all.sort_by_key(|&(index, _)| index);
    all.into_iter().map(|(_, outcome)| outcome).collect()
}
