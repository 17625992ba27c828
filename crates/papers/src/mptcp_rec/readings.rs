//! Tables of the readings of the paper's text, and of the sweeps of two parameters.

use super::grid_summary::Group;
use super::measure::Metric;
use super::reproduce::Reproduction;
use super::schemes::{Role, sweep_settings};
use report::{Cell, Column, Row, Table};

/// Groups of the ablation.
pub(super) const GROUPS: [Group; 2] = [Group::Printed, Group::Small];
/// Metrics of the ablation.
pub(super) const METRICS: [Metric; 5] = Metric::HEADLINE;

impl Reproduction {
    /// Schemes of the ablation in its order: as printed, with each change, without each change,
    /// with all changes. Empty without readings.
    pub(super) fn ablation_schemes(&self) -> Vec<usize> {
        let mut rows: Vec<usize> =
            (0..self.schemes.len()).filter(|&scheme| self.schemes[scheme].role == Role::Reading).collect();
        if !rows.is_empty() {
            rows.extend(self.proposed());
        }
        rows
    }

    /// What each change to the printed text is worth; `None` without readings.
    pub fn ablation(&self) -> Option<Table> {
        let schemes = self.ablation_schemes();
        schemes.first()?;
        let mut table = Table::new("As printed, and what each change is worth")
            .column(Column::text("scheme"))
            .column(Column::number("goodput").unit("Mbit/s").key("goodput_mbps"))
            .column(Column::number("goodput").unit("%").key("goodput_percent"))
            .column(Column::number("delay").unit("%").key("delay_percent"))
            .column(Column::number("jitter").unit("%").key("jitter_percent"))
            .column(Column::number("peak offset").unit("%").key("peak_percent"))
            .column(Column::number("offsets, p95").unit("%").key("offsets_percent"));
        for group in GROUPS {
            let title = group.title(self.background());
            table = table.row(Row::heading(title[..1].to_uppercase() + &title[1..]));
            let standard = self.common_change(&Metric::GOODPUT, 0, group).1;
            let mut row = Row::new([Cell::text(&self.schemes[0].title), Cell::estimate(standard, 2)]);
            row = METRICS.iter().fold(row, |row, _| row.cell(Cell::empty()));
            table = table.row(row);
            for &scheme in &schemes {
                let is_all = Some(scheme) == self.proposed();
                let name = &self.schemes[scheme].title;
                let title = if is_all { format!("all changes: {name}") } else { name.clone() };
                let goodput = self.common_change(&Metric::GOODPUT, scheme, group).1;
                let mut row = Row::new([Cell::text(title), Cell::estimate(goodput, 2)]);
                for metric in &METRICS {
                    row = row.cell(Cell::estimate(self.common_change(metric, scheme, group).0, 1));
                }
                table = table.row(if is_all { row.strong() } else { row });
            }
            let mut row = Row::new([Cell::text("paper"), Cell::empty()]);
            for metric in &METRICS {
                row = row.cell(metric.paper_percent.map_or_else(Cell::empty, |paper| Cell::number(paper, 1)));
            }
            table = table.row(row);
        }
        Some(table.note(format!(
            "Changes from standard MPTCP, in percent, at 2 % of both losses: mean over the buffers, {} seeds ± half \
             the 95 % confidence interval. As printed: round trips from rounds, a report whenever rates differ, the \
             advertised window, all paths again after one observation without a sign. The advertised window of Multipath \
             TCP does not fall while data waits for missing data, so no path is left out.",
            self.seeds
        )))
    }

    /// Sweeps of the hold and of the number of observations; `None` without them.
    pub fn sweeps(&self) -> Option<Table> {
        let found = |settings| self.schemes.iter().position(|scheme| scheme.config.rec == Some(settings));
        self.schemes.iter().find(|scheme| scheme.role == Role::Sweep)?;
        let mut table = Table::new("Sweeps of the hold and of the observations")
            .column(Column::text("parameter"))
            .column(Column::number("value"))
            .column(Column::number("goodput").unit("Mbit/s").key("goodput_mbps"))
            .column(Column::number("delay").unit("ms").key("delay_ms"))
            .column(Column::number("jitter").unit("ms").key("jitter_ms"))
            .column(Column::number("offsets, p95").unit("kB").key("offset_p95"));
        for (name, value, settings) in sweep_settings() {
            let Some(scheme) = found(settings) else { continue };
            let row = Row::new([
                Cell::text(name),
                Cell::number(f64::from(value), 0),
                Cell::estimate(self.common_mean(Metric::GOODPUT.of, scheme), 2),
                Cell::estimate(self.common_mean(Metric::DELAY.of, scheme), 0),
                Cell::estimate(self.common_mean(Metric::JITTER.of, scheme), 1),
                Cell::estimate(self.common_mean(|run| run.out_of_order_p95 * 1e-3, scheme), 1),
            ]);
            table = table.row(if Some(scheme) == self.proposed() { row.strong() } else { row });
        }
        Some(table.note(format!(
            "MPTCP-rec at 2 % of both losses, every buffer, {} seeds. Bold: the default.",
            self.reduced_seeds
        )))
    }
}
