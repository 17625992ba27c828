//! A finished run.

use crate::page::Page;
use crate::series;
use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use std::sync::OnceLock;

/// A finished run and everything that was recorded.
#[pyclass(frozen, module = "tandem_mptcp._native")]
pub(crate) struct Run {
    inner: experiments::run::Run,
    /// The series as Arrow data, made on first use.
    series: OnceLock<RecordBatch>,
}

impl Run {
    pub(crate) fn new(inner: experiments::run::Run) -> Self {
        Self { inner, series: OnceLock::new() }
    }

    fn series(&self) -> &RecordBatch {
        self.series.get_or_init(|| series::batch(&self.inner.outcome.series))
    }
}

#[pymethods]
impl Run {
    /// Contents of `result.json`.
    fn json(&self) -> String {
        self.inner.to_json().to_string()
    }

    /// The report.
    fn page(&self) -> Page {
        Page::new(self.inner.page(), self.inner.tables())
    }

    /// Seconds between rows of the series.
    #[getter]
    fn interval_s(&self) -> f64 {
        self.inner.outcome.series.interval_s
    }

    /// Number of rows of the series.
    #[getter]
    fn rows(&self) -> usize {
        self.inner.outcome.series.rows()
    }

    /// Names and units of the columns of the series, the time first.
    fn columns(&self) -> Vec<(String, String)> {
        let schema = self.series().schema();
        let fields = schema.fields().iter();
        fields.map(|field| (field.name().clone(), series::unit(field))).collect()
    }

    /// Values of a column, 64-bit floats in the byte order of the machine, NaN where there is none;
    /// `None` if there is no column of that name.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyBytes>> {
        let column = self.series().column_by_name(name)?;
        Some(PyBytes::new(py, series::bytes(column)))
    }

    /// Contents of `capture.pcapng`; `None` if the run did not capture.
    fn capture<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.inner.outcome.capture.as_ref().map(|bytes| PyBytes::new(py, bytes))
    }

    /// The series as an Arrow stream of one batch.
    fn arrow_stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        series::stream(py, self.series())
    }
}
