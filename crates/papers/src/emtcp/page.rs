//! HTML report of the reproduction.

use super::paper::{BEST_SHARE, Case, Printed};
use super::reproduce::{CaseResult, Reproduction};
use experiments::describe;
use experiments::timeline::timeline;
use report::{Axis, Bars, Estimate, Line, Lines, Mark, Page, Section};

/// A bar chart of one figure of all cases beside the paper's.
struct CaseChart {
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    decimals: usize,
    simulated: fn(&CaseResult) -> Estimate,
    printed: fn(&Printed) -> f64,
}

const FIGURE_5: CaseChart = CaseChart {
    key: "fig-5",
    title: "Fig. 5: energy consumption rate",
    unit: "W",
    decimals: 3,
    simulated: |result| result.energy_rate_w,
    printed: |printed| printed.energy_rate_w,
};
const FIGURE_7: CaseChart = CaseChart {
    key: "fig-7",
    title: "Fig. 7: throughput",
    unit: "Mbit/s",
    decimals: 3,
    simulated: |result| result.throughput_mbps,
    printed: |printed| printed.throughput_mbps,
};
const FIGURE_8: CaseChart = CaseChart {
    key: "fig-8",
    title: "Fig. 8: estimated PSNR",
    unit: "dB",
    decimals: 1,
    simulated: |result| result.psnr_db,
    printed: |printed| printed.psnr_db,
};

impl Reproduction {
    /// The whole report.
    pub fn page(&self) -> Page {
        Page::new("Reproduction of eMTCP")
            .lead(self.finding())
            .lead(self.measured_finding())
            .section(
                Section::new("Figures of the paper and of Tandem")
                    .prose(
                        "Cases 1 and 2 use one path each. Parameters that the paper does not print were fitted to \
                         them. Cases 3 and 4 and the sweep of shares are predictions, except that Wi-Fi’s timing \
                         (OFDM) and the congestion control (NewReno) were chosen with cases 3 and 4 in view.",
                    )
                    .table(self.checks())
                    .table(self.checks_of_table_one())
                    .table(self.figures())
                    .table(self.against_mptcp()),
            )
            .section(Section::new("Figures 4 to 8").anchor("figures").chart(self.figure_4()).charts([
                self.bars(&FIGURE_5),
                self.figure_6(),
                self.bars(&FIGURE_7),
                self.bars(&FIGURE_8),
            ]))
            .section(
                Section::new("With measured power profiles")
                    .prose(
                        "The paper’s power figures are far below the power measured on phones. This table applies \
                         measured profiles to the same packets: with a promotion before the first packet and a tail \
                         after the last.",
                    )
                    .table(self.measured()),
            )
            .section(
                Section::new("Which model the paper most likely used")
                    .anchor("combinations")
                    .prose(self.most_likely())
                    .chart(self.grid_figure())
                    .table(self.grid_summary())
                    .chart(self.figure_4_of_table_one())
                    .table(self.grid_of_all()),
            )
            .section(
                Section::new("Who divides the data: exact shares, Table I, MP_PRIO")
                    .anchor("actuators")
                    .prose(
                        "The sender’s scheduler chooses the path of each byte, and eMTCP does not change the server. \
                         The receiver can only send MP_PRIO, which marks a whole path as backup. A device therefore \
                         holds a share by switching over time. Exact shares and MP_PRIO hold LTE back where Wi-Fi is \
                         full; Table I leaves such data to LTE.",
                    )
                    .table(self.actuator_table()),
            )
            .section(
                Section::new("Choices that the paper leaves open")
                    .anchor("silent")
                    .prose("Results for other values of the parameters that the paper does not give.")
                    .table(self.sensitivity_table()),
            )
            .section(self.timelines())
            .section(self.test_bed())
            .footer(experiments::page::footer())
    }

    /// The main result in a sentence or two.
    fn finding(&self) -> String {
        let (mptcp, emtcp) = (self.case(Case::Mptcp), self.case(Case::Emtcp));
        let saved = (1.0 - emtcp.energy_rate_w.mean / mptcp.energy_rate_w.mean) * 100.0;
        let slower = (1.0 - emtcp.throughput_mbps.mean / mptcp.throughput_mbps.mean) * 100.0;
        let cost = if slower > 0.0 {
            format!("and loses {slower:.1} % of the throughput")
        } else {
            "and loses no throughput".to_owned()
        };
        format!(
            "A phone downloads 2 Mbit/s over Wi\u{2011}Fi and LTE at once. eMTCP moves {:.0} % of the data queued for \
             LTE to Wi\u{2011}Fi. In the simulated test bed of the paper it draws *{saved:.1} % less* power than MPTCP \
             {cost}. The paper prints 14.2 % less power and 2.1 % less throughput.",
            BEST_SHARE * 100.0
        )
    }

    fn timelines(&self) -> Section {
        let mut section = Section::new("Timelines").prose(
            "The first seed of MPTCP and of eMTCP. To zoom, drag, pinch, or click and use the wheel; double-click \
             to see the whole run.",
        );
        for (case, (experiment, outcome)) in Case::ALL.iter().zip(&self.shown) {
            if !case.is_multipath() {
                continue;
            }
            if let Some(chart) = timeline(case.title(), experiment, outcome) {
                section = section.chart(chart.key(format!("timeline:{}", case.title().to_lowercase())));
            }
        }
        section
    }

    fn test_bed(&self) -> Section {
        let mut section = Section::new("The test bed").anchor("test-bed").prose(
            "Twelve nodes (Fig. 3): the source UE-A, an eNB, UE-B6 with both interfaces, and nine other sinks. UE-B1 \
             to B4 have LTE coverage only and use LTE in cases 2 to 4; UE-B5 and UE-B7 to B10 use Wi-Fi. In case 1 \
             all nine use Wi-Fi. The Wi-Fi medium carries one frame at a time; the LTE cell schedules each \
             millisecond by proportional fairness.",
        );
        if let Some((experiment, _)) = self.shown.last() {
            section = section
                .facts(describe::facts(experiment))
                .table(describe::sources(&describe::profiles(experiment)));
        }
        section.details("The fitted parameters", self.calibration.to_toml())
    }

    /// Energy efficiency against offload share.
    fn figure_4(&self) -> Lines {
        let points = self.sweep.iter().map(|point| (point.share * 100.0, point.result.efficiency()));
        let best = self.best_share();
        let at_best = self.sweep.iter().find(|point| point.share == best);
        let peak = at_best.map_or(0.0, |point| point.result.efficiency().mean);
        let mut chart = Lines::new(
            "Fig. 4: energy efficiency against offload share",
            Axis::new("share of LTE’s data moved to Wi-Fi").unit("%").from(0.0).to(100.0),
            // Leave room above the peak for the labels of the marks.
            Axis::new("energy efficiency").unit("Mbit/J").to(peak * 1.03),
        )
        .key("fig-4")
        .line(Line::estimates("Tandem, predicted", points).dots())
        .mark(Mark::vertical(BEST_SHARE * 100.0, "paper’s best, 24 %"));
        if let Some(point) = at_best {
            let label = format!("Tandem’s best, {:.0} %", best * 100.0);
            chart = chart.mark(Mark::point(best * 100.0, point.result.efficiency().mean, label));
        }
        chart.caption(format!(
            "Mean of {} seeds; the band is the 95 % confidence interval. Below the peak Wi-Fi carries all data moved \
             to it. Beyond it Wi-Fi is saturated, and throughput falls together with energy.",
            self.sweep_seeds
        ))
    }

    fn figure_6(&self) -> Bars {
        let both = [self.case(Case::Mptcp), self.case(Case::Emtcp)];
        let paper = both.map(|r| {
            let printed = r.case.printed();
            Estimate::exact(printed.throughput_mbps / printed.energy_rate_w)
        });
        Bars::new("Fig. 6: energy efficiency", Axis::new("energy efficiency").unit("Mbit/J").from(0.0))
            .key("fig-6")
            .decimals(2)
            .groups(both.map(group))
            .series("Tandem", both.map(CaseResult::efficiency))
            .reference("paper", paper)
    }

    fn bars(&self, chart: &CaseChart) -> Bars {
        let paper = self.cases.iter().map(|r| Estimate::exact((chart.printed)(&r.case.printed())));
        let axis = chart.title.split(": ").last().unwrap_or(chart.title);
        Bars::new(chart.title, Axis::new(axis).unit(chart.unit).from(0.0))
            .key(chart.key)
            .decimals(chart.decimals)
            .groups(self.cases.iter().map(group))
            .series("Tandem", self.cases.iter().map(chart.simulated))
            .reference("paper", paper)
    }
}

fn group(result: &CaseResult) -> String {
    let role = if result.case.is_calibrated() { "calibrated" } else { "predicted" };
    format!("{}\n{role}", result.case.title())
}
