//! Runs a batch of consecutive runs.

use crate::columns::{Cell, design_cells, outcome_cells};
use crate::{Point, Sweep, SweepError, dataset};
use core::ops::{ControlFlow, Range};
use experiments::run::prepare;
use scenario::Scenario;
use units::Duration;

/// Rows of finished runs.
#[derive(Debug, Clone)]
pub struct Part {
    /// Indices of the runs.
    pub runs: Range<u64>,
    /// A Parquet file.
    pub bytes: Vec<u8>,
}

impl Sweep {
    /// Runs the runs of `indices` and returns their rows. `progress` receives the number of runs
    /// finished so far, from time to time; if it breaks, the rows of these runs are returned.
    ///
    /// If the settings of a run do not fit together, its row has the reason in the column `error` and
    /// no outcomes.
    ///
    /// # Errors
    /// The rows cannot be encoded.
    pub fn run_batch(
        &self,
        indices: Range<u64>,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Part, SweepError> {
        let indices = indices.start.min(self.runs())..indices.end.min(self.runs());
        let mut rows = Vec::new();
        let mut scenario: Option<(u64, Result<Scenario, SweepError>)> = None;
        for index in indices.clone() {
            let point = self.point(index);
            let group = index / self.runs_of_settings();
            if scenario.as_ref().is_none_or(|(of, _)| *of != group) {
                scenario = Some((group, self.scenario(&point.settings)));
            }
            let Some((_, read)) = &scenario else { break };
            let done = rows.len() as u64;
            let Some(row) = self.row(&point, read, &mut || progress(done)) else { break };
            rows.push(row);
            if progress(done + 1).is_break() {
                break;
            }
        }
        let runs = indices.start..indices.start + rows.len() as u64;
        Ok(Part { bytes: dataset::encode(self, rows)?, runs })
    }

    /// The row of one run; `None` if it was stopped.
    fn row(
        &self,
        point: &Point,
        scenario: &Result<Scenario, SweepError>,
        progress: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Option<Vec<Cell>> {
        let columns = self.columns();
        let given = point.policy.as_ref().map_or_else(String::new, ToString::to_string);
        let failed = |error: String| {
            let mut cells = design_cells(columns, point, &given, Some(error));
            cells.extend(self.spec().outcomes.iter().map(|_| Cell::Null));
            Some(cells)
        };
        let scenario = match scenario {
            Ok(scenario) => scenario,
            Err(error) => return failed(brief(error)),
        };
        let mut experiment = match prepare(scenario, Some(point.seed), point.policy.as_ref()) {
            Ok(experiment) => experiment,
            Err(error) => return failed(error.to_string()),
        };
        // A dataset has neither time series nor captures.
        (experiment.sample, experiment.capture) = (Duration::ZERO, false);
        let outcome = sim::run_until(&experiment, &mut |_| progress())?;
        let policy = experiment.device.policy.to_string();
        let mut cells = design_cells(columns, point, &policy, None);
        cells.extend(outcome_cells(&self.spec().outcomes, &experiment, &outcome));
        Some(cells)
    }
}

/// The first problem in one line.
fn brief(error: &SweepError) -> String {
    match error {
        SweepError::Scenario { problems, .. } => {
            problems.first().map_or_else(String::new, |problem| problem.message.clone())
        }
        other => other.to_string(),
    }
}
