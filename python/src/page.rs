//! A report: tables and charts as text, HTML and SVG.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use report::{FigureStyle, Table, TextStyle};

/// A report, with the tables that the program prints.
#[pyclass(frozen, module = "tandem_mptcp._native")]
pub(crate) struct Page {
    inner: report::Page,
    tables: Vec<Table>,
}

impl Page {
    pub(crate) fn new(inner: report::Page, tables: Vec<Table>) -> Self {
        Self { inner, tables }
    }
}

#[pymethods]
impl Page {
    /// The page that was pickled as CBOR.
    #[new]
    fn restored(pickled: &[u8]) -> PyResult<Self> {
        let (inner, tables) =
            ciborium::from_reader(pickled).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { inner, tables })
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>,)> {
        let mut pickled = Vec::new();
        ciborium::into_writer(&(&self.inner, &self.tables), &mut pickled)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((PyBytes::new(py, &pickled),))
    }

    /// Contents of `report.html`.
    fn html(&self) -> String {
        self.inner.to_html()
    }

    /// The tables as the program prints them.
    fn text(&self) -> String {
        let tables = self.tables.iter().map(|table| table.to_text(TextStyle::PLAIN));
        tables.collect::<Vec<_>>().join("\n")
    }

    /// The tables as HTML fragments.
    fn tables_html(&self) -> Vec<String> {
        self.tables.iter().map(Table::to_html).collect()
    }

    /// Names of the charts, the main one first.
    fn charts(&self) -> Vec<String> {
        self.inner.charts().into_iter().map(|(name, _)| name).collect()
    }

    /// The charts as SVG in their usual width, without the parts that are charts of their own.
    fn drawings(&self) -> Vec<String> {
        let blocks = self.inner.sections.iter().flat_map(|section| &section.blocks);
        let charts = blocks.flat_map(|block| match block {
            report::Block::Charts(charts) => charts.as_slice(),
            _ => &[],
        });
        charts.map(|chart| chart.to_svg(&FigureStyle::default())).collect()
    }

    /// A chart as SVG of a width in millimetres; `None` if there is none of that name.
    fn svg(&self, chart: &str, width_mm: f64) -> Option<String> {
        let style = FigureStyle { width_mm };
        self.inner.chart(chart).map(|chart| chart.to_svg(&style))
    }
}
