//! The reproduction as tables.

use super::calibration::Calibration;
use super::measure::Run;
use super::model::Way;
use super::paper::{
    Access, Clip, LOAD_TIME_REDUCTION_IN_CONCLUSION, load_time_reduction, mos_gain_4k, stalls,
};
use super::reproduce::{Figure, Reproduction};
use experiments::describe::fitted;
use report::{Badge, Cell, Column, Row, Table};

/// Of what the paper says how both links change it, against which link, and by how many percent in 4K.
pub(super) fn changes() -> impl Iterator<Item = (Figure, Access, f64)> {
    let against = |figure: Figure, of: fn(Access) -> f64| {
        [Access::Wifi, Access::Lte].map(|over| (figure, over, 100.0 * of(over)))
    };
    let load = against(Figure::LOAD, |over| -load_time_reduction(over));
    against(Figure::MOS, mos_gain_4k).into_iter().chain(load)
}

impl Reproduction {
    /// Everything, for the terminal.
    pub fn tables(&self) -> Vec<Table> {
        let all = [self.table_3(), self.figures_5_to_8(), self.gains(), self.levels(), self.links()];
        all.into_iter().chain(self.policies("Under policies")).collect()
    }

    /// What a row rests on.
    fn role(way: &Way) -> Badge {
        if way.access == Access::Both { Badge::predicted() } else { fitted() }
    }

    /// Table III beside the paper's.
    pub(super) fn table_3(&self) -> Table {
        let mut table = Table::new("Table III: stalls and their mean length").column(Column::text(""));
        for clip in Clip::ALL {
            let (name, key) = (clip.name(), clip.name().to_lowercase());
            table = table
                .column(Column::number(format!("{name} stalls")).key(format!("stalls_{key}")))
                .column(Column::number("paper").key(format!("paper_stalls_{key}")))
                .column(Column::number(format!("{name} length")).unit("s").key(format!("mean_stall_{key}_s")))
                .column(Column::number("paper").unit("s").key(format!("paper_mean_stall_{key}_s")));
        }
        for (i, way) in self.ways.iter().enumerate() {
            let mut row = Row::new([Cell::text(way.name())]);
            for clip in Clip::ALL {
                let printed = way.printed().map(|access| stalls(access, clip));
                let cell =
                    |value: Option<f64>| value.map_or_else(Cell::empty, |value| Cell::number(value, 2));
                row = row
                    .cell(Cell::estimate(self.estimate(&Figure::STALLS, i, clip), 2))
                    .cell(cell(printed.map(|(count, _)| count)))
                    .cell(Cell::estimate(self.mean_stall(i, clip), 2))
                    .cell(cell(printed.map(|(_, mean)| mean)));
            }
            table = table.row(row.badge(Self::role(way)));
        }
        let unfinished = self.all_runs().filter(|run| !run.complete).count();
        table = table.note(format!(
            "Means of {} runs with their 95 % intervals; the length is that of all stalls. The links were fitted to \
             the rows of one link; what is printed of both is predicted.",
            self.seeds
        ));
        if unfinished > 0 {
            table = table
                .note(format!("{unfinished} runs were not over after 300 s and count as far as they came."));
        }
        table
    }

    /// Figs. 5 to 8, of which the paper prints no values.
    pub(super) fn figures_5_to_8(&self) -> Table {
        let mut table = Table::new("Figs. 5 to 8").column(Column::text("")).column(Column::text("video"));
        let figures = [Figure::MOS, Figure::LOAD, Figure::FETCHED, Figure::OVER_WIFI];
        for figure in &figures {
            table = table.column(Column::number(figure.title).unit(figure.unit).key(figure.key));
        }
        for clip in Clip::ALL {
            for (i, way) in self.ways.iter().enumerate() {
                let mut row = Row::new([Cell::text(way.name()), Cell::text(clip.name())]);
                for figure in &figures {
                    let alone = figure.key == Figure::OVER_WIFI.key && way.access != Access::Both;
                    row = row.cell(if alone {
                        Cell::empty()
                    } else {
                        Cell::estimate(self.estimate(figure, i, clip), figure.decimals)
                    });
                }
                table = table.row(row.badge(Self::role(way)));
            }
        }
        table.note(
            "MOS of each run, then the mean. The paper prints no value of these figures, but the changes below, and \
             that more goes over Wi-Fi.",
        )
    }

    /// What both links change, beside what the paper says.
    pub(super) fn gains(&self) -> Table {
        let mut table = Table::new("What both links change, 4K, in %")
            .column(Column::text(""))
            .column(Column::number("here").key("change_percent"))
            .column(Column::number("paper").key("paper_percent"))
            .column(Column::number("apart").unit("points").key("points"));
        for (figure, over, paper) in changes() {
            let ours = self.change_percent(&figure, over, Clip::FourK);
            table = table.row(Row::new([
                Cell::text(format!("{}, against {}", figure.title, over.name())),
                Cell::estimate(ours, 1),
                Cell::number(paper, 1),
                Cell::number(ours.mean - paper, 1),
            ]));
        }
        table.note(format!(
            "Seed by seed, with the 95 % interval. Of the load time the paper’s conclusion says {:.2} % and not what \
             that is of.",
            -100.0 * LOAD_TIME_REDUCTION_IN_CONCLUSION
        ))
    }

    /// What policies save, and what the viewer has of it, beside plain Multipath TCP with the same seeds; `None` where
    /// there are none.
    pub(super) fn policies(&self, title: &str) -> Option<Table> {
        let plain = self.row(Access::Both)?;
        let rows = || (0..self.ways.len()).filter(|&way| !self.ways[way].policy.is_none());
        rows().next()?;
        let mut table = Table::new(title).column(Column::text("video")).column(Column::text("policy"));
        let figures = [Figure::MOS, Figure::STALLS, Figure::OVER_LTE, Figure::LTE_ENERGY, Figure::ENERGY];
        for figure in &figures {
            table = table.column(Column::number(figure.title).unit(figure.unit).key(figure.key));
        }
        table = table
            .column(Column::number("LTE data").unit("%").key("lte_data_percent"))
            .column(Column::number("MOS lower").unit("runs").key("lower_mos_runs"))
            .column(Column::number("more stalls").unit("runs").key("more_stalls_runs"));
        for clip in Clip::ALL {
            let lte = self.estimate(&Figure::OVER_LTE, plain, clip).mean;
            for way in core::iter::once(plain).chain(rows()) {
                let mut row =
                    Row::new([Cell::text(clip.name()), Cell::text(self.ways[way].policy.to_string())]);
                for figure in &figures {
                    row = row.cell(Cell::estimate(self.estimate(figure, way, clip), figure.decimals));
                }
                let pairs = || self.runs(plain, clip).iter().zip(self.runs(way, clip));
                let here = self.estimate(&Figure::OVER_LTE, way, clip).mean;
                let lower = pairs().filter(|(plain, here)| here.mos < plain.mos - 1e-9).count();
                let more = pairs().filter(|(plain, here)| here.stalls > plain.stalls).count();
                let beside = [
                    Cell::number(100.0 * (here / lte - 1.0), 1),
                    Cell::number(lower as f64, 0),
                    Cell::number(more as f64, 0),
                ];
                row = beside
                    .into_iter()
                    .fold(row, |row, cell| row.cell(if way == plain { Cell::empty() } else { cell }));
                table = table.row(row.badge(Badge::predicted()));
            }
        }
        Some(table.note(format!(
            "Over both links, means of {} runs with 95 % intervals; \"LTE data\" is the change beside no policy. The last \
             two columns count runs that had a lower MOS, or more stalls, than without a policy and with the same seed.",
            self.seeds
        )))
    }

    /// What MOS is made of.
    pub(super) fn levels(&self) -> Table {
        let mut table = Table::new("Runs by how often they stall, in %").column(Column::text(""));
        for clip in Clip::ALL {
            for (level, stalls) in [(1, "0 or 1"), (2, "2 to 9"), (3, "10 and more")] {
                let key = format!("level_{level}_{}_percent", clip.name().to_lowercase());
                table = table.column(Column::number(format!("{}: {stalls}", clip.name())).key(key));
            }
        }
        for (i, way) in self.ways.iter().enumerate() {
            let mut row = Row::new([Cell::text(way.name())]);
            for clip in Clip::ALL {
                for level in 1..=3 {
                    row = row.cell(Cell::number(self.at_level_percent(i, clip, level), 0));
                }
            }
            table = table.row(row);
        }
        table.note(
            "The levels of stall frequency in Table I, for 66 s of video. A level is worth 0.742 of MOS; load time and \
             the length of stalls together at most 0.35.",
        )
    }

    /// How the links vary.
    pub(super) fn links(&self) -> Table {
        let mut table = Table::new("The links")
            .column(Column::text(""))
            .column(Column::number("good").unit("Mbit/s").key("good_mbps"))
            .column(Column::number("bad").unit("Mbit/s").key("bad_mbps"))
            .column(Column::number("good for").unit("s").key("good_s"))
            .column(Column::number("bad for").unit("s").key("bad_s"))
            .column(Column::number("spread of runs").key("spread"))
            .column(Column::number("mean").unit("Mbit/s").key("mean_mbps"))
            .column(Column::number("deviation").unit("% of it").key("deviation_percent"));
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
        let Calibration { buffer, startup, resume, .. } = self.calibration;
        let seconds = |span: units::Duration| span.as_secs_f64();
        table.note(format!(
            "Rates of two states that last for exponential times, with these means; a run’s are multiplied by a factor \
             whose logarithm has this deviation. The player’s buffer holds {} s, which is fitted too; it plays from \
             {} s on, and after a stall from {} s on, which is the least it can do.",
            seconds(buffer),
            seconds(startup),
            seconds(resume),
        ))
    }

    /// Every run.
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
        for (i, way) in self.ways.iter().enumerate() {
            for clip in Clip::ALL {
                for (seed, run) in (1_u32..).zip(self.runs(i, clip)) {
                    let head =
                        [Cell::text(way.key()), Cell::text(clip.name()), Cell::number(f64::from(seed), 0)];
                    let rest = values.iter().map(|(_, of)| Cell::number(of(run), 6));
                    table = table.row(Row::new(head.into_iter().chain(rest)));
                }
            }
        }
        table
    }

    /// A row for each way, video and figure.
    pub fn figures(&self) -> Table {
        let mut table = Table::default()
            .column(Column::text("way"))
            .column(Column::text("video"))
            .column(Column::text("figure"))
            .column(Column::number("mean"))
            .column(Column::number("paper"));
        for (i, way) in self.ways.iter().enumerate() {
            for clip in Clip::ALL {
                let printed = way.printed().map(|access| stalls(access, clip));
                let mut add = |key: &str, estimate, paper: Option<f64>| {
                    table.rows.push(Row::new([
                        Cell::text(way.key()),
                        Cell::text(clip.name()),
                        Cell::text(key),
                        Cell::estimate(estimate, 6),
                        paper.map_or_else(Cell::empty, |paper| Cell::number(paper, 6)),
                    ]));
                };
                add(Figure::STALLS.key, self.estimate(&Figure::STALLS, i, clip), printed.map(|p| p.0));
                add("mean_stall_s", self.mean_stall(i, clip), printed.map(|p| p.1));
                for figure in [Figure::MOS, Figure::LOAD, Figure::FETCHED, Figure::OVER_WIFI] {
                    add(figure.key, self.estimate(&figure, i, clip), None);
                }
            }
        }
        table
    }
}
