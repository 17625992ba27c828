//! Analysis of a packet capture.

use crate::background::{self, Progress};
use crate::errors;
use crate::page::Page;
use crate::series::Columns;
use ::capture::{ReadError, Summary};
use pyo3::prelude::*;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The analysed capture.
#[pyclass(frozen, module = "tandem_mptcp._native")]
pub(crate) struct Capture {
    inner: Summary,
    title: String,
}

#[pymethods]
impl Capture {
    /// Contents of `result.json`.
    fn json(&self) -> String {
        self.inner.to_json().to_string()
    }

    /// Contents of `series.csv`.
    fn series_csv(&self) -> String {
        self.inner.series_csv()
    }

    /// The series.
    fn series(&self) -> Columns {
        let number = |value: Option<u64>| value.map_or(f64::NAN, |bytes| bytes as f64);
        let columns: Vec<_> = self.inner.series.columns().collect();
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        let columns = columns
            .into_iter()
            .map(|(name, values)| (name, "bytes", values.into_iter().map(number).collect()));
        Columns::new(self.inner.series.interval_s, rows, columns)
    }

    /// The report.
    fn page(&self) -> Page {
        Page::new(self.inner.page(&self.title), self.inner.tables())
    }
}

/// Reads a capture to its end, without holding the GIL.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python")]
pub(crate) fn capture(py: Python<'_>, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<Capture> {
    let name = path.display().to_string();
    let title = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let summary = background::run(py, progress.as_ref(), move |progress| analyse(&path, progress))?;
    match summary {
        Ok(inner) => Ok(Capture { inner, title }),
        Err(ReadError::Io(error)) => Err(errors::file(&name, &error)),
        Err(error) => Err(errors::capture(&name, &error)),
    }
}

/// Opens and reads a capture. Opening a named pipe waits for its writer.
fn analyse(path: &Path, progress: &Progress) -> Result<Summary, ReadError> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let file = StoppableFile { file, progress: progress.clone() };
    ::capture::analyse(file, &mut |read| {
        let _ = progress.report(read as f64 / length.max(1) as f64);
    })
}

/// A file whose reading fails once the work is to stop.
struct StoppableFile {
    file: File,
    progress: Progress,
}

impl Read for StoppableFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.progress.is_stopped() { Err(io::Error::other("stopped")) } else { self.file.read(buffer) }
    }
}
