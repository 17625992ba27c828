//! Builds cells.

use super::limits::MAX_PACKETS_PER_SECOND;
use super::{Builder, point};
use link::{CellConfig, CellKind, Fading, Load, MAX_LOAD_STATIONS};
use quantities::Quantities as _;
use schema::node::{Fields, Node};
use sim::CellSpec;
use units::{Bitrate, Bytes, Duration, Instant};

impl Builder<'_, '_> {
    pub(super) fn cells(&mut self, nodes: &[Node]) -> Vec<CellSpec> {
        self.unique_names(nodes, "cells");
        let cells: Vec<CellSpec> =
            nodes.iter().filter_map(Node::fields).map(|fields| self.cell(fields)).collect();
        self.check_all_others(nodes, &cells);
        cells
    }

    /// Reports background stations that are too many together, in one cell or in all.
    fn check_all_others(&mut self, nodes: &[Node], cells: &[CellSpec]) {
        let mut packets_per_second = 0_u64;
        for (fields, cell) in nodes.iter().filter_map(Node::fields).zip(cells) {
            let others = &cell.config.others;
            let stations: u64 = others.iter().map(|load| u64::from(load.count)).sum();
            if stations > u64::from(MAX_LOAD_STATIONS) {
                self.problems
                    .add(fields.span("others"), format!("{stations} background stations in a cell"))
                    .expected(format!("at most {MAX_LOAD_STATIONS}"))
                    .hint("let each of fewer stations send at a higher `rate`");
            }
            let before = packets_per_second;
            for load in others {
                let each = load.rate.as_bps() / 8 / load.packet.get().max(1);
                packets_per_second =
                    packets_per_second.saturating_add(each.saturating_mul(load.count.into()));
            }
            if before <= MAX_PACKETS_PER_SECOND && packets_per_second > MAX_PACKETS_PER_SECOND {
                self.problems
                    .add(
                        fields.span("others"),
                        format!(
                            "the background stations up to here send {packets_per_second} packets per second"
                        ),
                    )
                    .expected(format!("at most {MAX_PACKETS_PER_SECOND} per second in all cells"))
                    .hint("choose a lower `rate` or larger packets");
            }
        }
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
        let rate = fields.rate("rate").unwrap_or_default();
        let others = fields.list("others").iter().filter_map(Node::fields);
        let config = CellConfig {
            kind,
            rate,
            others: others.map(|load| self.load(load, rate)).collect(),
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

    /// Reports a station of a cell that would be faster than the best channel.
    pub(super) fn check_link_rate(&mut self, fields: &Fields, cell: Bitrate) {
        let Some(rate) = fields.rate("link_rate") else { return };
        if rate > cell && cell > Bitrate::default() {
            self.problems
                .add(fields.span("link_rate"), format!("`link_rate` of {rate} is above the cell's rate"))
                .expected(format!("at most {cell}"))
                .hint(
                    "the cell's `rate` is its capacity at the best channel: raise it, or lower `link_rate`",
                );
        }
    }

    /// Background stations of a cell of this rate.
    fn load(&mut self, fields: &Fields, cell: Bitrate) -> Load {
        self.in_order(fields, "start", "stop");
        self.check_link_rate(fields, cell);
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
