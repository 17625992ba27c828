//! Runs of the player's page in a browser, compared with the headless player over the same links.

use super::kernel::KernelReproduction;
use super::measure::Run;
use super::reproduce::{Metric, Plan};
use report::{Cell, Column, Row, Table};
use serde_json::{Value, json};

/// A run with the player's page in place of the headless player.
#[derive(Debug, Clone)]
pub struct BrowserRun {
    /// Setup, video and seed of the links.
    pub plan: Plan,
    /// Metrics that the page reported.
    pub run: Run,
}

/// Mean length of a stall in a single run.
const MEAN_STALL: Metric = Metric {
    key: "mean_stall_s",
    title: "mean stall",
    unit: "s",
    decimals: 2,
    of: |run| run.stalled_s / run.stalls as f64,
};

/// Metrics of Table III and Figs. 5 to 8.
const METRICS: [Metric; 6] =
    [Metric::STALLS, MEAN_STALL, Metric::MOS, Metric::LOAD_TIME, Metric::FETCH_TIME, Metric::OVER_WIFI];

impl KernelReproduction {
    /// Adds runs of the player's page.
    #[must_use]
    pub fn with_pages(mut self, pages: Vec<BrowserRun>) -> Self {
        self.pages = pages;
        self
    }

    /// Run of the headless player over the same links.
    fn headless(&self, plan: &Plan) -> Option<&Run> {
        let row = self.kernel.setups.iter().position(|setup| *setup == plan.setup)?;
        self.kernel.runs(row, plan.clip).get(usize::try_from(plan.seed).ok()?.checked_sub(1)?)
    }

    /// The page compared with the headless player; `None` without runs of the page.
    pub fn page_table(&self) -> Option<Table> {
        let first = self.pages.first()?;
        let mut table = Table::new("Player’s page in Chromium, one run of each setup")
            .column(Column::text("metric").key("figure"))
            .column(Column::text("unit").key("unit"))
            .column(Column::number("headless player, one run").key("headless"))
            .column(Column::number("page, one run").key("page"));
        for BrowserRun { plan, run } in &self.pages {
            table = table.row(Row::heading(format!("{}, {}", plan.clip.name(), plan.setup.access.name())));
            let headless = self.headless(plan);
            for metric in METRICS {
                let cell = |run: Option<&Run>| {
                    let value = run.map(metric.of).filter(|value| value.is_finite());
                    value.map_or_else(Cell::empty, |value| Cell::number(value, metric.decimals))
                };
                table = table.row(Row::new([
                    Cell::text(metric.title),
                    Cell::text(metric.unit),
                    cell(headless),
                    cell(Some(run)),
                ]));
            }
        }
        Some(table.note(format!(
            "One run each over the links of seed {}. The page starts some seconds later than the headless player, when \
             Chromium is ready. The table checks that both players measure the same; it gives no means. The page plays \
             a film with the paper’s segment sizes but small pictures, which are cheap to decode. dash.js schedules the \
             requests and the start.",
            first.plan.seed
        )))
    }

    /// The page's runs in `result.json`.
    pub(super) fn pages_json(&self) -> Vec<Value> {
        let figures = |run: &Run| -> Value {
            METRICS.iter().map(|metric| (metric.key.to_owned(), Value::from((metric.of)(run)))).collect()
        };
        let row = |BrowserRun { plan, run }: &BrowserRun| {
            json!({
                "way": plan.setup.key(),
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
    use crate::lwi::kernel::{LinuxSetup, plans};
    use std::num::NonZeroUsize;
    use units::Duration;

    #[test]
    fn page_runs_are_paired_with_headless_runs_of_the_same_seed() {
        let calibration = Calibration::shipped();
        let plans = plans(&calibration, 2, &[]);
        let run =
            |seed: u64| Run { stalls: seed as usize, stalled_s: 3.0, fetched_s: f64::NAN, ..Run::sample() };
        let runs = plans.iter().map(|(plan, _)| Some(run(plan.seed))).collect();
        let made: Vec<Plan> = plans.iter().map(|(plan, _)| plan.clone()).collect();
        let linux = LinuxSetup { release: "6.1".to_owned(), send_buffer: None, ahead: Duration::ZERO };
        let kernel = KernelReproduction::new(calibration, (2, &made), runs, linux, NonZeroUsize::MIN);
        assert!(kernel.page_table().is_none() && kernel.pages_json().is_empty());
        let pages = plans.iter().filter(|(plan, _)| plan.seed == 2);
        let pages = pages.map(|(plan, _)| BrowserRun { plan: plan.clone(), run: run(7) }).collect();
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
        let text = kernel.page_table().expect("the page was run").to_csv();
        assert!(text.contains("stalls,,2,7"), "{text}");
    }
}
