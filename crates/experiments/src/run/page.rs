//! HTML report of a run.

use super::{Run, tables};
use crate::page::{footer, kernel_footer, one_line, unbroken, warnings};
use crate::{delay, describe, timeline, traces, video};
use report::{Axis, Bars, Estimate, Page, Section, literal};

pub(super) fn page(run: &Run) -> Page {
    let outcome = &run.outcome;
    let mut page = Page::new(unbroken(&run.title)).main_chart("goodput");
    if let Some(description) = &run.description {
        page = page.lead(literal(&one_line(description)));
    }
    page = page.lead(summary(run));

    let mut tables = run.result_tables();
    let more = tables.split_off(4);
    let [device, paths, energy, connections]: [report::Table; 4] =
        tables.try_into().expect("a run has at least four tables");
    let result =
        warnings(Section::new("Result"), &run.warnings).table(device).table(connections).table(paths);
    page = page
        .section(more.into_iter().fold(result, Section::table))
        .section(Section::new("Energy").table(energy).charts([energy_bars(run)]));

    let delays = delay::charts(outcome);
    if !delays.is_empty() {
        page = page.section(Section::new("Delay").charts(delays));
    }
    let mut time = Section::new("Timeline");
    let title = format!("Policy {}, seed {}", run.experiment.device.policy, outcome.seed);
    match timeline::timeline(&title, &run.experiment, outcome) {
        Some(chart) => time = time.chart(chart),
        None => time = time.prose("The run has no series, because the scenario’s `sample` is zero."),
    }
    time = time.charts(video::charts(outcome, run.experiment.duration.as_secs_f64()));
    let scenario = Section::new("Scenario").facts(describe::facts(&run.experiment));
    page.section(time)
        .section(
            traces::table(&run.traces)
                .into_iter()
                .fold(scenario, Section::table)
                .table(describe::sources(&describe::profiles(&run.experiment)))
                .details("Scenario file", &*run.source),
        )
        .footer(if run.kernel.is_some() { kernel_footer() } else { footer() })
}

/// The main result in a sentence or two.
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
        .map_or_else(String::new, |mbit| format!(", or **{mbit:.2} Mbit/J**"));
    format!(
        "With policy `{}` the mean goodput was {goodput:.2} Mbit/s{carried}. The mean power of the radios was \
         {power:.3} W{efficiency}.",
        run.experiment.device.policy
    )
}

fn energy_bars(run: &Run) -> Bars {
    let outcome = &run.outcome;
    let mut bars = Bars::new("Energy by component", Axis::new("energy").unit("J"))
        .key("energy-parts")
        .groups(["idle", "promotion", "active", "data", "tail"])
        .decimals(crate::display::decimals(outcome.paths.iter().map(|p| p.energy.total_j)).min(2));
    for path in &outcome.paths {
        bars = bars.series(&*path.name, tables::parts(&path.energy).map(Estimate::exact));
    }
    bars.caption(
        "Active: base power of an awake radio. Data: power that grows with the rate. Tail: power after the last packet \
         until the radio sleeps.",
    )
}
