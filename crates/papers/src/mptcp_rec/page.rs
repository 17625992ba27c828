//! HTML report of the reproduction.

use super::grid_summary::Group;
use super::measure::Metric;
use super::model::{BUFFERS_KB, CHOICES};
use super::paper::{DELAY_REDUCTION, THROUGHPUT_GAIN};
use super::reproduce::{Reproduction, Shown};
use experiments::describe;
use report::{Axis, Bars, Estimate, Line, Lines, Page, Section};

impl Reproduction {
    /// The whole report.
    pub fn page(&self) -> Page {
        let mut result = Section::new("The paper’s claim over the grid").anchor("claim").prose(
            "The paper’s table of losses is not available, so its figures cannot be compared at a single point. The \
             table covers a grid of losses and buffers. Every scheme runs each point with the same seeds.",
        );
        for headline in self.headline() {
            result = result.table(headline);
        }
        Page::new("Reproduction of MPTCP\u{2011}rec")
            .lead(self.finding())
            .section(result)
            .section(self.readings())
            .section(self.over_time())
            .section(
                Section::new("Figures 7 to 10 by buffer")
                    .anchor("figures")
                    .prose(
                        "Medians over the losses of the grid. Hatched: standard MPTCP’s value here, multiplied by the \
                         paper’s ratio. The paper prints ratios only, apart from the peak of Fig. 7.",
                    )
                    .charts(Metric::PAPER.iter().map(|metric| self.by_buffer(metric))),
            )
            .section(
                Section::new("Today’s schedulers, energy and quality").anchor("schemes").table(self.by_scheme()),
            )
            .section(
                Section::new("Protocol work of sender and receiver")
                    .anchor("work")
                    .prose(
                        "“Balancing overhead between sender and receiver” is one of the paper’s aims. The paper does \
                         not measure it.",
                    )
                    .table(self.work()),
            )
            .section(self.by_point().into_iter().fold(Section::new("Every point").anchor("points"), Section::table))
            .section(self.network())
            .footer(experiments::page::footer())
    }

    /// The main result in a sentence or two.
    fn finding(&self) -> String {
        let Some(proposed) = self.proposed() else {
            return "A download over 3G, Wi\u{2011}Fi and WiMAX at once, into a small receive buffer: standard MPTCP \
                    and the schedulers of today, in the simulated network of the MPTCP\u{2011}rec paper."
                .to_owned();
        };
        let median = |metric: &Metric, group| self.grid_summary(metric, proposed, 0, group).median.mean;
        format!(
            "A download over 3G, Wi\u{2011}Fi and WiMAX at once. The printed peak offset of 300,000 needs a receive \
             buffer of at least 300 KB. With 300 to 512 KB, {} changes the throughput of standard MPTCP by *{:+.1} %* \
             and the end-to-end delay by *{:+.1} %*; with up to 128 KB by *{:+.1} %* and *{:+.1} %* (medians over the \
             grid of losses). The paper prints {:+.1} % and {:+.1} %.",
            self.schemes[proposed].title,
            median(&Metric::GOODPUT, Group::Printed),
            median(&Metric::DELAY, Group::Printed),
            median(&Metric::GOODPUT, Group::Small),
            median(&Metric::DELAY, Group::Small),
            THROUGHPUT_GAIN * 100.0,
            -DELAY_REDUCTION * 100.0,
        )
    }

    /// The scheme as printed, with the changes to it, and the sweeps.
    fn readings(&self) -> Section {
        let section = Section::new("As printed, and Tandem’s changes").anchor("printed").prose(
            "The paper’s equations are lost. The first row keeps to its words; the others show what each of Tandem’s \
             changes is worth, alone and by its absence.",
        );
        self.ablation().into_iter().chain(self.sweeps()).fold(section, Section::table)
    }

    /// Figs. 6, 7, 9 and 10 over time, as in the paper: one run of each scheme.
    fn over_time(&self) -> Section {
        let mut section = Section::new("Figures 6, 7, 9 and 10 over time").anchor("over-time");
        let Some(first) = self.shown.first() else { return section };
        let buffer = first.experiment.transport.config.recv_buffer / 1024;
        let loss = self.common().next().map(|i| self.grid[i].average * 50.0);
        section = section.prose(format!(
            "One run of each scheme with seed 1, a receive buffer of {buffer} KB, and {} % each of uniform and Gilbert \
             loss on every link.",
            loss.unwrap_or(f64::NAN)
        ));
        section = section.charts([self.figure_6(), self.figure_6_detail()]);
        section = section.charts(self.figure_7());
        section.chart(self.distribution()).charts([
            self.delays("Fig. 9: end-to-end delay", "delay", |point| Some(point.mean_s)),
            self.delays("Fig. 10: jitter", "jitter", |point| point.jitter_s),
        ])
    }

    fn title(&self, shown: &Shown) -> &str {
        &self.schemes[shown.scheme].title
    }

    /// Time that one point of a chart over time aggregates, in words.
    fn point_interval(&self) -> String {
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
        )
        .key("fig-6");
        for shown in &self.shown {
            let of = |points: &[(f64, u64)]| {
                points.iter().map(|&(time, dsn)| (time, dsn as f64 * 1e-6)).unzip::<_, _, Vec<_>, Vec<_>>()
            };
            let (x, y) = of(&shown.delivery.received);
            chart = chart.line(Line::new(self.title(shown), x, y));
        }
        chart.caption(
            "Relative to the initial sequence number. The paper prints no values; it states that the curve of MPTCP-rec \
             rises faster.",
        )
    }

    /// A twelfth of the run, where the curves of sent and received data are distinguishable.
    fn figure_6_detail(&self) -> Lines {
        let seconds = self.duration.as_secs_f64();
        let (from, to) = (seconds * 5.0 / 12.0, seconds * 6.0 / 12.0);
        let mut chart = Lines::new(
            "Fig. 6, detail: sent and received",
            Axis::seconds().from(from).to(to),
            Axis::new("data sequence number").unit("MB"),
        )
        .key("fig-6:detail");
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
        chart.caption(
            "A sample of the points. A falling curve shows data over a slower path or a retransmission.",
        )
    }

    /// One chart per scheme, because the curves overlap.
    fn figure_7(&self) -> Vec<Lines> {
        let offsets = |shown: &Shown| {
            let points = &shown.delivery.offsets.over_time;
            points.iter().map(|&(time, offset)| (time, offset as f64 * 1e-3)).unzip::<_, _, Vec<_>, Vec<_>>()
        };
        let most = self.shown.iter().map(|shown| shown.delivery.offsets.peak_bytes).max().unwrap_or(0);
        let most = most as f64 * 1e-3;
        let interval = self.point_interval();
        let charts = self.shown.iter().map(|shown| {
            let (x, y) = offsets(shown);
            let peak = shown.delivery.offsets.peak_bytes as f64 * 1e-3;
            Lines::new(
                format!("Fig. 7: out-of-order offsets, {}", self.title(shown)),
                self.time_axis(),
                Axis::new("offset from the previous segment").unit("kB").from(-most).to(most),
            )
            .key(format!("fig-7:{}", self.schemes[shown.scheme].key))
            .line(Line::new(self.title(shown), x, y))
            .caption(format!("Minimum and maximum of each {interval}. Peak: {peak:.0} kB."))
        });
        charts.collect()
    }

    /// Cumulative distribution of the out-of-order offsets.
    fn distribution(&self) -> Lines {
        let mut chart = Lines::new(
            "Fig. 7: cumulative distribution of the offsets",
            Axis::new("offset, as a power of two in bytes").from(10.0),
            Axis::new("share of segments").unit("%").to(100.0),
        )
        .key("cdf:out-of-order");
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
            "11, below 2048 bytes, counts the segments that arrived in order; 16 stands for 64 KB and 17 for 128 KB. The \
             paper prints peaks only, near 300,000 and 180,000, without their unit and the buffer.",
        )
    }

    fn delays(&self, title: &str, axis: &str, of: fn(&sim::DelayPoint) -> Option<f64>) -> Lines {
        let mut chart = Lines::new(title, self.time_axis(), Axis::new(axis).unit("ms").from(0.0)).key(axis);
        for shown in &self.shown {
            let points = &shown.delivery.delay.over_time;
            let x = points.iter().map(|point| point.time_s).collect();
            let y = points.iter().map(|point| of(point).map_or(f64::NAN, |s| s * 1e3)).collect();
            chart = chart.line(Line::new(self.title(shown), x, y));
        }
        chart.caption(format!("Mean of each {}.", self.point_interval()))
    }

    /// A metric by buffer: medians over the losses.
    fn by_buffer(&self, metric: &Metric) -> Bars {
        let buffers: Vec<u64> = BUFFERS_KB
            .into_iter()
            .filter(|&kb| self.grid.iter().any(|point| point.buffer_kb == kb))
            .collect();
        let of = |scheme: usize| {
            buffers.iter().map(move |&kb| self.buffer_median(metric, scheme, kb)).collect::<Vec<f64>>()
        };
        let (key, title) = match metric.key {
            key if key == Metric::GOODPUT.key => ("fig-8", "Fig. 8: throughput"),
            key if key == Metric::DELAY.key => ("fig-9", "Fig. 9: end-to-end delay"),
            key if key == Metric::JITTER.key => ("fig-10", "Fig. 10: jitter"),
            _ => ("fig-7", "Fig. 7: peak out-of-order offset"),
        };
        let (unit, scale) = if metric.key == Metric::PEAK.key { ("kB", 1e-3) } else { (metric.unit, 1.0) };
        let exact = move |values: Vec<f64>| values.into_iter().map(move |v| Estimate::exact(v * scale));
        let mut chart = Bars::new(title, Axis::new(metric.title).unit(unit).from(0.0))
            .key(key)
            .decimals(metric.decimals)
            .groups(buffers.iter().map(|kb| format!("{kb} KB")));
        for scheme in self.standards().chain(self.proposed()) {
            chart = chart.series(&self.schemes[scheme].title, exact(of(scheme)));
        }
        if let Some(percent) = metric.paper_percent {
            let expected = of(0).into_iter().map(|value| value * (1.0 + percent / 100.0)).collect();
            chart = chart.reference("paper’s ratio", exact(expected));
        }
        chart
    }

    fn network(&self) -> Section {
        let mut section = Section::new("Network, and choices that the paper leaves open").anchor("silent").prose(
            "One server, one device, three paths (section 5.1). The paper gives rates, ranges of delays, share and packet \
             sizes of the background traffic, and a duration of 120 s. The other parameters were chosen:",
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
