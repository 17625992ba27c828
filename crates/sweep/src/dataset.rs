//! Parquet files of rows: encoding, and merging parts to one file with the same bytes always.
//!
//! The bytes of a Parquet file depend on how rows were grouped when they were written. A merged
//! file therefore has full groups of [`GROUP_ROWS`] rows, with any parts.

use crate::columns::Cell;
use crate::{Sweep, SweepError};
use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::ChunkReader;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a row group of a merged file.
const GROUP_ROWS: usize = 65_536;
/// Member of the file's metadata with the id of its sweep.
const ID_KEY: &str = "tandem.sweep";

/// A part to merge.
#[derive(Debug, Clone)]
pub enum PartSource {
    /// The bytes of a part.
    Bytes(Bytes),
    /// A file.
    File(PathBuf),
}

/// Rows as a Parquet file.
pub(crate) fn encode(sweep: &Sweep, rows: Vec<Vec<Cell>>) -> Result<Vec<u8>, SweepError> {
    let schema = sweep.schema();
    let count = rows.len();
    let mut columns: Vec<Vec<Cell>> = schema.fields().iter().map(|_| Vec::with_capacity(count)).collect();
    for row in rows {
        for (column, cell) in columns.iter_mut().zip(row) {
            column.push(cell);
        }
    }
    let arrays = schema.fields().iter().zip(columns).map(|(field, cells)| array(field.data_type(), cells));
    let batch = RecordBatch::try_new(SchemaRef::clone(&schema), arrays.collect())?;
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema, Some(properties(sweep)))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(bytes)
}

fn array(kind: &DataType, cells: Vec<Cell>) -> ArrayRef {
    match kind {
        DataType::UInt64 => {
            let mut out = UInt64Builder::new();
            for cell in cells {
                out.append_option(if let Cell::Count(count) = cell { Some(count) } else { None });
            }
            Arc::new(out.finish())
        }
        DataType::Float64 => {
            let mut out = Float64Builder::new();
            for cell in cells {
                out.append_option(if let Cell::Number(number) = cell { Some(number) } else { None });
            }
            Arc::new(out.finish())
        }
        DataType::Boolean => {
            let mut out = BooleanBuilder::new();
            for cell in cells {
                out.append_option(if let Cell::Flag(flag) = cell { Some(flag) } else { None });
            }
            Arc::new(out.finish())
        }
        _ => {
            let mut out = StringBuilder::new();
            for cell in cells {
                out.append_option(if let Cell::Text(text) = cell { Some(text) } else { None });
            }
            Arc::new(out.finish())
        }
    }
}

fn properties(sweep: &Sweep) -> WriterProperties {
    WriterProperties::builder()
        .set_created_by(format!("tandem {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_key_value_metadata(Some(vec![KeyValue::new(ID_KEY.to_owned(), sweep.id().to_owned())]))
        .build()
}

/// Writes the rows of all parts, ordered by index, as one Parquet file. Parts may come in any order
/// and may overlap: a run that was computed twice has the same row twice.
///
/// # Errors
/// [`SweepError::Missing`] if a run is in no part, a part of another sweep, or a part that cannot be
/// read.
pub fn merge<W: Write + Send>(sweep: &Sweep, parts: &[PartSource], out: W) -> Result<(), SweepError> {
    let mut ordered = Vec::new();
    for part in parts {
        if let Some(first) = first_index(sweep, part)? {
            ordered.push((first, part));
        }
    }
    ordered.sort_by_key(|(first, _)| *first);
    let schema = sweep.schema();
    let mut groups = Groups {
        writer: ArrowWriter::try_new(out, SchemaRef::clone(&schema), Some(properties(sweep)))?,
        schema,
        waiting: Vec::new(),
        rows: 0,
    };
    let mut next = 0;
    for (_, part) in ordered {
        for batch in open(sweep, part, None)? {
            let batch = batch?;
            let Some(batch) = rest(&batch, &mut next)? else { continue };
            groups.push(batch)?;
        }
    }
    if next < sweep.runs() {
        return Err(SweepError::Missing { index: next });
    }
    groups.finish()
}

/// Like [`merge`], into a file that messages call `name`.
pub(crate) fn merge_into(
    sweep: &Sweep,
    parts: &[PartSource],
    file: &mut File,
    name: &Path,
) -> Result<(), SweepError> {
    let mut out = Output { file: BufWriter::new(file), failure: None };
    let merged = merge(sweep, parts, &mut out);
    match out.failure {
        Some(failure) => Err(SweepError::write(name)(failure)),
        None => merged,
    }
}

/// A file that keeps the reason of its first failure, which Parquet's errors do not distinguish from
/// invalid data.
struct Output<'f> {
    file: BufWriter<&'f mut File>,
    failure: Option<io::Error>,
}

impl Output<'_> {
    fn keep<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.failure.get_or_insert(error);
            }
            kind.into()
        })
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.keep(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.keep(flushed)
    }
}

/// The rows of a batch from index `next` on, which then becomes the index after them.
fn rest(batch: &RecordBatch, next: &mut u64) -> Result<Option<RecordBatch>, SweepError> {
    let indices = batch.column(0).as_primitive::<UInt64Type>().values();
    let skipped = indices.iter().take_while(|index| **index < *next).count();
    for index in &indices[skipped..] {
        if *index != *next {
            return Err(SweepError::Missing { index: *next });
        }
        *next += 1;
    }
    Ok((skipped < batch.num_rows()).then(|| batch.slice(skipped, batch.num_rows() - skipped)))
}

/// Rows that wait until they fill a row group.
struct Groups<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    waiting: Vec<RecordBatch>,
    rows: usize,
}

impl<W: Write + Send> Groups<W> {
    fn push(&mut self, batch: RecordBatch) -> Result<(), SweepError> {
        self.rows += batch.num_rows();
        self.waiting.push(batch);
        if self.rows < GROUP_ROWS {
            return Ok(());
        }
        let all = concat_batches(&self.schema, &self.waiting)?;
        let full = self.rows / GROUP_ROWS * GROUP_ROWS;
        for start in (0..full).step_by(GROUP_ROWS) {
            self.writer.write(&all.slice(start, GROUP_ROWS))?;
        }
        self.rows -= full;
        self.waiting = vec![all.slice(full, self.rows)];
        Ok(())
    }

    fn finish(mut self) -> Result<(), SweepError> {
        let all = concat_batches(&self.schema, &self.waiting)?;
        if all.num_rows() > 0 {
            self.writer.write(&all)?;
        }
        self.writer.close()?;
        Ok(())
    }
}

/// The first index of a part; `None` for a part without rows.
fn first_index(sweep: &Sweep, part: &PartSource) -> Result<Option<u64>, SweepError> {
    for batch in open(sweep, part, Some("index"))? {
        let batch = batch?;
        if batch.num_rows() > 0 {
            return Ok(Some(batch.column(0).as_primitive::<UInt64Type>().value(0)));
        }
    }
    Ok(None)
}

/// The values of a column of numbers in the order of the rows; NaN without a value. Empty without
/// such a column.
pub(crate) fn numbers(sweep: &Sweep, part: &PartSource, column: &str) -> Result<Vec<f64>, SweepError> {
    let mut values = Vec::new();
    for batch in open(sweep, part, Some(column))? {
        let batch = batch?;
        let Some(array) = batch.columns().first().and_then(|array| array.as_primitive_opt::<Float64Type>())
        else {
            continue;
        };
        values.extend(array.iter().map(|value| value.unwrap_or(f64::NAN)));
    }
    Ok(values)
}

/// Number of failed runs in the dataset, and the first reason.
pub(crate) fn failures(sweep: &Sweep, part: &PartSource) -> Result<(u64, Option<String>), SweepError> {
    let (mut count, mut first) = (0, None);
    for batch in open(sweep, part, Some("error"))? {
        let batch = batch?;
        let array = batch.column(0).as_string::<i32>();
        count += (array.len() - array.null_count()) as u64;
        first = first.or_else(|| array.iter().flatten().next().map(str::to_owned));
    }
    Ok((count, first))
}

fn open(
    sweep: &Sweep,
    part: &PartSource,
    column: Option<&str>,
) -> Result<ParquetRecordBatchReader, SweepError> {
    match part {
        PartSource::Bytes(bytes) => reader(sweep, bytes.clone(), column),
        PartSource::File(path) => {
            let file = File::open(path).map_err(SweepError::read(path))?;
            reader(sweep, file, column)
        }
    }
}

fn reader<R: ChunkReader + 'static>(
    sweep: &Sweep,
    source: R,
    column: Option<&str>,
) -> Result<ParquetRecordBatchReader, SweepError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(source)?;
    let metadata = builder.metadata().file_metadata();
    let id = metadata.key_value_metadata().and_then(|all| all.iter().find(|one| one.key == ID_KEY));
    if id.and_then(|id| id.value.as_deref()) != Some(sweep.id()) {
        return Err(SweepError::invalid(
            "a part belongs to another sweep",
            "merge parts of one sweep only: the scenario, design and version are the same",
        ));
    }
    let mask = column.map(|column| ProjectionMask::columns(builder.parquet_schema(), [column]));
    let builder = builder.with_batch_size(GROUP_ROWS);
    Ok(match mask {
        Some(mask) => builder.with_projection(mask).build()?,
        None => builder.build()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Design, Request};
    use core::ops::ControlFlow;

    const SCENARIO: &str = "duration = \"100ms\"\n[[path]]\nname = \"wifi\"\nradio = \"huang2012.wifi\"\n\
                            down = { rate = \"2Mbps\" }\n[[traffic]]\nkind = \"bulk\"\n";

    #[test]
    fn full_disk_is_a_failure_of_the_file_and_not_of_its_format() {
        let request = Request {
            name: "s.toml".to_owned(),
            text: SCENARIO.to_owned(),
            design: Design::Grid,
            axes: Vec::new(),
            policies: Vec::new(),
            seeds: 1,
        };
        let sweep = Sweep::describe(request, &|_: &str| Err("no such file".to_owned())).unwrap();
        let part = sweep.run_batch(0..1, &mut |_| ControlFlow::Continue(())).unwrap();
        let parts = [PartSource::Bytes(part.bytes.into())];
        let mut full = File::options().write(true).open("/dev/full").unwrap();
        let error = merge_into(&sweep, &parts, &mut full, Path::new("sweep.parquet")).unwrap_err();
        let SweepError::File { action: "write", path, source } = error else { panic!("{error}") };
        assert_eq!(path, Path::new("sweep.parquet"));
        assert_eq!(source.raw_os_error(), Some(rustix::io::Errno::NOSPC.raw_os_error()));
    }
}
