//! The reproduction as tables.

use super::measure::Figure;
use super::model::SMALL_KB;
use super::over_grid::{Group, OverGrid};
use super::reproduce::Reproduction;
use report::{Cell, Column, Estimate, Row, Table};

/// A difference in percent with its interval.
fn change(change: Estimate) -> Cell {
    Cell::estimate(change, 1)
}

impl Group {
    /// In words.
    pub(super) fn title(self) -> String {
        match self {
            Self::Small => format!("to {SMALL_KB} KB"),
            Self::All => "all".to_owned(),
        }
    }
}

impl Reproduction {
    /// Every table, in the order in which they are read.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> = self.headline().into_iter().collect();
        tables.extend(self.by_point());
        tables.extend([self.by_scheme(), self.work()]);
        tables
    }

    /// What the paper's scheme changes against standard MPTCP, beside what the paper says; `None` where the
    /// scheme is not there.
    pub fn headline(&self) -> Option<Table> {
        let proposed = self.proposed()?;
        let name = &self.schemes[proposed].title;
        let mut table = Table::new(format!("{name} against standard MPTCP, over the grid"))
            .column(Column::text("figure"))
            .column(Column::text("buffers").key("group"))
            .column(Column::number("median").unit("%"))
            .column(Column::number("lowest").unit("%"))
            .column(Column::number("highest").unit("%"))
            .column(Column::number("paper").unit("%"))
            .column(Column::number("as in the paper").key("reached"))
            .column(Column::number("better"))
            .column(Column::number("worse"))
            .column(Column::number("of"));
        for against in self.standards() {
            let title = &self.schemes[against].title;
            table = table.row(Row::heading(format!("Against {title} ({})", self.config_name(against))));
            for figure in &Figure::HEADLINE {
                for group in Group::BOTH {
                    let found = self.over_grid(figure, proposed, against, group);
                    table = table.row(headline_row(figure, group, &found));
                }
            }
        }
        let table = table.note(format!(
            "In percent of standard MPTCP’s. Median over the points of the grid, seed by seed: mean of {} seeds \
             ({} against the second), ± its 95 % interval. As in the paper: points whose mean is at least the paper’s \
             figure. Better, worse: points beyond their own interval. The paper prints no figure for jitter.",
            self.seeds, self.fewer_seeds
        ));
        Some(table.note(
            "What is new to the receiver lies within its window, so that the peak of the offsets is the receive buffer, a \
             little more or less, for whatever blocks it once in the run. The paper’s 300,000 needs a buffer of about as \
             many bytes, or another unit; what 95 % of the offsets do not exceed tells schemes apart.",
        ))
    }

    fn config_name(&self, scheme: usize) -> String {
        let config = &self.schemes[scheme].config;
        format!("{}, {}", config.scheduler.name(), config.congestion.name())
    }

    /// Every point of the grid: the paper's scheme, where it is there, beside standard MPTCP.
    pub fn by_point(&self) -> [Table; 2] {
        let [goodput, delay, jitter, peak] = Figure::PAPER;
        let table = self.points("throughput and delay", &[goodput, delay]).note(format!(
            "Means of {} seeds; a change is taken seed by seed, ± its 95 % interval. Delay: from first sending to \
             delivery in order.",
            self.seeds
        ));
        let other = self.points("jitter and out-of-order offsets", &[jitter, peak]).note(
            "Jitter: how much the delays of two pieces differ that were delivered one after the other. Peak offset: \
             between the sequence numbers of two segments that arrived one after the other.",
        );
        [table, other]
    }

    fn points(&self, what: &str, figures: &[Figure]) -> Table {
        let proposed = self.proposed();
        let base = &self.schemes[0].title;
        let name = proposed.map(|i| self.schemes[i].title.as_str());
        let mut table = Table::new(match name {
            Some(name) => format!("{name} beside {base}, point by point: {what}"),
            None => format!("{base}, point by point: {what}"),
        })
        .column(Column::text("loss"));
        for figure in figures {
            let key = |who: &str| format!("{}_{who}", figure.key);
            let short = if figure.key == Figure::PEAK.key { "peak offset" } else { figure.title };
            table = table.column(Column::number(short).unit(figure.unit).key(key("mptcp")));
            if let Some(name) = name {
                table = table
                    .column(Column::number(name).unit(figure.unit).key(key("mptcp_rec")))
                    .column(Column::number("change").unit("%").key(key("change")));
            }
        }
        let mut buffer = 0;
        for (i, point) in self.grid.iter().enumerate() {
            if point.buffer_kb != buffer {
                buffer = point.buffer_kb;
                table = table.row(Row::heading(format!("Receive buffer {buffer} KB")));
            }
            let mut row = Row::new([Cell::text(point.loss_name())]);
            for figure in figures {
                row = row.cell(Cell::number(self.estimate(figure, 0, i).mean, figure.decimals));
                if let Some(proposed) = proposed {
                    row = row
                        .cell(Cell::number(self.estimate(figure, proposed, i).mean, figure.decimals))
                        .cell(change(self.change(figure, proposed, 0, i)));
                }
            }
            table = table.row(row);
        }
        table
    }

    /// All schemes at the points where all run, the fastest first.
    pub fn by_scheme(&self) -> Table {
        let points = self.grid.iter().filter(|point| point.is_common()).count();
        let mut table = Table::new(format!("All schemes, {} seeds at {points} points", self.fewer_seeds))
            .column(Column::text("scheme"))
            .column(Column::number("goodput").unit("Mbit/s"))
            .column(Column::number("delay").unit("ms"))
            .column(Column::number("95 %").unit("ms").key("delay_p95"))
            .column(Column::number("jitter").unit("ms"))
            .column(Column::number("peak offset").unit("kB"))
            .column(Column::number("95 %").unit("kB").key("offset_p95"))
            .column(Column::number("energy").unit("J/MB"))
            .column(Column::number("PSNR").unit("dB"))
            .column(Column::number("over A").unit("%"))
            .column(Column::number("B").unit("%"))
            .column(Column::number("C").unit("%"));
        let mut order: Vec<usize> = (0..self.schemes.len()).collect();
        let goodput = |scheme: usize| self.over_common(Figure::GOODPUT.of, scheme);
        order.sort_by(|&a, &b| goodput(b).mean.total_cmp(&goodput(a).mean));
        for scheme in order {
            let mean = |of: fn(&super::Run) -> f64| self.over_common(of, scheme).mean;
            let path = |path: usize| {
                self.over_common(
                    |run| 100.0 * run.path_mbps[path] / run.path_mbps.iter().sum::<f64>(),
                    scheme,
                )
            };
            let row = Row::new([
                Cell::text(&self.schemes[scheme].title),
                Cell::estimate(goodput(scheme), 2),
                Cell::estimate(self.over_common(Figure::DELAY.of, scheme), 0),
                Cell::number(mean(|run| run.delay_p95_ms), 0),
                Cell::number(mean(Figure::JITTER.of), 1),
                Cell::number(mean(|run| run.peak_out_of_order * 1e-3), 1),
                Cell::number(mean(|run| run.out_of_order_p95 * 1e-3), 1),
                Cell::number(mean(Figure::ENERGY.of), 2),
                Cell::number(mean(Figure::PSNR.of), 1),
                Cell::number(path(0).mean, 1),
                Cell::number(path(1).mean, 1),
                Cell::number(path(2).mean, 1),
            ]);
            let paper = scheme == 0 || Some(scheme) == self.proposed();
            table = table.row(if paper { row.strong() } else { row });
        }
        table.note(format!(
            "Each buffer with 1 % uniform and 1 % Gilbert loss on every link: means over the points, ± the 95 % \
             interval over seeds. Offsets: peak, and what 95 % of them do not exceed. Energy: `huang2012.3g`, \
             `huang2012.wifi` and, for WiMAX, `huang2012.lte`. PSNR: of a stream of {} Mbit/s, second by second.",
            super::measure::STREAM_MBPS
        ))
    }

    /// What sender and receiver did for a megabyte.
    pub fn work(&self) -> Table {
        let mut table = Table::new("Work at both ends, for a delivered megabyte")
            .column(Column::text("scheme"))
            .column(Column::number("segments, sender").key("sender_segments"))
            .column(Column::number("receiver").key("receiver_segments"))
            .column(Column::number("options, sender").key("sender_options"))
            .column(Column::number("receiver").key("receiver_options"))
            .column(Column::number("of MPTCP-rec").key("experimental"))
            .column(Column::number("receiver’s part").unit("%").key("receiver_share"));
        for (scheme, known) in self.schemes.iter().enumerate() {
            let of = |end: usize| {
                let mean =
                    |of: fn(&super::Work) -> f64| self.over_common(|run| of(&run.work[end]), scheme).mean;
                (mean(|w| w.segments), mean(|w| w.options), mean(|w| w.experimental))
            };
            let (sender, receiver) = (of(0), of(1));
            table = table.row(Row::new([
                Cell::text(&known.title),
                Cell::number(sender.0, 0),
                Cell::number(receiver.0, 0),
                Cell::number(sender.1, 0),
                Cell::number(receiver.1, 0),
                Cell::number(sender.2, 0),
                Cell::number(100.0 * receiver.1 / (sender.1 + receiver.1), 1),
            ]));
        }
        table.note(
            "Made and read, at the same points and seeds. Options: SACK, DSS and all others of TCP and MPTCP, one for \
             each in a segment; the receiver’s part is that of the options. The paper claims to balance this work \
             between the ends and does not measure it.",
        )
    }

    /// Every figure of every scheme at every point where it ran, a row each.
    pub fn long_table(&self) -> Table {
        let mut table = Table::new("Figures")
            .column(Column::text("scheme"))
            .column(Column::number("buffer_kb"))
            .column(Column::text("loss"))
            .column(Column::number("average_loss"))
            .column(Column::text("figure"))
            .column(Column::text("unit").key("unit"))
            .column(Column::number("mean"));
        for (scheme, known) in self.schemes.iter().enumerate() {
            for (i, point) in self.grid.iter().enumerate() {
                if self.runs(scheme, i).is_empty() {
                    continue;
                }
                for figure in &Figure::ALL {
                    table = table.row(Row::new([
                        Cell::text(&known.key),
                        Cell::number(point.buffer_kb as f64, 0),
                        Cell::text(point.loss.name()),
                        Cell::number(point.average, 3),
                        Cell::text(figure.key),
                        Cell::text(figure.unit),
                        Cell::estimate(self.estimate(figure, scheme, i), figure.decimals),
                    ]));
                }
            }
        }
        table
    }

    /// Every single run, a row each.
    pub fn runs_table(&self) -> Table {
        let mut table = Table::new("Runs")
            .column(Column::text("scheme"))
            .column(Column::number("buffer_kb"))
            .column(Column::text("loss"))
            .column(Column::number("average_loss"))
            .column(Column::number("seed"));
        for figure in &Figure::ALL {
            table = table.column(Column::number(figure.key));
        }
        for (scheme, known) in self.schemes.iter().enumerate() {
            for (i, point) in self.grid.iter().enumerate() {
                for (seed, run) in (1_u32..).zip(self.runs(scheme, i)) {
                    let mut row = Row::new([
                        Cell::text(&known.key),
                        Cell::number(point.buffer_kb as f64, 0),
                        Cell::text(point.loss.name()),
                        Cell::number(point.average, 3),
                        Cell::number(f64::from(seed), 0),
                    ]);
                    for figure in &Figure::ALL {
                        row = row.cell(Cell::number((figure.of)(run), 6));
                    }
                    table = table.row(row);
                }
            }
        }
        table
    }
}

fn headline_row(figure: &Figure, group: Group, found: &OverGrid) -> Row {
    let paper = figure.paper_percent;
    let on_its_side = paper.map(|paper| {
        if figure.more_is_better { found.median.mean >= paper } else { found.median.mean <= paper }
    });
    let median = change(found.median);
    let count = |n: usize| Cell::number(n as f64, 0);
    Row::new([
        Cell::text(figure.title),
        Cell::text(group.title()),
        on_its_side.map_or(median.clone(), |holds| median.good_if(holds)),
        Cell::number(found.range.0, 1),
        Cell::number(found.range.1, 1),
        paper.map_or_else(Cell::empty, |paper| Cell::percent(paper, 1)),
        found.reached.map_or_else(Cell::empty, count),
        count(found.better),
        count(found.worse),
        count(found.points),
    ])
}
