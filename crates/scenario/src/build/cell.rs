//! Builds cells.

use super::{Builder, point};
use link::{CellConfig, CellKind, Fading, Load};
use quantities::Quantities as _;
use schema::node::{Fields, Node};
use sim::CellSpec;
use units::{Bytes, Duration, Instant};

impl Builder<'_, '_> {
    pub(super) fn cells(&mut self, nodes: &[Node]) -> Vec<CellSpec> {
        self.unique_names(nodes, "cells");
        nodes.iter().filter_map(Node::fields).map(|fields| self.cell(fields)).collect()
    }

    fn cell(&mut self, fields: &Fields) -> CellSpec {
        let kind = match fields.text("kind") {
            Some("lte") => CellKind::Lte,
            _ => CellKind::Wifi,
        };
        if fields.text("kind").is_some() {
            match kind {
                CellKind::Wifi => {
                    self.not_with(
                        fields,
                        &["pf_window", "fading"],
                        "in a Wi-Fi cell",
                        "it needs `kind = \"lte\"`",
                    );
                }
                CellKind::Lte => {
                    self.not_with(fields, &["overhead"], "in an LTE cell", "it needs `kind = \"wifi\"`");
                }
            }
        }
        let others = fields.list("others").iter().filter_map(Node::fields);
        let config = CellConfig {
            kind,
            rate: fields.rate("rate").unwrap_or_default(),
            others: others.map(|load| self.load(load)).collect(),
            overhead: fields.time("overhead").unwrap_or_default(),
            pf_window: fields.time("pf_window").unwrap_or_default(),
            fading: fields.fields("fading").map(|f| Fading {
                coherence: f.time("coherence").unwrap_or(Duration::from_millis(80)),
                snr_db: f.number("snr_db").unwrap_or_default(),
            }),
        };
        let name = fields.text("name").unwrap_or_default().to_owned();
        CellSpec { name, config }
    }

    fn load(&mut self, fields: &Fields) -> Load {
        self.in_order(fields, "start", "stop");
        let count = fields.integer("count").unwrap_or(1) as u32;
        let rate = fields.rate("rate").unwrap_or_default();
        let packet = fields.size("packet").unwrap_or(Bytes::new(1));
        self.check_packet_rate(fields, count.into(), rate, packet);
        Load {
            count,
            rate,
            packet,
            jitter: fields.time("jitter").unwrap_or_default(),
            queue: fields.integer("queue").unwrap_or(1) as u32,
            start: fields.time("start").map_or(Instant::ZERO, point),
            stop: fields.time("stop").map(point),
            link_rate: fields.rate("link_rate"),
        }
    }
}
