//! Application delay, jitter and head-of-line blocking of a comparison.

use super::{Compared, Comparison};
use crate::delay::{MAX_CONNECTIONS, Measure, chart, percentiles, pooled};
use report::Lines;
use serde_json::{Value, json};
use sim::{Cdf, ConnectionOutcome, Outcome};

/// Maximum number of cases with a line each.
const MAX_LINES: usize = 8;

/// Quantity that a metric reads from the delays of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compare) enum DelayMetric {
    Mean(Measure),
    P50(Measure),
    P95(Measure),
    P99(Measure),
    /// Share of the bytes that waited for earlier data.
    Waited,
}

/// Tables that show a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// `result.json` and CSV only.
    InFiles,
    /// Also the tables of a scenario with a single connection.
    ForOneConnection,
    Always,
}

impl DelayMetric {
    /// All of them with key, name and unit.
    const ALL: [(Self, &'static str, &'static str, &'static str, Shown); 12] = {
        use DelayMetric::{Mean, P50, P95, P99, Waited};
        use Measure::{Delay, HeadOfLine, Jitter};
        use Shown::{Always, ForOneConnection, InFiles};
        [
            (Mean(Delay), "delay_mean_ms", "mean delay", "ms", Always),
            (P50(Delay), "delay_p50_ms", "delay p50", "ms", ForOneConnection),
            (P95(Delay), "delay_p95_ms", "delay p95", "ms", Always),
            (P99(Delay), "delay_p99_ms", "delay p99", "ms", ForOneConnection),
            (Mean(Jitter), "jitter_mean_ms", "jitter", "ms", ForOneConnection),
            (P50(Jitter), "jitter_p50_ms", "jitter p50", "ms", InFiles),
            (P95(Jitter), "jitter_p95_ms", "jitter p95", "ms", InFiles),
            (P99(Jitter), "jitter_p99_ms", "jitter p99", "ms", InFiles),
            (Mean(HeadOfLine), "hol_mean_ms", "head-of-line wait", "ms", ForOneConnection),
            (P95(HeadOfLine), "hol_p95_ms", "head-of-line wait p95", "ms", InFiles),
            (P99(HeadOfLine), "hol_p99_ms", "head-of-line wait p99", "ms", InFiles),
            (Waited, "hol_waited_percent", "bytes that waited", "%", InFiles),
        ]
    };

    /// Metrics of a connection out of `connections`, each with key, name, unit, and whether tables
    /// show it.
    pub(in crate::compare) fn all(
        connections: usize,
    ) -> impl Iterator<Item = (Self, &'static str, &'static str, &'static str, bool)> {
        Self::ALL.into_iter().map(move |(metric, key, name, unit, shown)| {
            let in_tables = shown == Shown::Always || shown == Shown::ForOneConnection && connections == 1;
            (metric, key, name, unit, in_tables)
        })
    }

    /// Value in a connection; `None` if no message was delivered.
    pub(in crate::compare) fn of(self, connection: &ConnectionOutcome) -> Option<f64> {
        let seconds = match self {
            Self::Mean(measure) => measure.of(connection)?.mean_s,
            Self::P50(measure) => measure.of(connection)?.p50_s,
            Self::P95(measure) => measure.of(connection)?.p95_s,
            Self::P99(measure) => measure.of(connection)?.p99_s,
            Self::Waited => return Some(100.0 * connection.head_of_line.as_ref()?.waited_share),
        };
        Some(seconds? * 1e3)
    }

    /// Whether a sweep has a chart of this metric.
    pub(in crate::compare) fn is_drawn(self) -> bool {
        matches!(self, Self::Mean(_) | Self::P95(Measure::Delay))
    }
}

/// Drops the distributions that no chart shows, because they would need much memory.
pub(super) fn keep_drawn_distributions(outcome: &mut Outcome) {
    for connection in outcome.connections.iter_mut().skip(MAX_CONNECTIONS) {
        connection.delay.cdf = Cdf::default();
        connection.jitter.cdf = Cdf::default();
        if let Some(blocking) = &mut connection.head_of_line {
            blocking.wait.cdf = Cdf::default();
        }
    }
}

/// Percentiles 0 to 100 over all seeds of a case, in seconds: a list for each of the first
/// connections and each quantity, by the name `connectionN_QUANTITY_s`.
pub(super) fn percentiles_of(case: &Compared) -> Value {
    let runs = || case.of_device();
    let connections = runs().next().map_or(0, |outcome| outcome.connections.len());
    let mut all = serde_json::Map::new();
    for (i, number) in (0..connections.min(MAX_CONNECTIONS)).zip(1..) {
        for measure in Measure::ALL {
            let quantiles = pooled(runs().filter_map(|o| measure.of(o.connections.get(i)?)));
            all.insert(format!("connection{number}_{}_s", measure.member()), json!(percentiles(&quantiles)));
        }
    }
    Value::Object(all)
}

/// Distributions over all seeds: for each connection and quantity a chart with a line for each case.
pub(super) fn charts(comparison: &Comparison) -> Vec<Lines> {
    let connections = comparison.cases.first().map_or(0, |case| case.experiment.traffic.len());
    let (title, names) = comparison.legend();
    let mut charts = Vec::new();
    for (i, number) in (0..connections.min(MAX_CONNECTIONS)).zip(1..) {
        for measure in Measure::ALL {
            let lines = comparison.cases.iter().zip(&names).take(MAX_LINES).map(|(case, name)| {
                let runs = case.of_device().filter_map(|o| measure.of(o.connections.get(i)?));
                (name.as_str(), pooled(runs))
            });
            let Some(mut chart) = chart(measure, lines) else { continue };
            chart.legend_title.clone_from(&title);
            if connections > 1 {
                chart.title = format!("{}, connection {number}", chart.title);
                chart.key = format!("{}:{number}", chart.key);
            }
            if comparison.cases.len() > MAX_LINES {
                chart.caption = format!("{} The first {MAX_LINES} cases.", chart.caption);
            }
            charts.push(chart);
        }
    }
    charts
}
