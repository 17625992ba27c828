//! Tables and charts of several sessions.

use crate::record::{Kpis, Player, Record};
use report::{Align, Axis, Bars, Cell, Column, Estimate, Row, Table, Tone};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Entry of a session in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Summary {
    pub id: String,
    pub started_at: String,
    pub label: Option<String>,
    pub player: Player,
    pub rule: String,
    pub title: Option<String>,
    pub complete: bool,
    pub duration_s: f64,
    pub kpis: Kpis,
}

impl From<&Record> for Summary {
    fn from(record: &Record) -> Self {
        let video = &record.video;
        Self {
            id: record.id.clone(),
            started_at: record.started_at.clone(),
            label: record.label.clone(),
            player: record.player.clone(),
            rule: record.rule.clone(),
            title: video.title.clone().or_else(|| video.content_id.clone()).or_else(|| video.url.clone()),
            complete: record.complete,
            duration_s: record.duration_s,
            kpis: record.kpis.clone(),
        }
    }
}

/// A key performance indicator with its presentation.
struct Kpi {
    /// Column header and title of the chart.
    name: &'static str,
    unit: &'static str,
    /// Key in JSON.
    key: &'static str,
    decimals: usize,
    /// Returns the value; NaN or infinite if the session has none.
    of: fn(&Kpis) -> f64,
}

const KPIS: [Kpi; 9] = [
    Kpi { name: "T_init", unit: "s", key: "initial_load_s", decimals: 3, of: |kpis| kpis.initial_load_s },
    Kpi { name: "stalls", unit: "", key: "stalls", decimals: 0, of: |kpis| kpis.stalls as f64 },
    Kpi {
        name: "f_rebuf",
        unit: "1/s",
        key: "stalls_per_s",
        decimals: 4,
        of: |kpis| kpis.stalls_per_s.unwrap_or(f64::INFINITY),
    },
    Kpi { name: "T_rebuf", unit: "s", key: "mean_stall_s", decimals: 3, of: |kpis| kpis.mean_stall_s },
    Kpi { name: "stalled", unit: "s", key: "stalled_s", decimals: 3, of: |kpis| kpis.stalled_s },
    Kpi {
        name: "bitrate",
        unit: "kbit/s",
        key: "mean_bitrate_kbps",
        decimals: 0,
        of: |kpis| kpis.mean_bitrate_kbps.unwrap_or(f64::NAN),
    },
    Kpi { name: "changes", unit: "", key: "switches", decimals: 0, of: |kpis| kpis.switches as f64 },
    Kpi { name: "MOS", unit: "", key: "mos", decimals: 4, of: |kpis| kpis.mok.mos },
    Kpi { name: "linear", unit: "", key: "linear", decimals: 1, of: |kpis| kpis.linear.unwrap_or(f64::NAN) },
];

fn columns(mut table: Table) -> Table {
    for kpi in &KPIS {
        table = table.column(Column::number(kpi.name).unit(kpi.unit).key(kpi.key));
    }
    table
}

/// A row for each session. With `links`, the start time links to `/sessions/ID`.
pub fn table(sessions: &[Summary], links: bool) -> Table {
    let mut table = columns(
        Table::new("")
            .column(Column::text("started").key("started_at"))
            .column(Column::text("label"))
            .column(Column::text("player"))
            .column(Column::text("rule")),
    )
    .column(Column::text("played").align(Align::Left).key("complete"));
    for session in sessions {
        let mut start = Cell::text(format_time(&session.started_at));
        if links {
            start = start.link(format!("/sessions/{}", session.id));
        }
        let origin = [start, Cell::text(session.label.clone().unwrap_or_default())];
        let player = [Cell::text(session.player.name.clone()), Cell::text(session.rule.clone())];
        table = table.row(Row::new(origin.into_iter().chain(player).chain(kpi_cells(session))));
    }
    table
}

/// A shorter table for the terminal, without start time, label and player.
pub fn short(sessions: &[Summary]) -> Table {
    let mut table =
        columns(Table::new("").column(Column::text("rule"))).column(Column::text("played").key("complete"));
    for session in sessions {
        let rule = [Cell::text(session.rule.clone())];
        table = table.row(Row::new(rule.into_iter().chain(kpi_cells(session))));
    }
    table
}

/// Cells of the KPIs, then a cell that states whether the video was played completely.
fn kpi_cells(session: &Summary) -> impl Iterator<Item = Cell> {
    let played = if session.complete { Cell::text("whole") } else { Cell::text("in part").tone(Tone::Quiet) };
    KPIS.iter().map(|kpi| Cell::number((kpi.of)(&session.kpis), kpi.decimals)).chain([played])
}

/// Formats an RFC 3339 time as `2026-11-22 08:25:04`.
fn format_time(instant: &str) -> String {
    instant.chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

/// The sessions with one label.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The label; empty for sessions without one.
    pub label: String,
    /// The sessions in their given order.
    pub sessions: Vec<Summary>,
}

/// Groups sessions by label, in the order of first appearance.
pub fn groups(sessions: &[Summary]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for session in sessions {
        let label = session.label.clone().unwrap_or_default();
        match groups.iter_mut().find(|group| group.label == label) {
            Some(group) => group.sessions.push(session.clone()),
            None => groups.push(Group { label, sessions: vec![session.clone()] }),
        }
    }
    groups
}

impl Group {
    /// Mean and 95 % confidence interval of a KPI over the sessions that have a finite value.
    fn estimate(&self, kpi: &Kpi) -> Estimate {
        let values: Vec<f64> = self
            .sessions
            .iter()
            .map(|session| (kpi.of)(&session.kpis))
            .filter(|value| value.is_finite())
            .collect();
        Estimate::of(&values)
    }

    fn name(&self) -> String {
        if self.label.is_empty() { "no label".to_owned() } else { self.label.clone() }
    }
}

/// A row for each group with means and 95 % confidence intervals. MOS is the mean of the sessions'
/// MOS, not computed from the other means.
pub fn means(groups: &[Group]) -> Table {
    let mut table = columns(
        Table::new("").column(Column::text("label")).column(Column::number("sessions").key("sessions")),
    );
    for group in groups {
        let mut row = Row::new([Cell::text(group.name()), Cell::number(group.sessions.len() as f64, 0)]);
        for kpi in &KPIS {
            let decimals = if kpi.decimals == 0 { 1 } else { kpi.decimals };
            row = row.cell(Cell::estimate(group.estimate(kpi), decimals));
        }
        table = table.row(row);
    }
    table.note("Means with 95 % confidence intervals. MOS: computed for each session, then averaged.")
}

/// Bar charts of MOS, stalled time and bitrate by group.
pub fn bars(groups: &[Group]) -> Vec<Bars> {
    let names: Vec<String> = groups.iter().map(Group::name).collect();
    let charted = KPIS.iter().filter(|kpi| matches!(kpi.key, "mos" | "stalled_s" | "mean_bitrate_kbps"));
    let chart = |kpi: &Kpi| {
        Bars::new(kpi.name, Axis::new(kpi.name).unit(kpi.unit).from(0.0))
            .groups(names.clone())
            .decimals(if kpi.decimals == 0 { 0 } else { 2 })
            .series(kpi.name, groups.iter().map(|group| group.estimate(kpi)))
    };
    let mut charts: Vec<Bars> = charted.map(chart).collect();
    // MOS is the last of the three in `KPIS`, but the most important one to a reader.
    charts.rotate_right(1);
    charts
}

/// JSON with the sessions and, for each label, the means and confidence intervals of the KPIs.
pub fn comparison(sessions: &[Summary]) -> Value {
    let groups: Vec<Value> = groups(sessions)
        .iter()
        .map(|group| {
            let mut kpis = serde_json::Map::new();
            for kpi in &KPIS {
                let Estimate { mean, ci95 } = group.estimate(kpi);
                kpis.insert(kpi.key.to_owned(), json!({ "mean": mean, "ci95": ci95 }));
            }
            json!({ "label": group.label, "sessions": group.sessions.len(), "kpis": kpis })
        })
        .collect();
    json!({ "sessions": sessions, "labels": groups })
}
