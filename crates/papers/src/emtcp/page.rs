//! The reproduction as a report.

use super::paper::{BEST_SHARE, Case};
use super::reproduce::{CaseResult, Reproduction};
use experiments::describe;
use experiments::timeline::timeline;
use report::{Axis, Bars, Estimate, Line, Lines, Mark, Page, Section};

type Figure = fn(&CaseResult) -> Estimate;

impl Reproduction {
    /// One page with everything.
    pub fn page(&self) -> Page {
        let (mptcp, emtcp) = (self.case(Case::Mptcp), self.case(Case::Emtcp));
        let saved = (1.0 - emtcp.energy_rate_w.mean / mptcp.energy_rate_w.mean) * 100.0;
        let slower = (1.0 - emtcp.throughput_mbps.mean / mptcp.throughput_mbps.mean) * 100.0;
        let cost = if slower > 0.0 {
            format!("for {slower:.1} % of its throughput")
        } else {
            "and loses no throughput by it".to_owned()
        };
        let page = Page::new("eMTCP, reproduced")
            .lead(format!(
                "A phone downloads 2 Mbit/s over Wi\u{2011}Fi and LTE at once. eMTCP moves {:.0} % of what is \
                 queued for LTE to Wi\u{2011}Fi. In the simulated test bed of the paper it draws *{saved:.1} % less* \
                 than MPTCP {cost}; the paper printed 14.2 % less for 2.1 % of the throughput.",
                BEST_SHARE * 100.0
            ))
            .lead(self.measured_finding())
            .section(
                Section::new("The paper’s figures and ours")
                    .prose(
                        "Cases 1 and 2, one path each, were used to fit what the paper does not say. Cases 3 and 4 and \
                         the sweep of shares are predictions: nothing was fitted to them.",
                    )
                    .table(self.checks())
                    .table(self.figures())
                    .table(self.against_mptcp()),
            )
            .section(
                Section::new("Figures 4 to 8")
                    .anchor("figures")
                    .chart(self.figure_4())
                    .charts([
                        self.bars("Fig. 5: energy consumption rate", "W", 3, |r| r.energy_rate_w, |p| p.0),
                        self.figure_6(),
                        self.bars("Fig. 7: throughput", "Mbit/s", 3, |r| r.throughput_mbps, |p| p.1),
                        self.bars("Fig. 8: estimated PSNR", "dB", 1, |r| r.psnr_db, |p| p.2),
                    ]),
            )
            .section(
                Section::new("With measured radios")
                    .prose(
                        "The paper’s watts are a fraction of anything measured on a phone. Here the same packets \
                         pass by radios that were: with a promotion before the first, and a tail after the last.",
                    )
                    .table(self.measured()),
            )
            .section(
                Section::new("What a device can do by itself")
                    .anchor("actuators")
                    .prose(
                        "The sender decides which path carries a byte, and eMTCP is to leave the server as it is. \
                         The one lever of a receiver is MP_PRIO. It is all or nothing, so that a share has to be held \
                         by switching over time.",
                    )
                    .table(self.actuator_table()),
            )
            .section(
                Section::new("Where the paper is silent")
                    .anchor("silent")
                    .prose(
                        "Some choices had to be made that the paper does not. This is what others would have given.",
                    )
                    .table(self.sensitivity_table()),
            );
        self.second_by_second(page).section(self.test_bed()).footer(experiments::page::footer())
    }

    fn second_by_second(&self, mut page: Page) -> Page {
        let mut section = Section::new("Second by second").prose(
            "The first seed of MPTCP and of eMTCP. Drag, pinch, or turn the wheel after a click to zoom; \
             double-click for all of it.",
        );
        for (case, (experiment, outcome)) in Case::ALL.iter().zip(&self.shown) {
            if !case.is_multipath() {
                continue;
            }
            if let Some(chart) = timeline(case.title(), experiment, outcome) {
                section = section.chart(chart);
            }
        }
        page = page.section(section);
        page
    }

    fn test_bed(&self) -> Section {
        let mut section = Section::new("The test bed").anchor("test-bed").prose(
            "Twelve nodes (Fig. 3): the source UE-A, an eNB, UE-B6 with both interfaces, and nine other sinks. UE-B1 \
             to B4 see LTE only and are on it where there is LTE; UE-B5 and UE-B7 to B10 are on Wi-Fi. In case 1 all \
             nine are on Wi-Fi. The Wi-Fi medium carries one frame at a time; the LTE cell shares its \
             milliseconds by proportional fairness.",
        );
        if let Some((experiment, _)) = self.shown.last() {
            section = section
                .facts(describe::facts(experiment))
                .table(describe::sources(&describe::profiles(experiment)));
        }
        section.details("The fitted parameters", self.calibration.to_toml())
    }

    /// Efficiency against offload share.
    fn figure_4(&self) -> Lines {
        let points = self.sweep.iter().map(|point| (point.share * 100.0, point.result.efficiency()));
        let best = self.best_share();
        let at_best = self.sweep.iter().find(|point| point.share == best);
        let peak = at_best.map_or(0.0, |point| point.result.efficiency().mean);
        let mut chart = Lines::new(
            "Fig. 4: energy efficiency against offload share",
            Axis::new("share of LTE’s data moved to Wi-Fi").unit("%").from(0.0).to(100.0),
            // Room above the peak for what the marks say.
            Axis::new("energy efficiency").unit("Mbit/J").to(peak * 1.03),
        )
        .line(Line::estimates("Tandem, predicted", points).dots())
        .mark(Mark::vertical(BEST_SHARE * 100.0, "paper’s best, 24 %"));
        if let Some(point) = at_best {
            let label = format!("Tandem’s best, {:.0} %", best * 100.0);
            chart = chart.mark(Mark::point(best * 100.0, point.result.efficiency().mean, label));
        }
        chart.caption(format!(
            "Mean of {} seeds, band: 95 % interval. Up to its peak Wi-Fi has room for what is moved; beyond it, what \
             is moved is lost to the source, and throughput falls with the energy.",
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
            .decimals(2)
            .groups(both.map(group))
            .series("Tandem", both.map(CaseResult::efficiency))
            .reference("paper", paper)
    }

    fn bars(
        &self,
        title: &str,
        unit: &str,
        decimals: usize,
        ours: Figure,
        theirs: fn((f64, f64, f64)) -> f64,
    ) -> Bars {
        let paper = self.cases.iter().map(|r| {
            let p = r.case.printed();
            Estimate::exact(theirs((p.energy_rate_w, p.throughput_mbps, p.psnr_db)))
        });
        let axis = title.split(": ").last().unwrap_or(title);
        Bars::new(title, Axis::new(axis).unit(unit).from(0.0))
            .decimals(decimals)
            .groups(self.cases.iter().map(group))
            .series("Tandem", self.cases.iter().map(ours))
            .reference("paper", paper)
    }
}

fn group(result: &CaseResult) -> String {
    let role = if result.case.is_calibrated() { "calibrated" } else { "predicted" };
    format!("{}\n{role}", result.case.title())
}
