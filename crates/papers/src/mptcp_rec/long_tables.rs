//! Tables for machines: every figure and every run.

use super::measure::Metric;
use super::reproduce::Reproduction;
use report::{Cell, Column, Row, Table};

impl Reproduction {
    /// Every metric of every scheme at every point where it ran, one row each.
    pub fn long_table(&self) -> Table {
        let mut table = Table::new("Figures")
            .column(Column::text("scheme"))
            .column(Column::number("buffer_kb"))
            .column(Column::text("loss"))
            .column(Column::number("average_loss"))
            .column(Column::text("background"))
            .column(Column::text("figure"))
            .column(Column::text("unit").key("unit"))
            .column(Column::number("mean"));
        for (scheme, known) in self.schemes.iter().enumerate() {
            for (i, point) in self.grid.iter().enumerate() {
                if self.runs(scheme, i).is_empty() {
                    continue;
                }
                for metric in &Metric::ALL {
                    table = table.row(Row::new([
                        Cell::text(&known.key),
                        Cell::number(point.buffer_kb as f64, 0),
                        Cell::text(point.loss.name()),
                        Cell::number(point.average, 3),
                        Cell::text(point.background.name()),
                        Cell::text(metric.key),
                        Cell::text(metric.unit),
                        Cell::estimate(self.estimate(metric, scheme, i), metric.decimals),
                    ]));
                }
            }
        }
        table
    }

    /// Every run, one row each.
    pub fn runs_table(&self) -> Table {
        let mut table = Table::new("Runs")
            .column(Column::text("scheme"))
            .column(Column::number("buffer_kb"))
            .column(Column::text("loss"))
            .column(Column::number("average_loss"))
            .column(Column::text("background"))
            .column(Column::number("seed"));
        for metric in &Metric::ALL {
            table = table.column(Column::number(metric.key));
        }
        for (scheme, known) in self.schemes.iter().enumerate() {
            for (i, point) in self.grid.iter().enumerate() {
                for (seed, run) in (1_u32..).zip(self.runs(scheme, i)) {
                    let mut row = Row::new([
                        Cell::text(&known.key),
                        Cell::number(point.buffer_kb as f64, 0),
                        Cell::text(point.loss.name()),
                        Cell::number(point.average, 3),
                        Cell::text(point.background.name()),
                        Cell::number(f64::from(seed), 0),
                    ]);
                    for metric in &Metric::ALL {
                        row = row.cell(Cell::number((metric.of)(run), 6));
                    }
                    table = table.row(row);
                }
            }
        }
        table
    }
}
