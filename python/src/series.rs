//! Time series as Arrow data, by the Arrow PyCapsule interface.

use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use sim::Series;
use std::sync::Arc;

/// Name of a capsule with a stream, of the Arrow PyCapsule interface.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";
/// Member of a field's metadata that has the unit.
const UNIT: &str = "unit";

/// The series as one batch: the column `time_s`, then those of the series. A missing value is null,
/// and NaN in the buffer below.
pub(crate) fn batch(series: &Series) -> RecordBatch {
    let times = (1..=series.rows()).map(|row| series.interval_s * row as f64).collect();
    let rest = series.columns.iter().map(|column| (&*column.name, column.unit, column.values.clone()));
    let columns = std::iter::once(("time_s", "s", times)).chain(rest);
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) =
        columns.map(|(name, unit, values)| (field(name, unit), Arc::new(array(values)) as ArrayRef)).unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("all columns have the same length")
}

/// A stream of the one batch, whose buffers the consumer shares.
pub(crate) fn stream<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyCapsule>> {
    let batches = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
}

/// Unit of a column; empty without one.
pub(crate) fn unit(field: &Field) -> String {
    field.metadata().get(UNIT).cloned().unwrap_or_default()
}

/// Bytes of a column's values.
pub(crate) fn bytes(column: &ArrayRef) -> &[u8] {
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
