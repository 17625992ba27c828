//! Builds middleboxes.

use super::{Builder, point};
use crate::format::middlebox_keys;
use ::middlebox::{
    Directions, ExpiryAction, MiddleboxConfig, MiddleboxKind, OptionAction, OptionSet, SegmentFilter,
};
use quantities::Quantities as _;
use schema::node::{Fields, Node};
use units::{Instant, Probability};

/// The keys that apply to some kinds only.
const KEYS_OF_SOME_KINDS: [&str; 12] =
    ["options", "on", "drop", "chance", "up", "down", "sack", "mss", "most", "hold", "idle", "forgotten"];

impl Builder<'_, '_> {
    pub(super) fn middleboxes(&mut self, nodes: &[Node]) -> Vec<MiddleboxConfig> {
        nodes.iter().filter_map(Node::fields).map(|fields| self.middlebox(fields)).collect()
    }

    fn middlebox(&mut self, fields: &Fields) -> MiddleboxConfig {
        let kind = fields.text("kind");
        if let Some(kind) = kind {
            let has = middlebox_keys(kind);
            let inapplicable: Vec<&str> =
                KEYS_OF_SOME_KINDS.into_iter().filter(|key| !has.contains(key)).collect();
            let hint = format!("`{kind}` takes {}", schema::shape::list(has).replace(" or ", " and "));
            self.not_with(fields, &inapplicable, &format!("for `{kind}`"), &hint);
            if matches!(kind, "rewrite-sequence" | "forget-nat") {
                let hint = format!("`{kind}` affects both directions");
                self.not_with(fields, &["direction"], &format!("for `{kind}`"), &hint);
            }
        }
        self.in_order(fields, "from", "until");
        MiddleboxConfig {
            kind: middlebox_kind(fields, kind.unwrap_or_default()),
            directions: match fields.text("direction") {
                Some("up") => Directions::Up,
                Some("down") => Directions::Down,
                _ => Directions::Both,
            },
            from: fields.time("from").map_or(Instant::ZERO, point),
            until: fields.time("until").map(point),
        }
    }
}

fn middlebox_kind(fields: &Fields, kind: &str) -> MiddleboxKind {
    let chance = fields.number("chance").and_then(Probability::new).unwrap_or(Probability::ALWAYS);
    // The schema has checked the ranges.
    let integer = |key: &str| fields.integer(key).unwrap_or_default();
    match kind {
        "rewrite-sequence" => MiddleboxKind::RewriteSequence {
            up: integer("up") as u32,
            down: integer("down") as u32,
            sack: fields.flag("sack").unwrap_or(true),
        },
        "split" => MiddleboxKind::Split { mss: integer("mss") as u16 },
        "coalesce" => MiddleboxKind::Coalesce {
            max_bytes: fields.size("most").map_or(0, |most| u32::try_from(most.get()).unwrap_or(u32::MAX)),
            hold: fields.time("hold").unwrap_or_default(),
        },
        "forget-nat" => MiddleboxKind::Nat {
            idle: fields.time("idle").unwrap_or_default(),
            on_expiry: match fields.text("forgotten") {
                Some("new-port") => ExpiryAction::NewPort,
                Some("reset") => ExpiryAction::Reset,
                Some("drop") => ExpiryAction::Drop,
                _ => ExpiryAction::Renew,
            },
        },
        "corrupt" => MiddleboxKind::Corrupt { chance },
        _ => MiddleboxKind::StripOptions {
            options: fields
                .list("options")
                .iter()
                .filter_map(Node::text)
                .fold(OptionSet::empty(), |all, name| all | options(name)),
            filter: match fields.text("on") {
                Some("syn") => SegmentFilter::Syn,
                Some("not-syn") => SegmentFilter::NotSyn,
                Some("data") => SegmentFilter::Data,
                _ => SegmentFilter::All,
            },
            action: if fields.flag("drop").unwrap_or(false) {
                OptionAction::Drop
            } else {
                OptionAction::Strip
            },
            chance,
        },
    }
}

fn options(name: &str) -> OptionSet {
    match name {
        "mptcp" => OptionSet::MPTCP,
        "all" => OptionSet::ALL,
        _ => OptionSet::NAMES
            .iter()
            .find(|(n, _)| *n == name)
            .map_or(OptionSet::empty(), |&(_, option)| option),
    }
}
