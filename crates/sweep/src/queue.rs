//! Runs that are left, taken in batches of about the same time.

use core::ops::Range;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Batches that each job still gets near the end, so that no job waits long for another.
const BATCHES_AT_END: u64 = 4;

/// Runs that are left. The first batches have one run each; later ones follow from the time that
/// finished batches took.
#[derive(Debug)]
pub struct Queue {
    state: Mutex<State>,
    jobs: u64,
    batch_time: Duration,
    max_batch: u64,
}

#[derive(Debug)]
struct State {
    /// In descending order, so that the next one is the last.
    left: Vec<Range<u64>>,
    runs_left: u64,
    runs: u64,
    took: Duration,
}

impl Queue {
    /// A queue of the ranges `left` for so many `jobs` at once. A batch takes about `batch_time` and
    /// has at most `max_batch` runs.
    pub fn new(mut left: Vec<Range<u64>>, jobs: NonZeroUsize, batch_time: Duration, max_batch: u64) -> Self {
        left.reverse();
        let runs_left = left.iter().map(|range| range.end - range.start).sum();
        let state = State { left, runs_left, runs: 0, took: Duration::ZERO };
        Self { state: Mutex::new(state), jobs: jobs.get() as u64, batch_time, max_batch: max_batch.max(1) }
    }

    /// Takes the next batch; `None` if no runs are left.
    pub fn take(&self) -> Option<Range<u64>> {
        let mut state = self.state();
        let size = self.batch_size(&state);
        let mut range = state.left.pop()?;
        if range.end - range.start > size {
            state.left.push(range.start + size..range.end);
            range.end = range.start + size;
        }
        state.runs_left -= range.end - range.start;
        Some(range)
    }

    /// Records the time that a batch of `runs` took.
    pub fn record(&self, runs: u64, took: Duration) {
        let mut state = self.state();
        state.runs += runs;
        state.took += took;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panicked")
    }

    fn batch_size(&self, state: &State) -> u64 {
        if state.runs == 0 {
            return 1;
        }
        let run_s = state.took.as_secs_f64() / state.runs as f64;
        let timed = (self.batch_time.as_secs_f64() / run_s.max(1e-9)) as u64;
        timed.min(state.runs_left / (self.jobs * BATCHES_AT_END)).clamp(1, self.max_batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_the_wanted_time_and_shrink_near_the_end() {
        let jobs = NonZeroUsize::new(2).unwrap();
        let queue = Queue::new(vec![0..10, 100..1100], jobs, Duration::from_secs(1), 50);
        assert_eq!(queue.take(), Some(0..1));
        queue.record(1, Duration::from_millis(100));
        assert_eq!(queue.take(), Some(1..10));
        assert_eq!(queue.take(), Some(100..110));
        queue.record(1000, Duration::from_millis(100));
        assert_eq!(queue.take(), Some(110..160), "at most 50 runs");
        let mut last = 160..160;
        while let Some(batch) = queue.take() {
            assert_eq!(batch.start, last.end);
            last = batch;
        }
        assert_eq!(last, 1099..1100);
    }
}
