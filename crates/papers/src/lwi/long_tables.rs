//! Tables for machines: every run and every figure.

use super::measure::Run;
use super::paper::{Clip, stalls};
use super::reproduce::{Metric, Reproduction};
use report::{Cell, Column, Row, Table};

impl Reproduction {
    /// Every run, one row each.
    pub fn runs_table(&self) -> Table {
        let mut table = Table::default()
            .column(Column::text("way"))
            .column(Column::text("video"))
            .column(Column::number("seed"));
        type Value = fn(&Run) -> f64;
        let mut values: Vec<(&str, Value)> = vec![
            ("stalls", |run| run.stalls as f64),
            ("stalled_s", |run| run.stalled_s),
            ("initial_load_s", |run| run.load_s),
            ("fetched_s", |run| run.fetched_s),
            ("mos", |run| run.mos),
            ("frequency_level", |run| f64::from(run.frequency_level)),
            ("wifi_bytes", |run| run.payload[0] as f64),
            ("lte_bytes", |run| run.payload[1] as f64),
            ("wifi_j", |run| run.radio_j[0]),
            ("lte_j", |run| run.radio_j[1]),
            ("complete", |run| f64::from(u8::from(run.complete))),
        ];
        if self.all_runs().any(|run| run.captured.is_some()) {
            values
                .push(("captured_wifi_bytes", |run| run.captured.map_or(f64::NAN, |[wifi, _]| wifi as f64)));
            values.push(("captured_lte_bytes", |run| run.captured.map_or(f64::NAN, |[_, lte]| lte as f64)));
        }
        for (name, _) in &values {
            table = table.column(Column::number(*name));
        }
        for (i, setup) in self.setups.iter().enumerate() {
            for clip in Clip::ALL {
                for (seed, run) in (1_u32..).zip(self.runs(i, clip)) {
                    let head =
                        [Cell::text(setup.key()), Cell::text(clip.name()), Cell::number(f64::from(seed), 0)];
                    let rest = values.iter().map(|(_, of)| Cell::number(of(run), 6));
                    table = table.row(Row::new(head.into_iter().chain(rest)));
                }
            }
        }
        table
    }

    /// A row for each setup, video and metric.
    pub fn figures(&self) -> Table {
        let mut table = Table::default()
            .column(Column::text("way"))
            .column(Column::text("video"))
            .column(Column::text("figure"))
            .column(Column::number("mean"))
            .column(Column::number("paper"));
        for (i, setup) in self.setups.iter().enumerate() {
            for clip in Clip::ALL {
                let printed = setup.printed().map(|access| stalls(access, clip));
                let mut add = |key: &str, estimate, paper: Option<f64>| {
                    table.rows.push(Row::new([
                        Cell::text(setup.key()),
                        Cell::text(clip.name()),
                        Cell::text(key),
                        Cell::estimate(estimate, 6),
                        paper.map_or_else(Cell::empty, |paper| Cell::number(paper, 6)),
                    ]));
                };
                add(Metric::STALLS.key, self.estimate(&Metric::STALLS, i, clip), printed.map(|p| p.0));
                add("mean_stall_s", self.mean_stall(i, clip), printed.map(|p| p.1));
                for metric in [Metric::MOS, Metric::LOAD_TIME, Metric::FETCH_TIME, Metric::OVER_WIFI] {
                    add(metric.key, self.estimate(&metric, i, clip), None);
                }
            }
        }
        table
    }
}
