//! Sweeps: their description, batches of runs, and the directory of the parts.

use crate::background::{self, Progress};
use crate::errors;
use crate::interrupt::Watch;
use crate::page::Page;
use crate::policies;
use crate::scenario::Scenario;
use crate::steer;
use ::scenario::{KeptFiles, Setting};
use ::sweep::{Axis, Control, Design, PartSource, PolicyText, Request, Summary, SweepError};
use experiments::parallel;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A valid sweep, which never changes.
#[pyclass(frozen, module = "tandem_mptcp._native")]
pub(crate) struct Sweep {
    inner: Arc<::sweep::Sweep>,
}

#[pymethods]
impl Sweep {
    /// Reads the JSON of a description.
    #[new]
    fn new(json: &str) -> PyResult<Self> {
        ::sweep::Sweep::from_json(json).map(Self::from).map_err(|error| errors::sweep(&error))
    }

    /// Describes a sweep of a scenario: a grid, or a Latin hypercube of `points`.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python")]
    fn describe(
        py: Python<'_>,
        scenario: &Scenario,
        vary: Vec<(String, Vec<String>)>,
        points: Option<u32>,
        policies: Vec<String>,
        seeds: u32,
    ) -> PyResult<Self> {
        let policies = policies.iter().map(|text| policy_text(text)).collect::<PyResult<_>>()?;
        let axes = vary.iter().map(|(key, values)| axis(scenario, key, values)).collect::<PyResult<_>>()?;
        let design = points.map_or(Design::Grid, |points| Design::Lhs { points });
        let (name, text) = (scenario.file_name(), scenario.source().to_owned());
        let request = Request { name, text, design, axes, policies, seeds };
        py.detach(|| {
            let read = |file: &str| experiments::files::read(&scenario.folder_of_files().join(file));
            ::sweep::Sweep::describe(request, &KeptFiles::new(read, scenario.contents().clone()))
        })
        .map(Self::from)
        .map_err(|error| errors::sweep(&error))
    }

    /// First digits of the hash of the description.
    #[getter]
    fn id(&self) -> &str {
        self.inner.id()
    }

    /// Number of runs.
    #[getter]
    fn runs(&self) -> u64 {
        self.inner.runs()
    }

    /// The description as JSON.
    fn json(&self) -> String {
        self.inner.spec().to_json()
    }

    /// Rows of the runs from `first` up to `end`, which is not one of them, as a Parquet file.
    fn run_batch<'py>(&self, py: Python<'py>, first: u64, end: u64) -> PyResult<Bound<'py, PyBytes>> {
        let mut watch = Watch::new(None, steer::Failure::default());
        let part = py.detach(|| self.inner.run_batch(first..end, &mut |_| watch.report(0.0)));
        watch.finish(py)?;
        Ok(PyBytes::new(py, &part.map_err(|error| errors::sweep(&error))?.bytes))
    }

    /// Runs that are in none of the parts with these names, as ranges.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python")]
    fn unfinished(&self, names: Vec<String>) -> Vec<(u64, u64)> {
        pairs(::sweep::unfinished(names.iter().map(String::as_str), 0..self.inner.runs()))
    }
}

impl From<::sweep::Sweep> for Sweep {
    fn from(inner: ::sweep::Sweep) -> Self {
        Self { inner: Arc::new(inner) }
    }
}

/// A key with its values, as `tandem sweep --vary` reads them.
fn axis(scenario: &Scenario, key: &str, values: &[String]) -> PyResult<Axis> {
    let mut whole = key.to_owned();
    let mut texts = Vec::new();
    for value in values {
        let setting = Setting::new(key, value)
            .and_then(|setting| setting.resolve(scenario.source()))
            .map_err(|error| errors::setting(errors::VARY, &scenario.file_name(), key, value, &error))?;
        texts.push(setting.text().to_owned());
        whole = setting.key();
    }
    Axis::new(&whole, &texts).map_err(|error| errors::sweep(&error))
}

/// A policy with the content of its file.
fn policy_text(text: &str) -> PyResult<PolicyText> {
    let policy = policies::parse(text)?;
    Ok(PolicyText { text: policy.to_string(), file: policies::file_content(&policy)? })
}

fn pairs(ranges: Vec<std::ops::Range<u64>>) -> Vec<(u64, u64)> {
    ranges.into_iter().map(|runs| (runs.start, runs.end)).collect()
}

/// Name of the file with the rows from `first` up to `end`.
#[pyfunction]
pub(crate) fn part_name(first: u64, end: u64) -> String {
    ::sweep::part_name(&(first..end))
}

/// Summary of a finished sweep.
#[pyclass(frozen, module = "tandem_mptcp._native")]
pub(crate) struct SweepSummary {
    json: serde_json::Value,
    page: report::Page,
    tables: Vec<report::Table>,
}

impl SweepSummary {
    fn read(sweep: &::sweep::Sweep, dataset: &Path) -> Result<Self, SweepError> {
        let summary = Summary::read(sweep, &PartSource::File(dataset.to_owned()))?;
        Ok(Self { json: summary.to_json(), page: summary.page(), tables: summary.tables() })
    }
}

#[pymethods]
impl SweepSummary {
    /// Contents of `result.json`.
    fn json(&self) -> String {
        format!("{:#}\n", self.json)
    }

    /// The report.
    fn page(&self) -> Page {
        Page::new(self.page.clone(), self.tables.clone())
    }
}

/// The directory of a sweep, locked until it is closed.
#[pyclass(frozen, module = "tandem_mptcp._native")]
pub(crate) struct SweepDirectory {
    sweep: Arc<::sweep::Sweep>,
    inner: Mutex<Option<Arc<::sweep::Directory>>>,
}

#[pymethods]
impl SweepDirectory {
    /// Opens the directory, or begins it.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python")]
    fn new(path: PathBuf, sweep: &Sweep) -> PyResult<Self> {
        let directory =
            ::sweep::Directory::open(&path, &sweep.inner).map_err(|error| errors::sweep(&error))?;
        Ok(Self { sweep: Arc::clone(&sweep.inner), inner: Mutex::new(Some(Arc::new(directory))) })
    }

    /// Gives the directory free for other processes.
    fn close(&self) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Runs that are left, as ranges.
    fn unfinished(&self) -> PyResult<Vec<(u64, u64)>> {
        let left = self.open()?.unfinished(0..self.sweep.runs());
        left.map(pairs).map_err(|error| errors::sweep(&error))
    }

    /// Keeps the rows from `first` up to `end`.
    fn write_part(&self, py: Python<'_>, first: u64, end: u64, part: &[u8]) -> PyResult<()> {
        let (directory, part) = (self.open()?, ::sweep::Part { runs: first..end, bytes: part.to_vec() });
        py.detach(|| directory.write_part(&part)).map_err(|error| errors::sweep(&error))
    }

    /// Runs on `jobs` cores, or all, what is left. A signal, or an exception in `progress`, stops it;
    /// finished runs are kept.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python")]
    fn run_local(
        &self,
        py: Python<'_>,
        jobs: Option<NonZeroUsize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let (sweep, directory) = (Arc::clone(&self.sweep), self.open()?);
        let complete = background::run_to_end(py, progress.as_ref(), move |progress| {
            run_local(&sweep, &directory, parallel::jobs(jobs), progress)
        })?;
        if complete.map_err(|error| errors::sweep(&error))? { Ok(()) } else { Err(interrupted()) }
    }

    /// Merges the parts, and writes the summary beside the dataset. A signal stops it between its
    /// steps.
    fn finish(&self, py: Python<'_>) -> PyResult<SweepSummary> {
        let (sweep, directory) = (Arc::clone(&self.sweep), self.open()?);
        let summary = background::run_to_end(py, None, move |progress| finish(&sweep, &directory, progress))?;
        summary.map_err(|error| errors::sweep(&error))?.ok_or_else(interrupted)
    }
}

impl SweepDirectory {
    fn open(&self) -> PyResult<Arc<::sweep::Directory>> {
        let open = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| PyValueError::new_err("the directory of the sweep is closed"))
    }
}

fn run_local(
    sweep: &::sweep::Sweep,
    directory: &::sweep::Directory,
    jobs: NonZeroUsize,
    progress: &Progress,
) -> Result<bool, SweepError> {
    let all = sweep.runs();
    let left: u64 = directory.unfinished(0..all)?.iter().map(|runs| runs.end - runs.start).sum();
    let report = |done: u64| {
        let _ = progress.report((all - left + done) as f64 / all as f64);
    };
    let control = Control { progress: &report, stop: progress.stop_flag() };
    ::sweep::run_local(sweep, directory, 0..all, jobs, control)
}

/// Merges the parts and writes the summary; `None` if it was stopped.
fn finish(
    sweep: &::sweep::Sweep,
    directory: &::sweep::Directory,
    progress: &Progress,
) -> Result<Option<SweepSummary>, SweepError> {
    directory.finish(sweep)?;
    if progress.is_stopped() {
        return Ok(None);
    }
    let summary = SweepSummary::read(sweep, &directory.dataset())?;
    if progress.is_stopped() {
        return Ok(None);
    }
    directory.write("result.json", summary.json().as_bytes())?;
    directory.write("report.html", summary.page.to_html().as_bytes())?;
    Ok(Some(summary))
}

fn interrupted() -> PyErr {
    PyKeyboardInterrupt::new_err("interrupted")
}

/// Runs that are left, taken in batches of about the same time.
#[pyclass(frozen, module = "tandem_mptcp._native")]
pub(crate) struct SweepQueue {
    inner: ::sweep::Queue,
}

#[pymethods]
impl SweepQueue {
    /// A queue of the ranges `left` for so many `jobs`, with batches of `batch_s` seconds and at most
    /// `max_batch` runs.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python")]
    fn new(left: Vec<(u64, u64)>, jobs: NonZeroUsize, batch_s: f64, max_batch: u64) -> PyResult<Self> {
        let time = Duration::try_from_secs_f64(batch_s)
            .map_err(|_| PyValueError::new_err("a batch takes a positive time"))?;
        let left = left.iter().map(|(first, end)| *first..*end).collect();
        Ok(Self { inner: ::sweep::Queue::new(left, jobs, time, max_batch) })
    }

    /// Takes the next batch; `None` if no runs are left.
    fn take(&self) -> Option<(u64, u64)> {
        self.inner.take().map(|runs| (runs.start, runs.end))
    }

    /// Records the time that a batch of `runs` took.
    fn record(&self, runs: u64, seconds: f64) {
        if let Ok(took) = Duration::try_from_secs_f64(seconds) {
            self.inner.record(runs, took);
        }
    }
}
