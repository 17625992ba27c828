//! `result.json` of a comparison.

use super::keys::Key;
use super::{Compared, Comparison, delay};
use crate::{traces, warnings};
use report::Estimate;
use serde_json::{Map, Value, json};

/// The result as JSON, in a fixed order.
pub(super) fn result(comparison: &Comparison) -> Value {
    let seeds: Vec<u64> = comparison.seeds.iter().map(|seed| seed.get()).collect();
    let varied: Vec<Value> =
        comparison.keys.iter().map(|key| json!({"key": key.whole, "unit": key.unit})).collect();
    let cases: Vec<Value> =
        comparison.cases.iter().enumerate().map(|(i, case)| case_json(comparison, i, case)).collect();
    json!({
        "kind": "compare",
        "tandem": env!("CARGO_PKG_VERSION"),
        "title": comparison.title,
        "warnings": warnings::to_json(&comparison.warnings),
        "complete": comparison.is_complete(),
        "seeds": seeds,
        "varied": varied,
        "traces": traces::to_json(&comparison.traces),
        "cases": cases,
    })
}

fn case_json(comparison: &Comparison, i: usize, case: &Compared) -> Value {
    let figures: Map<String, Value> = comparison
        .metrics
        .iter()
        .map(|metric| {
            let mut value = estimate(comparison.estimate(metric, i));
            value["unit"] = json!(metric.unit);
            value["runs"] = json!(comparison.values(metric, i).len());
            if i > 0 {
                let mut difference = estimate(comparison.difference(metric, i));
                difference["pairs"] = json!(comparison.pairs(metric, i).len());
                value["difference_percent"] = difference;
            }
            (metric.key.clone(), value)
        })
        .collect();
    let value = |key: &Key| match key.values[i].number {
        Some(number) => json!(number),
        None => json!(key.values[i].text),
    };
    let values: Map<String, Value> =
        comparison.keys.iter().map(|key| (key.whole.clone(), value(key))).collect();
    let settings: Map<String, Value> = case.settings.iter().map(|s| (s.key(), json!(s.text()))).collect();
    json!({
        "name": case.name,
        "policy": case.experiment.device.policy.to_string(),
        "settings": settings,
        "values": values,
        "runs": case.finished(),
        "figures": figures,
        "percentiles": delay::percentiles_of(case),
    })
}

fn estimate(estimate: Estimate) -> Value {
    json!({"mean": estimate.mean, "ci95": estimate.ci95})
}
