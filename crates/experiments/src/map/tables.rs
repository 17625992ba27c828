//! Tables of the map: the best policy of each point, and the judgement at held-out points.

use super::{BestPolicies, MeasuredPoint};
use report::{Cell, Column, Row, Table};

impl BestPolicies {
    /// The tables: the map, then the judgement.
    pub fn tables(&self) -> Vec<Table> {
        vec![self.map_table(), self.judgement_table()]
    }

    fn map_table(&self) -> Table {
        let mut table = Table::new("Best policies")
            .column(Column::text("traffic"))
            .column(Column::number("rate").unit("Mbit/s"))
            .column(Column::text("best policy"))
            .column(Column::number("energy").unit("J"))
            .column(Column::number("plain").unit("J"))
            .column(Column::number("energy to plain"))
            .column(Column::number("goodput").unit("Mbit/s"))
            .column(Column::number("plain goodput").unit("Mbit/s"))
            .column(Column::number("MOS"));
        let mut pair = "";
        for point in &self.points {
            if point.point.pair.name != pair {
                pair = point.point.pair.name;
                table = table.row(Row::heading(pair));
            }
            let (best, plain) = (point.best(), point.reference());
            table = table.row(Row::new([
                Cell::text(point.point.traffic.name()),
                Cell::number(point.point.mbps(), 2),
                Cell::text(best.policy.to_string()),
                Cell::estimate(best.energy(), 1),
                Cell::estimate(plain.energy(), 1),
                Cell::difference(best.energy().mean, plain.energy().mean, 0),
                Cell::estimate(best.goodput(), 2),
                Cell::estimate(plain.goodput(), 2),
                best.mean_mos().map_or_else(Cell::empty, |mos| Cell::estimate(mos, 2)),
            ]));
        }
        table.note(
            "The best policy draws the least energy of those with 99 % of plain Multipath TCP's goodput, or for video \
             at most 0.05 less MOS, which counts load time and stalls but not the bitrate. Intervals are of 95 %. *Paper*: the radios of the eMTCP paper, by a fit.",
        )
    }

    fn judgement_table(&self) -> Table {
        let mut table = Table::new("Held-out points")
            .column(Column::text("policy"))
            .column(Column::number("energy"))
            .column(Column::number("goodput"))
            .column(Column::number("MOS"))
            .column(Column::number("points with a loss"))
            .column(Column::number("points"))
            .column(Column::number("saved without loss").unit("%"));
        for one in self.judgement() {
            let row = Row::new([
                Cell::text(one.policy.to_string()),
                Cell::difference(one.energy, 1.0, 1),
                Cell::difference(one.goodput, 1.0, 1),
                Cell::number(one.mos, 2),
                Cell::number(one.losses as f64, 0),
                Cell::number(one.points as f64, 0),
                Cell::number(one.saved * 100.0, 1),
            ]);
            table = table.row(if one.policy.name() == "best-known" { row.strong() } else { row });
        }
        table.note(format!(
            "Means over points with other loads and links than the map's, relative to plain Multipath TCP (`none`); MOS \
             as a difference over video. *Saved without loss*: mean saving of energy over all points, where a point with \
             a loss, or without the policy's radio, counts as one without a saving. {}",
            self.verdict()
        ))
    }

    /// Whether `best-known` beats every fixed policy, in one sentence.
    pub fn verdict(&self) -> String {
        let as_good = self.as_good_as_best_known();
        if as_good.is_empty() {
            return "`best-known` beats every fixed policy: none saves as much energy without a loss."
                .to_owned();
        }
        let told: Vec<String> = as_good
            .iter()
            .map(|one| format!("`{}` (with a loss at {} of {} points)", one.policy, one.losses, one.points))
            .collect();
        let known = self.judgement().pop().map_or(0, |known| known.losses);
        format!(
            "`best-known`, with a loss at {known} of {} points, does not beat every fixed policy: {} saves as much \
             without a loss.",
            self.held_out.len(),
            told.join(", ")
        )
    }

    /// A row for each point and policy.
    pub fn long_table(&self) -> Table {
        let mut table = Table::new("Points")
            .column(Column::text("radios").key("radios"))
            .column(Column::text("traffic").key("traffic"))
            .column(Column::number("load").key("load"))
            .column(Column::text("held out").key("held_out"))
            .column(Column::text("policy").key("policy"))
            .column(Column::number("energy").unit("J").key("energy_j"))
            .column(Column::number("goodput").unit("Mbit/s").key("goodput_mbps"))
            .column(Column::number("MOS").key("mos"));
        for (points, held_out) in [(&self.points, "no"), (&self.held_out, "yes")] {
            for MeasuredPoint { point, policies } in points {
                for one in policies {
                    table = table.row(Row::new([
                        Cell::text(point.pair.name),
                        Cell::text(point.traffic.name()),
                        Cell::number(point.load, 2),
                        Cell::text(held_out),
                        Cell::text(one.policy.to_string()),
                        Cell::estimate(one.energy(), 3),
                        Cell::estimate(one.goodput(), 4),
                        one.mean_mos().map_or_else(Cell::empty, |mos| Cell::estimate(mos, 3)),
                    ]));
                }
            }
        }
        table
    }
}
