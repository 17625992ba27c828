//! A finished run.

use crate::page::Page;
use crate::series::Columns;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::OnceLock;

/// A finished run and everything that was recorded.
#[pyclass(frozen, module = "tandem_mptcp._native")]
pub(crate) struct Run {
    inner: experiments::run::Run,
    /// The series, made on first use.
    series: OnceLock<Columns>,
}

impl Run {
    pub(crate) fn new(inner: experiments::run::Run) -> Self {
        Self { inner, series: OnceLock::new() }
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

    /// The series.
    fn series(&self) -> Columns {
        self.series.get_or_init(|| columns(&self.inner.outcome.series)).clone()
    }

    /// Contents of `capture.pcapng`; `None` if the run did not capture.
    fn capture<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.inner.outcome.capture.as_ref().map(|bytes| PyBytes::new(py, bytes))
    }
}

fn columns(series: &sim::Series) -> Columns {
    let columns = series.columns.iter();
    let columns = columns.map(|column| (column.name.clone(), column.unit, column.values.clone()));
    Columns::new(series.interval_s, series.rows(), columns)
}
