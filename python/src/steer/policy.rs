//! Policies written in Python.

use super::{Action, Factory, Instance, method_name, shown};
use policy::{AppState, Channel, DeviceState, InterfaceKind, PathState, Policy, PolicyFactory};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use pyo3::{IntoPyObjectExt as _, intern};
use units::{Bitrate, Bytes, Duration, Energy, Instant};

/// Limits of `interval_s`, in seconds.
const INTERVAL_RANGE_S: core::ops::RangeInclusive<f64> = 0.001..=1e6;

/// Classes of the state, in `tandem_mptcp.policies`.
#[derive(Debug)]
struct Classes {
    device: Py<PyAny>,
    paths: Py<PyAny>,
    path: Py<PyAny>,
    app: Py<PyAny>,
}

#[derive(Debug)]
struct PythonPolicy {
    instance: Instance,
    classes: Option<Classes>,
    paths: Vec<String>,
    interval: Option<Duration>,
}

impl PolicyFactory for Factory {
    fn name(&self) -> &str {
        &self.name
    }

    fn build(&self, _kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        let (instance, (classes, paths)) = Self::build(self, |object| {
            let module = object.py().import("tandem_mptcp.policies")?;
            let class = |name| module.getattr(name).map(Bound::unbind);
            let classes = Classes {
                device: class("DeviceState")?,
                paths: class("PathStates")?,
                path: class("PathState")?,
                app: class("AppState")?,
            };
            let names = self.paths.iter().map(|name| name.bind(object.py()).to_string());
            Ok((Some(classes), names.collect()))
        });
        Box::new(PythonPolicy { instance, classes, paths, interval: None })
    }
}

impl Policy for PythonPolicy {
    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<policy::Action>) {
        let Some(classes) = &self.classes else { return };
        let decided = self.instance.call(|object| {
            let state = classes.device(object.py(), now, state, &self.paths)?;
            let returned = object.call_method1(intern!(object.py(), "observe"), (state,))?;
            Ok((decisions(object, &returned, &self.paths)?, interval(object)?))
        });
        let (decided, interval) = decided.unwrap_or_default();
        actions.extend(decided);
        self.interval = interval;
    }

    fn interval(&self) -> Option<Duration> {
        self.interval
    }
}

/// Actions of the iterable that `observe` returned.
fn decisions(
    object: &Bound<'_, PyAny>,
    returned: &Bound<'_, PyAny>,
    paths: &[String],
) -> PyResult<Vec<policy::Action>> {
    let method = || method_name(object, "observe");
    let expected = "tm.Action objects, in a list or by yield";
    let Ok(all) = returned.try_iter() else {
        let message = format!("{} returned {}; return {expected}", method(), shown(returned));
        return Err(PyTypeError::new_err(message));
    };
    let mut actions = Vec::new();
    for one in all {
        let one = one?;
        let Ok(action) = one.cast::<Action>() else {
            let message =
                format!("{} returned {} among the actions; return {expected}", method(), shown(&one));
            return Err(PyTypeError::new_err(message));
        };
        let resolved = action.get().resolve(paths).map_err(|error| {
            PyValueError::new_err(format!("{} returned {}", method(), error.value(object.py())))
        });
        actions.push(resolved?);
    }
    Ok(actions)
}

/// The attribute `interval_s`.
fn interval(object: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    let value = object.getattr(intern!(object.py(), "interval_s"))?;
    if value.is_none() {
        return Ok(None);
    }
    let message = || {
        let attribute = method_name(object, "interval_s");
        format!("{attribute} is a number of seconds from 0.001 to 1e6, or None, not {}", shown(&value))
    };
    let seconds: f64 = value.extract().map_err(|_| PyTypeError::new_err(message()))?;
    if INTERVAL_RANGE_S.contains(&seconds) {
        Ok(Some(Duration::from_secs_f64(seconds)))
    } else {
        Err(PyValueError::new_err(message()))
    }
}

impl Classes {
    fn device<'py>(
        &self,
        py: Python<'py>,
        now: Instant,
        state: &DeviceState,
        names: &[String],
    ) -> PyResult<Bound<'py, PyAny>> {
        let named = names.iter().zip(&state.paths);
        let paths = named.map(|(name, path)| self.path(py, name, path)).collect::<PyResult<Vec<_>>>()?;
        let paths = self.paths.bind(py).call1((PyTuple::new(py, paths)?,))?;
        let app = state.app.as_ref().map(|app| self.app(py, app)).transpose()?;
        let energy_j = state.energy.map(Energy::as_joules);
        let delivered_bytes = state.delivered.map(Bytes::get);
        self.device.bind(py).call1((now.as_secs_f64(), paths, app, energy_j, delivered_bytes))
    }

    fn path<'py>(&self, py: Python<'py>, name: &str, path: &PathState) -> PyResult<Bound<'py, PyAny>> {
        let arguments = [
            name.into_bound_py_any(py)?,
            PyString::intern(py, path.kind.as_str()).into_any(),
            path.up.into_bound_py_any(py)?,
            path.backup.into_bound_py_any(py)?,
            path.awake.into_bound_py_any(py)?,
            (path.channel == Channel::Rx).into_bound_py_any(py)?,
            path.bytes_down.into_bound_py_any(py)?,
            path.bytes_up.into_bound_py_any(py)?,
            path.rate_down.as_mbps().into_bound_py_any(py)?,
            path.rate_up.as_mbps().into_bound_py_any(py)?,
            path.srtt.map(Duration::as_secs_f64).into_bound_py_any(py)?,
            path.queued.into_bound_py_any(py)?,
            path.cwnd.into_bound_py_any(py)?,
            path.energy_per_mbit.into_bound_py_any(py)?,
            path.energy.map(Energy::as_joules).into_bound_py_any(py)?,
            path.allowance_left.map(Bytes::get).into_bound_py_any(py)?,
            path.allowance_until.map(Instant::as_secs_f64).into_bound_py_any(py)?,
        ];
        self.path.bind(py).call1(PyTuple::new(py, arguments)?)
    }

    fn app<'py>(&self, py: Python<'py>, app: &AppState) -> PyResult<Bound<'py, PyAny>> {
        self.app.bind(py).call1((
            app.buffer.map(Duration::as_secs_f64),
            app.deadline.map(Instant::as_secs_f64),
            app.missing.map(Bytes::get),
            app.bitrate.map(Bitrate::as_mbps),
            app.stalled.map(Duration::as_secs_f64),
            app.done,
        ))
    }
}
