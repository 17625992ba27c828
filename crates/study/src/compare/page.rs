//! The report of a comparison.

use super::Comparison;
use super::figures::{Figure, Quantity};
use crate::describe;
use crate::figure::{decimals, time_unit};
use crate::run::{page, timeline, video};
use report::{Axis, Bars, Estimate, Page, Section, literal};

pub(super) fn page(comparison: &Comparison) -> Page {
    let mut out = Page::new(page::unbroken(&format!("{}: policies compared", comparison.title)));
    if let Some(description) = &comparison.description {
        out = out.lead(literal(&page::one_line(description)));
    }
    out = out.lead(summary(comparison));

    let mut tables = comparison.tables().into_iter();
    let mut side = Section::new("Side by side");
    if let Some(means) = tables.next() {
        side = side.table(means);
    }
    side = side.charts(
        [Quantity::Goodput, Quantity::Power, Quantity::Efficiency, Quantity::Lifespan]
            .into_iter()
            .filter_map(|quantity| bars(comparison, quantity)),
    );
    side = side.charts([by_path(comparison, false), by_path(comparison, true)]);
    side = tables.fold(side, Section::table);
    out = out.section(side);

    let mut time = Section::new("Second by second");
    if let Some(seed) = comparison.seeds.first() {
        time = time.prose(format!("One run of each policy, with seed {}.", seed.get()));
    }
    for policy in &comparison.policies {
        if let Some(outcome) = policy.outcomes.first()
            && let Some(chart) =
                timeline::timeline(&format!("Policy {}", policy.name), &policy.experiment, outcome)
        {
            time = time.chart(chart);
            let seconds = policy.experiment.duration.as_secs_f64();
            time = time.charts(video::charts(outcome, seconds));
        }
    }
    out = out.section(time);

    let mut what = Section::new("What was run");
    if let Some(first) = comparison.policies.first() {
        let names: Vec<String> = comparison.policies.iter().map(|p| format!("`{}`", p.name)).collect();
        let facts = describe::facts(&first.experiment).into_iter().map(|(name, value)| match name.as_str() {
            "Seed" => ("Seeds".to_owned(), seeds(comparison)),
            "Policy" => ("Policies".to_owned(), names.join(", ")),
            _ => (name, value),
        });
        what = what.facts(facts).table(describe::sources(&describe::profiles(&first.experiment)));
    }
    out.section(what.details("The scenario file", &*comparison.source)).footer(page::footer())
}

fn seeds(comparison: &Comparison) -> String {
    match comparison.seeds.as_slice() {
        [] => "none".to_owned(),
        [one] => one.get().to_string(),
        [first, .., last] => format!("{}, from {} to {}", comparison.seeds.len(), first.get(), last.get()),
    }
}

/// Which policy got the most out of a joule, and at what price.
fn summary(comparison: &Comparison) -> String {
    let of = |quantity| comparison.figures.iter().find(|figure| figure.quantity == quantity);
    let (Some(efficiency), Some(goodput)) = (of(Quantity::Efficiency), of(Quantity::Goodput)) else {
        return String::new();
    };
    let mean = |figure: &Figure, i: usize| comparison.estimate(figure, i).mean;
    let best = |figure: &Figure| {
        (0..comparison.policies.len())
            .filter(|&i| mean(figure, i).is_finite())
            .max_by(|&a, &b| mean(figure, a).total_cmp(&mean(figure, b)))
    };
    let (Some(thrifty), Some(fast)) = (best(efficiency), best(goodput)) else { return String::new() };
    let name = |i: usize| &comparison.policies[i].name;
    if thrifty == fast {
        return format!(
            "Of {} policies, `{}` is the fastest, at {:.2} Mbit/s, and carries the most for each joule, **{:.2} Mbit**.",
            comparison.policies.len(),
            name(fast),
            mean(goodput, fast),
            mean(efficiency, fast),
        );
    }
    format!(
        "Of {} policies, `{}` carries the most for each joule, **{:.2} Mbit**, at {:.2} Mbit/s; `{}` is the \
         fastest, at {:.2} Mbit/s and {:.2} Mbit for each joule.",
        comparison.policies.len(),
        name(thrifty),
        mean(efficiency, thrifty),
        mean(goodput, thrifty),
        name(fast),
        mean(goodput, fast),
        mean(efficiency, fast),
    )
}

fn bars(comparison: &Comparison, quantity: Quantity) -> Option<Bars> {
    let figure = comparison.figures.iter().find(|figure| figure.quantity == quantity)?;
    let all: Vec<Estimate> = (0..comparison.policies.len()).map(|i| comparison.estimate(figure, i)).collect();
    let (unit, scale) = match figure.unit {
        "s" => time_unit(all.iter().map(|e| e.mean)),
        unit => (unit, 1.0),
    };
    let all: Vec<Estimate> = all.iter().map(|e| Estimate::new(e.mean / scale, e.ci95 / scale)).collect();
    let mut title = figure.name.clone();
    title[..1].make_ascii_uppercase();
    Some(
        Bars::new(title, Axis::new(&*figure.name).unit(unit).from(0.0))
            .decimals(decimals(all.iter().map(|e| e.mean)))
            .groups(comparison.policies.iter().map(|p| &*p.name))
            .series(if comparison.seeds.len() > 1 { "mean" } else { "one seed" }, all),
    )
}

/// What each path carried, or drew.
fn by_path(comparison: &Comparison, energy: bool) -> Bars {
    let (title, axis) = if energy {
        ("What each radio drew", Axis::new("energy").unit("J").from(0.0))
    } else {
        ("What each path carried", Axis::new("payload, both ways").unit("MB").from(0.0))
    };
    let mut bars = Bars::new(title, axis).groups(comparison.policies.iter().map(|p| &*p.name));
    let mut largest: f64 = 0.0;
    for figure in &comparison.figures {
        let path = match figure.quantity {
            Quantity::PathEnergy(path) if energy => path,
            Quantity::PathBytes(path) if !energy => path,
            _ => continue,
        };
        let all: Vec<Estimate> =
            (0..comparison.policies.len()).map(|i| comparison.estimate(figure, i)).collect();
        largest = all.iter().fold(largest, |max, e| max.max(e.mean));
        let name = comparison.policies[0].experiment.paths[path].name.as_str();
        bars = bars.series(name, all);
    }
    bars.decimals(decimals([largest]).min(2))
}
