//! What the player's page saw in a browser, beside the headless player over the same links.

use super::kernel::KernelReproduction;
use super::measure::Run;
use super::reproduce::{Figure, Plan};
use report::{Cell, Column, Row, Table};
use serde_json::{Value, json};

/// A run with the page in place of the headless player.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Which row, and with whose links.
    pub plan: Plan,
    /// What the page tells of it.
    pub run: Run,
}

/// The mean length of a stall is of the runs together; here there is one.
const MEAN_STALL: Figure = Figure {
    key: "mean_stall_s",
    title: "mean length",
    unit: "s",
    decimals: 2,
    of: |run| run.stalled_s / run.stalls as f64,
};

/// Of Table III and Figs. 5 to 8.
const FIGURES: [Figure; 6] =
    [Figure::STALLS, MEAN_STALL, Figure::MOS, Figure::LOAD, Figure::FETCHED, Figure::OVER_WIFI];

impl KernelReproduction {
    /// Puts runs of the page beside the headless player's.
    #[must_use]
    pub fn with_pages(mut self, pages: Vec<Watched>) -> Self {
        self.pages = pages;
        self
    }

    /// The headless player's run over the same links.
    fn headless(&self, plan: &Plan) -> Option<&Run> {
        let row = self.kernel.ways.iter().position(|way| *way == plan.way)?;
        self.kernel.runs(row, plan.clip).get(usize::try_from(plan.seed).ok()?.checked_sub(1)?)
    }

    /// The page beside the headless player; `None` where it was not played.
    pub fn page_table(&self) -> Option<Table> {
        let first = self.pages.first()?;
        let mut table = Table::new("The player’s page in Chromium, one run of each row")
            .column(Column::text("figure"))
            .column(Column::text("unit").key("unit"))
            .column(Column::number("headless player, one run").key("headless"))
            .column(Column::number("page, one run").key("page"));
        for Watched { plan, run } in &self.pages {
            table = table.row(Row::heading(format!("{}, {}", plan.clip.name(), plan.way.access.name())));
            let headless = self.headless(plan);
            for figure in FIGURES {
                let cell = |run: Option<&Run>| {
                    let value = run.map(figure.of).filter(|value| value.is_finite());
                    value.map_or_else(Cell::empty, |value| Cell::number(value, figure.decimals))
                };
                table = table.row(Row::new([
                    Cell::text(figure.title),
                    Cell::text(figure.unit),
                    cell(headless),
                    cell(Some(run)),
                ]));
            }
        }
        Some(table.note(format!(
            "One run each, over the links of seed {}, which are some seconds on when Chromium has started: it says whether \
             the page sees what the headless player does, and nothing of means. The page plays a film of the paper’s \
             sizes whose picture is small, so that decoding it costs little; dash.js decides when to ask and to begin.",
            first.plan.seed
        )))
    }

    /// What `result.json` holds of them.
    pub(super) fn pages_json(&self) -> Vec<Value> {
        let figures = |run: &Run| -> Value {
            FIGURES.iter().map(|figure| (figure.key.to_owned(), Value::from((figure.of)(run)))).collect()
        };
        let row = |Watched { plan, run }: &Watched| {
            json!({
                "way": plan.way.key(),
                "video": plan.clip.name(),
                "seed": plan.seed,
                "complete": run.complete,
                "page": figures(run),
                "headless": self.headless(plan).map(figures),
            })
        };
        self.pages.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lwi::calibration::Calibration;
    use crate::lwi::kernel::{Linux, plans};
    use std::num::NonZeroUsize;
    use units::Duration;

    #[test]
    fn the_page_stands_beside_the_headless_player_of_its_links() {
        let calibration = Calibration::shipped();
        let plans = plans(&calibration, 2, &[]);
        let run =
            |seed: u64| Run { stalls: seed as usize, stalled_s: 3.0, fetched_s: f64::NAN, ..Run::sample() };
        let runs = plans.iter().map(|(plan, _)| Some(run(plan.seed))).collect();
        let made: Vec<Plan> = plans.iter().map(|(plan, _)| plan.clone()).collect();
        let linux = Linux { release: "6.1".to_owned(), send_buffer: None, ahead: Duration::ZERO };
        let kernel = KernelReproduction::new(calibration, (2, &made), runs, linux, NonZeroUsize::MIN);
        assert!(kernel.page_table().is_none() && kernel.pages_json().is_empty());
        let pages = plans.iter().filter(|(plan, _)| plan.seed == 2);
        let pages = pages.map(|(plan, _)| Watched { plan: plan.clone(), run: run(7) }).collect();
        let kernel = kernel.with_pages(pages);
        let json = kernel.pages_json();
        assert_eq!(json.len(), 6);
        for row in &json {
            assert_eq!((&row["headless"]["stalls"], &row["page"]["stalls"]), (&json!(2.0), &json!(7.0)));
            assert_eq!(
                (&row["page"]["mean_stall_s"], &row["page"]["fetched_s"]),
                (&json!(3.0 / 7.0), &Value::Null)
            );
        }
        let text = kernel.page_table().expect("there are pages").to_csv();
        assert!(text.contains("stalls,,2,7"), "{text}");
    }
}
