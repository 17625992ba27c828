//! Summary of a finished sweep: tables, charts, report and JSON.

mod charts;
mod factor;
mod json;
mod page;
mod tables;

use crate::{PartSource, Sweep, SweepError, dataset};
use experiments::compare::{Metric, metrics};
use factor::Factor;
use report::{Page, Table};
use scenario::Scenario;
use serde_json::Value;

/// Figures of all runs of a sweep.
#[derive(Debug, Clone)]
pub struct Summary<'a> {
    sweep: &'a Sweep,
    scenario: Scenario,
    factors: Vec<Factor>,
    figures: Vec<Figure>,
    failed: u64,
    first_failure: Option<String>,
}

/// A figure with its values.
#[derive(Debug, Clone)]
struct Figure {
    metric: Metric,
    /// Values by run; NaN for a run without one.
    values: Vec<f64>,
}

impl<'a> Summary<'a> {
    /// Reads the figures of a merged dataset.
    ///
    /// # Errors
    /// The dataset cannot be read, or belongs to another sweep.
    pub fn read(sweep: &'a Sweep, dataset: &PartSource) -> Result<Self, SweepError> {
        let scenario = sweep.scenario(&sweep.point(0).settings)?;
        let metrics = metrics(&scenario.experiment).into_iter().filter(|metric| metric.in_tables);
        let figures = metrics.map(|metric| {
            let values = dataset::numbers(sweep, dataset, &metric.key)?;
            Ok(Figure { metric, values })
        });
        let (failed, first_failure) = dataset::failures(sweep, dataset)?;
        Ok(Self {
            factors: Factor::all(sweep),
            figures: figures.collect::<Result<_, SweepError>>()?,
            scenario,
            failed,
            first_failure,
            sweep,
        })
    }

    /// Figures of all runs, then means by the values of each key.
    pub fn tables(&self) -> Vec<Table> {
        tables::tables(self)
    }

    /// A row for each figure.
    pub fn long_table(&self) -> Table {
        tables::long(self)
    }

    /// Contents of `result.json`; docs/reference/output.md describes it.
    pub fn to_json(&self) -> Value {
        json::result(self)
    }

    /// The HTML report.
    pub fn page(&self) -> Page {
        page::page(self)
    }

    /// Number of runs with settings that did not fit together.
    pub const fn failed(&self) -> u64 {
        self.failed
    }

    /// Title of the scenario.
    fn title(&self) -> &str {
        &self.scenario.title
    }

    /// Level of each run.
    fn levels(&self, factor: &Factor) -> Vec<usize> {
        (0..self.sweep.runs()).map(|run| factor.level(self.sweep, run)).collect()
    }

    /// The main figures, at most two of each kind.
    fn main_figures(&self) -> impl Iterator<Item = &Figure> {
        const OF_A_KIND: usize = 2;
        let main: Vec<&Figure> = self.figures.iter().filter(|figure| figure.metric.is_main()).collect();
        let rank = |i: usize| {
            let kind = main[i].metric.group();
            main[..i].iter().filter(|other| other.metric.group() == kind).count()
        };
        let kept: Vec<&Figure> = (0..main.len()).filter(|i| rank(*i) < OF_A_KIND).map(|i| main[i]).collect();
        kept.into_iter()
    }
}

impl Figure {
    fn finite(&self) -> Vec<f64> {
        self.values.iter().copied().filter(|value| value.is_finite()).collect()
    }

    /// Finite values of the runs for which `holds`.
    fn values_where(&self, holds: impl Fn(usize) -> bool) -> Vec<f64> {
        let values = self.values.iter().enumerate().filter(|(run, value)| value.is_finite() && holds(*run));
        values.map(|(_, value)| *value).collect()
    }

    /// Unit for people, and the divisor that converts values to it.
    fn unit(&self) -> (&'static str, f64) {
        match self.metric.unit {
            "s" => experiments::display::time_unit(self.finite()),
            unit => (unit, 1.0),
        }
    }
}
