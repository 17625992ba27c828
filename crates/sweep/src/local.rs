//! Runs a sweep on the cores of this machine.

use crate::{Directory, Sweep, SweepError};
use core::ops::{ControlFlow, Range};
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Aim for the time of a batch: a killed sweep loses at most a batch of each job.
const BATCH_TIME: Duration = Duration::from_secs(2);
/// Maximum number of runs in a batch.
const MAX_BATCH: u64 = 65_536;
/// Batches that each job still gets near the end, so that no job waits long for another.
const BATCHES_AT_END: u64 = 4;

/// Connection of a sweep to its caller.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Receives the number of runs that this process has finished, from several threads.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// Ends the sweep once it is true. Finished runs are kept.
    pub stop: &'a AtomicBool,
}

/// Runs the unfinished ones of the runs `wanted`, and keeps their parts in the directory. Returns
/// true if all of them are finished.
///
/// # Errors
/// The first part that cannot be written; earlier parts are kept.
pub fn run_local(
    sweep: &Sweep,
    directory: &Directory,
    wanted: Range<u64>,
    jobs: NonZeroUsize,
    control: Control<'_>,
) -> Result<bool, SweepError> {
    let queue = Queue::new(directory.unfinished(wanted.clone())?, jobs);
    let (finished, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = || -> Result<(), SweepError> {
        while let Some(batch) = queue.next() {
            let begun = Instant::now();
            let mut counted = 0;
            let part = sweep.run_batch(batch.clone(), &mut |done| {
                if done > counted {
                    let all = finished.fetch_add(done - counted, Ordering::Relaxed) + done - counted;
                    counted = done;
                    (control.progress)(all);
                }
                if control.stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            queue.took(part.runs.end - part.runs.start, begun.elapsed());
            directory.write_part(&part)?;
            if part.runs.end < batch.end || control.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    };
    let results: Vec<Result<(), SweepError>> = std::thread::scope(|scope| {
        let guarded = || work().inspect_err(|_| failed.store(true, Ordering::Relaxed));
        let threads: Vec<_> = (0..jobs.get()).map(|_| scope.spawn(guarded)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a run does not panic")).collect()
    });
    results.into_iter().collect::<Result<(), _>>()?;
    Ok(directory.unfinished(wanted)?.is_empty())
}

/// The runs that are left, taken in batches of about [`BATCH_TIME`].
struct Queue {
    state: Mutex<State>,
    jobs: u64,
}

struct State {
    /// In descending order, so that the next one is the last.
    left: Vec<Range<u64>>,
    runs_left: u64,
    runs: u64,
    took: Duration,
}

impl Queue {
    fn new(mut left: Vec<Range<u64>>, jobs: NonZeroUsize) -> Self {
        left.reverse();
        let runs_left = left.iter().map(|range| range.end - range.start).sum();
        let state = State { left, runs_left, runs: 0, took: Duration::ZERO };
        Self { state: Mutex::new(state), jobs: jobs.get() as u64 }
    }

    fn next(&self) -> Option<Range<u64>> {
        let mut state = self.state.lock().expect("no thread panicked");
        let size = state.batch_size(self.jobs);
        let mut range = state.left.pop()?;
        if range.end - range.start > size {
            state.left.push(range.start + size..range.end);
            range.end = range.start + size;
        }
        state.runs_left -= range.end - range.start;
        Some(range)
    }

    /// Records the time of a batch.
    fn took(&self, runs: u64, time: Duration) {
        let mut state = self.state.lock().expect("no thread panicked");
        state.runs += runs;
        state.took += time;
    }
}

impl State {
    fn batch_size(&self, jobs: u64) -> u64 {
        if self.runs == 0 {
            return 1;
        }
        let run_s = self.took.as_secs_f64() / self.runs as f64;
        let timed = (BATCH_TIME.as_secs_f64() / run_s.max(1e-9)) as u64;
        timed.min(self.runs_left / (jobs * BATCHES_AT_END)).clamp(1, MAX_BATCH)
    }
}
