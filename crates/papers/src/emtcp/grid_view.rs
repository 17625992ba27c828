//! Tables and figures of the combinations.

use super::claims::{FALL, LOSS, SAVING};
use super::grid::{BASE_SHARES, Combination, Family, MAX_SEEDS_COUPLED};
use super::model::Stream;
use super::paper::{BEST_SHARE, Case};
use super::reproduce::Reproduction;
use mptcp::CongestionKind;
use report::{Axis, Bars, Cell, Column, Estimate, Line, Lines, Mark, Row, Table};

fn stream_name(stream: Stream) -> &'static str {
    match stream {
        Stream::TwoStreams => "two streams, exact division",
        Stream::TwoStreamsTableOne => "two streams, Table I",
        Stream::OneBuffer => "one buffer, Table I",
    }
}

impl Combination {
    fn row(&self, first: &str) -> Row {
        let figures = &self.figures;
        let failed = (1..).zip(&self.claims).filter(|(_, claim)| claim.holds == Some(false));
        let failed: Vec<String> = failed.map(|(number, _): (u32, _)| number.to_string()).collect();
        Row::new([
            Cell::text(first),
            Cell::number(self.base_share * 100.0, 0),
            Cell::number(self.held() as f64, 0),
            Cell::number(figures.throughput_mbps[0], 3),
            Cell::number(figures.energy_rate_w[0], 3),
            Cell::number(figures.throughput_mbps[1], 3),
            Cell::number(figures.energy_rate_w[1], 3),
            Cell::number(figures.saving_percent(), 1),
            Cell::number(figures.best_share * 100.0, 0),
            Cell::number(figures.fall.mean, 1),
            Cell::text(failed.join(" ")),
        ])
    }
}

impl Reproduction {
    fn grid_table(&self, title: &str) -> Table {
        let (mptcp, emtcp) = (Case::Mptcp.printed(), Case::Emtcp.printed());
        let saving = (1.0 - emtcp.energy_rate_w / mptcp.energy_rate_w) * 100.0;
        Table::new(title)
            .column(Column::text("congestion control").key("congestion"))
            .column(Column::number("base share").unit("%"))
            .column(Column::number("held"))
            .column(Column::number("MPTCP").unit("Mbit/s").key("mptcp_mbps"))
            .column(Column::number("MPTCP").unit("W").key("mptcp_w"))
            .column(Column::number("eMTCP").unit("Mbit/s").key("emtcp_mbps"))
            .column(Column::number("eMTCP").unit("W").key("emtcp_w"))
            .column(Column::number("saving").unit("%"))
            .column(Column::number("best share").unit("%"))
            .column(Column::number("fall").unit("%"))
            .column(Column::text("does not hold"))
            .row(
                Row::new([
                    Cell::text("printed in the paper"),
                    Cell::empty(),
                    Cell::number(self.claims() as f64, 0),
                    Cell::number(mptcp.throughput_mbps, 3),
                    Cell::number(mptcp.energy_rate_w, 3),
                    Cell::number(emtcp.throughput_mbps, 3),
                    Cell::number(emtcp.energy_rate_w, 3),
                    Cell::number(saving, 1),
                    Cell::number(BEST_SHARE * 100.0, 0),
                    Cell::empty(),
                    Cell::empty(),
                ])
                .strong(),
            )
    }

    /// Number of printed figures that each combination is held against.
    pub fn claims(&self) -> usize {
        self.combinations.first().map_or(0, |combination| combination.claims.len())
    }

    /// Combinations of a family.
    fn combinations_of<'a>(&'a self, family: &Family) -> impl Iterator<Item = &'a Combination> {
        let (stream, congestion) = (family.stream, family.congestion);
        self.combinations.iter().filter(move |c| c.stream == stream && c.congestion == congestion)
    }

    /// The base share of each family at which most printed figures hold.
    pub fn grid_summary(&self) -> Table {
        let title = "Stream model and congestion control, at the base share of power that fits best";
        let mut table = self.grid_table(title);
        for stream in Stream::ALL {
            table = table.row(Row::heading(stream_name(stream)));
            for family in self.families.iter().filter(|family| family.stream == stream) {
                // Ties go to the smaller base share.
                let all = self.combinations_of(family);
                let best = all.reduce(|best, next| if next.held() > best.held() { next } else { best });
                table =
                    best.into_iter().fold(table, |table, best| table.row(best.row(family.congestion.name())));
            }
        }
        table.note(self.grid_note())
    }

    /// All combinations.
    pub fn grid_of_all(&self) -> Table {
        let mut table = self.grid_table("All combinations");
        for stream in Stream::ALL {
            table = table.row(Row::heading(stream_name(stream)));
            for combination in self.combinations.iter().filter(|c| c.stream == stream) {
                table = table.row(combination.row(combination.congestion.name()));
            }
        }
        table
    }

    /// Which combinations fit, and what each part of them is worth, all from these runs.
    pub(super) fn most_likely(&self) -> String {
        let most = self.most_held(|_| true);
        let best = self.combinations.iter().filter(|combination| combination.held() == most);
        let best = best.map(|c| {
            let base = c.base_share * 100.0;
            format!("{}, `{}`, a base share of {base:.0} %", stream_name(c.stream), c.congestion)
        });
        let by_stream = Stream::ALL.map(|stream| {
            format!(
                "{} ({})",
                self.most_held(|combination| combination.stream == stream),
                stream_name(stream)
            )
        });
        format!(
            "{} combinations are held against {} printed figures, and the most that one meets is {most}. The most \
             likely: {}. {} By stream model, at most {} figures hold. {}",
            self.combinations.len(),
            self.claims(),
            best.collect::<Vec<_>>().join("; "),
            self.by_control(),
            by_stream.join(", "),
            self.by_base_share(),
        )
    }

    /// The largest number of printed figures that one of these combinations meets.
    fn most_held(&self, chosen: impl Fn(&Combination) -> bool) -> usize {
        self.combinations.iter().filter(|c| chosen(c)).map(Combination::held).max().unwrap_or(0)
    }

    /// What coupled and uncoupled windows reach.
    fn by_control(&self) -> String {
        let is_coupled = |combination: &Combination| combination.congestion != CongestionKind::Reno;
        let [coupled, uncoupled] = [true, false].map(|wanted| {
            let held = self.most_held(|combination| is_coupled(combination) == wanted);
            let rates = self.combinations.iter().filter(|c| is_coupled(c) == wanted);
            let rates = rates.map(|c| c.figures.throughput_mbps[0]);
            let (low, high) =
                rates.fold((f64::INFINITY, 0.0_f64), |(low, high), rate| (low.min(rate), high.max(rate)));
            format!("at most {held} figures hold, and MPTCP carries {low:.2} to {high:.2} Mbit/s")
        });
        format!(
            "With coupled windows {coupled}; with uncoupled ones (`reno`) {uncoupled}. The paper prints {} Mbit/s.",
            Case::Mptcp.printed().throughput_mbps
        )
    }

    /// The base shares of power at which the printed saving and the fall of Fig. 4 hold.
    fn by_base_share(&self) -> String {
        let at = |wanted: &dyn Fn(&Combination) -> bool| {
            let meets = |share: &f64| self.combinations.iter().any(|c| c.base_share == *share && wanted(c));
            let shares = BASE_SHARES.into_iter().filter(meets).map(|share| format!("{:.0}", share * 100.0));
            let shares: Vec<_> = shares.collect();
            if shares.is_empty() { "no base share".to_owned() } else { format!("{} %", shares.join(", ")) }
        };
        let losses = self.combinations.iter().filter(|combination| combination.meets(LOSS)).count();
        format!(
            "The printed saving holds at base shares of power of {}, the fall of Fig. 4 at {}, and both in one \
             combination at {}. eMTCP loses throughput in {losses} combinations.",
            at(&|combination| combination.meets(SAVING)),
            at(&|combination| combination.meets(FALL)),
            at(&|combination| combination.meets(SAVING) && combination.meets(FALL)),
        )
    }

    fn grid_note(&self) -> String {
        let claims = self.combinations.first().into_iter().flat_map(|combination| &combination.claims);
        let numbered =
            (1..).zip(claims).map(|(number, claim): (u32, _)| format!("({number}) {}", claim.prediction));
        format!(
            "Held: printed figures that the combination meets, of {}: {}. Fall: change of the efficiency from the best \
             share to 100 %. {} seeds for each run with coupled windows, which starve LTE, and {} or {} with `reno`. The base \
             share needs no other runs, because energy is linear in the bytes received. `lia` is the default of the paper’s transport, there called RTT compensator.",
            self.claims(),
            numbered.collect::<Vec<_>>().join(", "),
            MAX_SEEDS_COUPLED.min(self.seeds),
            self.sweep_seeds,
            self.seeds,
        )
    }

    /// Number of printed figures that hold, for each combination.
    pub(super) fn grid_figure(&self) -> Bars {
        let name = |family: &Family| {
            let stream = match family.stream {
                Stream::TwoStreams => "two streams",
                Stream::TwoStreamsTableOne => "two, Table I",
                Stream::OneBuffer => "one, Table I",
            };
            format!("{}\n{stream}", family.congestion.name())
        };
        let claims = self.claims();
        let mut chart = Bars::new(
            format!("Printed figures that hold, of {claims}"),
            Axis::new("printed figures that hold").from(0.0).to(claims as f64),
        )
        .key("combinations")
        .decimals(0)
        .legend_title("base share of power")
        .groups(self.families.iter().map(name));
        for (i, share) in BASE_SHARES.into_iter().enumerate() {
            let held = self.families.iter().map(|family| {
                let combination = self.combinations_of(family).nth(i);
                Estimate::exact(combination.map_or(f64::NAN, |combination| combination.held() as f64))
            });
            chart = chart.series(format!("{:.0} %", share * 100.0), held);
        }
        chart.caption(
            "Three stream models with the four congestion controls of the paper’s transport, under five base shares of \
             power. The table below names the figures that do not hold.",
        )
    }

    /// Energy efficiency against offload share, under Table I.
    pub(super) fn figure_4_of_table_one(&self) -> Lines {
        let mut chart = Lines::new(
            "Fig. 4 under Table I: energy efficiency against offload share",
            Axis::new("share of LTE’s data that may move").unit("%").from(0.0).to(100.0),
            Axis::new("energy efficiency").unit("Mbit/J"),
        )
        .key("fig-4-table1")
        .mark(Mark::vertical(BEST_SHARE * 100.0, "paper’s best, 24 %"));
        for family in self.families.iter().filter(|family| family.stream == Stream::TwoStreamsTableOne) {
            let points = family.sweep.iter().map(|point| (point.share * 100.0, point.result.efficiency()));
            chart = chart.line(Line::estimates(family.congestion.name(), points).dots());
        }
        chart.caption(
            "Two streams. The share is an upper bound: Table I moves a segment only while Wi-Fi has a window, so the \
             share carried levels off where Wi-Fi is full, and the curve does not fall.",
        )
    }
}
