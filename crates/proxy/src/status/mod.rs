//! Status of a running proxy, served over HTTP on a UNIX socket: `/status` in JSON, `/metrics` for
//! Prometheus.

mod metrics;
mod server;

pub use metrics::metrics;
pub use server::query;
pub(crate) use server::{Source, bind, bind_metrics, serve, serve_metrics};

use crate::counters::Totals;
use crate::latency::Latencies;
use report::{Cell, Column, Row, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Status of a running proxy.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Status {
    /// Uptime in seconds.
    pub running_s: f64,
    /// Whether the proxy drains: it accepts no new connections.
    pub draining: bool,
    /// Listeners.
    pub listening: Vec<Listening>,
    /// Upstream proxy, if any.
    pub upstream: Option<String>,
    /// Limit of concurrent client connections.
    pub most_connections: u64,
    /// Counters.
    pub totals: Totals,
    /// Latency histograms.
    #[serde(default)]
    pub latencies: Latencies,
    /// Failed TLS handshakes of clients by reason.
    #[serde(default)]
    pub tls_failures: BTreeMap<String, u64>,
}

/// Listener.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Listening {
    /// Bound address and port.
    pub address: String,
    /// Protocol of clients.
    pub serve: String,
    /// Transport: `mptcp` or `tcp`.
    pub protocol: String,
}

/// Explains the columns of the listeners; the counters have their description beside them.
pub fn explanations() -> Table {
    let mut table = Table::new("columns").column(Column::text("column")).column(Column::text("meaning"));
    for [column, meaning] in [
        ["address", "address and port at which the proxy accepts connections"],
        [
            "serve",
            "protocol of clients: auto (HTTP or SOCKS5), http, socks5, convert, transparent, redirected",
        ],
        ["protocol", "transport of clients: mptcp (accepts TCP as well) or tcp"],
        ["counter", "name of a counter; in metrics `tandem_proxy_NAME`"],
        ["latency", "name of a histogram; in metrics `tandem_proxy_NAME_seconds`"],
        [
            "p99 below",
            "upper bound of the bucket with the 99th percentile; – above 30 s or without observations",
        ],
        ["value", "count since the start of the proxy; `open` is the present number"],
    ] {
        table = table.row(Row::new([Cell::text(column), Cell::text(meaning)]));
    }
    table
}

/// Renders the status as tables.
pub fn tables(status: &Status) -> Vec<Table> {
    let ends = if status.draining { ", draining" } else { "" };
    let to = status.upstream.as_ref().map_or_else(String::new, |upstream| format!(", upstream {upstream}"));
    let mut table = Table::new(format!("uptime {:.0} s{to}{ends}", status.running_s))
        .column(Column::text("counter"))
        .column(Column::number("value"))
        .column(Column::text("description"));
    for (name, meaning, value) in status.totals.each() {
        let name = name.replace('_', " ");
        table = table.row(Row::new([Cell::text(name), Cell::number(value as f64, 0), Cell::text(meaning)]));
    }
    for (reason, count) in status.tls_failures.iter().filter(|(_, count)| **count > 0) {
        let name = format!("tls failed: {}", reason.replace('_', " "));
        let cells =
            [Cell::text(name), Cell::number(*count as f64, 0), Cell::text("Of these, for this reason.")];
        table = table.row(Row::new(cells));
    }
    let mut places = Table::new("listening")
        .column(Column::text("address"))
        .column(Column::text("serve"))
        .column(Column::text("protocol"));
    for one in &status.listening {
        let cells = [&one.address, &one.serve, &one.protocol].map(|text| Cell::text(&**text));
        places = places.row(Row::new(cells));
    }
    let mut latencies = Table::new("latency")
        .column(Column::text("latency"))
        .column(Column::number("count"))
        .column(Column::number("mean").unit("ms"))
        .column(Column::number("p99 below").unit("ms"))
        .column(Column::text("description"));
    for (name, meaning, one) in status.latencies.each() {
        let ms = |seconds: Option<f64>| match seconds {
            Some(seconds) if seconds.is_finite() => Cell::number(seconds * 1e3, 1),
            _ => Cell::text("–"),
        };
        latencies = latencies.row(Row::new([
            Cell::text(name.replace('_', " ")),
            Cell::number(one.count() as f64, 0),
            ms(one.mean_s()),
            ms(one.quantile_bound_s(0.99)),
            Cell::text(meaning),
        ]));
    }
    vec![places, latencies, table]
}
