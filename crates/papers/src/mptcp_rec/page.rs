//! The reproduction as a report.

use super::measure::Figure;
use super::model::{BUFFERS_KB, CHOICES};
use super::over_grid::Group;
use super::paper::{DELAY_REDUCTION, THROUGHPUT_GAIN};
use super::reproduce::{Reproduction, Shown};
use experiments::describe;
use report::{Axis, Bars, Estimate, Line, Lines, Page, Section};

impl Reproduction {
    /// One page with everything.
    pub fn page(&self) -> Page {
        let mut result = Section::new("The paper’s claim over the grid").anchor("claim").prose(
            "The paper’s table of losses is lost, so that there is no one point to hold its figures against. Shown is \
             a grid of losses and buffers, each point with the same seeds for every scheme.",
        );
        if let Some(headline) = self.headline() {
            result = result.table(headline);
        }
        let mut page = Page::new("MPTCP\u{2011}rec, reproduced")
            .lead(self.finding())
            .section(result)
            .section(self.over_time())
            .section(
                Section::new("Figures 7 to 10 by buffer")
                    .anchor("figures")
                    .prose(
                        "Medians over the losses of the grid. Hatched: what standard MPTCP has here, changed by as much \
                         as the paper says. The paper prints ratios and no values, but for the peak of Fig. 7.",
                    )
                    .charts(Figure::PAPER.iter().map(|figure| self.by_buffer(figure))),
            )
            .section(
                Section::new("Today’s schedulers, energy and quality").anchor("schemes").table(self.by_scheme()),
            )
            .section(
                Section::new("Who does the work")
                    .anchor("work")
                    .prose(
                        "“Balancing overhead between sender and receiver” is one of the paper’s aims. It is not \
                         measured there.",
                    )
                    .table(self.work()),
            )
            .section(self.by_point().into_iter().fold(Section::new("Every point").anchor("points"), Section::table));
        page = page.section(self.network());
        page.footer(experiments::page::footer())
    }

    /// The result in a sentence or two.
    fn finding(&self) -> String {
        let Some(proposed) = self.proposed() else {
            return "A download over 3G, Wi\u{2011}Fi and WiMAX at once, into a small receive buffer: standard MPTCP \
                    and the schedulers of today, in the simulated network of the MPTCP\u{2011}rec paper."
                .to_owned();
        };
        let median = |figure: &Figure| self.over_grid(figure, proposed, 0, Group::Small).median.mean;
        format!(
            "A download over 3G, Wi\u{2011}Fi and WiMAX at once, into a receive buffer of up to 128 KB. Against standard \
             MPTCP, {} changes throughput by *{:+.1} %* and end-to-end delay by *{:+.1} %* (medians over the grid of \
             losses); the paper printed {:+.1} % and {:+.1} %.",
            self.schemes[proposed].title,
            median(&Figure::GOODPUT),
            median(&Figure::DELAY),
            THROUGHPUT_GAIN * 100.0,
            -DELAY_REDUCTION * 100.0,
        )
    }

    /// Figs. 6, 7, 9 and 10 as the paper draws them: over time, one run of each.
    fn over_time(&self) -> Section {
        let mut section = Section::new("Figures 6, 7, 9 and 10 over time").anchor("over-time");
        let Some(first) = self.shown.first() else { return section };
        let buffer = first.experiment.transport.config.recv_buffer / 1024;
        let loss = self.grid.iter().find(|point| point.is_common()).map(|point| point.average * 50.0);
        section = section.prose(format!(
            "One run of each: seed 1, a receive buffer of {buffer} KB, {} % uniform and as much Gilbert loss on each \
             link.",
            loss.unwrap_or(f64::NAN)
        ));
        section = section.charts([self.figure_6(), self.figure_6_closely()]);
        section = section.charts(self.figure_7());
        section.chart(self.distribution()).charts([
            self.delays("Fig. 9: end-to-end delay", "delay", |point| Some(point.mean_s)),
            self.delays("Fig. 10: jitter", "jitter", |point| point.jitter_s),
        ])
    }

    fn title(&self, shown: &Shown) -> &str {
        &self.schemes[shown.scheme].title
    }

    /// What a point of a figure over time is about.
    fn span(&self) -> String {
        format!("{} s", self.duration.as_secs_f64() / 240.0)
    }

    fn time_axis(&self) -> Axis {
        Axis::seconds().from(0.0).to(self.duration.as_secs_f64())
    }

    fn figure_6(&self) -> Lines {
        let mut chart = Lines::new(
            "Fig. 6: data sequence numbers received",
            self.time_axis(),
            Axis::new("data sequence number").unit("MB").from(0.0),
        );
        for shown in &self.shown {
            let of = |points: &[(f64, u64)]| {
                points.iter().map(|&(time, dsn)| (time, dsn as f64 * 1e-6)).unzip::<_, _, Vec<_>, Vec<_>>()
            };
            let (x, y) = of(&shown.delivery.received);
            chart = chart.line(Line::new(self.title(shown), x, y));
        }
        chart.caption("Less the first one. The paper prints no values, but that MPTCP-rec’s rise faster.")
    }

    /// A twelfth of the run, in which what was sent and what was received can be told apart.
    fn figure_6_closely(&self) -> Lines {
        let seconds = self.duration.as_secs_f64();
        let (from, to) = (seconds * 5.0 / 12.0, seconds * 6.0 / 12.0);
        let mut chart = Lines::new(
            "Fig. 6 closely: sent and received",
            Axis::seconds().from(from).to(to),
            Axis::new("data sequence number").unit("MB"),
        );
        for shown in &self.shown {
            let title = self.title(shown);
            for (name, points) in [
                (format!("{title}, sent"), &shown.delivery.sent),
                (format!("{title}, received"), &shown.delivery.received),
            ] {
                let within = points.iter().filter(|&&(time, _)| (from..=to).contains(&time));
                let (x, y) = within.map(|&(time, dsn)| (time, dsn as f64 * 1e-6)).unzip();
                chart = chart.line(Line::new(name, x, y));
            }
        }
        chart.caption("Some points of many. A fall is data over a slower path, or sent again.")
    }

    /// One chart a scheme: on one they would hide each other.
    fn figure_7(&self) -> Vec<Lines> {
        let offsets = |shown: &Shown| {
            let points = &shown.delivery.offsets.over_time;
            points.iter().map(|&(time, offset)| (time, offset as f64 * 1e-3)).unzip::<_, _, Vec<_>, Vec<_>>()
        };
        let most = self.shown.iter().map(|shown| shown.delivery.offsets.peak_bytes).max().unwrap_or(0);
        let most = most as f64 * 1e-3;
        let span = self.span();
        let charts = self.shown.iter().map(|shown| {
            let (x, y) = offsets(shown);
            let peak = shown.delivery.offsets.peak_bytes as f64 * 1e-3;
            Lines::new(
                format!("Fig. 7: out-of-order offsets, {}", self.title(shown)),
                self.time_axis(),
                Axis::new("offset to the segment before").unit("kB").from(-most).to(most),
            )
            .line(Line::new(self.title(shown), x, y))
            .caption(format!("The lowest and the highest of each {span}. Peak: {peak:.0} kB."))
        });
        charts.collect()
    }

    /// Of all offsets, how many are no larger.
    fn distribution(&self) -> Lines {
        let mut chart = Lines::new(
            "Fig. 7, all offsets: how many are no larger",
            Axis::new("offset, as a power of two in bytes").from(10.0),
            Axis::new("of all segments").unit("%").to(100.0),
        );
        for shown in &self.shown {
            let offsets = &shown.delivery.offsets;
            let mut below = 0;
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for (power, count) in offsets.by_power_of_two.iter().enumerate() {
                below += count;
                if power >= 10 {
                    x.push(power as f64);
                    y.push(100.0 * below as f64 / offsets.count as f64);
                }
            }
            chart = chart.line(Line::new(self.title(shown), x, y).dots());
        }
        chart.caption(
            "At 11, or below 2048 bytes, are the segments that came in order; 16 stands for 64 KB and 17 for 128 KB. The \
             paper prints peaks only, near 300,000 and 180,000, in a unit and with a buffer that it does not say.",
        )
    }

    fn delays(&self, title: &str, axis: &str, of: fn(&sim::DelayPoint) -> Option<f64>) -> Lines {
        let mut chart = Lines::new(title, self.time_axis(), Axis::new(axis).unit("ms").from(0.0));
        for shown in &self.shown {
            let points = &shown.delivery.delay.over_time;
            let x = points.iter().map(|point| point.time_s).collect();
            let y = points.iter().map(|point| of(point).map_or(f64::NAN, |s| s * 1e3)).collect();
            chart = chart.line(Line::new(self.title(shown), x, y));
        }
        chart.caption(format!("Mean of each {}.", self.span()))
    }

    /// A figure by buffer: medians over the losses.
    fn by_buffer(&self, figure: &Figure) -> Bars {
        let buffers: Vec<u64> = BUFFERS_KB
            .into_iter()
            .filter(|&kb| self.grid.iter().any(|point| point.buffer_kb == kb))
            .collect();
        let of = |scheme: usize| {
            buffers.iter().map(move |&kb| self.over_losses(figure, scheme, kb)).collect::<Vec<f64>>()
        };
        let number = match figure.key {
            key if key == Figure::GOODPUT.key => "Fig. 8: throughput",
            key if key == Figure::DELAY.key => "Fig. 9: end-to-end delay",
            key if key == Figure::JITTER.key => "Fig. 10: jitter",
            _ => "Fig. 7: peak out-of-order offset",
        };
        let (unit, scale) = if figure.key == Figure::PEAK.key { ("kB", 1e-3) } else { (figure.unit, 1.0) };
        let exact = move |values: Vec<f64>| values.into_iter().map(move |v| Estimate::exact(v * scale));
        let mut chart = Bars::new(number, Axis::new(figure.title).unit(unit).from(0.0))
            .decimals(figure.decimals)
            .groups(buffers.iter().map(|kb| format!("{kb} KB")));
        for scheme in self.standards().chain(self.proposed()) {
            chart = chart.series(&self.schemes[scheme].title, exact(of(scheme)));
        }
        if let Some(percent) = figure.paper_percent {
            let wanted = of(0).into_iter().map(|value| value * (1.0 + percent / 100.0)).collect();
            chart = chart.reference("paper’s ratio", exact(wanted));
        }
        chart
    }

    fn network(&self) -> Section {
        let mut section = Section::new("The network, and where the paper is silent").anchor("silent").prose(
            "One server, one device, three paths (section 5.1). Stated are rates, ranges of delays, the background’s \
             share and sizes, and 120 s. The rest was chosen:",
        );
        section = section.list(CHOICES.iter().copied());
        if let Some(shown) = self.shown.first() {
            section = section
                .facts(describe::facts(&shown.experiment))
                .table(describe::sources(&describe::profiles(&shown.experiment)));
        }
        section
    }
}
