//! The report of a run.

use super::{Run, tables};
use crate::page::{footer, one_line, unbroken};
use crate::{describe, timeline, video};
use report::{Axis, Bars, Estimate, Page, Section, literal};

pub(super) fn page(run: &Run) -> Page {
    let outcome = &run.outcome;
    let mut page = Page::new(unbroken(&run.title));
    if let Some(description) = &run.description {
        page = page.lead(literal(&one_line(description)));
    }
    page = page.lead(summary(run));

    let mut tables = run.tables();
    let more = tables.split_off(4);
    let [device, paths, energy, connections]: [report::Table; 4] =
        tables.try_into().expect("a run has four tables at least");
    let result = Section::new("Result").table(device).table(connections).table(paths);
    page = page
        .section(more.into_iter().fold(result, Section::table))
        .section(Section::new("Energy").table(energy).charts([split(run)]));

    let mut time = Section::new("Second by second");
    let title = format!("Policy {}, seed {}", run.experiment.device.policy, outcome.seed);
    match timeline::timeline(&title, &run.experiment, outcome) {
        Some(chart) => time = time.chart(chart),
        None => time = time.prose("No series was taken: the scenario’s `sample` is zero."),
    }
    time = time.charts(video::charts(outcome, run.experiment.duration.as_secs_f64()));
    page.section(time)
        .section(
            Section::new("What was run")
                .facts(describe::facts(&run.experiment))
                .table(describe::sources(&describe::profiles(&run.experiment)))
                .details("The scenario file", &*run.source),
        )
        .footer(match run.kernel {
            None => footer(),
            Some(_) => format!("Made by `tandem` {} on a real kernel.", env!("CARGO_PKG_VERSION")),
        })
}

/// The run in a sentence or two.
fn summary(run: &Run) -> String {
    let outcome = &run.outcome;
    let goodput: f64 = outcome.connections.iter().map(|c| c.delivered_bytes as f64 * 8e-6).sum::<f64>()
        / outcome.duration_s.max(f64::MIN_POSITIVE);
    let carried: u64 = outcome.paths.iter().map(|p| p.payload_down_bytes + p.payload_up_bytes).sum();
    let mut shares: Vec<String> = Vec::new();
    if outcome.paths.len() > 1 && carried > 0 {
        for path in &outcome.paths {
            let bytes = path.payload_down_bytes + path.payload_up_bytes;
            let share = 100.0 * bytes as f64 / carried as f64;
            shares.push(format!("{share:.0} % over {}", literal(&path.name)));
        }
    }
    let carried = if shares.is_empty() { String::new() } else { format!(", {}", shares.join(", ")) };
    let power = outcome.device.energy_rate_w;
    let efficiency = outcome
        .device
        .efficiency_mbit_per_j
        .map_or_else(String::new, |mbit| format!(": **{mbit:.2} Mbit for each joule**"));
    format!(
        "With policy `{}` the applications received {goodput:.2} Mbit/s in the mean{carried}. The radios drew \
         {power:.3} W{efficiency}.",
        run.experiment.device.policy
    )
}

fn split(run: &Run) -> Bars {
    let outcome = &run.outcome;
    let mut bars = Bars::new("Where the energy went", Axis::new("energy").unit("J"))
        .groups(["idle", "promotion", "active", "data", "tail"])
        .decimals(crate::display::decimals(outcome.paths.iter().map(|p| p.energy.total_j)).min(2));
    for path in &outcome.paths {
        bars = bars.series(&*path.name, tables::parts(&path.energy).map(Estimate::exact));
    }
    bars.caption(
        "Active is the power of being awake whatever the rate, data what the bits add to it, tail what is drawn \
         after the last packet until the radio sleeps.",
    )
}
