//! `result.json` of a run with several devices.

use super::CrowdRun;
use super::measure::{Measure, Spread, measures, starts};
use super::tables::{unfinished, values};
use crate::{traces, warnings};
use serde_json::{Map, Value, json};
use sim::{Experiment, Outcome};

/// The result as JSON, in a fixed order.
pub(super) fn result(run: &CrowdRun) -> Value {
    let measures = measures(&run.crowd);
    let all: Vec<usize> = (0..run.crowd.devices.len()).collect();
    let groups: Vec<Value> = run
        .groups
        .iter()
        .map(|group| {
            json!({
                "kind": group.kind,
                "policy": group.policy,
                "devices": group.members.len(),
                "distributions": distributions(run, &measures, &group.members),
            })
        })
        .collect();
    let devices: Vec<Value> = run
        .crowd
        .devices
        .iter()
        .zip(&run.outcome.devices)
        .map(|(device, outcome)| device_json(&measures, device, outcome))
        .collect();
    let cells: Vec<Value> = run.outcome.cells.iter().map(|cell| json!(cell)).collect();
    json!({
        "kind": "crowd",
        "tandem": env!("CARGO_PKG_VERSION"),
        "title": run.title,
        "seed": run.crowd.seed.get(),
        "duration_s": run.crowd.duration.as_secs_f64(),
        "warnings": warnings::to_json(&run.warnings),
        "started": run.crowd.devices.iter().filter(|device| starts(device)).count(),
        "distributions": distributions(run, &measures, &all),
        "groups": groups,
        "cells": cells,
        "devices": devices,
        "traces": traces::to_json(&run.traces),
    })
}

fn distributions(run: &CrowdRun, measures: &[Measure], members: &[usize]) -> Value {
    let spread = |measure: &Measure| {
        let spread = Spread::of(&values(run, measure, members));
        json!({
            "measure": measure.key,
            "unit": measure.unit,
            "devices": spread.devices,
            "mean": spread.mean,
            "unfinished": unfinished(run, measure, members),
            "p5": spread.p5,
            "p50": spread.p50,
            "p95": spread.p95,
            "jain": spread.jain,
        })
    };
    Value::Array(measures.iter().map(spread).collect())
}

fn device_json(measures: &[Measure], device: &Experiment, outcome: &Outcome) -> Value {
    let figures: Map<String, Value> =
        measures.iter().map(|measure| (measure.key.clone(), json!(measure.of(device, outcome)))).collect();
    json!({
        "name": outcome.device.name,
        "policy": outcome.device.policy,
        "started": starts(device),
        "figures": figures,
    })
}
