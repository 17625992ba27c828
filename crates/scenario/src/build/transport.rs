//! Builds the transport configuration.

use super::Builder;
use super::shared_media::{SharedMedia, equation_1};
use core::str::FromStr;
use mptcp::{Config, CongestionKind, EcnMode, HyStartMode, Keepalive, Rec};
use quantities::Quantities as _;
use schema::node::{Fields, Node};
use sim::{PathSpec, Protocol, Transport};
use units::Duration;

/// RFC 9293, section 3.8.6.3.
const MAX_DELAYED_ACK: Duration = Duration::from_millis(500);
/// Longest `ack_coalescing`: a batch of arrivals is shorter.
const MAX_ACK_COALESCING: Duration = Duration::from_millis(10);

impl Builder<'_, '_> {
    pub(super) fn transport(
        &mut self,
        fields: Option<&Fields>,
        path_nodes: &[Node],
        paths: &[PathSpec],
        media: SharedMedia<'_>,
    ) -> Transport {
        let Some(fields) = fields else {
            return Transport { protocol: Protocol::Mptcp, config: Config::default() };
        };
        let protocol = self.protocol(fields, path_nodes);
        if fields.text("protocol") != Some("mptcp-rec") {
            self.not_with(fields, &["rec"], "without MPTCP-rec", "it needs `protocol = \"mptcp-rec\"`");
        }
        let used: Vec<&PathSpec> = match protocol {
            Protocol::Mptcp => paths.iter().collect(),
            Protocol::Tcp { path } => paths.get(path).into_iter().collect(),
        };
        let mut config = match fields.text("preset") {
            Some("linux") => Config::linux(),
            Some("ns3-mptcp-2012") => Config::ns3_mptcp_2012(),
            _ => Config::default(),
        };
        config.mptcp = protocol == Protocol::Mptcp;
        let given = Given(fields);
        given.set_multipath(&mut config);
        given.set_segments(&mut config);
        given.set_timers(&mut config);
        given.set_congestion(&mut config);
        given.set_buffers(&mut config, || equation_1(&used, media));
        self.check_timers(fields, &config);
        self.check_buffers(fields, &config);
        self.check_buffer_limits(fields);
        if let Some(keepalive) = fields.fields("keepalive") {
            self.check_keepalive(keepalive);
        }
        Transport { protocol, config }
    }

    fn check_timers(&mut self, fields: &Fields, config: &Config) {
        if config.delayed_ack > MAX_DELAYED_ACK {
            self.problems
                .add(fields.span("delayed_ack"), format!("`delayed_ack` is {}", config.delayed_ack))
                .expected("at most `500ms` (RFC 9293, section 3.8.6.3)")
                .hint("Linux uses `40ms`");
        }
        if config.ack_coalescing > MAX_ACK_COALESCING {
            self.problems
                .add(fields.span("ack_coalescing"), format!("`ack_coalescing` is {}", config.ack_coalescing))
                .expected("at most `10ms`")
                .hint("`delayed_ack` delays acknowledgements; this joins those of one batch of arrivals");
        }
        let max = config.max_rto;
        let timeouts = [
            ("min_rto", config.min_rto, true),
            // The default of these gives way to a shorter `max_rto`.
            ("min_rto_margin", config.min_rto_margin, fields.given("min_rto_margin")),
            ("initial_rto", config.initial_rto, fields.given("initial_rto")),
        ];
        for (key, value, _) in
            timeouts.into_iter().filter(|&(_, value, is_checked)| is_checked && value > max)
        {
            let at = if fields.given(key) { key } else { "max_rto" };
            self.problems
                .add(fields.span(at), format!("`{key}` of {value} is above `max_rto` of {max}"))
                .expected(format!("`{key}` no longer than `max_rto`"))
                .hint("RFC 6298 has `1s` and at least `60s`");
        }
    }

    fn check_buffers(&mut self, fields: &Fields, config: &Config) {
        if let Some(first) = fields.size("autotune").filter(|first| first.get() > config.recv_buffer) {
            self.problems
                .add(fields.span("autotune"), format!("`autotune` starts with {first}, above `recv_buffer`"))
                .expected(format!("at most {}B", config.recv_buffer))
                .hint("Linux starts with `80KiB` and grows to 3.75 MiB");
        }
        for key in ["send_buffer", "recv_buffer", "autotune"] {
            if let Some(size) = fields.size(key).filter(|s| s.get() < u64::from(config.mss)) {
                self.problems
                    .add(fields.span(key), format!("`{key}` of {size} is smaller than a segment"))
                    .expected(format!("at least `mss`, {}B", config.mss))
                    .hint("`eq1` makes it as large as the paths need");
            }
        }
    }

    fn protocol(&mut self, fields: &Fields, path_nodes: &[Node]) -> Protocol {
        let names: Vec<Option<&str>> =
            path_nodes.iter().map(|n| n.fields().and_then(|f| f.text("name"))).collect();
        let known: Vec<&str> = names.iter().flatten().copied().collect();
        if fields.text("protocol") != Some("tcp") {
            if fields.text("protocol").is_some() {
                let hint = "it needs `protocol = \"tcp\"`; Multipath TCP uses all paths";
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
                    .add(fields.span("protocol"), "`tcp` uses one path, and the scenario has several")
                    .expected(format!("`path`, one of {}", schema::shape::list(&known)))
                    .hint(format!("add `path = \"{}\"`", known.first().unwrap_or(&"wifi")));
                None
            }
            None => None,
        };
        Protocol::Tcp { path: path.unwrap_or_default() }
    }
}

/// The keys that the file gives. Absent keys keep the value of the preset.
struct Given<'a>(&'a Fields);

impl Given<'_> {
    fn set_multipath(&self, config: &mut Config) {
        self.flag("checksum", &mut config.checksum);
        self.integer("max_subflows", |number| config.max_subflows = number as u8);
        self.integer("max_addresses", |number| config.max_addresses = number as u8);
        self.parse("scheduler", &mut config.scheduler);
        self.flag("opportunistic", &mut config.opportunistic);
        self.flag("penalise", &mut config.penalise);
        if self.0.text("protocol") == Some("mptcp-rec") {
            config.rec = Some(self.0.fields("rec").map(rec).unwrap_or_default());
        }
    }

    fn set_segments(&self, config: &mut Config) {
        self.integer("mss", |number| config.mss = number as u16);
        self.flag("sack", &mut config.sack);
        self.flag("timestamps", &mut config.timestamps);
        self.flag("dsack", &mut config.dsack);
        self.flag("paws", &mut config.paws);
        self.flag("challenge_acks", &mut config.challenge_acks);
        self.flag("quickack", &mut config.quickack);
    }

    fn set_timers(&self, config: &mut Config) {
        self.time("delayed_ack", &mut config.delayed_ack);
        self.time("ack_coalescing", &mut config.ack_coalescing);
        self.time("initial_rto", &mut config.initial_rto);
        self.time("min_rto", &mut config.min_rto);
        self.time("min_rto_margin", &mut config.min_rto_margin);
        self.time("max_rto", &mut config.max_rto);
        self.integer("max_retries", |number| config.max_retries = number);
        self.integer("stale_after", |number| config.stale_after = number);
        self.flag("data_retransmission", &mut config.data_retransmission);
        if let Some(fields) = self.0.fields("keepalive") {
            config.keepalive = Some(keepalive(fields));
        }
    }

    fn set_congestion(&self, config: &mut Config) {
        self.parse("congestion", &mut config.congestion);
        self.integer("initial_window", |number| config.initial_window = number);
        self.flag("linux_counting", &mut config.linux_counting);
        self.flag("rack", &mut config.rack);
        self.flag("prr", &mut config.prr);
        self.flag("frto", &mut config.frto);
        self.flag("undo", &mut config.undo);
        // Linux leaves slow start early with CUBIC alone.
        if config.congestion != CongestionKind::Cubic {
            config.hystart = HyStartMode::Off;
        }
        let switch = self.0.flag("hystart").filter(|_| self.0.given("hystart"));
        match (self.text("hystart"), switch) {
            (Some("original"), _) => config.hystart = HyStartMode::Original,
            (Some("rfc9406"), _) | (_, Some(true)) => config.hystart = HyStartMode::Rfc9406,
            (Some("off"), _) | (_, Some(false)) => config.hystart = HyStartMode::Off,
            _ => {}
        }
        self.flag("pacing", &mut config.pacing);
        match self.text("ecn") {
            Some("off") => config.ecn = EcnMode::Off,
            Some("accept") => config.ecn = EcnMode::Accept,
            Some("request") => config.ecn = EcnMode::Request,
            _ => {}
        }
    }

    fn set_buffers(&self, config: &mut Config, equation_1: impl Fn() -> u64) {
        let buffer = |key: &str, size: &mut u64| match self.0.size(key).filter(|_| self.0.given(key)) {
            Some(given) => *size = given.get(),
            None if self.text(key) == Some("eq1") => *size = equation_1(),
            None => {}
        };
        buffer("send_buffer", &mut config.send_buffer);
        buffer("recv_buffer", &mut config.recv_buffer);
        if let Some(size) = self.0.size("subflow_buffer") {
            config.subflow_buffer = size.get();
        }
        if let Some(first) = self.0.size("autotune") {
            config.autotune = Some(first.get());
        } else if self.text("autotune").is_some() {
            config.autotune = None;
        }
    }

    fn flag(&self, key: &str, value: &mut bool) {
        if let Some(given) = self.0.flag(key).filter(|_| self.0.given(key)) {
            *value = given;
        }
    }

    fn integer(&self, key: &str, set: impl FnOnce(u32)) {
        if let Some(given) = self.0.integer(key).filter(|_| self.0.given(key)) {
            set(given as u32);
        }
    }

    fn time(&self, key: &str, value: &mut Duration) {
        if let Some(given) = self.0.time(key).filter(|_| self.0.given(key)) {
            *value = given;
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.text(key).filter(|_| self.0.given(key))
    }

    fn parse<T: FromStr>(&self, key: &str, value: &mut T) {
        if let Some(given) = self.text(key).and_then(|text| text.parse().ok()) {
            *value = given;
        }
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
        observed: fields.text("observed").and_then(|n| n.parse().ok()).unwrap_or(default.observed),
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
