//! How things stand: what a proxy tells whoever asks at its UNIX socket, in HTTP: `/status` in JSON, `/metrics` for
//! Prometheus.

mod metrics;
mod server;

pub use metrics::metrics;
pub use server::ask;
pub(crate) use server::{bind, serve};

use crate::counters::Totals;
use report::{Cell, Column, Row, Table};
use serde::{Deserialize, Serialize};

/// How things stand.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Status {
    /// Since the proxy began, in seconds.
    pub running_s: f64,
    /// It takes nothing new, and ends when what goes on has ended.
    pub draining: bool,
    /// Where it listens.
    pub listening: Vec<Listening>,
    /// The proxy behind it, where there is one.
    pub upstream: Option<String>,
    /// How many connections there may be at once.
    pub most_connections: u64,
    /// What it has counted.
    pub totals: Totals,
}

/// A place where it listens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Listening {
    /// The address and port.
    pub address: String,
    /// What is spoken there.
    pub serve: String,
    /// `mptcp` or `tcp`.
    pub protocol: String,
}

/// How things stand, as tables for people.
pub fn tables(status: &Status) -> Vec<Table> {
    let ends = if status.draining { ", ending" } else { "" };
    let to = status.upstream.as_ref().map_or_else(String::new, |upstream| format!(", to {upstream}"));
    let mut table = Table::new(format!("for {:.0} s{to}{ends}", status.running_s))
        .column(Column::text("counter"))
        .column(Column::number("value"))
        .column(Column::text("meaning"));
    for (name, meaning, value) in status.totals.each() {
        let name = name.replace('_', " ");
        table = table.row(Row::new([Cell::text(name), Cell::number(value as f64, 0), Cell::text(meaning)]));
    }
    let mut places = Table::new("listening")
        .column(Column::text("address"))
        .column(Column::text("serve"))
        .column(Column::text("protocol"));
    for one in &status.listening {
        let cells = [&one.address, &one.serve, &one.protocol].map(|text| Cell::text(&**text));
        places = places.row(Row::new(cells));
    }
    vec![places, table]
}
