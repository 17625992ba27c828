//! Time series as Arrow data, by the Arrow PyCapsule interface.

use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use std::sync::Arc;

/// Name of a capsule with a stream, of the Arrow PyCapsule interface.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";
/// Member of a field's metadata that has the unit.
const UNIT: &str = "unit";

/// Columns of 64-bit floats of equal length at a fixed interval, the time first. A missing value is
/// null, and NaN in the buffer below.
#[pyclass(frozen, module = "tandem_mptcp._native")]
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    interval_s: f64,
    batch: RecordBatch,
}

/// A column for pickle: name, unit, and values as bytes in the order of the machine.
type Pickled<'py> = (String, String, Bound<'py, PyBytes>);

impl Columns {
    /// Columns of a series with `rows` rows, given by name, unit and values.
    pub(crate) fn new<'a>(
        interval_s: f64,
        rows: usize,
        columns: impl Iterator<Item = (String, &'a str, Vec<f64>)>,
    ) -> Self {
        let times = (1..=rows).map(|row| interval_s * row as f64).collect();
        let columns = core::iter::once(("time_s".to_owned(), "s", times)).chain(columns);
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
            .map(|(name, unit, values)| (field(&name, unit), Arc::new(array(values)) as ArrayRef))
            .unzip();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
        Self { interval_s, batch: batch.expect("all columns have the same length") }
    }
}

#[pymethods]
impl Columns {
    /// Columns that were pickled, the time among them.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python")]
    fn restored(interval_s: f64, columns: Vec<Pickled<'_>>) -> PyResult<Self> {
        let restored = columns.iter().map(|(name, unit, bytes)| {
            let values = bytes
                .as_bytes()
                .chunks_exact(8)
                .map(|value| f64::from_ne_bytes(value.try_into().expect("a chunk has eight bytes")));
            (field(name, unit), Arc::new(array(values.collect())) as ArrayRef)
        });
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = restored.unzip();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
        let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { interval_s, batch })
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> (f64, Vec<Pickled<'py>>) {
        let schema = self.batch.schema();
        let columns = schema.fields().iter().zip(self.batch.columns());
        let columns = columns
            .map(|(field, column)| (field.name().clone(), unit(field), PyBytes::new(py, bytes(column))));
        (self.interval_s, columns.collect())
    }

    /// Seconds between rows.
    #[getter]
    const fn interval_s(&self) -> f64 {
        self.interval_s
    }

    /// Number of rows.
    #[getter]
    fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Names and units of the columns, the time first.
    fn units(&self) -> Vec<(String, String)> {
        let schema = self.batch.schema();
        schema.fields().iter().map(|field| (field.name().clone(), unit(field))).collect()
    }

    /// Values of a column, 64-bit floats in the byte order of the machine, NaN where there is none;
    /// `None` if there is no column of that name.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyBytes>> {
        let column = self.batch.column_by_name(name)?;
        Some(PyBytes::new(py, bytes(column)))
    }

    /// An Arrow stream of the one batch, whose buffers the consumer shares.
    fn arrow_stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }
}

fn unit(field: &Field) -> String {
    field.metadata().get(UNIT).cloned().unwrap_or_default()
}

fn bytes(column: &ArrayRef) -> &[u8] {
    column.as_primitive::<Float64Type>().values().inner().as_slice()
}

fn field(name: &str, unit: &str) -> Field {
    Field::new(name, DataType::Float64, true).with_metadata([(UNIT.to_owned(), unit.to_owned())])
}

fn array(values: Vec<f64>) -> Float64Array {
    let gaps = values.iter().any(|value| value.is_nan());
    let present = gaps.then(|| values.iter().map(|value| !value.is_nan()).collect::<NullBuffer>());
    Float64Array::new(values.into(), present)
}
