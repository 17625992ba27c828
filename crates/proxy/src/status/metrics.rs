//! Metrics in the Prometheus text format (version 0.0.4).

use super::Status;
use crate::latency::{BOUNDS_S, Distribution};
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
            // By reason below.
            "tls_failed" => {}
            name => one(&format!("{name}_total"), "counter", help, value as f64),
        }
    }
    write_tls_failures(&mut out, status);
    for (name, help, distribution) in status.latencies.each() {
        write_histogram(&mut out, name, help, distribution);
    }
    out
}

fn write_tls_failures(out: &mut String, status: &Status) {
    let name = "tandem_proxy_tls_failed_total";
    _ = writeln!(out, "# HELP {name} Failed TLS handshakes of clients by reason.\n# TYPE {name} counter");
    for (reason, count) in &status.tls_failures {
        _ = writeln!(out, "{name}{{reason=\"{reason}\"}} {count}");
    }
}

fn write_histogram(out: &mut String, name: &str, help: &str, distribution: &Distribution) {
    let name = format!("tandem_proxy_{name}_seconds");
    _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
    let mut below = 0;
    for (bound, count) in BOUNDS_S.iter().zip(&distribution.buckets) {
        below += count;
        _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {below}");
    }
    let count = distribution.count();
    _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {count}");
    _ = writeln!(out, "{name}_sum {}\n{name}_count {count}", distribution.sum_s);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Totals;

    #[test]
    fn every_counter_has_a_help_line() {
        let totals = Totals { accepted: 7, open: 2, bytes_down: 10_000_000_000, ..Totals::default() };
        let mut status = Status { running_s: 1.5, most_connections: 10_000, totals, ..Status::default() };
        let mut buckets = vec![0; BOUNDS_S.len() + 1];
        (buckets[3], buckets[BOUNDS_S.len()]) = (2, 1);
        status.tls_failures =
            [("revoked", 3), ("timeout", 0)].map(|(key, count)| (key.to_owned(), count)).into();
        status.latencies.connect = Distribution { buckets, sum_s: 60.5 };
        insta::assert_snapshot!(metrics(&status));
    }
}
