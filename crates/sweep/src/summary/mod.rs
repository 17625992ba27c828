//! Summary of a finished sweep: tables, charts, report and JSON.

mod charts;
mod factor;
mod json;
mod page;
mod tables;

use crate::{PartSource, Sweep, SweepError, dataset};
use experiments::compare::{Metric, metrics};
use experiments::stats::mean;
use factor::Factor;
use report::{Estimate, Page, Table};
use scenario::Scenario;
use serde_json::Value;
use std::collections::BTreeMap;

/// Figures of all runs of a sweep.
#[derive(Debug, Clone)]
pub struct Summary<'a> {
    sweep: &'a Sweep,
    /// The scenario with the first values of all keys.
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
        // The settings of a run may not fit together, not even those of the first.
        let scenarios = sweep.probed()?;
        let figures = shown_metrics(&scenarios).into_iter().map(|metric| {
            let values = dataset::numbers(sweep, dataset, &metric.key)?;
            Ok(Figure { metric, values })
        });
        let (failed, first_failure) = dataset::failures(sweep, dataset)?;
        Ok(Self {
            factors: Factor::all(sweep),
            figures: figures.collect::<Result<_, SweepError>>()?,
            scenario: scenarios.into_iter().next().expect("a sweep has a scenario"),
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

    /// Whether runs are repeated with several seeds.
    const fn has_seeds(&self) -> bool {
        self.sweep.spec().seeds > 1
    }

    /// Mean of the values of these runs, with an interval over the seeds. The values of one seed count as
    /// one: they differ by the other keys, not by chance.
    fn estimate(&self, values: &[(usize, f64)]) -> Estimate {
        let mut of_seeds: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (run, value) in values {
            of_seeds.entry(self.sweep.digits(*run as u64).seed).or_default().push(*value);
        }
        let means: Vec<f64> = of_seeds.values().map(|values| mean(values)).collect();
        let all: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        let differ = means.windows(2).any(|pair| pair[0] != pair[1]);
        Estimate::new(mean(&all), if differ { Estimate::of(&means).ci95 } else { f64::NAN })
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

/// The metrics in the tables of any of the scenarios, in the order of their first appearance.
fn shown_metrics(scenarios: &[Scenario]) -> Vec<Metric> {
    let mut all: Vec<Metric> = Vec::new();
    for metric in scenarios.iter().flat_map(|scenario| metrics(&scenario.experiment)) {
        if metric.in_tables && !all.iter().any(|other| other.key == metric.key) {
            all.push(metric);
        }
    }
    all
}

impl Figure {
    fn finite(&self) -> Vec<f64> {
        self.values.iter().copied().filter(|value| value.is_finite()).collect()
    }

    /// Finite values with the index of each run.
    fn finite_by_run(&self) -> impl Iterator<Item = (usize, f64)> {
        self.values.iter().copied().enumerate().filter(|(_, value)| value.is_finite())
    }

    /// Unit for people, and the divisor that converts values to it.
    fn unit(&self) -> (&'static str, f64) {
        match self.metric.unit {
            "s" => experiments::display::time_unit(self.finite()),
            unit => (unit, 1.0),
        }
    }
}
