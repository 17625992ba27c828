//! HTML report of a sweep.

use super::tables::count;
use super::{Summary, charts};
use crate::{Axis, Design, Values};
use experiments::{describe, page};
use report::{Page, Section, literal};

pub(super) fn page(summary: &Summary<'_>) -> Page {
    let mut out = Page::new(page::unbroken(&format!("{}: a sweep", summary.title())));
    if let Some(description) = &summary.scenario.description {
        out = out.lead(literal(&page::one_line(description)));
    }
    let section = summary.tables().into_iter().fold(Section::new("Figures"), Section::table);
    out = out.lead(lead(summary)).section(section);
    let (heat_maps, lines) = (charts::heat_maps(summary), charts::lines(summary));
    if !heat_maps.is_empty() {
        // One below the other, because a cell has two lines of text.
        out = out.section(heat_maps.into_iter().fold(Section::new("Two keys"), Section::chart));
    }
    if !lines.is_empty() {
        out = out.section(Section::new("One key").charts(lines));
    }
    out.section(scenario(summary)).footer(page::footer())
}

fn lead(summary: &Summary<'_>) -> String {
    let spec = summary.sweep.spec();
    let design = match spec.design {
        Design::Grid => "a full grid".to_owned(),
        Design::Lhs { points } => format!("a Latin hypercube of {points} points"),
    };
    format!(
        "**{}** of {design} with {}. `sweep.parquet` beside this page has a row for each.",
        count(summary.sweep.runs(), "run"),
        count(u64::from(spec.seeds), "seed")
    )
}

fn scenario(summary: &Summary<'_>) -> Section {
    let spec = summary.sweep.spec();
    let values = |axis: &Axis| match &axis.values {
        Values::List(values) => values.join(", "),
        Values::Range { from, to, unit, .. } => format!("{from}{unit} to {to}{unit}"),
    };
    let mut facts: Vec<(String, String)> =
        spec.axes.iter().map(|axis| (literal(&axis.key), literal(&values(axis)))).collect();
    if !spec.policies.is_empty() {
        let names: Vec<&str> = spec.policies.iter().map(|policy| policy.text.as_str()).collect();
        facts.push(("Policies".to_owned(), literal(&names.join(", "))));
    }
    let last = spec.first_seed.wrapping_add(u64::from(spec.seeds.saturating_sub(1)));
    facts.push(("Seeds".to_owned(), format!("{} to {last}", spec.first_seed)));
    facts.push(("Sweep id".to_owned(), summary.sweep.id().to_owned()));
    let experiment = &summary.scenario.experiment;
    Section::new("Scenario")
        .facts(facts)
        .table(describe::sources(&describe::profiles(experiment)))
        .details("Scenario file", &*spec.scenario.text)
}
