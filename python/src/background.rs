//! Work on a thread of its own, while this one lets Python handle signals and shows progress.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time between two checks for signals.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Progress of the work, as both threads see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    share: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
}

impl Progress {
    /// Takes the finished share, from 0 to 1. Breaks once the work is to stop.
    pub(crate) fn report(&self, share: f64) -> ControlFlow<()> {
        self.share.store(share.to_bits(), Ordering::Relaxed);
        if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Whether the work is to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The flag that is true once the work is to stop.
    pub(crate) fn stop_flag(&self) -> &AtomicBool {
        &self.stopped
    }
}

/// Runs `work` without the GIL and returns its result. A signal, or an exception in `show`, which
/// gets the finished share, ends the call at once; the thread ends when it next reports progress.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    show: Option<&Py<PyAny>>,
    work: impl FnOnce(&Progress) -> T + Send + 'static,
) -> PyResult<T> {
    let worker = Worker::start(work);
    worker.watch(py, show)?;
    worker.join(py, show)
}

/// As [`run`], but a signal or an exception waits for the end of the thread, so that files and locks
/// of the work are closed when the call ends.
pub(crate) fn run_to_end<T: Send + 'static>(
    py: Python<'_>,
    show: Option<&Py<PyAny>>,
    work: impl FnOnce(&Progress) -> T + Send + 'static,
) -> PyResult<T> {
    let worker = Worker::start(work);
    match worker.watch(py, show) {
        Ok(()) => worker.join(py, show),
        Err(error) => {
            py.detach(|| drop(worker.thread.join()));
            Err(error)
        }
    }
}

/// A thread with work, seen from the thread that waits for it.
struct Worker<T> {
    thread: JoinHandle<T>,
    progress: Progress,
}

impl<T: Send + 'static> Worker<T> {
    fn start(work: impl FnOnce(&Progress) -> T + Send + 'static) -> Self {
        let progress = Progress::default();
        let (own, caller) = (progress.clone(), thread::current());
        let thread = thread::spawn(move || {
            let result = work(&own);
            caller.unpark();
            result
        });
        Self { thread, progress }
    }

    /// Waits for the end of the work. A signal, or an exception in `show`, asks it to stop.
    fn watch(&self, py: Python<'_>, show: Option<&Py<PyAny>>) -> PyResult<()> {
        while !self.thread.is_finished() {
            py.detach(|| thread::park_timeout(CHECK_INTERVAL));
            let share = f64::from_bits(self.progress.share.load(Ordering::Relaxed));
            py.check_signals()
                .and_then(|()| call(py, show, share))
                .inspect_err(|_| self.progress.stopped.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    }

    fn join(self, py: Python<'_>, show: Option<&Py<PyAny>>) -> PyResult<T> {
        let result =
            self.thread.join().map_err(|_| PyRuntimeError::new_err("the thread of the work panicked"))?;
        call(py, show, 1.0).map(|()| result)
    }
}

fn call(py: Python<'_>, show: Option<&Py<PyAny>>, share: f64) -> PyResult<()> {
    show.map_or(Ok(()), |show| show.call1(py, (share,)).map(drop))
}
