//! Tables of the reproduction.

use super::background::Background;
use super::grid_summary::{GridSummary, Group};
use super::measure::Metric;
use super::model::{PRINTED_BUFFER_KB, SMALL_BUFFER_KB};
use super::reproduce::Reproduction;
use report::{Cell, Column, Estimate, Row, Table};

/// A change in percent with its confidence interval.
fn change(change: Estimate) -> Cell {
    Cell::estimate(change, 1)
}

impl Group {
    /// Name in tables of a grid with this background.
    pub(super) fn title(self, background: Background) -> String {
        match self {
            Self::Printed => format!("buffers from {PRINTED_BUFFER_KB} KB, as the printed peak needs"),
            Self::Small => format!("buffers up to {SMALL_BUFFER_KB} KB"),
            Self::BothLosses => "both loss models on every link".to_owned(),
            Self::All => "all points".to_owned(),
            Self::OtherBackground => match background {
                Background::Datagrams => "90 % of the background over TCP".to_owned(),
                Background::Tcp => "background of datagrams".to_owned(),
            },
        }
    }
}

impl Reproduction {
    /// All tables in their order on a terminal.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> = self.headline();
        tables.extend(self.ablation());
        tables.extend(self.sweeps());
        tables.extend(self.by_point());
        tables.extend([self.by_scheme(), self.work()]);
        tables
    }

    /// Change from each standard MPTCP to the paper's scheme, beside the paper's figures; empty
    /// without the scheme.
    pub fn headline(&self) -> Vec<Table> {
        let Some(proposed) = self.proposed() else { return Vec::new() };
        let mut tables: Vec<Table> =
            self.standards().map(|against| self.headline_from(against, proposed)).collect();
        if let Some(last) = tables.pop() {
            tables.push(last.note(
                "New data is always within the receive window. One blocking in a run therefore makes the peak offset \
                 about as large as the receive buffer, with every scheme. The paper’s 300,000 needs a buffer of about \
                 that many bytes. The 95th percentile distinguishes the schemes.",
            ));
        }
        tables
    }

    fn headline_from(&self, against: usize, proposed: usize) -> Table {
        let name = &self.schemes[proposed].title;
        let title =
            format!("Change from {} ({}) to {name}", self.schemes[against].title, self.config_name(against));
        let mut table = Table::new(title)
            .column(Column::text("metric").key("figure"))
            .column(Column::number("median").unit("%"))
            .column(Column::number("lowest").unit("%"))
            .column(Column::number("highest").unit("%"))
            .column(Column::number("paper").unit("%"))
            .column(Column::number("paper reached").key("reached"))
            .column(Column::number("better"))
            .column(Column::number("worse"))
            .column(Column::number("points").key("of"));
        for group in Group::ALL {
            if self.points_of(group).next().is_none() {
                continue;
            }
            let title = group.title(self.background());
            table = table.row(Row::heading(title[..1].to_uppercase() + &title[1..]));
            for metric in &Metric::HEADLINE {
                let found = self.grid_summary(metric, proposed, against, group);
                table = table.row(headline_row(metric, &found));
            }
        }
        let seeds = if against == 0 { self.seeds } else { self.reduced_seeds };
        table.note(format!(
            "In percent of standard MPTCP. Median over the points of the group for each seed: mean of {seeds} seeds ± \
             half the 95 % confidence interval. Paper reached: points whose mean is at least as good as the paper’s \
             figure. Better, worse: points that differ by more than their confidence interval. The paper prints no \
             figure for jitter."
        ))
    }

    fn config_name(&self, scheme: usize) -> String {
        let config = &self.schemes[scheme].config;
        format!("{}, {}", config.scheduler.name(), config.congestion.name())
    }

    /// Every point of the grid: standard MPTCP and the paper's scheme.
    pub fn by_point(&self) -> [Table; 2] {
        let [goodput, delay, jitter, peak] = Metric::PAPER;
        let table = self.points("throughput and delay", &[goodput, delay]).note(format!(
            "Means of {} seeds. Changes are paired by seed, ± half the 95 % confidence interval. Delay: from first \
             transmission to delivery in order.",
            self.seeds
        ));
        let other = self.points("jitter and out-of-order offsets", &[jitter, peak]).note(
            "Jitter: mean difference between the delays of consecutive deliveries. Peak offset: largest difference \
             between the sequence numbers of consecutive arrivals.",
        );
        [table, other]
    }

    fn points(&self, what: &str, metrics: &[Metric]) -> Table {
        let proposed = self.proposed();
        let base = &self.schemes[0].title;
        let name = proposed.map(|i| self.schemes[i].title.as_str());
        let mut table = Table::new(match name {
            Some(name) => format!("{name} and {base} at each point: {what}"),
            None => format!("{base} at each point: {what}"),
        })
        .column(Column::text("loss"));
        for metric in metrics {
            let key = |who: &str| format!("{}_{who}", metric.key);
            let short = if metric.key == Metric::PEAK.key { "peak offset" } else { metric.title };
            table = table.column(Column::number(short).unit(metric.unit).key(key("mptcp")));
            if let Some(name) = name {
                table = table
                    .column(Column::number(name).unit(metric.unit).key(key("mptcp_rec")))
                    .column(Column::number("change").unit("%").key(key("change")));
            }
        }
        let mut buffer = 0;
        let mut order: Vec<usize> = (0..self.grid.len()).collect();
        order.sort_by_key(|&i| self.grid[i].buffer_kb);
        for i in order {
            let point = &self.grid[i];
            if point.buffer_kb != buffer {
                buffer = point.buffer_kb;
                table = table.row(Row::heading(format!("Receive buffer {buffer} KB")));
            }
            let mut row = Row::new([Cell::text(point.loss_name())]);
            for metric in metrics {
                row = row.cell(Cell::number(self.estimate(metric, 0, i).mean, metric.decimals));
                if let Some(proposed) = proposed {
                    row = row
                        .cell(Cell::number(self.estimate(metric, proposed, i).mean, metric.decimals))
                        .cell(change(self.change(metric, proposed, 0, i)));
                }
            }
            table = table.row(row);
        }
        table
    }

    /// Schemes without a table of their own.
    fn table_schemes(&self) -> impl Iterator<Item = usize> {
        (0..self.schemes.len()).filter(|&scheme| !self.schemes[scheme].role.is_apart())
    }

    /// The schemes at the points where all of them run, the fastest first.
    pub fn by_scheme(&self) -> Table {
        let points = self.common().count();
        let mut table = Table::new(format!("All schemes, {} seeds at {points} points", self.reduced_seeds))
            .column(Column::text("scheme"))
            .column(Column::number("goodput").unit("Mbit/s"))
            .column(Column::number("delay").unit("ms"))
            .column(Column::number("p95").unit("ms").key("delay_p95"))
            .column(Column::number("jitter").unit("ms"))
            .column(Column::number("peak offset").unit("kB"))
            .column(Column::number("p95").unit("kB").key("offset_p95"))
            .column(Column::number("energy").unit("J/MB"))
            .column(Column::number("PSNR").unit("dB"))
            .column(Column::number("path A").unit("%").key("over_a"))
            .column(Column::number("B").unit("%"))
            .column(Column::number("C").unit("%"));
        let mut order: Vec<usize> = self.table_schemes().collect();
        let goodput = |scheme: usize| self.common_mean(Metric::GOODPUT.of, scheme);
        order.sort_by(|&a, &b| goodput(b).mean.total_cmp(&goodput(a).mean));
        for scheme in order {
            let mean = |of: fn(&super::Run) -> f64| self.common_mean(of, scheme).mean;
            let path = |path: usize| {
                self.common_mean(
                    |run| 100.0 * run.path_mbps[path] / run.path_mbps.iter().sum::<f64>(),
                    scheme,
                )
            };
            let row = Row::new([
                Cell::text(&self.schemes[scheme].title),
                Cell::estimate(goodput(scheme), 2),
                Cell::estimate(self.common_mean(Metric::DELAY.of, scheme), 0),
                Cell::number(mean(|run| run.delay_p95_ms), 0),
                Cell::number(mean(Metric::JITTER.of), 1),
                Cell::number(mean(|run| run.peak_out_of_order * 1e-3), 1),
                Cell::number(mean(|run| run.out_of_order_p95 * 1e-3), 1),
                Cell::number(mean(Metric::ENERGY.of), 2),
                Cell::number(mean(Metric::PSNR.of), 1),
                Cell::number(path(0).mean, 1),
                Cell::number(path(1).mean, 1),
                Cell::number(path(2).mean, 1),
            ]);
            let paper = scheme == 0 || Some(scheme) == self.proposed();
            table = table.row(if paper { row.strong() } else { row });
        }
        table.note(format!(
            "Each buffer with 1 % uniform and 1 % Gilbert loss on every link: means over the points ± half the 95 % \
             confidence interval over seeds. p95: 95th percentile of the delay or offset. Energy: `huang2012.3g`, \
             `huang2012.wifi` and, for WiMAX, `huang2012.lte`. PSNR: of a stream of {} Mbit/s, second by second. Paths: \
             share of the payload.",
            super::measure::STREAM_MBPS
        ))
    }

    /// Segments and options of sender and receiver per delivered megabyte.
    pub fn work(&self) -> Table {
        let mut table = Table::new("Protocol work of both ends per delivered megabyte")
            .column(Column::text("scheme"))
            .column(Column::number("segments, sender").key("sender_segments"))
            .column(Column::number("receiver").key("receiver_segments"))
            .column(Column::number("options, sender").key("sender_options"))
            .column(Column::number("receiver").key("receiver_options"))
            .column(Column::number("MPTCP-rec options").key("experimental"))
            .column(Column::number("receiver’s share").unit("%").key("receiver_share"));
        for scheme in self.table_schemes() {
            let of = |end: usize| {
                let mean =
                    |of: fn(&super::Work) -> f64| self.common_mean(|run| of(&run.work[end]), scheme).mean;
                (mean(|w| w.segments), mean(|w| w.options), mean(|w| w.experimental))
            };
            let (sender, receiver) = (of(0), of(1));
            table = table.row(Row::new([
                Cell::text(&self.schemes[scheme].title),
                Cell::number(sender.0, 0),
                Cell::number(receiver.0, 0),
                Cell::number(sender.1, 0),
                Cell::number(receiver.1, 0),
                Cell::number(sender.2, 0),
                Cell::number(100.0 * receiver.1 / (sender.1 + receiver.1), 1),
            ]));
        }
        table.note(
            "Segments and options sent and received, at the same points and seeds. Options: SACK, DSS and all other TCP \
             and MPTCP options, each counted once per segment. Receiver’s share: of the options. The paper claims to \
             balance this work between the ends but does not measure it.",
        )
    }
}

fn headline_row(metric: &Metric, summary: &GridSummary) -> Row {
    let paper = metric.paper_percent;
    let median_holds = paper.map(|paper| {
        if metric.more_is_better { summary.median.mean >= paper } else { summary.median.mean <= paper }
    });
    let median = change(summary.median);
    let count = |n: usize| Cell::number(n as f64, 0);
    Row::new([
        Cell::text(metric.title),
        median_holds.map_or(median.clone(), |holds| median.good_if(holds)),
        Cell::number(summary.range.0, 1),
        Cell::number(summary.range.1, 1),
        paper.map_or_else(Cell::empty, |paper| Cell::percent(paper, 1)),
        summary.reached.map_or_else(Cell::empty, count),
        count(summary.better),
        count(summary.worse),
        count(summary.points),
    ])
}
