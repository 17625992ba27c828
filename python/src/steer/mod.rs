//! Policies, schedulers and congestion controls written in Python.
//!
//! A simulation runs without the GIL and takes it for each call of a Python method. The first
//! exception is kept in [`Failure`]; from then on no Python code runs, and the run ends at its next
//! report of progress.

mod actions;
mod candidates;
mod congestion;
mod policy;
mod scheduler;
mod values;
mod windows;

pub(crate) use actions::Action;
pub(crate) use candidates::{Candidate, SchedulerContext};
pub(crate) use windows::{CoupledSubflow, Coupling, RateSample, SubflowView, Window};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception of Python code in a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<FirstError>);

#[derive(Debug, Default)]
struct FirstError {
    is_set: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failure {
    pub(crate) fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Relaxed)
    }

    /// Returns the exception, which then belongs to the caller.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Runs `call` with the GIL and keeps its exception. `None` after an exception.
    fn guard<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.is_set() {
            return None;
        }
        Python::attach(|py| call(py).map_err(|error| self.record(error)).ok())
    }

    fn record(&self, error: PyErr) {
        let mut first = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.0.is_set.swap(true, Ordering::Relaxed) {
            *first = Some(error);
        }
    }
}

/// Builds the Python objects of a run: a `tandem_mptcp._factories.Factory` and the path names.
#[derive(Debug, Clone)]
pub(crate) struct Factory {
    make: Arc<Py<PyAny>>,
    name: String,
    paths: PathNames,
    failure: Failure,
}

type PathNames = Arc<[Py<PyString>]>;

impl Factory {
    pub(crate) fn new<'a>(
        make: &Bound<'_, PyAny>,
        paths: impl Iterator<Item = &'a str>,
        failure: &Failure,
    ) -> PyResult<Self> {
        let py = make.py();
        Ok(Self {
            make: Arc::new(make.clone().unbind()),
            name: make.getattr(intern!(py, "name"))?.extract()?,
            paths: paths.map(|name| PyString::new(py, name).unbind()).collect(),
            failure: failure.clone(),
        })
    }

    /// Builds an object, and reads its properties by `read`.
    fn build<T: Default>(&self, read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> (Instance, T) {
        let built = self.failure.guard(|py| {
            let object = self.make.bind(py).call0()?;
            let properties = read(&object)?;
            Ok((object.unbind(), properties))
        });
        let (object, properties) = built.map_or((None, T::default()), |(o, p)| (Some(o), p));
        (Instance { object, failure: self.failure.clone() }, properties)
    }
}

/// A Python object that steers a run; `None` after an exception.
#[derive(Debug)]
struct Instance {
    object: Option<Py<PyAny>>,
    failure: Failure,
}

impl Instance {
    /// Runs `call` with the object and the GIL. `None` after an exception, now or before.
    fn call<T>(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        let object = self.object.as_ref()?;
        self.failure.guard(|py| call(object.bind(py)))
    }
}

impl Clone for Instance {
    /// Copies the object by `copy.deepcopy`.
    fn clone(&self) -> Self {
        let copy = self.call(|object| {
            let copy = object.py().import("copy")?.call_method1("deepcopy", (object,))?;
            Ok(copy.unbind())
        });
        Self { object: copy, failure: self.failure.clone() }
    }
}

/// Whether the class of `object` defines `method` itself, in place of its base in `tandem_mptcp`.
fn overrides(object: &Bound<'_, PyAny>, base: &str, method: &str) -> PyResult<bool> {
    let base = object.py().import("tandem_mptcp")?.getattr(base)?.getattr(method)?;
    Ok(!object.get_type().getattr(method)?.is(&base))
}

/// `MyScheduler.pick`, for messages.
fn method_name(object: &Bound<'_, PyAny>, method: &str) -> String {
    object.get_type().name().map_or_else(|_| method.to_owned(), |class| format!("{class}.{method}"))
}

/// A value for messages: `3 (int)`.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let class = value.get_type().name().map_or_else(|_| "?".to_owned(), |class| class.to_string());
    match value.repr() {
        _ if value.is_none() => "None".to_owned(),
        Ok(text) => format!("{} ({class})", text.to_string_lossy()),
        Err(_) => class,
    }
}
