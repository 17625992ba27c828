//! Schedulers written in Python.

use super::{Candidate, Factory, Instance, PathNames, SchedulerContext, method_name, overrides, shown};
use mptcp::PathId;
use mptcp::scheduler::{self, Scheduler, SchedulerFactory};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// Methods that a class defines, and its properties.
#[derive(Debug, Clone, Copy, Default)]
struct Features {
    on_scheduled: bool,
    on_window_blocked: bool,
    assigned_path: bool,
    set_shares: bool,
    redundant: bool,
}

impl Features {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let overrides = |method| overrides(object, "Scheduler", method);
        Ok(Self {
            on_scheduled: overrides("on_scheduled")?,
            on_window_blocked: overrides("on_window_blocked")?,
            assigned_path: overrides("assigned_path")?,
            set_shares: overrides("set_shares")?,
            redundant: object.getattr("redundant")?.is_truthy()?,
        })
    }
}

#[derive(Debug, Clone)]
struct PythonScheduler {
    instance: Instance,
    features: Features,
    paths: PathNames,
}

impl SchedulerFactory for Factory {
    fn name(&self) -> &str {
        &self.name
    }

    fn build(&self) -> Box<dyn Scheduler> {
        let (instance, features) = Self::build(self, Features::of);
        Box::new(PythonScheduler { instance, features, paths: self.paths.clone() })
    }
}

impl PythonScheduler {
    fn candidates<'py>(
        &self,
        py: Python<'py>,
        list: &[scheduler::Candidate],
    ) -> PyResult<Bound<'py, PyTuple>> {
        let made = list.iter().map(|one| {
            let path = one.path.index();
            let path_name = self
                .paths
                .get(path)
                .map_or_else(|| PyString::new(py, "").unbind(), |name| name.clone_ref(py));
            Bound::new(
                py,
                Candidate {
                    path,
                    path_name,
                    srtt_s: one.srtt.as_secs_f64(),
                    rtt_variation_s: one.rtt_variation.as_secs_f64(),
                    mss_bytes: one.mss,
                    cwnd_bytes: one.cwnd,
                    slow_start: one.cwnd < one.ssthresh,
                    queued_bytes: one.queued,
                    room_bytes: one.room,
                },
            )
        });
        PyTuple::new(py, made.collect::<PyResult<Vec<_>>>()?)
    }
}

impl Scheduler for PythonScheduler {
    fn pick(
        &mut self,
        candidates: &[scheduler::Candidate],
        context: &scheduler::SchedulerContext,
    ) -> Option<usize> {
        self.instance.call(|object| {
            let py = object.py();
            let context = SchedulerContext {
                now_s: context.now.as_secs_f64(),
                len_bytes: context.len,
                unsent_bytes: context.unsent,
                window_bytes: context.window,
            };
            let arguments = (self.candidates(py, candidates)?, Bound::new(py, context)?);
            let picked = object.call_method1(intern!(py, "pick"), arguments)?;
            index(object, "pick", &picked, candidates)
        })?
    }

    fn on_scheduled(&mut self, path: PathId, len: u64) {
        if self.features.on_scheduled {
            self.instance.call(|object| {
                object.call_method1(intern!(object.py(), "on_scheduled"), (path.index(), len)).map(drop)
            });
        }
    }

    fn on_window_blocked(&mut self) {
        if self.features.on_window_blocked {
            self.instance.call(|object| object.call_method0("on_window_blocked").map(drop));
        }
    }

    fn assigned_path(&self, candidates: &[scheduler::Candidate], len: u64) -> Option<usize> {
        if !self.features.assigned_path {
            return None;
        }
        self.instance.call(|object| {
            let arguments = (self.candidates(object.py(), candidates)?, len);
            let picked = object.call_method1("assigned_path", arguments)?;
            index(object, "assigned_path", &picked, candidates)
        })?
    }

    fn set_shares(&mut self, shares: &[f64]) -> bool {
        let taken = self.instance.call(|object| {
            if !self.features.set_shares {
                return Ok(false);
            }
            let shares = PyTuple::new(object.py(), shares)?;
            object.call_method1("set_shares", (shares,))?.is_truthy()
        });
        taken == Some(true)
    }

    fn is_redundant(&self) -> bool {
        self.features.redundant
    }
}

/// The index of a returned candidate; `None` for Python's `None`.
fn index(
    object: &Bound<'_, PyAny>,
    method: &str,
    picked: &Bound<'_, PyAny>,
    candidates: &[scheduler::Candidate],
) -> PyResult<Option<usize>> {
    if picked.is_none() {
        return Ok(None);
    }
    let Ok(picked) = picked.cast::<Candidate>() else {
        let (method, value) = (method_name(object, method), shown(picked));
        let message = format!("{method} returned {value}; return one of the candidates, or None to wait");
        return Err(PyTypeError::new_err(message));
    };
    let path = picked.get().path;
    let place = candidates.iter().position(|one| one.path.index() == path);
    place.map(Some).ok_or_else(|| {
        let method = method_name(object, method);
        PyValueError::new_err(format!(
            "{method} returned a candidate over path {path}, which is not among the candidates of this call"
        ))
    })
}
