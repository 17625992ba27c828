//! Metrics in the Prometheus text format (version 0.0.4).

use super::Status;
use std::fmt::Write;

/// Renders all metrics.
pub fn metrics(status: &Status) -> String {
    let mut out = String::new();
    let mut one = |name: &str, kind: &str, help: &str, value: f64| {
        let name = format!("tandem_proxy_{name}");
        _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    };
    one("running_seconds", "gauge", "Uptime of the proxy in seconds.", status.running_s);
    one(
        "draining",
        "gauge",
        "1 while the proxy drains: it accepts no new connections.",
        f64::from(u8::from(status.draining)),
    );
    one(
        "connections_limit",
        "gauge",
        "Limit of concurrent client connections.",
        status.most_connections as f64,
    );
    for (name, help, value) in status.totals.each() {
        match name {
            "open" => one("connections", "gauge", help, value as f64),
            name => one(&format!("{name}_total"), "counter", help, value as f64),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Totals;

    #[test]
    fn every_counter_has_a_help_line() {
        let totals = Totals { accepted: 7, open: 2, bytes_down: 10_000_000_000, ..Totals::default() };
        let status = Status { running_s: 1.5, most_connections: 10_000, totals, ..Status::default() };
        insta::assert_snapshot!(metrics(&status));
    }
}
