//! What a run's series show over time.

use report::{Axis, Lane, Line, Mark, Panel, Timeline};
use sim::{Experiment, Outcome, Series};
use traffic::Direction;
use units::Instant;

/// More connections than this are drawn as their sum.
const MOST_CONNECTIONS: usize = 4;

/// Goodput, then each path's rate, congestion window, round-trip time, queue, power and energy, then
/// the power states. `None` where no series was taken.
pub fn timeline(title: &str, experiment: &Experiment, outcome: &Outcome) -> Option<Timeline> {
    let series = &outcome.series;
    if series.rows() == 0 {
        return None;
    }
    let end = experiment.duration.as_secs_f64();
    let mut chart = Timeline::new(title);
    chart.x = Axis::seconds().from(0.0).to(end);

    // The paths come first, so that they have the colours that they have in the other charts.
    let directions =
        [(Direction::Down, "rate down", "rate_down_mbps"), (Direction::Up, "rate up", "rate_up_mbps")];
    for (direction, title, quantity) in directions {
        // The other direction carries acknowledgements only.
        if experiment.traffic.iter().any(|traffic| traffic.direction == direction) {
            chart = chart.panel(events(
                experiment,
                by_path(experiment, series, title, "Mbit/s", quantity, Zero::Drawn),
            ));
        }
    }
    chart = chart.panel(goodput(experiment, series));
    for (title, unit, quantity, zero) in [
        ("congestion window", "kB", "cwnd_kb", Zero::Gap),
        ("smoothed round-trip time", "ms", "srtt_ms", Zero::Gap),
        ("queue", "kB", "queue_kb", Zero::Drawn),
    ] {
        chart = chart.panel(by_path(experiment, series, title, unit, quantity, zero));
    }
    if experiment.traffic.len() <= MOST_CONNECTIONS
        && let Some(panel) = out_of_order(experiment, series)
    {
        chart = chart.panel(panel);
    }
    chart = chart.panel(by_path(experiment, series, "power", "W", "power_w", Zero::Drawn));
    let mut energy = by_path(experiment, series, "energy", "J", "energy_j", Zero::Drawn);
    if experiment.paths.len() > 1
        && let Some(line) = line(series, "all radios", "device.energy_j", Zero::Drawn)
    {
        energy = energy.line(line);
    }
    chart = chart.panel(energy);
    for states in &outcome.timelines {
        let name = format!("{} radio", states.path);
        chart = chart.lane(Lane::from_changes(name, &states.states, Instant::ZERO + experiment.duration));
    }
    let interval = crate::describe::spaced(&experiment.sample.to_string());
    Some(chart.caption(format!(
        "Means over {interval}; windows and round-trip times are the sender’s at that moment. Rates are those on \
         the wire, goodput is what the applications read."
    )))
}

/// What a value of zero says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zero {
    /// That there is none: a point like any other.
    Drawn,
    /// That there was nothing to measure.
    Gap,
}

fn by_path(
    experiment: &Experiment,
    series: &Series,
    title: &str,
    unit: &str,
    quantity: &str,
    zero: Zero,
) -> Panel {
    let mut panel = Panel::new(Axis::new(title).unit(unit).from(0.0));
    for path in &experiment.paths {
        panel.lines.extend(line(series, &path.name, &format!("{}.{quantity}", path.name), zero));
    }
    panel
}

/// When interfaces come and go.
fn events(experiment: &Experiment, mut panel: Panel) -> Panel {
    for path in &experiment.paths {
        if path.join_at > Instant::ZERO {
            panel = panel.mark(Mark::vertical(path.join_at.as_secs_f64(), format!("{} up", path.name)));
        }
        if let Some(leave) = path.leave_at {
            panel = panel.mark(Mark::vertical(leave.as_secs_f64(), format!("{} gone", path.name)));
        }
    }
    panel
}

fn goodput(experiment: &Experiment, series: &Series) -> Panel {
    let panel = Panel::new(Axis::new("goodput").unit("Mbit/s").from(0.0));
    let columns: Vec<&Vec<f64>> = (1..=experiment.traffic.len())
        .filter_map(|i| series.column(&format!("connection{i}.goodput_mbps")))
        .map(|column| &column.values)
        .collect();
    let sampled =
        |name: String, values: Vec<f64>| Line::sampled(name, series.interval_s, series.interval_s, values);
    if columns.len() <= MOST_CONNECTIONS {
        let name = |i: usize| {
            if columns.len() == 1 { "goodput".to_owned() } else { format!("connection {}", i + 1) }
        };
        return columns
            .iter()
            .enumerate()
            .fold(panel, |panel, (i, values)| panel.line(sampled(name(i), (*values).clone())));
    }
    let sum = (0..series.rows()).map(|row| columns.iter().filter_map(|c| c.get(row)).sum()).collect();
    panel.line(sampled("all connections".to_owned(), sum))
}

/// Nothing where nothing ever waited.
fn out_of_order(experiment: &Experiment, series: &Series) -> Option<Panel> {
    let mut panel = Panel::new(Axis::new("waiting for a gap to fill").unit("kB").from(0.0));
    let single = experiment.traffic.len() == 1;
    for i in 1..=experiment.traffic.len() {
        let name = if single { "goodput".to_owned() } else { format!("connection {i}") };
        panel.lines.extend(line(series, &name, &format!("connection{i}.out_of_order_kb"), Zero::Drawn));
    }
    let any = panel.lines.iter().any(|line| line.y.iter().any(|y| *y > 0.0));
    any.then_some(panel)
}

fn line(series: &Series, name: &str, column: &str, zero: Zero) -> Option<Line> {
    let column = series.column(column)?;
    let values = column.values.iter().map(|&v| if v == 0.0 && zero == Zero::Gap { f64::NAN } else { v });
    Some(Line::sampled(name, series.interval_s, series.interval_s, values.collect()))
}
