//! Runs a sweep on the cores of this machine.

use crate::{Directory, Queue, Sweep, SweepError};
use core::ops::{ControlFlow, Range};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Aim for the time of a batch: a killed sweep loses at most a batch of each job.
const BATCH_TIME: Duration = Duration::from_secs(2);
/// Maximum number of runs in a batch.
const MAX_BATCH: u64 = 65_536;

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
    let queue = Queue::new(directory.unfinished(wanted.clone())?, jobs, BATCH_TIME, MAX_BATCH);
    let (finished, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = || -> Result<(), SweepError> {
        while let Some(batch) = queue.take() {
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
            queue.record(part.runs.end - part.runs.start, begun.elapsed());
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
