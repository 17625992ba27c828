//! The report of a comparison.

use super::Comparison;
use super::figures::{Figure, Quantity, Seen};
use super::sweep::Sweep;
use crate::describe;
use crate::display::decimals;
use crate::{page, timeline, video};
use report::{Axis, Bars, Estimate, Page, Section, literal};

/// Of more cases nobody looks at what each did second by second, and the page would take long to come.
const MOST_TIMELINES: usize = 8;

pub(super) fn page(comparison: &Comparison) -> Page {
    let mut out = Page::new(page::unbroken(&format!("{}: {} compared", comparison.title, comparison.noun())));
    if let Some(description) = &comparison.description {
        out = out.lead(literal(&page::one_line(description)));
    }
    out = out.lead(summary(comparison));

    let mut tables = comparison.tables().into_iter();
    let mut side = Section::new("Side by side");
    if let Some(means) = tables.next() {
        side = side.table(means);
    }
    if let Some(sweep) = Sweep::of(comparison) {
        let drawn = comparison.figures.iter().filter(|figure| is_drawn(figure.quantity));
        side = side.charts(drawn.map(|figure| sweep.chart(comparison, figure)));
    } else {
        side = bar_charts(comparison, side);
    }
    side = tables.fold(side, Section::table);
    out = out.section(side);

    let mut time = Section::new("Second by second");
    if let Some(seed) = comparison.seeds.first() {
        let which = if comparison.cases.len() > MOST_TIMELINES {
            format!("One run of each of the first {MOST_TIMELINES}, with seed {}.", seed.get())
        } else {
            format!("One run of each, with seed {}.", seed.get())
        };
        time = time.prose(which);
    }
    for case in comparison.cases.iter().take(MOST_TIMELINES) {
        if let Some(outcome) = case.outcomes.first()
            && let Some(chart) = timeline::timeline(&case.name, &case.experiment, outcome)
        {
            time = time.chart(chart);
            let seconds = case.experiment.duration.as_secs_f64();
            time = time.charts(video::charts(outcome, seconds));
        }
    }
    out = out.section(time);

    let mut what = Section::new("What was run");
    if let Some(first) = comparison.cases.first() {
        let names: Vec<String> = comparison.cases.iter().map(|p| format!("`{}`", p.name)).collect();
        let facts = describe::facts(&first.experiment).into_iter().map(|(name, value)| match name.as_str() {
            "Seed" => ("Seeds".to_owned(), seeds(comparison)),
            "Policy" if comparison.noun() == "policies" => ("Policies".to_owned(), names.join(", ")),
            _ => (name, value),
        });
        // Of what the cases differ in, the other facts tell the first's.
        let cases = (comparison.noun() != "policies").then(|| ("Cases".to_owned(), names.join(", ")));
        let facts = facts.chain(cases);
        what = what.facts(facts).table(describe::sources(&describe::profiles(&first.experiment)));
    }
    out.section(what.details("The scenario file", &*comparison.source)).footer(page::footer())
}

/// The cases' bars, of what most look for first.
fn bar_charts(comparison: &Comparison, side: Section) -> Section {
    let quantities = [Quantity::Goodput, Quantity::Power, Quantity::Efficiency, Quantity::Lifespan];
    side.charts(quantities.into_iter().filter_map(|quantity| bars(comparison, quantity)))
        .charts([by_path(comparison, false), by_path(comparison, true)])
}

/// Whether a figure is drawn over what varies.
fn is_drawn(quantity: Quantity) -> bool {
    !matches!(
        quantity,
        Quantity::ConnectionGoodput(_)
            | Quantity::Energy
            | Quantity::Video(_, Seen::Switches | Seen::Fetched)
    )
}

fn seeds(comparison: &Comparison) -> String {
    match comparison.seeds.as_slice() {
        [] => "none".to_owned(),
        [one] => one.get().to_string(),
        [first, .., last] => format!("{}, from {} to {}", comparison.seeds.len(), first.get(), last.get()),
    }
}

/// Which case got the most out of a joule, and at what price.
fn summary(comparison: &Comparison) -> String {
    let of = |quantity| comparison.figures.iter().find(|figure| figure.quantity == quantity);
    let (Some(efficiency), Some(goodput)) = (of(Quantity::Efficiency), of(Quantity::Goodput)) else {
        return String::new();
    };
    let mean = |figure: &Figure, i: usize| comparison.estimate(figure, i).mean;
    let best = |figure: &Figure| {
        (0..comparison.cases.len())
            .filter(|&i| mean(figure, i).is_finite())
            .max_by(|&a, &b| mean(figure, a).total_cmp(&mean(figure, b)))
    };
    let (Some(thrifty), Some(fast)) = (best(efficiency), best(goodput)) else { return String::new() };
    let name = |i: usize| &comparison.cases[i].name;
    if thrifty == fast {
        return format!(
            "Of {} {}, `{}` is the fastest, at {:.2} Mbit/s, and carries the most for each joule, **{:.2} Mbit**.",
            comparison.cases.len(),
            comparison.noun(),
            name(fast),
            mean(goodput, fast),
            mean(efficiency, fast),
        );
    }
    format!(
        "Of {} {}, `{}` carries the most for each joule, **{:.2} Mbit**, at {:.2} Mbit/s; `{}` is the \
         fastest, at {:.2} Mbit/s and {:.2} Mbit for each joule.",
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
    let figure = comparison.figures.iter().find(|figure| figure.quantity == quantity)?;
    let all: Vec<Estimate> = (0..comparison.cases.len()).map(|i| comparison.estimate(figure, i)).collect();
    let (unit, scale) = comparison.unit(figure);
    let all: Vec<Estimate> = all.iter().map(|e| Estimate::new(e.mean / scale, e.ci95 / scale)).collect();
    Some(
        Bars::new(figure.title(), Axis::new(&*figure.name).unit(unit).from(0.0))
            .decimals(decimals(all.iter().map(|e| e.mean)))
            .groups(comparison.cases.iter().map(|p| &*p.name))
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
    let mut bars = Bars::new(title, axis).groups(comparison.cases.iter().map(|p| &*p.name));
    let mut largest: f64 = 0.0;
    for figure in &comparison.figures {
        let path = match figure.quantity {
            Quantity::PathEnergy(path) if energy => path,
            Quantity::PathBytes(path) if !energy => path,
            _ => continue,
        };
        let all: Vec<Estimate> =
            (0..comparison.cases.len()).map(|i| comparison.estimate(figure, i)).collect();
        largest = all.iter().fold(largest, |max, e| max.max(e.mean));
        let name = comparison.cases[0].experiment.paths[path].name.as_str();
        bars = bars.series(name, all);
    }
    bars.decimals(decimals([largest]).min(2))
}
