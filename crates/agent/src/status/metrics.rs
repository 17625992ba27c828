//! Metrics in the text format of Prometheus (version 0.0.4).

use super::{AllowanceStatus, EnergyStatus, Interface, Status};
use std::fmt::Write;

/// Name without prefix, type, help, and value of a metric per interface.
type InterfaceMetric = (&'static str, &'static str, &'static str, fn(&Interface) -> Option<f64>);

const INTERFACE_METRICS: [InterfaceMetric; 11] = [
    ("up", "gauge", "Whether the interface is usable: 1 with a link and an address and not closed.", |one| {
        Some(flag(one.link == "up"))
    }),
    ("backup", "gauge", "Whether subflows over the interface are marked as backup.", |one| {
        Some(flag(one.backup))
    }),
    ("receiving", "gauge", "Whether bytes were received in the last sampling interval.", |one| {
        Some(flag(one.channel == "rx"))
    }),
    ("receive_bytes_total", "counter", "Bytes received since the agent manages the interface.", |one| {
        Some(one.down_bytes as f64)
    }),
    ("transmit_bytes_total", "counter", "Bytes sent since the agent manages the interface.", |one| {
        Some(one.up_bytes as f64)
    }),
    ("share_ratio", "gauge", "Fraction of the bytes of all managed interfaces.", |one| one.share),
    ("energy_joules_total", "counter", "Energy drawn by the radio according to its profile.", |one| {
        energy(one, |energy| energy.joules)
    }),
    ("switches", "gauge", "Number of switches to backup in the last minute.", |one| {
        energy(one, |energy| energy.switches as f64)
    }),
    ("switching_saved_joules", "gauge", "Estimated energy saved by switching in the last minute.", |one| {
        energy(one, |energy| energy.saved_j)
    }),
    ("allowance_bytes", "gauge", "Data allowance per period.", |one| {
        allowance(one, |allowance| allowance.data_bytes)
    }),
    ("allowance_used_bytes", "gauge", "Bytes used of the data allowance in the current period.", |one| {
        allowance(one, |allowance| allowance.used_bytes)
    }),
];

fn flag(flag: bool) -> f64 {
    f64::from(u8::from(flag))
}

/// Formats all metrics.
pub fn metrics(status: &Status) -> String {
    let mut out = String::new();
    single(&mut out, "tandem_agent_running_seconds", "Time since the agent started.", status.running_s);
    single(
        &mut out,
        "tandem_agent_interval_seconds",
        "Current sampling interval of the interface counters.",
        status.interval_ms / 1e3,
    );
    let _ = writeln!(
        out,
        "# HELP tandem_agent_policy Steering policy, as a label of a constant 1.\n# TYPE tandem_agent_policy gauge"
    );
    let _ = writeln!(out, "tandem_agent_policy{{policy=\"{}\"}} 1", escape(&status.policy));
    for (name, kind, help, read) in INTERFACE_METRICS {
        let name = format!("tandem_interface_{name}");
        let mut head = Some(format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        for one in &status.interfaces {
            if let Some(value) = read(one) {
                out.push_str(&head.take().unwrap_or_default());
                let labels = format!("interface=\"{}\",kind=\"{}\"", escape(&one.name), escape(&one.kind));
                let _ = writeln!(out, "{name}{{{labels}}} {value}");
            }
        }
    }
    out
}

fn energy(one: &Interface, read: fn(&EnergyStatus) -> f64) -> Option<f64> {
    one.energy.as_ref().map(read)
}

fn allowance(one: &Interface, read: fn(&AllowanceStatus) -> u64) -> Option<f64> {
    one.allowance.as_ref().map(|allowance| read(allowance) as f64)
}

fn single(out: &mut String, name: &str, help: &str, value: f64) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_labels() {
        let mut status =
            Status { policy: "emtcp:mp-prio:0.4".to_owned(), running_s: 1.5, ..Status::default() };
        status.interfaces.push(Interface {
            name: "wl\"an".to_owned(),
            kind: "wifi".to_owned(),
            link: "up".to_owned(),
            channel: "rx".to_owned(),
            down_bytes: 10_000_000_000,
            energy: Some(EnergyStatus::default()),
            ..Interface::default()
        });
        status.interfaces.push(Interface { name: "eth0".to_owned(), ..Interface::default() });
        insta::assert_snapshot!(metrics(&status));
    }
}
