//! `result.json` of a sweep.

use super::Summary;
use super::tables::extremes;
use experiments::stats::{mean, median};
use serde_json::{Map, Value, json};

pub(super) fn result(summary: &Summary<'_>) -> Value {
    let spec = summary.sweep.spec();
    let figures: Map<String, Value> = summary
        .figures
        .iter()
        .map(|figure| {
            let values = figure.finite();
            let [low, high] = extremes(&values);
            let value = json!({
                "unit": figure.metric.unit,
                "runs": values.len(),
                "mean": mean(&values),
                "min": low,
                "median": median(&values),
                "max": high,
            });
            (figure.metric.key.clone(), value)
        })
        .collect();
    let columns: Vec<String> =
        summary.sweep.schema().fields().iter().map(|field| field.name().clone()).collect();
    json!({
        "kind": "sweep",
        "tandem": spec.tandem,
        "title": summary.title(),
        "sweep": summary.sweep.id(),
        "runs": summary.sweep.runs(),
        "failed": summary.failed(),
        "first_failure": summary.first_failure,
        "design": spec.design,
        "varied": spec.axes,
        "policies": spec.policies.iter().map(|policy| policy.text.as_str()).collect::<Vec<_>>(),
        "first_seed": spec.first_seed,
        "seeds": spec.seeds,
        "figures": figures,
        "columns": columns,
    })
}
