//! HTML report of the reproduction.

use super::paper::{Access, Clip, mos_gain_4k, stalls};
use super::reproduce::{Metric, Reproduction};
use report::{Axis, Bars, Estimate, Page, Section};

/// Change of MOS from one level of stall frequency to the next (Table I).
const MOS_PER_FREQUENCY_LEVEL: f64 = 0.742;

const CONTRADICTIONS: [&str; 4] = [
    "Load time is 35 % and 43 % shorter in section VI, and 17.39 % in the conclusion.",
    "Both links carry about 8.4 Mbit/s, “nearly equal” to 2K video. 4K video needs 15.9 Mbit/s. At 8.4 Mbit/s it would \
     stall for 60 s, but Table III gives 24 s over Wi\u{2011}Fi and 38 s over LTE.",
    "If the download ends together with playback, Wi\u{2011}Fi carried 11.6 Mbit/s of 4K video and 5.3 Mbit/s of 2K \
     video over the same link. No constant rate explains both: a 6 Mbit/s video never stalls at 10 Mbit/s.",
    "The means of Table III would place all three rows at the same level of stall frequency, with nearly equal MOS. The \
     MOS of Fig. 6 must therefore be means over runs, as in this report.",
];

const MODEL: [&str; 4] = [
    "*Links.* Rates vary as in the table, differently for each seed. Round trips have the minimum, mean, maximum and \
     deviation of Table II, redrawn every second; queues add to them. A queue holds what its link transmits in the next 100 ms, a choice where the paper gives no value. An LTE carrier of 25 \
     resource blocks carries at most 18.3 Mbit/s.",
    "*Proxy.* It terminates the device’s connections. It requests a segment from the server over a persistent \
     connection; the first byte arrives 24.75 ms later. The rate of that connection is not limited, and its handshake \
     is not modelled.",
    "*Transport.* TCP over one link. Over both links, MPTCP with CUBIC on each subflow, and opportunistic retransmission \
     and penalisation as in MPTCP 0.9; otherwise the endpoint of Linux.",
    "*Video.* 131 MB and 50 MB in 33 segments of 2 s, each of equal size. One request at a time.",
];

impl Reproduction {
    /// The whole report.
    pub fn page(&self) -> Page {
        let page = Page::new("Reproduction of LTE-Wi\u{2011}Fi integration")
            .lead(self.finding())
            .section(
                Section::new("Table III: stalls")
                    .anchor("table-3")
                    .table(self.table_3())
                    .charts(Clip::ALL.map(|clip| self.stalls_chart(clip)))
                    .charts(Clip::ALL.map(|clip| self.lengths_chart(clip))),
            )
            .section(
                Section::new("Figures and claims for both links")
                    .anchor("claims")
                    .table(self.predictions())
                    .table(self.claims()),
            )
            .section(
                Section::new("Figures 5 to 8")
                    .anchor("figures")
                    .table(self.figures_5_to_8())
                    .charts([
                        self.split_chart(),
                        self.bars("Fig. 6: MOS", &Metric::MOS).key("fig-6"),
                        self.bars("Fig. 7: load time", &Metric::LOAD_TIME).key("fig-7"),
                        self.bars("Fig. 8: time to buffer the whole video", &Metric::FETCH_TIME).key("fig-8"),
                    ])
                    .charts(self.whole_video_chart())
                    .table(self.gains()),
            )
            .section(
                Section::new("Levels of MOS")
                    .anchor("levels")
                    .prose(
                        "MOS changes in steps: up to one stall, up to nine, and ten or more. The mean number of stalls in \
                         Table III therefore says little about MOS. The distribution over runs matters, which the paper \
                         does not print.",
                    )
                    .prose(self.required_level_shares())
                    .table(self.levels()),
            )
            .section(Section::new("Contradictions in the paper").anchor("contradictions").list(CONTRADICTIONS))
            .section(Section::new("Model").anchor("model").table(self.links()).list(MODEL))
            .footer(experiments::page::footer());
        match self.policies("With policies") {
            Some(table) => page.section(Section::new("With policies").anchor("policies").table(table)),
            None => page,
        }
    }

    /// The main result in a sentence or two.
    fn finding(&self) -> String {
        let change = |over| self.change_percent(&Metric::MOS, over, Clip::FourK);
        let (wifi, lte) = (change(Access::Wifi), change(Access::Lte));
        let Some(both) = self.row(Access::Both) else { return String::new() };
        let found = |clip| self.estimate(&Metric::STALLS, both, clip).mean;
        format!(
            "A video over Wi\u{2011}Fi, over LTE, and over both by Multipath TCP. The links were fitted to the paper’s \
             figures for a single link, and their coupling to those for both. With both links the model has *{:.2}* stalls in \
             4K and *{:.2}* in 2K; the paper prints {:.2} and {:.2}. The MOS of 4K rises by *{:.1} %* compared with Wi\u{2011}Fi and by *{:.1} %* \
             compared with LTE; the paper prints {:.1} % and {:.1} %.",
            found(Clip::FourK),
            found(Clip::TwoK),
            stalls(Access::Both, Clip::FourK).0,
            stalls(Access::Both, Clip::TwoK).0,
            wifi.mean,
            lte.mean,
            100.0 * mos_gain_4k(Access::Wifi),
            100.0 * mos_gain_4k(Access::Lte),
        )
    }

    /// Share of runs at the best level that the paper's gain over LTE would require.
    fn required_level_shares(&self) -> String {
        let (Some(lte), Some(both)) = (self.row(Access::Lte), self.row(Access::Both)) else {
            return String::new();
        };
        let mos = |row| self.estimate(&Metric::MOS, row, Clip::FourK).mean;
        let required = mos(lte) * (1.0 + mos_gain_4k(Access::Lte));
        let simulated = self.at_level_percent(both, Clip::FourK, 1);
        let more = 100.0 * (required - mos(both)) / MOS_PER_FREQUENCY_LEVEL;
        format!(
            "The paper’s gain over LTE requires a MOS of {required:.2} with both links. Then {:.0} % of the runs would \
             stall at most once ({simulated:.0} % in this simulation), and the other runs often enough for a mean of \
             2.38 stalls.",
            (simulated + more).min(100.0)
        )
    }

    /// Bars of the setups that the paper prints: one for Tandem, one for the paper.
    fn printed(
        &self,
        title: String,
        axis: Axis,
        simulated: impl Fn(usize) -> Estimate,
        paper: impl Fn(Access) -> f64,
    ) -> Bars {
        let rows: Vec<(usize, Access)> =
            Access::ALL.into_iter().filter_map(|access| Some((self.row(access)?, access))).collect();
        let mut bars = Bars::new(title, axis.from(0.0))
            .decimals(2)
            .groups(rows.iter().map(|(_, access)| access.name()))
            .series("Tandem", rows.iter().map(|&(row, _)| simulated(row)));
        bars = bars.reference("paper", rows.iter().map(|&(_, access)| Estimate::exact(paper(access))));
        bars
    }

    fn stalls_chart(&self, clip: Clip) -> Bars {
        self.printed(
            format!("Stalls, {}", clip.name()),
            Axis::new("stalls"),
            |row| self.estimate(&Metric::STALLS, row, clip),
            |access| stalls(access, clip).0,
        )
        .key(format!("stalls:{}", clip.name().to_lowercase()))
    }

    fn lengths_chart(&self, clip: Clip) -> Bars {
        self.printed(
            format!("Mean length of a stall, {}", clip.name()),
            Axis::new("length").unit("s"),
            |row| self.mean_stall(row, clip),
            |access| stalls(access, clip).1,
        )
        .key(format!("stall-length:{}", clip.name().to_lowercase()))
    }

    /// Bars of a metric: a group for each setup, a bar for each video.
    fn bars(&self, title: &str, metric: &Metric) -> Bars {
        let mut bars = Bars::new(title, Axis::new(metric.title).unit(metric.unit).from(0.0))
            .decimals(metric.decimals)
            .groups(self.setups.iter().map(super::model::Setup::name));
        for clip in Clip::ALL {
            let values = (0..self.setups.len()).map(|setup| self.estimate(metric, setup, clip));
            bars = bars.series(clip.name(), values);
        }
        bars
    }

    /// Fig. 8 with a buffer for the whole video.
    fn whole_video_chart(&self) -> Option<Bars> {
        let whole = self.variants.whole_video.as_ref()?;
        let title = "Fig. 8 with a buffer for the whole video";
        Some(whole.bars(title, &Metric::FETCH_TIME).key("fig-8:whole-video"))
    }

    /// Fig. 5, for the setups with both links.
    fn split_chart(&self) -> Bars {
        let rows: Vec<usize> =
            (0..self.setups.len()).filter(|&setup| self.setups[setup].access == Access::Both).collect();
        let groups = rows.iter().flat_map(|&setup| {
            Clip::ALL.map(|clip| format!("{}, {}", clip.name(), self.setups[setup].variant_name()))
        });
        let wifi: Vec<Estimate> = rows
            .iter()
            .flat_map(|&setup| Clip::ALL.map(|clip| self.estimate(&Metric::OVER_WIFI, setup, clip)))
            .collect();
        let lte: Vec<Estimate> =
            wifi.iter().map(|share| Estimate::new(100.0 - share.mean, share.ci95)).collect();
        Bars::new("Fig. 5: data over Wi-Fi and LTE", Axis::new("share of the data").unit("%").from(0.0))
            .key("fig-5")
            .decimals(1)
            .groups(groups)
            .series("Wi-Fi", wifi)
            .series("LTE", lte)
    }
}
