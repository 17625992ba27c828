//! HTML report of a comparison.

use super::finished::Finished;
use super::keys::Key;
use super::metrics::{Metric, Quantity};
use super::rows::{self, Grid};
use super::sweep::Sweep;
use super::{Compared, Comparison, delay};
use crate::crowd::{CrowdFigures, distribution_chart};
use crate::display::decimals;
use crate::{describe, page, timeline, video};
use report::{Axis, Bars, Estimate, Page, Section, literal};
use std::fmt::Write as _;

/// Maximum number of timelines, which limits the size of the page.
const MAX_TIMELINES: usize = 8;

pub(super) fn page(comparison: &Comparison) -> Page {
    let mut out = Page::new(page::unbroken(&format!("{}: {} compared", comparison.title, comparison.noun())));
    if let Some(description) = &comparison.description {
        out = out.lead(literal(&page::one_line(description)));
    }
    out.lead(summary(comparison))
        .section(results(comparison))
        .section(if is_of_crowds(comparison) { distributions(comparison) } else { timelines(comparison) })
        .section(scenario(comparison))
        .footer(page::footer())
}

/// Inline markup of a name as code. A backtick in it would end the code, and markup after it would
/// have an effect: such a name is plain text.
pub(super) fn code(name: &str) -> String {
    if name.contains('`') { literal(name) } else { format!("`{name}`") }
}

fn results(comparison: &Comparison) -> Section {
    let section = page::warnings(Section::new("Comparison"), &comparison.warnings);
    let mut section = comparison.means().into_iter().fold(section, Section::table);
    if let Some(sweep) = Sweep::find(comparison) {
        let drawn = comparison.metrics.iter().filter(|metric| metric.quantity.is_drawn());
        section = section.charts(sweep.by_policy(comparison));
        section = section.charts(drawn.map(|metric| sweep.chart(comparison, metric)));
    } else if !is_of_crowds(comparison) {
        section = bar_charts(comparison, section);
    }
    let section = section.charts(delay::charts(comparison));
    comparison.differences().into_iter().fold(section, Section::table)
}

/// Whether the cases have several devices.
fn is_of_crowds(comparison: &Comparison) -> bool {
    comparison.metrics.iter().any(|metric| matches!(metric.quantity, Quantity::OfCrowd { .. }))
}

/// Distributions over the devices of all seeds, a line for each case.
fn distributions(comparison: &Comparison) -> Section {
    let (title, names) = comparison.legend();
    let runs = |case: &Compared| -> Vec<CrowdFigures> {
        case.outcomes.iter().flatten().filter_map(Finished::crowd).cloned().collect()
    };
    let cases: Vec<(String, Vec<CrowdFigures>)> =
        names.into_iter().zip(comparison.cases.iter().map(runs)).take(MAX_TIMELINES).collect();
    let first = cases.iter().find_map(|(_, runs)| runs.first());
    let measures = first.map(|run| run.devices.iter().map(|(measure, _)| measure.clone()).collect());
    let measures: Vec<_> = measures.unwrap_or_default();
    let mut note = "The devices of all seeds together.".to_owned();
    if comparison.cases.len() > MAX_TIMELINES {
        let _ = write!(note, " The first {MAX_TIMELINES} cases.");
    }
    let charts = measures.iter().filter_map(|measure| {
        let values = |runs: &Vec<CrowdFigures>| -> Vec<f64> {
            let own = runs.iter().flat_map(|run| run.devices.iter().filter(|(other, _)| other == measure));
            own.flat_map(|(_, values)| values.iter().copied()).collect()
        };
        let lines: Vec<(String, Vec<f64>)> =
            cases.iter().map(|(name, runs)| (name.clone(), values(runs))).collect();
        Some(distribution_chart(measure, &lines, &note)?.legend_title(&*title))
    });
    Section::new("Distributions over the devices").charts(charts)
}

fn timelines(comparison: &Comparison) -> Section {
    let mut section = Section::new("Timelines");
    if let Some(seed) = comparison.seeds.first() {
        section = section.prose(if comparison.cases.len() > MAX_TIMELINES {
            format!("One run of each of the first {MAX_TIMELINES} cases, with seed {}.", seed.get())
        } else {
            format!("One run of each case, with seed {}.", seed.get())
        });
    }
    for case in comparison.cases.iter().take(MAX_TIMELINES) {
        if let Some(outcome) = case.outcomes.first().and_then(Option::as_ref).and_then(Finished::device)
            && let Some(chart) = timeline::timeline(&case.name, &case.experiment, outcome)
        {
            let seconds = case.experiment.duration.as_secs_f64();
            let name = case.name.replace(' ', ",");
            let videos = video::charts(outcome, seconds).into_iter().map(|video| {
                let key = match video.key.split_once(':') {
                    Some((_, connection)) => format!("video:{name},{connection}"),
                    None => format!("video:{name}"),
                };
                video.key(key)
            });
            section = section.chart(chart.key(format!("timeline:{name}"))).charts(videos);
        }
    }
    section
}

fn scenario(comparison: &Comparison) -> Section {
    let mut section = Section::new("Scenario");
    if let Some(first) = comparison.cases.first() {
        let names: Vec<String> = comparison.cases.iter().map(|case| code(&case.name)).collect();
        let facts = first.facts.iter().cloned().map(|(name, value)| match name.as_str() {
            "Seed" => ("Seeds".to_owned(), seeds(comparison)),
            "Policy" if comparison.noun() == "policies" => ("Policies".to_owned(), names.join(", ")),
            _ => (name, value),
        });
        // Where the cases differ, the facts describe the first case.
        let cases = (comparison.noun() != "policies").then(|| ("Cases".to_owned(), names.join(", ")));
        let facts = facts.chain(cases);
        section = section.facts(facts).table(describe::sources(&describe::profiles(&first.experiment)));
    }
    match comparison.sources.as_slice() {
        [(_, text)] => section.details("Scenario file", &**text),
        several => several.iter().fold(section, |section, (title, text)| {
            section.details(format!("Scenario file: {title}"), &**text)
        }),
    }
}

/// Bar charts of the main metrics.
fn bar_charts(comparison: &Comparison, side: Section) -> Section {
    let quantities = [Quantity::Goodput, Quantity::Power, Quantity::Efficiency, Quantity::Lifespan];
    side.charts(quantities.into_iter().filter_map(|quantity| bars(comparison, quantity)))
        .charts([by_path(comparison, false), by_path(comparison, true)])
}

fn seeds(comparison: &Comparison) -> String {
    match comparison.seeds.as_slice() {
        [] => "none".to_owned(),
        [one] => one.get().to_string(),
        [first, .., last] => format!("{}, from {} to {}", comparison.seeds.len(), first.get(), last.get()),
    }
}

/// The fastest and the most efficient case in a sentence.
fn summary(comparison: &Comparison) -> String {
    let of = |quantity| comparison.metrics.iter().find(|metric| metric.quantity == quantity);
    let (Some(efficiency), Some(goodput)) = (of(Quantity::Efficiency), of(Quantity::Goodput)) else {
        return String::new();
    };
    let mean = |metric: &Metric, i: usize| comparison.estimate(metric, i).mean;
    let best = |metric: &Metric| {
        (0..comparison.cases.len())
            .filter(|&i| mean(metric, i).is_finite())
            .max_by(|&a, &b| mean(metric, a).total_cmp(&mean(metric, b)))
    };
    let (Some(thrifty), Some(fast)) = (best(efficiency), best(goodput)) else { return String::new() };
    let name = |i: usize| code(&comparison.cases[i].name);
    if thrifty == fast {
        return format!(
            "Of {} {}, {} is both the fastest, with {:.2} Mbit/s, and the most efficient, with **{:.2} Mbit/J**.",
            comparison.cases.len(),
            comparison.noun(),
            name(fast),
            mean(goodput, fast),
            mean(efficiency, fast),
        );
    }
    format!(
        "Of {} {}, {} is the most efficient, with **{:.2} Mbit/J** at {:.2} Mbit/s; {} is the fastest, with \
         {:.2} Mbit/s at {:.2} Mbit/J.",
        comparison.cases.len(),
        comparison.noun(),
        name(thrifty),
        mean(efficiency, thrifty),
        mean(goodput, thrifty),
        name(fast),
        mean(goodput, fast),
        mean(efficiency, fast),
    )
}

fn bars(comparison: &Comparison, quantity: Quantity) -> Option<Bars> {
    let metric = comparison.metrics.iter().find(|metric| metric.quantity == quantity)?;
    let all: Vec<Estimate> = (0..comparison.cases.len()).map(|i| comparison.estimate(metric, i)).collect();
    let (unit, scale) = comparison.unit(metric);
    let all: Vec<Estimate> = all.iter().map(|e| Estimate::new(e.mean / scale, e.ci95 / scale)).collect();
    let bars = Bars::new(metric.title(), Axis::new(&*metric.name).unit(unit).from(0.0))
        .key(metric.chart_key())
        .decimals(decimals(all.iter().map(|e| e.mean)));
    let Some((groups, series, grid)) = series_key(comparison) else {
        let name = if comparison.seeds.len() > 1 { "mean" } else { "one seed" };
        return Some(grouped(comparison, bars).series(name, all));
    };
    let bars = bars.groups(groups).legend_title(&*series.short);
    Some(series.distinct().iter().enumerate().fold(bars, |bars, (column, name)| {
        bars.series(*name, grid.iter().map(|row| all[row[column]]).collect::<Vec<_>>())
    }))
}

/// The groups of bars, the key of the series, and the cases by group and series.
/// `None` unless two keys differ, every combination is a case, and the series are few.
fn series_key(comparison: &Comparison) -> Option<(Vec<String>, &Key, Grid)> {
    /// Maximum number of series, which is that of distinct colours.
    const MAX_SERIES: usize = 6;
    let [groups, series] = comparison.keys.as_slice() else { return None };
    if series.distinct().len() > MAX_SERIES {
        return None;
    }
    let grid = rows::grid(comparison, groups, series)?;
    let names = groups.distinct().iter().map(|value| format!("{} {value}", groups.short)).collect();
    Some((names, series, grid))
}

/// A group for each case, named by the values of the keys. The caption names the keys.
fn grouped(comparison: &Comparison, bars: Bars) -> Bars {
    let bars = bars.groups(comparison.legend().1);
    if comparison.noun() == "policies" {
        return bars;
    }
    let keys: Vec<String> = comparison.keys.iter().map(|key| code(&key.whole)).collect();
    bars.caption(format!("Groups: {}.", keys.join(", ")))
}

/// Energy of each radio, or payload of each path.
fn by_path(comparison: &Comparison, energy: bool) -> Bars {
    let (key, title, axis) = if energy {
        ("energy", "Energy by radio", Axis::new("energy").unit("J").from(0.0))
    } else {
        ("split", "Payload by path", Axis::new("payload, both directions").unit("MB").from(0.0))
    };
    let mut bars = grouped(comparison, Bars::new(title, axis).key(key));
    let mut largest: f64 = 0.0;
    for metric in &comparison.metrics {
        let path = match metric.quantity {
            Quantity::PathEnergy(path) if energy => path,
            Quantity::PathBytes(path) if !energy => path,
            _ => continue,
        };
        let all: Vec<Estimate> =
            (0..comparison.cases.len()).map(|i| comparison.estimate(metric, i)).collect();
        largest = all.iter().fold(largest, |max, e| max.max(e.mean));
        let name = comparison.cases[0].experiment.paths[path].name.as_str();
        bars = bars.series(name, all);
    }
    bars.decimals(decimals([largest]).min(2))
}
