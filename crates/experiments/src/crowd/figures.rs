//! Figures of a run with several devices for a comparison: means and percentiles over the devices,
//! means of the devices of each policy, and the load of the cells.

use super::measure::{Measure, Spread, measures};
use policy::PolicyConfig;
use scenario::Scenario;
use sim::{CellSpec, Crowd, CrowdOutcome};
use std::collections::{BTreeMap, BTreeSet};
use units::Seed;

/// Maximum number of cells with a column of their own.
const MAX_CELLS: usize = 3;

/// Group of the means over the devices of each policy.
pub(crate) const BY_POLICY: &str = "devices by policy";

/// A figure of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CrowdMetric {
    /// Key in JSON and CSV, with the unit.
    pub(crate) key: String,
    /// Name in tables and charts.
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// Table of the figure.
    pub(crate) group: &'static str,
    /// Shown in the tables and charts.
    pub(crate) in_tables: bool,
}

/// Figures of one run by their keys, and the values of each measure in the devices.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CrowdFigures {
    pub(crate) values: BTreeMap<String, f64>,
    pub(crate) devices: Vec<(Measure, Vec<f64>)>,
}

impl CrowdFigures {
    pub(crate) fn of(crowd: &Crowd, outcome: &CrowdOutcome) -> Self {
        let mut values = BTreeMap::new();
        let mut devices = Vec::new();
        for measure in measures(crowd) {
            let pairs: Vec<(String, f64)> = crowd
                .devices
                .iter()
                .zip(&outcome.devices)
                .filter_map(|(device, one)| {
                    Some((device.device.policy.to_string(), measure.of(device, one)?))
                })
                .collect();
            let all: Vec<f64> = pairs.iter().map(|(_, value)| *value).collect();
            let spread = Spread::of(&all);
            let key = &measure.key;
            values.insert(format!("{key}_mean"), spread.mean);
            values.insert(format!("{key}_p5"), spread.p5);
            values.insert(format!("{key}_p50"), spread.p50);
            values.insert(format!("{key}_p95"), spread.p95);
            values.insert(format!("{key}_jain"), spread.jain);
            if !all.is_empty() {
                values.insert(format!("{key}_total"), all.iter().sum());
            }
            if measure.unfinished_noun().is_some() {
                let both = crowd.devices.iter().zip(&outcome.devices);
                let open = both.filter(|(device, one)| measure.is_unfinished(device, one)).count();
                values.insert(format!("{key}_unfinished"), open as f64);
            }
            let mut policies: Vec<&str> = pairs.iter().map(|(policy, _)| policy.as_str()).collect();
            policies.sort_unstable();
            policies.dedup();
            for policy in policies {
                let own: Vec<f64> =
                    pairs.iter().filter(|(other, _)| other == policy).map(|(_, value)| *value).collect();
                values.insert(format!("{key}_of_{policy}"), Spread::of(&own).mean);
            }
            devices.push((measure, all));
        }
        for cell in &outcome.cells {
            values.insert(format!("{}_load_percent", cell.name), 100.0 * cell.load);
            values.insert(format!("{}_rate_mbps", cell.name), cell.rate_mbps);
        }
        for kind in ["wifi", "lte"] {
            let cells: Vec<_> = outcome.cells.iter().filter(|cell| cell.kind == kind).collect();
            if !cells.is_empty() {
                let load: f64 = cells.iter().map(|cell| 100.0 * cell.load).sum();
                values.insert(format!("{kind}_cells_load_percent"), load / cells.len() as f64);
            }
        }
        values.retain(|_, value| value.is_finite());
        Self { values, devices }
    }
}

/// The figures of a comparison of these scenarios, each with the policy in place of the devices' own.
/// Empty if one has a single device.
pub(crate) fn metrics<'s>(
    cases: impl IntoIterator<Item = (&'s Scenario, Option<&'s PolicyConfig>)>,
) -> Vec<CrowdMetric> {
    let mut all: Vec<CrowdMetric> = Vec::new();
    let mut policies: BTreeSet<String> = BTreeSet::new();
    let mut crowds: Vec<(Vec<Measure>, Vec<CellSpec>)> = Vec::new();
    let mut is_mixed = false;
    for (scenario, policy) in cases {
        let Ok(Some(plan)) = super::plan(scenario, policy) else { return Vec::new() };
        let crowd = plan.draw(Seed::new(0));
        let of_device = |device: &sim::Experiment| device.device.policy.to_string();
        let own: BTreeSet<String> = crowd.devices.iter().map(of_device).collect();
        is_mixed |= own.len() > 1;
        policies.extend(own);
        crowds.push((measures(&crowd), crowd.cells));
    }
    if !is_mixed {
        policies.clear();
    }
    let mut add = |metric: CrowdMetric| {
        if !all.iter().any(|known| known.key == metric.key) {
            all.push(metric);
        }
    };
    for (measures, _) in &crowds {
        for (i, measure) in measures.iter().enumerate() {
            of_measure(measure, i == 0, &policies, &mut add);
        }
    }
    for (_, cells) in &crowds {
        of_cells(cells, &mut add);
    }
    all
}

fn of_measure(
    measure: &Measure,
    is_main: bool,
    policies: &BTreeSet<String>,
    add: &mut impl FnMut(CrowdMetric),
) {
    let group = if is_main { "devices" } else { "more of the devices" };
    let metric = |part: &str, name: String, unit, in_tables| CrowdMetric {
        key: format!("{}_{part}", measure.key),
        name,
        unit,
        group,
        in_tables,
    };
    add(metric("mean", measure.name.clone(), measure.unit, true));
    add(metric("p5", format!("{}, 5 %", measure.name), measure.unit, is_main));
    add(metric("p50", format!("{}, median", measure.name), measure.unit, false));
    add(metric("p95", format!("{}, 95 %", measure.name), measure.unit, is_main));
    if measure.is_shared() {
        add(metric("jain", format!("{}, Jain", measure.name), "", is_main));
    }
    add(metric("total", format!("{}, all", measure.name), measure.unit, false));
    if measure.unfinished_noun().is_some() {
        let name = format!("{}, devices until the end", measure.name);
        add(metric("unfinished", name, "", true));
    }
    for policy in policies {
        let name = format!("{} of {policy}", measure.name);
        let in_tables = is_main || !measure.is_secondary();
        let metric = metric(&format!("of_{policy}"), name, measure.unit, in_tables);
        add(CrowdMetric { group: BY_POLICY, ..metric });
    }
}

fn of_cells(cells: &[CellSpec], add: &mut impl FnMut(CrowdMetric)) {
    let own = cells.len() <= MAX_CELLS;
    let metric = |key: String, name: String, unit, in_tables| CrowdMetric {
        key,
        name,
        unit,
        group: "cells",
        in_tables,
    };
    for cell in cells {
        let name = &cell.name;
        add(metric(format!("{name}_load_percent"), format!("load of {name}"), "%", own));
        add(metric(format!("{name}_rate_mbps"), format!("rate of {name}"), "Mbit/s", false));
    }
    for (kind, config, name) in [("wifi", link::CellKind::Wifi, "Wi-Fi"), ("lte", link::CellKind::Lte, "LTE")]
    {
        if cells.iter().any(|cell| cell.config.kind == config) {
            let name = format!("mean load of {name} cells");
            add(metric(format!("{kind}_cells_load_percent"), name, "%", !own));
        }
    }
}
