//! Application delay, jitter and head-of-line blocking: tables and distribution charts.

use crate::display::decimals;
use report::{Axis, Cell, Column, Line, Lines, Row, Table};
use sim::{ConnectionOutcome, Distribution, Outcome};

/// Maximum number of connections with a line each.
pub(crate) const MAX_CONNECTIONS: usize = 4;

/// A quantity with a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Delay,
    Jitter,
    HeadOfLine,
}

impl Measure {
    pub(crate) const ALL: [Self; 3] = [Self::Delay, Self::Jitter, Self::HeadOfLine];

    /// Distribution in a connection; `None` on a kernel for head-of-line blocking.
    pub(crate) fn of(self, connection: &ConnectionOutcome) -> Option<&Distribution> {
        match self {
            Self::Delay => Some(&connection.delay),
            Self::Jitter => Some(&connection.jitter),
            Self::HeadOfLine => connection.head_of_line.as_ref().map(|blocking| &blocking.wait),
        }
    }

    /// Member of a connection in `result.json`.
    pub(crate) fn member(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Jitter => "jitter",
            Self::HeadOfLine => "head_of_line",
        }
    }

    /// Name in a chart's key, title of the chart, name on its axis, and its caption.
    fn texts(self) -> [&'static str; 4] {
        match self {
            Self::Delay => [
                "delay",
                "Application delay",
                "delay",
                "Share of the messages with at most this delay, from write to complete read. Messages: packets, blocks \
                 of 8 KiB of a bulk transfer or file, requested segments of a video.",
            ],
            Self::Jitter => [
                "jitter",
                "Jitter",
                "jitter",
                "Share of the messages whose delay differs from the preceding one by at most this.",
            ],
            Self::HeadOfLine => [
                "hol",
                "Head-of-line blocking",
                "wait of received data",
                "Share of the bytes that waited for earlier data at most this long at the receiver.",
            ],
        }
    }
}

fn ms(seconds: Option<f64>) -> f64 {
    seconds.map_or(f64::NAN, |seconds| seconds * 1e3)
}

/// Quantiles of the delays and jitter of all connections; `None` if no message was delivered.
pub(crate) fn table(outcome: &Outcome) -> Option<Table> {
    let all = &outcome.connections;
    let mut table = Table::new("Delay of the applications")
        .column(Column::number("#"))
        .column(Column::number("messages"))
        .column(Column::text(""));
    for name in ["mean", "p50", "p95", "p99", "max", "jitter", "jitter p95"] {
        let key = format!("{}_ms", name.replace(' ', "_"));
        table = table.column(Column::number(name).unit("ms").key(key));
    }
    let means = all.iter().flat_map(|c| [ms(c.delay.p95_s), ms(c.jitter.mean_s)]);
    let digits = decimals(means).min(3);
    for (connection, number) in all.iter().zip(1_u32..).filter(|(c, _)| c.delay.count > 0) {
        let Distribution { count, mean_s, p50_s, p95_s, p99_s, max_s, .. } = connection.delay;
        let jitter = &connection.jitter;
        let name = connection.message;
        let row = Row::new([
            Cell::number(f64::from(number), 0),
            Cell::number(count as f64, 0),
            Cell::text(if count == 1 { name.to_owned() } else { format!("{name}s") }),
        ]);
        let values = [mean_s, p50_s, p95_s, p99_s, max_s, jitter.mean_s, jitter.p95_s];
        table = table.row(values.into_iter().map(|s| Cell::number(ms(s), digits)).fold(row, Row::cell));
    }
    let any = !table.rows.is_empty();
    any.then_some(table)
}

/// Waits of received data for earlier data; `None` if none waited, or on a kernel.
pub(crate) fn blocking_table(outcome: &Outcome) -> Option<Table> {
    let mut table = Table::new("Head-of-line blocking")
        .column(Column::number("#"))
        .column(Column::number("bytes that waited").unit("%").key("waited_percent"));
    for name in ["mean", "p95", "p99", "max"] {
        table = table.column(Column::number(name).unit("ms").key(format!("{name}_ms")));
    }
    for path in &outcome.paths {
        let key = format!("for_{}_percent", path.name);
        table = table.column(Column::number(format!("for {}", path.name)).unit("%").key(key));
    }
    let blockings = outcome.connections.iter().zip(1_u32..);
    let blockings = blockings.filter_map(|(c, number)| Some((number, c.head_of_line.as_ref()?)));
    let blockings: Vec<_> = blockings.filter(|(_, blocking)| blocking.waited_bytes > 0).collect();
    let digits = decimals(blockings.iter().map(|(_, blocking)| ms(blocking.wait.p95_s))).min(3);
    for (number, blocking) in &blockings {
        let Distribution { mean_s, p95_s, p99_s, max_s, .. } = blocking.wait;
        let row =
            Row::new([Cell::number(f64::from(*number), 0), Cell::number(100.0 * blocking.waited_share, 1)]);
        let row = [mean_s, p95_s, p99_s, max_s]
            .map(|s| Cell::number(ms(s), digits))
            .into_iter()
            .fold(row, Row::cell);
        let shares = blocking.waited_for.iter().map(|path| Cell::number(100.0 * path.share, 1));
        table = table.row(shares.fold(row, Row::cell));
    }
    (!blockings.is_empty()).then(|| {
        table.note("Waits of received data for earlier data, over all bytes; shares of the waiting time by path waited for.")
    })
}

/// Chart of the distributions of a quantity, one line for each name; `None` without values.
pub(crate) fn chart<S: Into<String>>(
    measure: Measure,
    lines: impl IntoIterator<Item = (S, Vec<(f64, f64)>)>,
) -> Option<Lines> {
    let [key, title, axis, caption] = measure.texts();
    let mut chart = Lines::new(
        title,
        Axis::new(axis).unit("ms").from(0.0),
        Axis::new("cumulative share").unit("%").from(0.0).to(100.0),
    )
    .key(format!("cdf:{key}"))
    .caption(caption);
    let (mut longest, mut end) = (0.0_f64, 0.0_f64);
    for (name, quantiles) in lines {
        let quantile = |q: f64| quantiles.iter().find(|(share, _)| *share >= q).map_or(0.0, |(_, s)| s * 1e3);
        (longest, end) = (longest.max(quantile(1.0)), end.max(quantile(0.99)));
        if quantiles.last().is_some_and(|(_, longest)| measure == Measure::Delay || *longest > 0.0) {
            let quantiles = quantiles.into_iter().map(|(share, seconds)| (share, seconds * 1e3));
            chart = chart.line(Line::cdf_of_quantiles(name, quantiles));
        }
    }
    // Rare long values would leave no room for the others.
    if end > 0.0 && longest > 2.0 * end {
        chart.x = chart.x.to(1.1 * end);
        let digits = decimals([longest]).min(1);
        chart.caption = format!("{caption} The axis ends beyond 99 %; the maximum is {longest:.digits$} ms.");
    }
    (!chart.lines.is_empty()).then_some(chart)
}

/// Charts of a run: a line for each of the first connections.
pub(crate) fn charts(outcome: &Outcome) -> Vec<Lines> {
    let connections = || outcome.connections.iter().zip(1..).take(MAX_CONNECTIONS);
    let lines = |measure: Measure| {
        connections().filter_map(move |(connection, number)| {
            let quantiles = pooled([measure.of(connection)?]);
            Some((format!("connection {number}, {}", connection.kind), quantiles))
        })
    };
    Measure::ALL.into_iter().filter_map(|measure| chart(measure, lines(measure))).collect()
}

/// Percentiles 0 to 100 of a distribution given by pairs of share and seconds, in seconds.
pub(crate) fn percentiles(quantiles: &[(f64, f64)]) -> Vec<f64> {
    let percents = (0..=100).map(|percent| f64::from(percent) / 100.0 - 1e-9);
    percents.filter_map(|p| quantiles.iter().find(|(share, _)| *share >= p).map(|(_, s)| *s)).collect()
}

/// Quantiles of the values of several runs together: pairs of share and seconds.
///
/// Each distribution counts with its number of values. The result has the resolution of the
/// quantiles of the runs.
pub(crate) fn pooled<'a>(runs: impl IntoIterator<Item = &'a Distribution>) -> Vec<(f64, f64)> {
    let runs: Vec<&Distribution> = runs.into_iter().filter(|run| run.cdf.len() > 1).collect();
    if let [one] = runs[..] {
        let steps = (one.cdf.len() - 1) as f64;
        return one.cdf.iter().enumerate().map(|(i, value)| (i as f64 / steps, value)).collect();
    }
    let all: f64 = runs.iter().map(|run| run.count as f64).sum();
    let mut weighted: Vec<(f64, f64)> = Vec::new();
    for run in &runs {
        let weight = run.count as f64 / all / (run.cdf.len() - 1) as f64;
        // The minimum has no weight: each other quantile stands for the values since the one before.
        weighted.extend(run.cdf.iter().enumerate().map(|(i, v)| (v, if i == 0 { 0.0 } else { weight })));
    }
    weighted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut share = 0.0;
    let points: Vec<(f64, f64)> = weighted
        .into_iter()
        .map(|(value, weight)| {
            share += weight;
            (f64::min(share, 1.0), value)
        })
        .collect();
    // As many points as a single run has; the ends stay.
    let step = runs.len().max(1);
    let last = points.len().saturating_sub(1);
    points.into_iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last).map(|(_, p)| p).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooled_quantiles_weigh_runs_by_their_number_of_values() {
        let run = |count: u64, from: f64| Distribution {
            count,
            cdf: (0..=200).map(|i| from + f64::from(i) / 200.0).collect(),
            ..Distribution::default()
        };
        let (low, high) = (run(300, 0.0), run(100, 10.0));
        let points = pooled([&low, &high]);
        assert_eq!((points[0], points.last().unwrap().1), ((0.0, 0.0), 11.0));
        let share_of_low =
            points.iter().filter(|(_, value)| *value < 5.0).map(|(share, _)| *share).fold(0.0, f64::max);
        assert!((share_of_low - 0.75).abs() < 0.01, "{share_of_low}");
        assert!(points.len() <= 202 && points.is_sorted());
        assert_eq!(pooled([&low]).len(), 201);
        let percentiles = percentiles(&pooled([&low]));
        assert_eq!((percentiles.len(), percentiles[50], percentiles[100]), (101, 0.5, 1.0));
        assert_eq!(pooled([]), []);
    }
}
