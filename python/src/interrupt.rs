//! Progress of a run without the GIL: signals and the caller's function.

use crate::steer::Failure;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Time between two checks for signals.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Watches a run: takes the GIL from time to time, lets Python handle signals such as Ctrl-C, and
/// calls a function with the finished share.
pub(crate) struct Watch {
    progress: Option<Py<PyAny>>,
    last: Instant,
    failure: Option<PyErr>,
    steering: Failure,
}

impl Watch {
    /// Also watches the Python code that steers the run.
    pub(crate) fn new(progress: Option<Py<PyAny>>, steering: Failure) -> Self {
        Self { progress, last: Instant::now(), failure: None, steering }
    }

    /// Takes the finished share, from 0 to 1. Breaks if a signal, the function or the
    /// steering code raised an exception.
    pub(crate) fn report(&mut self, share: f64) -> ControlFlow<()> {
        if self.steering.is_set() {
            return ControlFlow::Break(());
        }
        if self.last.elapsed() < CHECK_INTERVAL {
            return ControlFlow::Continue(());
        }
        let result = Python::attach(|py| {
            py.check_signals()?;
            self.progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (share,)).map(drop))
        });
        self.last = Instant::now();
        match result {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// Ends the watch: the exception that stopped the run, or a last call with share 1.
    pub(crate) fn finish(self, py: Python<'_>) -> PyResult<()> {
        match (self.steering.take().or(self.failure), self.progress) {
            (Some(error), _) => Err(error),
            (None, Some(progress)) => progress.call1(py, (1.0,)).map(drop),
            (None, None) => Ok(()),
        }
    }
}
