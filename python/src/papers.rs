//! Reproductions of papers in the simulator.

use crate::background::{self, Progress};
use crate::page::Page;
use ::papers::{emtcp, lwi, mptcp_rec};
use experiments::parallel;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use report::Table;
use serde_json::Value;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

/// A paper's figures beside reproduced ones.
#[pyclass(frozen, module = "tandem_mptcp._native")]
pub(crate) struct Reproduction {
    json: Value,
    runs: Table,
    page: report::Page,
    tables: Vec<Table>,
}

#[pymethods]
impl Reproduction {
    /// Contents of `result.json`.
    fn json(&self) -> String {
        self.json.to_string()
    }

    /// Contents of `runs.csv`, a row for each run.
    fn runs_csv(&self) -> String {
        self.runs.to_csv()
    }

    /// The report.
    fn page(&self) -> Page {
        Page::new(self.page.clone(), self.tables.clone())
    }
}

/// Reproduces a paper with `seeds` seeds for each case, on `jobs` cores or all, without the GIL.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python")]
pub(crate) fn reproduce(
    py: Python<'_>,
    paper: &str,
    seeds: u32,
    jobs: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Reproduction> {
    let run = match paper {
        "emtcp" => run_emtcp,
        "lwi" => run_lwi,
        "mptcp-rec" => run_mptcp_rec,
        _ => {
            let message = format!("no paper {paper:?}; the papers are emtcp, lwi and mptcp-rec");
            return Err(PyValueError::new_err(message));
        }
    };
    let (seeds, jobs) = (u64::from(seeds), parallel::jobs(jobs));
    let result = background::run(py, progress.as_ref(), move |progress| run(seeds, jobs, progress))?;
    result.ok_or_else(|| PyKeyboardInterrupt::new_err("interrupted"))
}

/// Turns a number of finished runs into a share.
fn share(progress: &Progress) -> impl Fn(usize, usize) -> ControlFlow<()> + Sync {
    move |done, total| progress.report(done as f64 / total.max(1) as f64)
}

fn run_emtcp(seeds: u64, jobs: NonZeroUsize, progress: &Progress) -> Option<Reproduction> {
    let options = emtcp::Options { seeds, jobs, calibration: emtcp::calibration::Calibration::shipped() };
    let result = emtcp::reproduce_until(&options, &share(progress))?;
    let (json, runs) = (result.to_json(), result.runs_table());
    Some(Reproduction { json, runs, page: result.page(), tables: result.tables() })
}

fn run_lwi(seeds: u64, jobs: NonZeroUsize, progress: &Progress) -> Option<Reproduction> {
    let calibration = lwi::calibration::Calibration::shipped();
    let options = lwi::Options { seeds, jobs, calibration, policies: Vec::new(), variants: true };
    let result = lwi::reproduce_until(&options, &share(progress))?;
    let (json, runs) = (result.to_json(), result.runs_table());
    Some(Reproduction { json, runs, page: result.page(), tables: result.tables() })
}

fn run_mptcp_rec(seeds: u64, jobs: NonZeroUsize, progress: &Progress) -> Option<Reproduction> {
    let options = mptcp_rec::Options {
        seeds,
        duration: mptcp_rec::model::paper_duration(),
        jobs,
        grid: mptcp_rec::model::grid(mptcp_rec::Background::Datagrams),
        schemes: mptcp_rec::schemes::all(),
    };
    let result = mptcp_rec::reproduce_until(&options, &share(progress))?;
    let (json, runs) = (result.to_json(), result.runs_table());
    Some(Reproduction { json, runs, page: result.page(), tables: result.tables() })
}
