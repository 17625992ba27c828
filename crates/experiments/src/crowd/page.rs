//! HTML report of a run with several devices.

use super::measure::{Group, Measure, Spread, measures};
use super::{CrowdRun, tables};
use crate::describe;
use crate::page::{footer, one_line, unbroken, warnings};
use crate::traces;
use report::{Axis, Line, Lines, Page, Section, literal};
use sim::{CellSample, Crowd};
use std::fmt::Write as _;

/// Maximum number of groups with a line of their own.
const MAX_LINES: usize = 6;
/// Maximum number of cells that are described.
const MAX_CELLS: usize = 20;
/// Least number of devices of which a twentieth is one.
const TWENTIETH: usize = 20;

pub(super) fn page(run: &CrowdRun) -> Page {
    let mut page = Page::new(unbroken(&run.title)).main_chart(main_chart(run));
    if let Some(description) = &run.description {
        page = page.lead(literal(&one_line(description)));
    }
    let result = tables::devices(run)
        .into_iter()
        .fold(warnings(Section::new("Devices"), &run.warnings), Section::table);
    let charts = measures(&run.crowd).into_iter().filter_map(|measure| distribution(run, &measure));
    page = page.lead(summary(run)).section(result.charts(charts));
    if let Some(cells) = tables::cells(run) {
        let charts = [
            over_time(
                run,
                "load",
                "Load of the cells",
                Axis::new("load").unit("%").from(0.0).to(100.0),
                |s| 100.0 * s.load,
            ),
            over_time(
                run,
                "cell-rate",
                "Rate of the cells",
                Axis::new("rate").unit("Mbit/s").from(0.0),
                |s| s.rate_mbps,
            ),
            over_time(run, "queue", "Queues of the cells", Axis::new("queued").unit("kB").from(0.0), |s| {
                s.queued_kb
            }),
        ];
        page = page.section(Section::new("Cells").table(cells).charts(charts));
    }
    let scenario = traces::table(&run.traces).into_iter().fold(Section::new("Scenario"), Section::table);
    page.section(scenario.facts(facts(&run.crowd, &run.groups)).details("Scenario file", &*run.source))
        .footer(footer())
}

fn main_chart(run: &CrowdRun) -> String {
    measures(&run.crowd).first().map_or_else(String::new, key)
}

/// Key of the chart of a measure.
fn key(measure: &Measure) -> String {
    format!("cdf:{}", measure.name.replace(' ', "-"))
}

fn summary(run: &CrowdRun) -> String {
    let all: Vec<usize> = (0..run.crowd.devices.len()).collect();
    let measures = measures(&run.crowd);
    let Some(first) = measures.first() else { return String::new() };
    let values = tables::values(run, first, &all);
    if values.is_empty() {
        return "No device started before the end.".to_owned();
    }
    let spread = Spread::of(&values);
    let worst = if spread.devices < TWENTIETH {
        format!("the least was {:.2} {}", spread.least, first.unit)
    } else {
        format!("a twentieth had less than {:.2} {}", spread.p5, first.unit)
    };
    let mut text = format!(
        "The mean {} of {} devices was **{:.2} {}**; {worst}.",
        first.name, spread.devices, spread.mean, first.unit
    );
    if spread.jain.is_finite() {
        let _ = write!(text, " Jain’s index was {:.3}.", spread.jain);
    }
    text
}

/// Distribution of a measure over the devices, a line for each group; `None` without values.
fn distribution(run: &CrowdRun, measure: &Measure) -> Option<Lines> {
    let kinds = run.groups.iter().any(|group| group.kind != run.groups[0].kind);
    let name = |group: &Group| {
        if kinds { format!("{}, {}", group.kind, group.policy) } else { group.policy.clone() }
    };
    let lines: Vec<(String, Vec<f64>)> = run
        .groups
        .iter()
        .take(MAX_LINES)
        .map(|group| (name(group), tables::values(run, measure, &group.members)))
        .collect();
    let left_out = run.groups.len().saturating_sub(MAX_LINES);
    let note = if left_out > 0 { format!("{left_out} further groups are not drawn.") } else { String::new() };
    distribution_chart(measure, &lines, &note)
}

/// Cumulative distribution of a measure over devices, with a further note; `None` without values.
pub(crate) fn distribution_chart(
    measure: &Measure,
    lines: &[(String, Vec<f64>)],
    note: &str,
) -> Option<Lines> {
    let mut title = format!("{} over devices", measure.name);
    title[..1].make_ascii_uppercase();
    let x = Axis::new(&*measure.name).unit(measure.unit).from(0.0);
    let y = Axis::new("devices").unit("%").from(0.0).to(100.0);
    let lines = lines.iter().filter(|(_, values)| !values.is_empty());
    let chart = lines.fold(Lines::new(title, x, y).key(key(measure)), |chart, (name, values)| {
        chart.line(Line::cdf(name.as_str(), values.iter().copied()))
    });
    let caption = format!(
        "Share of the devices with at most this value. Devices that never start are left out. {note}"
    );
    let chart = chart.caption(caption.trim_end());
    (!chart.lines.is_empty()).then_some(chart)
}

/// A quantity of the cells over time, a line for each cell.
fn over_time(run: &CrowdRun, key: &str, title: &str, y: Axis, value: fn(&CellSample) -> f64) -> Lines {
    let x = Axis::seconds().from(0.0).to(run.crowd.duration.as_secs_f64());
    run.outcome.cells.iter().fold(Lines::new(title, x, y).key(key), |chart, cell| {
        let (times, values) = cell.samples.iter().map(|sample| (sample.time_s, value(sample))).unzip();
        chart.line(Line::new(&*cell.name, times, values))
    })
}

/// Seed, duration, the devices of each group, and the cells.
pub(super) fn facts(crowd: &Crowd, groups: &[Group]) -> Vec<(String, String)> {
    let mut facts = vec![
        ("Seed".to_owned(), crowd.seed.get().to_string()),
        ("Simulated".to_owned(), describe::spaced(&crowd.duration.to_string())),
    ];
    facts.extend(groups.iter().map(|group| {
        let text = format!("{} with policy `{}`", group.members.len(), group.policy);
        (format!("Devices {}", group.kind), text)
    }));
    facts.extend(crowd.cells.iter().take(MAX_CELLS).map(describe::cell));
    if crowd.cells.len() > MAX_CELLS {
        facts.push(("Further cells".to_owned(), (crowd.cells.len() - MAX_CELLS).to_string()));
    }
    facts
}
