//! Builds applications and their traffic.

use super::{Builder, point};
use crate::format::traffic_keys;
use ::traffic::{Bursts, Direction, Kind, Mix, OnFull, TrafficConfig, Vbr};
use quantities::{Quantities as _, QuantityNode as _};
use schema::node::{Fields, Node};
use schema::shape::list;
use sim::{BackgroundSpec, PathSpec};
use units::{Bitrate, Bytes, Duration, Instant};

/// The keys that apply to some kinds only.
const KEYS_OF_SOME_KINDS: [&str; 20] = [
    "rate",
    "packet",
    "on",
    "off",
    "exponential",
    "size",
    "on_full",
    "protocol",
    "path",
    "mix",
    "spread",
    "every",
    "bursts",
    "manifest",
    "rule",
    "buffer",
    "startup",
    "resume",
    "request",
    "wait",
];

impl Builder<'_, '_> {
    /// The applications with a connection, and the datagram flows.
    pub(super) fn traffic(
        &mut self,
        nodes: &[Node],
        duration: Option<Duration>,
        paths: &[PathSpec],
    ) -> (Vec<TrafficConfig>, Vec<BackgroundSpec>) {
        let (mut connections, mut background) = (Vec::new(), Vec::new());
        for fields in nodes.iter().filter_map(Node::fields) {
            let config = self.one_traffic(fields, duration);
            match config.kind {
                Kind::Vbr(packets) if fields.text("protocol") != Some("tcp") => {
                    let path = self.path_of(fields, paths);
                    let TrafficConfig { direction, start, stop, .. } = config;
                    background.push(BackgroundSpec { path, direction, start, stop, packets });
                }
                _ => connections.push(config),
            }
        }
        (connections, background)
    }

    fn path_of(&mut self, fields: &Fields, paths: &[PathSpec]) -> usize {
        let names: Vec<&str> = paths.iter().map(|path| path.name.as_str()).collect();
        if let Some(name) = fields.text("path") {
            let path = names.iter().position(|n| *n == name);
            if path.is_none() {
                self.unknown_name(fields.span("path"), "path", name, &names);
            }
            return path.unwrap_or_default();
        }
        if !fields.given("path") && names.len() > 1 {
            self.problems
                .add(fields.span.clone(), "datagrams use one path, and the scenario has several")
                .expected(format!("`path`, one of {}", list(&names)))
                .hint(format!("add `path = \"{}\"`", names.first().unwrap_or(&"wifi")));
        }
        0
    }

    fn vbr(&mut self, fields: &Fields) -> Vbr {
        let rate = fields.rate("rate").unwrap_or_default().as_bps() as f64;
        let spread = fields.number("spread").unwrap_or_default();
        let part = |part: f64| Bitrate::from_bps((rate * part) as u64);
        let named = |name: &str| Mix::NAMES.iter().find(|(n, _)| *n == name).map(|&(_, mix)| mix);
        let mix = match fields.text("mix") {
            Some(name) => named(name),
            None => self.mix(fields),
        };
        let bursts = fields.flag("bursts").unwrap_or(false).then(|| Bursts {
            on: fields.time("on").unwrap_or_default(),
            off: fields.time("off").unwrap_or_default(),
        });
        if fields.text("protocol") == Some("tcp") {
            self.not_with(fields, &["path"], "over `tcp`", "a connection uses the paths of `[transport]`");
        } else {
            self.not_with(fields, &["on_full"], "over `udp`", "datagrams have no send buffer");
        }
        if bursts.is_none() {
            self.not_with(fields, &["on", "off"], "without `bursts`", "add `bursts = true`");
        }
        Vbr {
            low: part(1.0 - spread),
            high: part(1.0 + spread),
            every: fields.time("every").unwrap_or_default(),
            mix: mix.unwrap_or(Mix::IMIX),
            bursts,
        }
    }

    fn mix(&mut self, fields: &Fields) -> Option<Mix> {
        let part = |node: &Node| match node.list() {
            [size, weight] => Some((u16::try_from(size.size()?.get()).ok()?, weight.integer()? as u32)),
            _ => None,
        };
        let nodes = fields.list("mix");
        let parts: Vec<(u16, u32)> = nodes.iter().filter_map(part).collect();
        let mix = Mix::new(&parts).filter(|_| parts.len() == nodes.len());
        if mix.is_none() && !nodes.is_empty() && self.problems.found.is_empty() {
            self.problems
                .add(fields.span("mix"), "invalid packet sizes")
                .expected("sizes from 40 to 65535 bytes with their weights, one weight above zero")
                .hint("`[[\"40B\", 7], [\"576B\", 4], [\"1500B\", 1]]`");
        }
        mix
    }

    fn one_traffic(&mut self, fields: &Fields, duration: Option<Duration>) -> TrafficConfig {
        let kind = fields.text("kind");
        if let Some(kind) = kind {
            self.check_keys_of_kind(fields, kind);
        }
        self.in_order(fields, "start", "stop");
        if let (Some(start), Some(duration)) = (fields.time("start"), duration)
            && start >= duration
        {
            self.problems
                .add(
                    fields.span("start"),
                    format!("`start` of {start} is after the end of the run of {duration}"),
                )
                .expected(format!("a time before {duration}"))
                .hint("choose an earlier `start` or a longer `duration`");
        }
        let kind = self.kind(fields, kind);
        self.check_draws(fields, &kind);
        TrafficConfig {
            kind,
            direction: match fields.text("direction") {
                Some("up") => Direction::Up,
                _ => Direction::Down,
            },
            start: fields.time("start").map_or(Instant::ZERO, point),
            stop: fields.time("stop").map(point),
            on_full: match fields.text("on_full") {
                Some("drop") => OnFull::Drop,
                _ => OnFull::Wait,
            },
            tcp_path: None,
        }
    }

    /// Reports keys that do not apply to the kind, and keys that it lacks.
    fn check_keys_of_kind(&mut self, fields: &Fields, kind: &str) {
        let keys = traffic_keys(kind);
        let inapplicable: Vec<&str> =
            KEYS_OF_SOME_KINDS.into_iter().filter(|key| !keys.contains(key)).collect();
        let hint = if keys.is_empty() {
            format!("`{kind}` takes only `direction`, `start` and `stop`")
        } else {
            format!("`{kind}` takes {}", list(keys).replace(" or ", " and "))
        };
        self.not_with(fields, &inapplicable, &format!("for `{kind}`"), &hint);
        let required = [("rate", "\"2Mbps\""), ("size", "\"5MB\""), ("manifest", "\"video.json\"")];
        for (key, example) in required {
            if keys.contains(&key) && !fields.given(key) {
                self.problems
                    .add(fields.span.clone(), format!("traffic of kind `{kind}` needs `{key}`"))
                    .expected(format!("a {key} such as `{example}`"))
                    .hint(format!("add `{key} = {example}`"));
            }
        }
        if kind == "video" && fields.text("direction") == Some("up") {
            self.problems
                .add(fields.span("direction"), "a `video` is sent to the device only")
                .expected("`\"down\"`")
                .hint("remove `direction`: `\"down\"` is the default");
        }
    }

    fn kind(&mut self, fields: &Fields, kind: Option<&str>) -> Kind {
        let rate = fields.rate("rate").unwrap_or_default();
        let packet = fields.size("packet").unwrap_or(Bytes::new(1000));
        if matches!(kind, Some("cbr" | "on-off")) {
            self.check_packet_rate(fields, 1, rate, packet);
        }
        match kind {
            Some("cbr") => Kind::Cbr { rate, packet },
            Some("on-off") => Kind::OnOff {
                rate,
                packet,
                on: fields.time("on").unwrap_or_default(),
                off: fields.time("off").unwrap_or_default(),
                exponential: fields.flag("exponential").unwrap_or(false),
            },
            Some("vbr") => Kind::Vbr(self.vbr(fields)),
            Some("video") => self.video(fields),
            Some("file") => Kind::File { size: fields.size("size").unwrap_or_default() },
            _ => Kind::Bulk,
        }
    }
}
