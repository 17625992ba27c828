//! Work on a thread of its own, while this one lets Python handle signals and shows progress.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
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
}

/// Runs `work` without the GIL and returns its result. A signal, or an exception in `show`, which
/// gets the finished share, ends the call at once; the thread ends when it next reports progress.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    show: Option<&Py<PyAny>>,
    work: impl FnOnce(&Progress) -> T + Send + 'static,
) -> PyResult<T> {
    let progress = Progress::default();
    let (own, caller) = (progress.clone(), thread::current());
    let worker = thread::spawn(move || {
        let result = work(&own);
        caller.unpark();
        result
    });
    while !worker.is_finished() {
        py.detach(|| thread::park_timeout(CHECK_INTERVAL));
        let share = f64::from_bits(progress.share.load(Ordering::Relaxed));
        if let Err(error) = py.check_signals().and_then(|()| call(py, show, share)) {
            progress.stopped.store(true, Ordering::Relaxed);
            return Err(error);
        }
    }
    let result = worker.join().map_err(|_| PyRuntimeError::new_err("the thread of the work panicked"))?;
    call(py, show, 1.0).map(|()| result)
}

fn call(py: Python<'_>, show: Option<&Py<PyAny>>, share: f64) -> PyResult<()> {
    show.map_or(Ok(()), |show| show.call1(py, (share,)).map(drop))
}
