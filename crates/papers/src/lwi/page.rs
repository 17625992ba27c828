//! The reproduction as a report.

use super::paper::{Access, Clip, mos_gain_4k, stalls};
use super::reproduce::{Figure, Reproduction};
use report::{Axis, Bars, Estimate, Page, Section};

impl Reproduction {
    /// One page with everything.
    pub fn page(&self) -> Page {
        let page = Page::new("LTE-Wi\u{2011}Fi integration, reproduced")
            .lead(self.finding())
            .section(
                Section::new("Table III: stalls")
                    .anchor("table-3")
                    .table(self.table_3())
                    .charts(Clip::ALL.map(|clip| self.stalls_chart(clip)))
                    .charts(Clip::ALL.map(|clip| self.lengths_chart(clip))),
            )
            .section(
                Section::new("Figures 5 to 8")
                    .anchor("figures")
                    .table(self.figures_5_to_8())
                    .charts([
                        self.split_chart(),
                        self.bars("Fig. 6: MOS", &Figure::MOS),
                        self.bars("Fig. 7: load time", &Figure::LOAD),
                        self.bars("Fig. 8: time to buffer the whole video", &Figure::FETCHED),
                    ])
                    .table(self.gains()),
            )
            .section(
                Section::new("What MOS is made of")
                    .anchor("levels")
                    .prose(
                        "MOS changes in steps: by whether a run stalls at most once, some times, or ten times and more. \
                         So the mean stalls of Table III say little of it. What says more is how runs differ, which the \
                         paper does not print.",
                    )
                    .prose(self.needed())
                    .table(self.levels()),
            )
            .section(
                Section::new("What the paper says twice, and not alike")
                    .anchor("contradictions")
                    .list([
                        "Load time is 35 % and 43 % shorter in section VI, and 17.39 % in the conclusion.",
                        "Both links carry some 8.4 Mbit/s, “nearly equal” to 2K video. 4K video takes 15.9 Mbit/s; at \
                         that rate it would stall for 60 s, and Table III has 24 s over Wi\u{2011}Fi and 38 s over LTE.",
                        "If the download ends about when the play does, Wi\u{2011}Fi carried 11.6 Mbit/s of 4K video and \
                         5.3 Mbit/s of 2K video, on the same link. No constant rate gives both: 10 Mbit/s never stall a \
                         video of 6.",
                        "From the means of Table III, all three ways would be at the same level of stall frequency, and \
                         MOS would hardly differ. So the MOS of Fig. 6 are means over runs, as they are here.",
                    ]),
            )
            .section(
                Section::new("What was modelled")
                    .anchor("model")
                    .table(self.links())
                    .list([
                        "*Links.* Rates vary as above, each seed otherwise; delays are the means of Table II, what they \
                         are off at times is what a queue adds. A queue takes 100 ms at the present rate, which is a \
                         choice: the paper does not say. An LTE carrier of 25 resource blocks carries at most 18.3 Mbit/s.",
                        "*Proxy.* Connections end at it. A segment is asked for over a connection to the server that is \
                         kept: its first byte comes 24.75 ms later. What that connection carries is no limit, and its \
                         start is not modelled.",
                        "*Transport.* TCP over one link; over both, MPTCP with CUBIC on each subflow, opportunistic \
                         retransmission and penalisation, as MPTCP 0.9 has them, and the endpoint of Linux otherwise.",
                        "*Video.* 131 MB and 50 MB in 33 segments of 2 s, of one size each. One request at a time.",
                    ]),
            )
            .footer(experiments::page::footer());
        match self.policies("Under policies") {
            Some(table) => page.section(Section::new("Its future work").anchor("policies").table(table)),
            None => page,
        }
    }

    /// The result in a sentence or two.
    fn finding(&self) -> String {
        let change = |over| self.change_percent(&Figure::MOS, over, Clip::FourK);
        let (wifi, lte) = (change(Access::Wifi), change(Access::Lte));
        let Some(both) = self.row(Access::Both) else { return String::new() };
        let found = |clip| self.estimate(&Figure::STALLS, both, clip).mean;
        format!(
            "A video over Wi\u{2011}Fi, over LTE, and over both by Multipath TCP. The links were fitted to what the paper \
             prints of one alone. With both, *{:.2}* stalls are predicted in 4K and *{:.2}* in 2K, where the paper has \
             {:.2} and {:.2}; MOS of 4K rises by *{:.1} %* over Wi\u{2011}Fi and *{:.1} %* over LTE, where the paper has \
             {:.1} % and {:.1} %.",
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

    /// What the paper's gain over LTE would take.
    fn needed(&self) -> String {
        let (Some(lte), Some(both)) = (self.row(Access::Lte), self.row(Access::Both)) else {
            return String::new();
        };
        let mos = |row| self.estimate(&Figure::MOS, row, Clip::FourK).mean;
        let wanted = mos(lte) * (1.0 + mos_gain_4k(Access::Lte));
        let here = self.at_level_percent(both, Clip::FourK, 1);
        // One level is worth so much.
        let more = 100.0 * (wanted - mos(both)) / 0.742;
        format!(
            "For the paper’s gain over LTE, MOS with both would have to be {wanted:.2}: {:.0} % of the runs would stall \
             at most once, where {here:.0} % do here, and the others often enough for 2.38 stalls in the mean.",
            (here + more).min(100.0)
        )
    }

    /// Rows that the paper prints, as groups, with one bar of ours and one of the paper's.
    fn printed(
        &self,
        title: String,
        axis: Axis,
        ours: impl Fn(usize) -> Estimate,
        paper: impl Fn(Access) -> f64,
    ) -> Bars {
        let rows: Vec<(usize, Access)> =
            Access::ALL.into_iter().filter_map(|access| Some((self.row(access)?, access))).collect();
        let mut bars = Bars::new(title, axis.from(0.0))
            .decimals(2)
            .groups(rows.iter().map(|(_, access)| access.name()))
            .series("here", rows.iter().map(|&(row, _)| ours(row)));
        bars = bars.reference("paper", rows.iter().map(|&(_, access)| Estimate::exact(paper(access))));
        bars
    }

    fn stalls_chart(&self, clip: Clip) -> Bars {
        self.printed(
            format!("Stalls, {}", clip.name()),
            Axis::new("stalls"),
            |row| self.estimate(&Figure::STALLS, row, clip),
            |access| stalls(access, clip).0,
        )
    }

    fn lengths_chart(&self, clip: Clip) -> Bars {
        self.printed(
            format!("Mean length of a stall, {}", clip.name()),
            Axis::new("length").unit("s"),
            |row| self.mean_stall(row, clip),
            |access| stalls(access, clip).1,
        )
    }

    /// A group for each row, a bar for each video.
    fn bars(&self, title: &str, figure: &Figure) -> Bars {
        let mut bars = Bars::new(title, Axis::new(figure.title).unit(figure.unit).from(0.0))
            .decimals(figure.decimals)
            .groups(self.ways.iter().map(|way| way.name()));
        for clip in Clip::ALL {
            let values = (0..self.ways.len()).map(|way| self.estimate(figure, way, clip));
            bars = bars.series(clip.name(), values);
        }
        bars
    }

    /// Fig. 5, of the rows with both links.
    fn split_chart(&self) -> Bars {
        let rows: Vec<usize> =
            (0..self.ways.len()).filter(|&way| self.ways[way].access == Access::Both).collect();
        let groups = rows.iter().flat_map(|&way| {
            Clip::ALL.map(|clip| format!("{}, {}", clip.name(), self.ways[way].split_name()))
        });
        let wifi: Vec<Estimate> = rows
            .iter()
            .flat_map(|&way| Clip::ALL.map(|clip| self.estimate(&Figure::OVER_WIFI, way, clip)))
            .collect();
        let lte: Vec<Estimate> =
            wifi.iter().map(|share| Estimate::new(100.0 - share.mean, share.ci95)).collect();
        Bars::new("Fig. 5: data over Wi-Fi and LTE", Axis::new("part of the data").unit("%").from(0.0))
            .decimals(1)
            .groups(groups)
            .series("Wi-Fi", wifi)
            .series("LTE", lte)
    }
}
