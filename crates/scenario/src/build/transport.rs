//! What carries the bytes.

use super::Builder;
use link::{Delay, Rate};
use mptcp::{Config, CongestionKind, EcnMode, Keepalive, Rec};
use quantities::Quantities as _;
use schema::node::{Fields, Node};
use sim::{CellSpec, Hop, PathSpec, Protocol, Transport};
use units::Duration;

/// What Eq. (1) gives at least: with no delay at all it would give nothing.
const LEAST_BUFFER: u64 = 64 << 10;

impl Builder<'_, '_> {
    pub(super) fn transport(
        &mut self,
        fields: Option<&Fields>,
        path_nodes: &[Node],
        paths: &[PathSpec],
        cells: &[CellSpec],
    ) -> Transport {
        let default = Config::default();
        let Some(fields) = fields else {
            return Transport { protocol: Protocol::Mptcp, config: default };
        };
        let protocol = self.protocol(fields, path_nodes);
        if fields.text("protocol") != Some("mptcp-rec") {
            self.not_with(fields, &["rec"], "without MPTCP-rec", "it is for `protocol = \"mptcp-rec\"`");
        }
        let used: Vec<&PathSpec> = match protocol {
            Protocol::Mptcp => paths.iter().collect(),
            Protocol::Tcp { path } => paths.get(path).into_iter().collect(),
        };
        let buffer = |key: &str, otherwise: u64| match fields.size(key).filter(|_| fields.given(key)) {
            Some(size) => size.get(),
            None if fields.text(key) == Some("eq1") => equation_1(&used, cells),
            None => otherwise,
        };
        let base = if fields.text("preset") == Some("linux") { Config::linux() } else { default };
        // A key that is not given stands for what the preset has.
        let flag = |key: &str, base: bool| fields.flag(key).filter(|_| fields.given(key)).unwrap_or(base);
        let whole = |key: &str, base: u32| {
            fields.integer(key).filter(|_| fields.given(key)).map_or(base, |number| number as u32)
        };
        let time = |key: &str, base: Duration| fields.time(key).filter(|_| fields.given(key)).unwrap_or(base);
        let word = |key: &str| fields.text(key).filter(|_| fields.given(key));
        let congestion = word("congestion").and_then(|n| n.parse().ok()).unwrap_or(base.congestion);
        #[allow(clippy::needless_update, reason = "what has no key is as the preset has it")]
        let config = Config {
            mptcp: protocol == Protocol::Mptcp,
            checksum: flag("checksum", base.checksum),
            max_subflows: whole("max_subflows", base.max_subflows.into()) as u8,
            max_addresses: whole("max_addresses", base.max_addresses.into()) as u8,
            mss: whole("mss", u32::from(base.mss)) as u16,
            send_buffer: buffer("send_buffer", base.send_buffer),
            subflow_buffer: fields.size("subflow_buffer").map_or(base.subflow_buffer, units::Bytes::get),
            recv_buffer: buffer("recv_buffer", base.recv_buffer),
            scheduler: word("scheduler").and_then(|n| n.parse().ok()).unwrap_or(base.scheduler),
            congestion,
            rec: (fields.text("protocol") == Some("mptcp-rec"))
                .then(|| fields.fields("rec").map(rec).unwrap_or_default()),
            linux_counting: flag("linux_counting", base.linux_counting),
            opportunistic: flag("opportunistic", base.opportunistic),
            penalise: flag("penalise", base.penalise),
            initial_window: whole("initial_window", base.initial_window),
            sack: flag("sack", base.sack),
            timestamps: flag("timestamps", base.timestamps),
            delayed_ack: time("delayed_ack", base.delayed_ack),
            initial_rto: time("initial_rto", base.initial_rto),
            min_rto: time("min_rto", base.min_rto),
            max_rto: time("max_rto", base.max_rto),
            max_retries: whole("max_retries", base.max_retries),
            stale_after: whole("stale_after", base.stale_after),
            rack: flag("rack", base.rack),
            dsack: flag("dsack", base.dsack),
            prr: flag("prr", base.prr),
            frto: flag("frto", base.frto),
            undo: flag("undo", base.undo),
            // Linux leaves slow start early with CUBIC alone.
            hystart: flag("hystart", base.hystart && congestion == CongestionKind::Cubic),
            ecn: match word("ecn") {
                Some("off") => EcnMode::Off,
                Some("accept") => EcnMode::Accept,
                Some("request") => EcnMode::Request,
                _ => base.ecn,
            },
            pacing: flag("pacing", base.pacing),
            autotune: match fields.size("autotune") {
                Some(first) => Some(first.get()),
                None => base.autotune.filter(|_| word("autotune").is_none()),
            },
            keepalive: fields.fields("keepalive").map(keepalive).or(base.keepalive),
            paws: flag("paws", base.paws),
            challenge_acks: flag("challenge_acks", base.challenge_acks),
            quickack: flag("quickack", base.quickack),
            ..base
        };
        if config.delayed_ack > Duration::from_millis(500) {
            self.problems
                .add(fields.span("delayed_ack"), format!("`delayed_ack` is {}", config.delayed_ack))
                .expected("at most `500ms` (RFC 9293, section 3.8.6.3)")
                .hint("Linux waits `40ms`");
        }
        if let (Some(min), Some(max)) = (fields.time("min_rto"), fields.time("max_rto"))
            && min > max
        {
            let key = if fields.given("min_rto") { "min_rto" } else { "max_rto" };
            self.problems
                .add(fields.span(key), format!("`min_rto` is {min}, above `max_rto` of {max}"))
                .expected("`min_rto` no longer than `max_rto`")
                .hint("RFC 6298 has `1s` and at least `60s`");
        }
        if let Some(first) = fields.size("autotune").filter(|first| first.get() > config.recv_buffer) {
            self.problems
                .add(fields.span("autotune"), format!("`autotune` begins with {first}, above `recv_buffer`"))
                .expected(format!("at most {}B", config.recv_buffer))
                .hint("Linux begins with `128KiB` and grows to 6 MiB");
        }
        for key in ["send_buffer", "recv_buffer", "autotune"] {
            if let Some(size) = fields.size(key).filter(|s| s.get() < u64::from(config.mss)) {
                self.problems
                    .add(fields.span(key), format!("`{key}` of {size} holds no segment"))
                    .expected(format!("at least `mss`, {}B", config.mss))
                    .hint("`eq1` makes it as large as the paths need");
            }
        }
        Transport { protocol, config }
    }

    fn protocol(&mut self, fields: &Fields, path_nodes: &[Node]) -> Protocol {
        let names: Vec<Option<&str>> =
            path_nodes.iter().map(|n| n.fields().and_then(|f| f.text("name"))).collect();
        let known: Vec<&str> = names.iter().flatten().copied().collect();
        if fields.text("protocol") != Some("tcp") {
            if fields.text("protocol").is_some() {
                let hint = "it is for `protocol = \"tcp\"`; Multipath TCP takes all paths";
                self.not_with(fields, &["path"], "for `mptcp`", hint);
            }
            return Protocol::Mptcp;
        }
        let path = match fields.text("path") {
            Some(name) => {
                let found = names.iter().position(|n| *n == Some(name));
                if found.is_none() {
                    self.unknown_name(fields.span("path"), "path", name, &known);
                }
                found
            }
            None if !fields.given("path") && names.len() > 1 => {
                self.problems
                    .add(fields.span("protocol"), "`tcp` takes one path, and there are several")
                    .expected(format!("`path`, one of {}", schema::shape::list(&known)))
                    .hint(format!("add `path = \"{}\"`", known.first().unwrap_or(&"wifi")));
                None
            }
            None => None,
        };
        Protocol::Tcp { path: path.unwrap_or_default() }
    }
}

fn rec(fields: &Fields) -> Rec {
    let default = Rec::default();
    let flag = |key: &str, base: bool| fields.flag(key).unwrap_or(base);
    let whole = |key: &str, base: i64| fields.integer(key).unwrap_or(base);
    Rec {
        nr_sack: flag("nr_sack", default.nr_sack),
        rates: flag("rates", default.rates),
        path_choice: flag("path_choice", default.path_choice),
        phi: fields.number("phi").unwrap_or(default.phi),
        sigma: whole("sigma", default.sigma.into()) as u8,
        round_trip: fields.text("round_trip").and_then(|n| n.parse().ok()).unwrap_or(default.round_trip),
        rate: fields.text("rate").and_then(|n| n.parse().ok()).unwrap_or(default.rate),
        tolerance: fields.number("tolerance").unwrap_or(default.tolerance),
        observations: whole("observations", default.observations.into()) as u8,
        hold: whole("hold", default.hold.into()) as u16,
        removal: fields.text("removal").and_then(|n| n.parse().ok()).unwrap_or(default.removal),
    }
}

fn keepalive(fields: &Fields) -> Keepalive {
    let default = Keepalive::default();
    Keepalive {
        idle: fields.time("idle").unwrap_or(default.idle),
        interval: fields.time("interval").unwrap_or(default.interval),
        probes: fields.integer("probes").map_or(default.probes, |probes| probes as u32),
    }
}

/// Eq. (1) over these paths, for the direction that carries more: a rate in steps counts with its
/// highest, a trace with its mean, a cell with what it carries in all; the round trip is that of an
/// empty path.
fn equation_1(paths: &[&PathSpec], cells: &[CellSpec]) -> u64 {
    let sum =
        |hop: fn(&PathSpec) -> &Hop| -> Vec<u64> { paths.iter().map(|p| rate(hop(p), cells)).collect() };
    let (down, up) = (sum(|p| &p.down), sum(|p| &p.up));
    let total = |rates: &[u64]| rates.iter().map(|&r| u128::from(r)).sum::<u128>();
    let rates = if total(&down) >= total(&up) { down } else { up };
    let rtt = paths.iter().map(|p| delay(&p.down) + delay(&p.up)).max().unwrap_or_default();
    mptcp::receive_buffer(&rates, rtt).max(LEAST_BUFFER)
}

fn rate(hop: &Hop, cells: &[CellSpec]) -> u64 {
    let rate = match hop {
        Hop::Link(link) => match &link.rate {
            Rate::Fixed(rate) => *rate,
            Rate::Steps(steps) => steps.iter().map(|(_, rate)| *rate).max().unwrap_or_default(),
            Rate::Trace(trace) => trace.mean_rate(),
        },
        Hop::Cell { cell, station } => {
            let whole = cells.get(*cell).map(|c| c.config.rate).unwrap_or_default();
            station.link_rate.map_or(whole, |own| own.min(whole))
        }
    };
    rate.as_bps()
}

fn delay(hop: &Hop) -> Duration {
    let delay = match hop {
        Hop::Link(link) => link.delay,
        Hop::Cell { station, .. } => station.delay,
    };
    match delay {
        Delay::Fixed(time) => time,
        Delay::Uniform { min, max } => (min + max) / 2,
        Delay::Normal { mean, .. } => mean,
    }
}
