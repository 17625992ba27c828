//! Tables of the reproduction.

use super::calibration::Calibration;
use super::paper::{
    Access, Clip, LOAD_TIME_REDUCTION_IN_CONCLUSION, load_time_reduction, mos_gain_4k, stalls,
};
use super::reproduce::{Metric, Reproduction};
use experiments::describe::fitted;
use report::{Cell, Column, Row, Table};

/// Changes printed in the paper for 4K video: metric, single link of the comparison, and percent.
pub(super) fn changes() -> impl Iterator<Item = (Metric, Access, f64)> {
    let against = |metric: Metric, of: fn(Access) -> f64| {
        [Access::Wifi, Access::Lte].map(|over| (metric, over, 100.0 * of(over)))
    };
    let load = against(Metric::LOAD_TIME, |over| -load_time_reduction(over));
    against(Metric::MOS, mos_gain_4k).into_iter().chain(load)
}

impl Reproduction {
    /// All tables in their order on a terminal.
    pub fn tables(&self) -> Vec<Table> {
        let mut all = vec![self.table_3(), self.predictions(), self.claims(), self.figures_5_to_8()];
        all.extend(self.whole_video());
        all.extend([self.gains(), self.levels(), self.links()]);
        all.extend(self.policies("With policies"));
        all
    }

    /// Table III with the paper's figures.
    pub(super) fn table_3(&self) -> Table {
        let mut table = Table::new("Table III: stalls and their mean length").column(Column::text(""));
        for clip in Clip::ALL {
            let (name, key) = (clip.name(), clip.name().to_lowercase());
            table = table
                .column(Column::number(format!("{name} stalls")).key(format!("stalls_{key}")))
                .column(Column::number("paper").key(format!("paper_stalls_{key}")))
                .column(Column::number(format!("{name} mean")).unit("s").key(format!("mean_stall_{key}_s")))
                .column(Column::number("paper").unit("s").key(format!("paper_mean_stall_{key}_s")));
        }
        for (i, setup) in self.setups.iter().enumerate() {
            let mut row = Row::new([Cell::text(setup.name())]);
            for clip in Clip::ALL {
                let printed = setup.printed().map(|access| stalls(access, clip));
                let cell =
                    |value: Option<f64>| value.map_or_else(Cell::empty, |value| Cell::number(value, 2));
                row = row
                    .cell(Cell::estimate(self.estimate(&Metric::STALLS, i, clip), 2))
                    .cell(cell(printed.map(|(count, _)| count)))
                    .cell(Cell::estimate(self.mean_stall(i, clip), 2))
                    .cell(cell(printed.map(|(_, mean)| mean)));
            }
            table = table.row(row.badge(setup.badge()));
        }
        let unfinished = self.all_runs().filter(|run| !run.complete).count();
        table = table.note(format!(
            "Means of {} runs with 95 % confidence intervals; the mean length is taken over all stalls. The links were \
             fitted to the rows with one link, and their coupling to the four figures of lowest RTT. The other rows are \
             predictions.",
            self.seeds
        ));
        if unfinished > 0 {
            table = table.note(format!("{unfinished} runs ended unfinished at the time limit of 300 s."));
        }
        table
    }

    /// Figs. 5 to 8, for which the paper prints no values.
    pub(super) fn figures_5_to_8(&self) -> Table {
        let mut table = Table::new("Figs. 5 to 8").column(Column::text("")).column(Column::text("video"));
        let figures = [Metric::MOS, Metric::LOAD_TIME, Metric::FETCH_TIME, Metric::OVER_WIFI];
        for metric in &figures {
            table = table.column(Column::number(metric.title).unit(metric.unit).key(metric.key));
        }
        for clip in Clip::ALL {
            for (i, setup) in self.setups.iter().enumerate() {
                let mut row = Row::new([Cell::text(setup.name()), Cell::text(clip.name())]);
                for metric in &figures {
                    let alone = metric.key == Metric::OVER_WIFI.key && setup.access != Access::Both;
                    row = row.cell(if alone {
                        Cell::empty()
                    } else {
                        Cell::estimate(self.estimate(metric, i, clip), metric.decimals)
                    });
                }
                table = table.row(row.badge(setup.badge()));
            }
        }
        table.note(
            "MOS: computed for each run, then averaged. The paper prints no values for these figures. It gives the \
             changes of the next table and states that Wi-Fi carries more than LTE.",
        )
    }

    /// Change from one link to both, with the paper's figures.
    pub(super) fn gains(&self) -> Table {
        let mut table = Table::new("Change from one link to both, 4K, in %")
            .column(Column::text(""))
            .column(Column::number("Tandem").key("change_percent"))
            .column(Column::number("paper").key("paper_percent"))
            .column(Column::number("difference").unit("points").key("points"));
        for (metric, over, paper) in changes() {
            let change = self.change_percent(&metric, over, Clip::FourK);
            table = table.row(Row::new([
                Cell::text(format!("{}, from {}", metric.title, over.name())),
                Cell::estimate(change, 1),
                Cell::number(paper, 1),
                Cell::number(change.mean - paper, 1),
            ]));
        }
        table.note(format!(
            "Paired by seed, with 95 % confidence intervals. The paper’s conclusion gives {:.2} % for the load time, \
             without the reference.",
            -100.0 * LOAD_TIME_REDUCTION_IN_CONCLUSION
        ))
    }

    /// Savings of the policies and their effect on the viewer, compared with plain Multipath TCP
    /// with the same seeds; `None` without policies.
    pub(super) fn policies(&self, title: &str) -> Option<Table> {
        let plain = self.row(Access::Both)?;
        let rows = || (0..self.setups.len()).filter(|&setup| !self.setups[setup].policy.is_none());
        rows().next()?;
        let mut table = Table::new(title).column(Column::text("video")).column(Column::text("policy"));
        let figures = [Metric::MOS, Metric::STALLS, Metric::OVER_LTE, Metric::LTE_ENERGY, Metric::ENERGY];
        for metric in &figures {
            table = table.column(Column::number(metric.title).unit(metric.unit).key(metric.key));
        }
        table = table
            .column(Column::number("LTE data").unit("%").key("lte_data_percent"))
            .column(Column::number("MOS lower").unit("runs").key("lower_mos_runs"))
            .column(Column::number("more stalls").unit("runs").key("more_stalls_runs"));
        for clip in Clip::ALL {
            let lte = self.estimate(&Metric::OVER_LTE, plain, clip).mean;
            for setup in core::iter::once(plain).chain(rows()) {
                let mut row =
                    Row::new([Cell::text(clip.name()), Cell::text(self.setups[setup].policy.to_string())]);
                for metric in &figures {
                    row = row.cell(Cell::estimate(self.estimate(metric, setup, clip), metric.decimals));
                }
                let pairs = || self.runs(plain, clip).iter().zip(self.runs(setup, clip));
                let here = self.estimate(&Metric::OVER_LTE, setup, clip).mean;
                let lower = pairs().filter(|(plain, here)| here.mos < plain.mos - 1e-9).count();
                let more = pairs().filter(|(plain, here)| here.stalls > plain.stalls).count();
                let beside = [
                    Cell::number(100.0 * (here / lte - 1.0), 1),
                    Cell::number(lower as f64, 0),
                    Cell::number(more as f64, 0),
                ];
                row = beside
                    .into_iter()
                    .fold(row, |row, cell| row.cell(if setup == plain { Cell::empty() } else { cell }));
                table = table.row(row.badge(self.setups[setup].badge()));
            }
        }
        Some(table.note(format!(
            "Over both links, means of {} runs with 95 % confidence intervals. LTE data: change compared with no policy. \
             MOS lower, more stalls: number of runs that are worse than the run without a policy and with the same seed.",
            self.seeds
        )))
    }

    /// Distribution of the runs over the levels of stall frequency, which dominate MOS.
    pub(super) fn levels(&self) -> Table {
        let mut table = Table::new("Runs by number of stalls, in %").column(Column::text(""));
        for clip in Clip::ALL {
            for (level, stalls) in [(1, "0 or 1"), (2, "2 to 9"), (3, "10 or more")] {
                let key = format!("level_{level}_{}_percent", clip.name().to_lowercase());
                table = table.column(Column::number(format!("{}: {stalls}", clip.name())).key(key));
            }
        }
        for (i, setup) in self.setups.iter().enumerate() {
            let mut row = Row::new([Cell::text(setup.name())]);
            for clip in Clip::ALL {
                for level in 1..=3 {
                    row = row.cell(Cell::number(self.at_level_percent(i, clip, level), 0));
                }
            }
            table = table.row(row);
        }
        table.note(
            "The levels of stall frequency in Table I, for 66 s of video. One level changes MOS by 0.742; load time and \
             the length of stalls together change it by at most 0.35.",
        )
    }

    /// Parameters of the links.
    pub(super) fn links(&self) -> Table {
        let mut table = Table::new("Links")
            .column(Column::text(""))
            .column(Column::number("good").unit("Mbit/s").key("good_mbps"))
            .column(Column::number("bad").unit("Mbit/s").key("bad_mbps"))
            .column(Column::number("good for").unit("s").key("good_s"))
            .column(Column::number("bad for").unit("s").key("bad_s"))
            .column(Column::number("run spread").key("spread"))
            .column(Column::number("mean").unit("Mbit/s").key("mean_mbps"))
            .column(Column::number("deviation").unit("% of mean").key("deviation_percent"));
        for access in [Access::Wifi, Access::Lte] {
            let process = self.calibration.process(access);
            let (mean, variation) = self.rate(access);
            table = table.row(
                Row::new([
                    Cell::text(access.name()),
                    Cell::number(process.good_mbps, 2),
                    Cell::number(process.bad_mbps, 2),
                    Cell::number(process.good_s, 1),
                    Cell::number(process.bad_s, 1),
                    Cell::number(process.spread, 2),
                    Cell::number(mean, 2),
                    Cell::number(100.0 * variation, 0),
                ])
                .badge(fitted()),
            );
        }
        let Calibration { coupling, buffer, startup, resume, .. } = self.calibration;
        let seconds = |span: units::Duration| span.as_secs_f64();
        let bounds = self.calibration.at_bounds();
        table.note(format!(
            "The rate alternates between two states with exponential durations of these means. A log-normal factor \
             scales the rates of each run; the run spread is the standard deviation of its logarithm. Coupling of \
             the rates of change while both links are in the same state: {coupling}. The player buffers at most {} s, starts at {} s of \
             buffer, and resumes after a stall at {} s. Fitted values at a bound of the fit: {}.",
            seconds(buffer),
            seconds(startup),
            seconds(resume),
            if bounds.is_empty() { "none".to_owned() } else { bounds.join(", ") },
        ))
    }
}
