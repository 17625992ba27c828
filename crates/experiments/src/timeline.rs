//! Timeline chart of a run's series.

use report::{Axis, Lane, Line, Mark, Panel, Timeline};
use sim::{Experiment, Outcome, Series};
use traffic::Direction;
use units::Instant;

/// Maximum number of connections with a line each; the chart shows the sum of more connections.
const MAX_CONNECTIONS: usize = 4;

/// Chart of rates, goodput, congestion windows, round-trip times, queues, power, energy and power
/// states; `None` for an outcome without series.
pub fn timeline(title: &str, experiment: &Experiment, outcome: &Outcome) -> Option<Timeline> {
    let series = &outcome.series;
    if series.rows() == 0 {
        return None;
    }
    let end = experiment.duration.as_secs_f64();
    let mut chart = Timeline::new(title).key("timeline");
    chart.x = Axis::seconds().from(0.0).to(end);

    // Paths come first, so that they have the same colours as in the other charts.
    for (direction, rate) in [(Direction::Down, &RATE_DOWN), (Direction::Up, &RATE_UP)] {
        // A direction without traffic carries only acknowledgements.
        if experiment.traffic.iter().any(|traffic| traffic.direction == direction) {
            chart = chart.panel(events(experiment, by_path(experiment, series, rate)));
        }
    }
    chart = chart.panel(goodput(experiment, series));
    for quantity in [&CONGESTION_WINDOW, &SMOOTHED_RTT, &QUEUE] {
        chart = chart.panel(by_path(experiment, series, quantity));
    }
    if experiment.traffic.len() <= MAX_CONNECTIONS {
        let panels = [delay(experiment, series), out_of_order(experiment, series)];
        chart = panels.into_iter().flatten().fold(chart, Timeline::panel);
    }
    chart = chart.panel(by_path(experiment, series, &POWER));
    let mut energy = by_path(experiment, series, &ENERGY);
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
        "Means over {interval}; windows and round-trip times are samples of the sender’s state. Rates include all \
         headers; goodput is the data read by the applications."
    )))
}

/// Drawing of a value of zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zero {
    /// A point like any other.
    Drawn,
    /// A gap: zero stands for a missing measurement.
    Gap,
}

/// A quantity that every path has a series of.
struct PathQuantity {
    title: &'static str,
    unit: &'static str,
    /// Column of the series, after the path's name.
    column: &'static str,
    zero: Zero,
}

const RATE_DOWN: PathQuantity =
    PathQuantity { title: "rate down", unit: "Mbit/s", column: "rate_down_mbps", zero: Zero::Drawn };
const RATE_UP: PathQuantity =
    PathQuantity { title: "rate up", unit: "Mbit/s", column: "rate_up_mbps", zero: Zero::Drawn };
const CONGESTION_WINDOW: PathQuantity =
    PathQuantity { title: "congestion window", unit: "kB", column: "cwnd_kb", zero: Zero::Gap };
const SMOOTHED_RTT: PathQuantity =
    PathQuantity { title: "smoothed round-trip time", unit: "ms", column: "srtt_ms", zero: Zero::Gap };
const QUEUE: PathQuantity =
    PathQuantity { title: "queue", unit: "kB", column: "queue_kb", zero: Zero::Drawn };
const POWER: PathQuantity = PathQuantity { title: "power", unit: "W", column: "power_w", zero: Zero::Drawn };
const ENERGY: PathQuantity =
    PathQuantity { title: "energy", unit: "J", column: "energy_j", zero: Zero::Drawn };

fn by_path(experiment: &Experiment, series: &Series, quantity: &PathQuantity) -> Panel {
    let mut panel = Panel::new(Axis::new(quantity.title).unit(quantity.unit).from(0.0));
    for path in &experiment.paths {
        let column = format!("{}.{}", path.name, quantity.column);
        panel.lines.extend(line(series, &path.name, &column, quantity.zero));
    }
    panel
}

/// Adds marks for interfaces that appear or disappear.
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
    if columns.len() <= MAX_CONNECTIONS {
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

/// Mean delay of the messages read in each interval; `None` if there never was any.
fn delay(experiment: &Experiment, series: &Series) -> Option<Panel> {
    let mut panel = Panel::new(Axis::new("application delay").unit("ms").from(0.0));
    let single = experiment.traffic.len() == 1;
    for i in 1..=experiment.traffic.len() {
        let name = if single { "goodput".to_owned() } else { format!("connection {i}") };
        panel.lines.extend(line(series, &name, &format!("connection{i}.delay_ms"), Zero::Drawn));
    }
    let any = panel.lines.iter().any(|line| line.y.iter().any(|y| y.is_finite()));
    any.then_some(panel)
}

/// Data out of order at the receiver; `None` if there never was any.
fn out_of_order(experiment: &Experiment, series: &Series) -> Option<Panel> {
    let mut panel = Panel::new(Axis::new("out-of-order data").unit("kB").from(0.0));
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
