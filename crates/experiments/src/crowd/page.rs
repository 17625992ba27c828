//! HTML report of a run with several devices.

use super::measure::{Measure, Spread, measures};
use super::{CrowdRun, tables};
use crate::page::{footer, one_line, unbroken};
use crate::traces;
use report::{Axis, Line, Lines, Page, Section, literal};
use sim::CellSample;

/// Maximum number of groups with a line of their own.
const MAX_LINES: usize = 6;

pub(super) fn page(run: &CrowdRun) -> Page {
    let mut page = Page::new(unbroken(&run.title)).main_chart(main_chart(run));
    if let Some(description) = &run.description {
        page = page.lead(literal(&one_line(description)));
    }
    let result = tables::devices(run).into_iter().fold(Section::new("Devices"), Section::table);
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
    page.section(scenario.facts(facts(run)).details("Scenario file", &*run.source)).footer(footer())
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
    format!(
        "The mean {} of {} devices was **{:.2} {}**; a twentieth had less than {:.2} {}. Jain’s index was {:.3}.",
        first.name, spread.devices, spread.mean.mean, first.unit, spread.p5, first.unit, spread.jain
    )
}

/// Distribution of a measure over the devices, a line for each group; `None` without values.
fn distribution(run: &CrowdRun, measure: &Measure) -> Option<Lines> {
    let kinds = run.groups.iter().any(|group| group.kind != run.groups[0].kind);
    let name = |group: &super::Group| {
        if kinds { format!("{}, {}", group.kind, group.policy) } else { group.policy.clone() }
    };
    let lines: Vec<(String, Vec<f64>)> = run
        .groups
        .iter()
        .take(MAX_LINES)
        .map(|group| (name(group), tables::values(run, measure, &group.members)))
        .collect();
    distribution_chart(measure, &lines)
}

/// Cumulative distribution of a measure over devices; `None` without values.
pub(crate) fn distribution_chart(measure: &Measure, lines: &[(String, Vec<f64>)]) -> Option<Lines> {
    let mut title = format!("{} over devices", measure.name);
    title[..1].make_ascii_uppercase();
    let x = Axis::new(&*measure.name).unit(measure.unit).from(0.0);
    let y = Axis::new("devices").unit("%").from(0.0).to(100.0);
    let lines = lines.iter().filter(|(_, values)| !values.is_empty());
    let chart = lines.fold(Lines::new(title, x, y).key(key(measure)), |chart, (name, values)| {
        chart.line(Line::cdf(name.as_str(), values.iter().copied()))
    });
    let chart =
        chart.caption("Share of the devices with at most this value. Devices that never start are left out.");
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

fn facts(run: &CrowdRun) -> Vec<(String, String)> {
    let mut facts = vec![
        ("Seed".to_owned(), run.crowd.seed.get().to_string()),
        ("Simulated".to_owned(), crate::describe::spaced(&run.crowd.duration.to_string())),
    ];
    facts.extend(run.groups.iter().map(|group| {
        let text = format!("{} with policy `{}`", group.members.len(), group.policy);
        (format!("Devices {}", group.kind), text)
    }));
    facts
}
