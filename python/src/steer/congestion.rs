//! Congestion controls written in Python.

use super::{CoupledSubflow, Coupling, Factory, Instance, RateSample, SubflowView, Window};
use super::{method_name, overrides, shown};
use mptcp::congestion::{self, CongestionControl, CongestionFactory, CongestionSettings};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// Methods that a class defines, and its properties.
#[derive(Debug, Clone, Copy, Default)]
struct Features {
    on_limited_ack: bool,
    on_ecn: bool,
    on_spurious_reduction: bool,
    pacing_rate: bool,
    shared_value: bool,
    coupled: bool,
    uses_energy_costs: bool,
    uses_rate_samples: bool,
}

impl Features {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let overrides = |method| overrides(object, "CongestionControl", method);
        let property = |name| object.getattr(name)?.is_truthy();
        Ok(Self {
            on_limited_ack: overrides("on_limited_ack")?,
            on_ecn: overrides("on_ecn")?,
            on_spurious_reduction: overrides("on_spurious_reduction")?,
            pacing_rate: overrides("pacing_rate_bytes_per_s")?,
            shared_value: overrides("shared_value")?,
            coupled: property("coupled")?,
            uses_energy_costs: property("uses_energy_costs")?,
            uses_rate_samples: property("uses_rate_samples")?,
        })
    }
}

#[derive(Debug, Clone)]
struct PythonCongestion {
    instance: Instance,
    features: Features,
}

impl CongestionFactory for Factory {
    fn name(&self) -> &str {
        &self.name
    }

    fn build(&self, _settings: &CongestionSettings) -> Box<dyn CongestionControl> {
        let (instance, features) = Self::build(self, Features::of);
        Box::new(PythonCongestion { instance, features })
    }
}

impl PythonCongestion {
    /// Calls a method that changes `window`, with the arguments that `arguments` makes of it.
    fn change<A: for<'py> PyCallArgs<'py>>(
        &self,
        window: &mut congestion::Window,
        method: impl FnOnce(Python<'_>) -> &Bound<'_, PyString>,
        arguments: impl FnOnce(Python<'_>, Py<Window>) -> PyResult<A>,
    ) {
        let changed = self.instance.call(|object| {
            let py = object.py();
            let own = Bound::new(py, Window::of(*window))?;
            object.call_method1(method(py), arguments(py, own.clone().unbind())?)?;
            Ok(own.borrow().inner())
        });
        *window = changed.unwrap_or(*window);
    }
}

impl CongestionControl for PythonCongestion {
    fn on_ack(
        &mut self,
        acked: u64,
        view: &congestion::SubflowView,
        coupling: &congestion::Coupling,
        window: &mut congestion::Window,
    ) {
        self.change(
            window,
            |py| intern!(py, "on_ack"),
            |py, window| {
                Ok((acked, Py::new(py, SubflowView::of(view))?, Coupling::of(py, coupling)?, window))
            },
        );
    }

    fn on_loss(&mut self, view: &congestion::SubflowView, window: &mut congestion::Window) {
        self.change(
            window,
            |py| intern!(py, "on_loss"),
            |py, window| Ok((Py::new(py, SubflowView::of(view))?, window)),
        );
    }

    fn on_timeout(&mut self, view: &congestion::SubflowView, window: &mut congestion::Window) {
        self.change(
            window,
            |py| intern!(py, "on_timeout"),
            |py, window| Ok((Py::new(py, SubflowView::of(view))?, window)),
        );
    }

    fn on_limited_ack(&mut self, view: &congestion::SubflowView) {
        if self.features.on_limited_ack {
            self.instance.call(|object| {
                let view = Bound::new(object.py(), SubflowView::of(view))?;
                object.call_method1("on_limited_ack", (view,)).map(drop)
            });
        }
    }

    fn on_ecn(&mut self, view: &congestion::SubflowView, window: &mut congestion::Window) {
        if !self.features.on_ecn {
            return self.on_loss(view, window);
        }
        self.change(
            window,
            |py| intern!(py, "on_ecn"),
            |py, window| Ok((Py::new(py, SubflowView::of(view))?, window)),
        );
    }

    fn on_spurious_reduction(&mut self, regrown: bool) {
        if self.features.on_spurious_reduction {
            self.instance.call(|object| object.call_method1("on_spurious_reduction", (regrown,)).map(drop));
        }
    }

    fn on_rate_sample(
        &mut self,
        sample: &congestion::RateSample,
        view: &congestion::SubflowView,
        window: &mut congestion::Window,
    ) {
        self.change(
            window,
            |py| intern!(py, "on_rate_sample"),
            |py, window| {
                Ok((Py::new(py, RateSample::of(sample))?, Py::new(py, SubflowView::of(view))?, window))
            },
        );
    }

    fn uses_rate_samples(&self) -> bool {
        self.features.uses_rate_samples
    }

    fn pacing_rate(&self) -> Option<u64> {
        if !self.features.pacing_rate {
            return None;
        }
        self.instance.call(|object| {
            let rate = object.call_method0("pacing_rate_bytes_per_s")?;
            if rate.is_none() {
                return Ok(None);
            }
            let (min, max) = (1.0, 1e15);
            let message = || {
                let method = method_name(object, "pacing_rate_bytes_per_s");
                format!("{method} returned {}; return a number from 1 to 1e15, or None", shown(&rate))
            };
            let number: f64 = rate.extract().map_err(|_| PyTypeError::new_err(message()))?;
            let is_valid = (min..=max).contains(&number);
            if is_valid { Ok(Some(number as u64)) } else { Err(PyValueError::new_err(message())) }
        })?
    }

    fn is_coupled(&self) -> bool {
        self.features.coupled
    }

    fn uses_energy_costs(&self) -> bool {
        self.features.uses_energy_costs
    }

    fn shared_value(&self, una: u64) -> u64 {
        let value = self.instance.call(|object| {
            if !self.features.shared_value {
                return Ok(0);
            }
            let value = object.call_method1("shared_value", (una,))?;
            value.extract().map_err(|_| {
                let method = method_name(object, "shared_value");
                let message =
                    format!("{method} returned {}; return an int from 0 to 2**64 - 1", shown(&value));
                PyTypeError::new_err(message)
            })
        });
        value.unwrap_or(0)
    }
}

impl Coupling {
    fn of(py: Python<'_>, coupling: &congestion::Coupling) -> PyResult<Py<Self>> {
        let mut own = None;
        let mut subflows = Vec::with_capacity(coupling.subflows().len());
        for one in coupling.subflows() {
            let subflow = Bound::new(
                py,
                CoupledSubflow {
                    path: one.path.index(),
                    cwnd_bytes: one.cwnd,
                    srtt_s: one.srtt_secs,
                    rate_bytes_per_s: one.rate,
                    energy_cost_j_per_byte: one.energy_cost,
                    shared_value: one.shared_value,
                },
            )?;
            if coupling.own().is_some_and(|own| own.path == one.path) {
                own = Some(subflow.clone().unbind());
            }
            subflows.push(subflow);
        }
        Py::new(py, Self { subflows: PyTuple::new(py, subflows)?.into_any().unbind(), own })
    }
}
