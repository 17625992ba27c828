//! What applications do.

use super::{Builder, point};
use crate::format::traffic_keys;
use crate::node::{Fields, Node};
use ::traffic::{Direction, Kind, OnFull, TrafficConfig};
use units::{Bytes, Duration, Time};

/// All keys that only some kinds have.
const OF_SOME: [&str; 7] = ["rate", "packet", "on", "off", "exponential", "size", "on_full"];

impl Builder<'_, '_> {
    pub(super) fn traffic(&mut self, nodes: &[Node], duration: Option<Duration>) -> Vec<TrafficConfig> {
        let fields = nodes.iter().filter_map(Node::fields);
        fields.map(|fields| self.one_traffic(fields, duration)).collect()
    }

    fn one_traffic(&mut self, fields: &Fields, duration: Option<Duration>) -> TrafficConfig {
        let kind = fields.text("kind");
        if let Some(kind) = kind {
            let has = traffic_keys(kind);
            let not: Vec<&str> = OF_SOME.into_iter().filter(|key| !has.contains(key)).collect();
            let hint = if has.is_empty() {
                format!("`{kind}` has only `direction`, `start` and `stop`")
            } else {
                format!("`{kind}` has {}", crate::shape::list(has).replace(" or ", " and "))
            };
            self.not_with(fields, &not, &format!("for `{kind}`"), &hint);
            for (key, example) in [("rate", "2Mbps"), ("size", "5MB")] {
                if has.contains(&key) && !fields.given(key) {
                    self.problems
                        .add(fields.span.clone(), format!("traffic of kind `{kind}` needs `{key}`"))
                        .expected(format!("a {key} such as `\"{example}\"`"))
                        .hint(format!("add `{key} = \"{example}\"`"));
                }
            }
        }
        self.in_order(fields, "start", "stop");
        if let (Some(start), Some(duration)) = (fields.time("start"), duration)
            && start >= duration
        {
            self.problems
                .add(fields.span("start"), format!("`start` is {start}, when the run of {duration} is over"))
                .expected(format!("a time before {duration}"))
                .hint("an earlier `start`, or a longer `duration`");
        }
        let rate = fields.rate("rate").unwrap_or_default();
        let packet = fields.size("packet").unwrap_or(Bytes::new(1000));
        TrafficConfig {
            kind: match kind {
                Some("cbr") => Kind::Cbr { rate, packet },
                Some("on-off") => Kind::OnOff {
                    rate,
                    packet,
                    on: fields.time("on").unwrap_or_default(),
                    off: fields.time("off").unwrap_or_default(),
                    exponential: fields.flag("exponential").unwrap_or(false),
                },
                Some("file") => Kind::File { size: fields.size("size").unwrap_or_default() },
                _ => Kind::Bulk,
            },
            direction: match fields.text("direction") {
                Some("up") => Direction::Up,
                _ => Direction::Down,
            },
            start: fields.time("start").map_or(Time::ZERO, point),
            stop: fields.time("stop").map(point),
            on_full: match fields.text("on_full") {
                Some("drop") => OnFull::Drop,
                _ => OnFull::Wait,
            },
        }
    }
}
