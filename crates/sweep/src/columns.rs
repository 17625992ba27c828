//! Columns of the dataset: the design, then the outcomes of a run.

use crate::spec::{Kind, Outcome, Spec};
use crate::value::si;
use crate::{Axis, Point, Values, sweep};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use experiments::compare::metrics;
use experiments::run::{Scalar, scalars};
use scenario::Scenario;
use serde_json::Value;
use sim::Experiment;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Duration;

/// Length of the run that shows the columns of a scenario.
const PROBE: Duration = Duration::from_millis(1);

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    /// No value.
    Null,
    /// A count.
    Count(u64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// True or false.
    Flag(bool),
}

/// All columns, in order.
pub(crate) fn schema(spec: &Spec) -> SchemaRef {
    let mut fields = vec![Field::new("index", DataType::UInt64, false)];
    for axis in &spec.axes {
        match Columns::of(axis) {
            Columns::Words => fields.push(Field::new(&axis.key, DataType::Utf8, true)),
            Columns::Numbers { unit } => {
                fields.push(Field::new(number_column(&axis.key, unit), DataType::Float64, true));
                fields.push(Field::new(format!("{}_text", axis.key), DataType::Utf8, true));
            }
        }
    }
    fields.extend([
        Field::new("policy", DataType::Utf8, true),
        Field::new("seed", DataType::UInt64, false),
        Field::new("error", DataType::Utf8, true),
    ]);
    fields.extend(spec.outcomes.iter().map(|outcome| {
        let kind = match outcome.kind {
            Kind::Number => DataType::Float64,
            Kind::Text => DataType::Utf8,
            Kind::Flag => DataType::Boolean,
        };
        Field::new(&outcome.name, kind, true)
    }));
    Arc::new(Schema::new(fields))
}

/// Columns of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Columns {
    /// The text alone.
    Words,
    /// The number in an SI unit, and the text.
    Numbers { unit: &'static str },
}

impl Columns {
    pub(crate) fn of(axis: &Axis) -> Self {
        let texts = match &axis.values {
            Values::List(values) => values.clone(),
            Values::Range { .. } => axis.probes(),
        };
        let mut units = texts.iter().map(|text| si(text).map(|si| si.unit));
        match units.next().flatten() {
            Some(unit) if units.all(|other| other == Some(unit)) => Self::Numbers { unit },
            _ => Self::Words,
        }
    }
}

/// Name of the column with an axis's numbers: `path.wifi.down.rate_bps`.
fn number_column(key: &str, unit: &str) -> String {
    if unit.is_empty() { key.to_owned() } else { format!("{key}_{unit}") }
}

/// Cells of the design of a run, before its outcomes.
pub(crate) fn design_cells(
    columns: &[Columns],
    point: &Point,
    policy: &str,
    error: Option<String>,
) -> Vec<Cell> {
    let mut cells = vec![Cell::Count(point.index)];
    for (columns, setting) in columns.iter().zip(&point.settings) {
        let text = sweep::shown(setting);
        if let Columns::Numbers { .. } = columns {
            cells.push(si(text).map_or(Cell::Null, |si| Cell::Number(si.number)));
        }
        cells.push(Cell::Text(text.to_owned()));
    }
    cells.push(Cell::Text(policy.to_owned()));
    cells.push(Cell::Count(point.seed.get()));
    cells.push(error.map_or(Cell::Null, Cell::Text));
    cells
}

/// Cells of the outcomes of a run.
pub(crate) fn outcome_cells(
    outcomes: &[Outcome],
    experiment: &Experiment,
    outcome: &sim::Outcome,
) -> Vec<Cell> {
    let mut values: BTreeMap<String, Value> = named(experiment, outcome).collect();
    outcomes
        .iter()
        .map(|column| values.remove(&column.name).map_or(Cell::Null, |value| cell(value, column.kind)))
        .collect()
}

fn cell(value: Value, kind: Kind) -> Cell {
    match (value, kind) {
        (Value::Number(number), Kind::Number) => number.as_f64().map_or(Cell::Null, Cell::Number),
        (Value::String(text), Kind::Text) => Cell::Text(text),
        (Value::Bool(flag), Kind::Flag) => Cell::Flag(flag),
        _ => Cell::Null,
    }
}

/// Columns of the outcomes of a scenario.
pub(crate) fn outcomes_of(scenario: &Scenario) -> Vec<Outcome> {
    let mut experiment = scenario.experiment.clone();
    experiment.duration = PROBE;
    experiment.sample = Duration::ZERO;
    let outcome = sim::run(&experiment);
    let column = |(name, value): (String, Value)| {
        // A quantity that this run lacks is a number, such as the time of a completion.
        let kind = match value {
            Value::String(_) => Kind::Text,
            Value::Bool(_) => Kind::Flag,
            _ => Kind::Number,
        };
        Outcome { name, kind }
    };
    named(&experiment, &outcome).map(column).collect()
}

/// Figures as in `runs.csv` of a comparison, then all quantities as in the CSV of a run. The design
/// gives the policy.
fn named<'a>(
    experiment: &'a Experiment,
    outcome: &'a sim::Outcome,
) -> impl Iterator<Item = (String, Value)> + 'a {
    let figures = metrics(experiment).into_iter().map(|metric| {
        let value = metric.value(outcome).map_or(Value::Null, Value::from);
        (metric.key, value)
    });
    let quantities = scalars(outcome).into_iter().filter_map(|Scalar { owner, quantity, value }| {
        let is_input = matches!(quantity.as_str(), "policy" | "name");
        (!is_input).then(|| (format!("{owner}.{quantity}"), value))
    });
    figures.chain(quantities).chain([("segments".to_owned(), Value::from(outcome.segments))])
}
