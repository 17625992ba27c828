//! The report of the map.

use super::{BestPolicies, MeasuredPoint, Traffic, points};
use report::{Heat, Page, Section};

impl BestPolicies {
    /// The HTML report.
    pub fn page(&self) -> Page {
        let tables = self.tables();
        let [map, judgement] = tables.try_into().unwrap_or_default();
        let example = self.points.first().map(|point| point.point.to_toml()).unwrap_or_default();
        Page::new("Which policy is the best where")
            .lead(format!(
                "For {} pairs of radios, {} kinds of traffic and three rates: the policy that draws the least energy \
                 without a loss of throughput, or of MOS for video.",
                points::PAIRS.len(),
                Traffic::ALL.len()
            ))
            .lead(self.verdict())
            .main_chart("map")
            .section(Section::new("The map").chart(self.heat()).table(map))
            .section(Section::new("Judged at held-out points").table(judgement))
            .section(
                Section::new("What a point is")
                    .prose(
                        "A point is a scenario: two links of constant rates, and one kind of traffic whose rate is a \
                         tenth, 0.6 or 1.4 times the cheap link's. The demand of a case in `map.toml` is what a device \
                         sees of it with plain Multipath TCP.",
                    )
                    .details("The first point as a scenario", example),
            )
    }

    /// Energy saved by the best policy of each point.
    fn heat(&self) -> Heat {
        let columns: Vec<String> = points::PAIRS.iter().map(|pair| pair.name.to_owned()).collect();
        let mut rows: Vec<(Traffic, f64)> = Vec::new();
        for point in &self.points {
            let row = (point.point.traffic, point.point.load);
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        let mut heat = Heat::new("Energy saved by the best policy", "saved against plain Multipath TCP, %")
            .key("map")
            .caption("Each cell names the best policy at that point.")
            .columns(columns);
        for (traffic, load) in rows {
            let cells = points::PAIRS.iter().map(|pair| {
                let here = |one: &&MeasuredPoint| {
                    (one.point.pair, one.point.traffic, one.point.load) == (*pair, traffic, load)
                };
                self.points
                    .iter()
                    .find(here)
                    .map(|one| (one.saved() * 100.0, short(&one.best().policy.to_string())))
            });
            heat = heat.row(format!("{}, {} %", traffic.name(), (load * 100.0).round()), cells.collect());
        }
        heat
    }
}

/// A policy's name that fits a cell.
fn short(policy: &str) -> String {
    policy.replace("emtcp:mp-prio:", "emtcp ").replace("emtcp:mp-prio", "emtcp 0.24")
}
