//! Tables and charts of several sessions.

use crate::record::{Kpis, Player, Reason, Record, State};
use qoe::{EMOS_UNIT, MOS_UNIT};
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
    pub video_duration_s: Option<f64>,
    pub device: Option<String>,
    pub zone: Option<String>,
    pub complete: bool,
    pub state: State,
    pub reason: Option<Reason>,
    pub duration_s: f64,
    pub played_s: f64,
    pub kpis: Kpis,
}

impl From<&Record> for Summary {
    fn from(record: &Record) -> Self {
        let video = &record.video;
        let (state, reason) = record.outcome();
        let mut kpis = record.kpis.clone();
        if kpis.initial_load_open {
            // Records of the former format have a MOS without a picture.
            kpis.mok.mos = None;
        }
        kpis.mok.mos_max = Some(qoe::Mok::default().max_mos());
        Self {
            id: record.id.clone(),
            started_at: record.started_at.clone(),
            label: record.label.clone(),
            player: record.player.clone(),
            rule: record.rule.clone(),
            title: video.title.clone().or_else(|| video.content_id.clone()).or_else(|| video.url.clone()),
            video_duration_s: video.duration_s,
            device: record.device.clone(),
            zone: record.zone.clone(),
            complete: record.complete,
            state,
            reason,
            duration_s: record.duration_s,
            played_s: record.played_s,
            kpis,
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

const KPIS: [Kpi; 10] = [
    Kpi {
        name: "T_init",
        unit: "s",
        key: "initial_load_s",
        decimals: 3,
        of: |kpis| shown(kpis, kpis.initial_load_s),
    },
    Kpi { name: "stalls", unit: "", key: "stalls", decimals: 0, of: |kpis| shown(kpis, kpis.stalls as f64) },
    Kpi {
        name: "f_rebuf",
        unit: "1/s",
        key: "stalls_per_s",
        decimals: 4,
        of: |kpis| shown(kpis, kpis.stalls_per_s.unwrap_or(f64::INFINITY)),
    },
    Kpi {
        name: "T_rebuf",
        unit: "s",
        key: "mean_stall_s",
        decimals: 3,
        of: |kpis| shown(kpis, kpis.mean_stall_s),
    },
    Kpi { name: "stalled", unit: "s", key: "stalled_s", decimals: 3, of: |kpis| shown(kpis, kpis.stalled_s) },
    Kpi {
        name: "bitrate",
        unit: "kbit/s",
        key: "mean_bitrate_kbps",
        decimals: 0,
        of: |kpis| shown(kpis, kpis.mean_bitrate_kbps.unwrap_or(f64::NAN)),
    },
    Kpi {
        name: "changes",
        unit: "",
        key: "switches",
        decimals: 0,
        of: |kpis| shown(kpis, kpis.switches as f64),
    },
    Kpi {
        name: "MOS",
        unit: MOS_UNIT,
        key: "mos",
        decimals: 4,
        of: |kpis| shown(kpis, kpis.mok.mos.unwrap_or(f64::NAN)),
    },
    Kpi {
        name: "eMOS",
        unit: EMOS_UNIT,
        key: "emos",
        decimals: 2,
        of: |kpis| shown(kpis, kpis.emos.unwrap_or(f64::NAN)),
    },
    Kpi {
        name: "linear",
        unit: "",
        key: "linear",
        decimals: 1,
        of: |kpis| shown(kpis, kpis.linear.unwrap_or(f64::NAN)),
    },
];

/// A KPI of a session that showed a picture; NaN without one.
fn shown(kpis: &Kpis, value: f64) -> f64 {
    if kpis.initial_load_open { f64::NAN } else { value }
}

/// Explanation of the scores, for the notes of tables.
pub const SCORES: &str = "MOS: Mok, Chan, Chang 2011, from load time and stalls; 3.31 is the most. eMOS: Claeys et al. \
     2014, from bitrate levels and stalls; 0 to 5.84. linear: Yin et al. 2015, the sum of the segments\u{2019} bitrates \
     in Mbit/s, minus 4.3 per second of stall, minus the bitrate changes. A session without a picture has none of these.";

fn columns(mut table: Table) -> Table {
    for kpi in &KPIS {
        table = table.column(Column::number(kpi.name).unit(kpi.unit).key(kpi.key));
    }
    table
}

/// A row for each session, for a page. With `links`, the start time links to `/sessions/ID`.
pub fn table(sessions: &[Summary], links: bool) -> Table {
    let mut table = columns(
        Table::new("")
            .column(Column::text("started").unit("UTC").key("started_at"))
            .column(Column::text("label"))
            .column(Column::text("player"))
            .column(Column::text("rule"))
            .column(Column::text("state").align(Align::Left)),
    );
    for session in sessions {
        let mut start = Cell::text(format_time(&session.started_at));
        if links {
            start = start.link(format!("/sessions/{}", session.id));
        }
        let origin = [start, Cell::text(session.label.clone().unwrap_or_default())];
        let player = [Cell::text(session.player.name.clone()), Cell::text(session.rule.clone())];
        let cells = origin.into_iter().chain(player).chain([state_cell(session)]).chain(kpi_cells(session));
        table = table.row(Row::new(cells));
    }
    table
}

/// A row for each session with all members of its summary, for CSV. Texts that a spreadsheet would
/// run as a formula have an apostrophe before them.
pub fn full(sessions: &[Summary]) -> Table {
    let mut table = Table::new("");
    for name in ["id", "started", "zone", "label", "player", "device", "rule", "video"] {
        table = table.column(Column::text(name));
    }
    table = columns(
        table
            .column(Column::number("video duration").unit("s").key("video_duration_s"))
            .column(Column::text("state"))
            .column(Column::text("reason"))
            .column(Column::number("session duration").unit("s").key("duration_s"))
            .column(Column::number("played").unit("s").key("played_s")),
    );
    for session in sessions {
        let text = |text: &Option<String>| Cell::text(without_formula(text.as_deref().unwrap_or_default()));
        let reason = session.reason.as_ref().map(|reason| reason.message.clone());
        let cells = [
            Cell::text(without_formula(&session.id)),
            Cell::text(without_formula(&session.started_at)),
            text(&session.zone),
            text(&session.label),
            Cell::text(without_formula(&session.player.name)),
            text(&session.device),
            Cell::text(without_formula(&session.rule)),
            text(&session.title),
            Cell::number(session.video_duration_s.unwrap_or(f64::NAN), 3),
            state_cell(session),
            text(&reason),
            Cell::number(session.duration_s, 3),
            Cell::number(session.played_s, 3),
        ];
        table = table.row(Row::new(cells.into_iter().chain(kpi_cells(session))));
    }
    table
}

/// Puts an apostrophe before a text that begins like a formula (OWASP, "CSV Injection"); numbers stay.
fn without_formula(text: &str) -> String {
    let begins = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    if begins && text.parse::<f64>().is_err() { format!("'{text}") } else { text.to_owned() }
}

/// A shorter table for the terminal, without start time, label and player.
pub fn short(sessions: &[Summary]) -> Table {
    let mut table = columns(Table::new("").column(Column::text("rule")).column(Column::text("state")));
    for session in sessions {
        let rule = [Cell::text(session.rule.clone()), state_cell(session)];
        table = table.row(Row::new(rule.into_iter().chain(kpi_cells(session))));
    }
    table.note(SCORES)
}

/// Cell with the state of a session.
fn state_cell(session: &Summary) -> Cell {
    let tone = match session.state {
        State::Finished => Tone::Plain,
        State::Left => Tone::Quiet,
        State::Failed => Tone::Bad,
    };
    Cell::text(session.state.name()).tone(tone)
}

/// Cells of the KPIs.
fn kpi_cells(session: &Summary) -> impl Iterator<Item = Cell> {
    KPIS.iter().map(|kpi| Cell::number((kpi.of)(&session.kpis), kpi.decimals))
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
    /// Number of sessions in a state.
    fn count(&self, state: State) -> usize {
        self.sessions.iter().filter(|session| session.state == state).count()
    }

    /// Values of a KPI: of the sessions that did not fail and have a finite value.
    fn values(&self, kpi: &Kpi) -> Vec<f64> {
        let scored = self.sessions.iter().filter(|session| session.state != State::Failed);
        scored.map(|session| (kpi.of)(&session.kpis)).filter(|value| value.is_finite()).collect()
    }

    /// Mean and 95 % confidence interval of a KPI.
    fn estimate(&self, kpi: &Kpi) -> Estimate {
        Estimate::of(&self.values(kpi))
    }

    /// Names of the KPIs whose interval is wider than a third of the mean to either side.
    fn uncertain(&self) -> Vec<&'static str> {
        KPIS.iter().filter(|kpi| self.estimate(kpi).is_uncertain()).map(|kpi| kpi.name).collect()
    }

    /// Remark on a label with too few sessions for its means.
    fn remark(&self) -> Option<String> {
        let name = self.name();
        let scored = self.values(&KPIS[0]).len();
        if scored == 1 {
            return Some(format!("{name}: too few sessions; a single one has no interval."));
        }
        let uncertain = self.uncertain();
        if uncertain.is_empty() {
            return None;
        }
        Some(format!(
            "{name}: too few sessions ({scored}); the interval exceeds a third of the mean of {}.",
            uncertain.join(", ")
        ))
    }

    fn name(&self) -> String {
        if self.label.is_empty() { "no label".to_owned() } else { self.label.clone() }
    }
}

const STATES: [State; 3] = [State::Finished, State::Left, State::Failed];

/// A row for each group with means and 95 % confidence intervals. MOS is the mean of the sessions'
/// MOS, not computed from the other means. A failed session is counted and enters no mean.
pub fn means(groups: &[Group]) -> Table {
    let mut table =
        Table::new("").column(Column::text("label")).column(Column::number("sessions").key("sessions"));
    for state in STATES {
        table = table.column(Column::number(state.name()));
    }
    table = columns(table);
    for group in groups {
        let mut row = Row::new([Cell::text(group.name()), Cell::number(group.sessions.len() as f64, 0)]);
        for state in STATES {
            let count = group.count(state);
            let tone = if state == State::Failed && count > 0 { Tone::Bad } else { Tone::Plain };
            row = row.cell(Cell::number(count as f64, 0).tone(tone));
        }
        for kpi in &KPIS {
            let decimals = if kpi.decimals == 0 { 1 } else { kpi.decimals };
            row = row.cell(Cell::estimate(group.estimate(kpi), decimals));
        }
        table = table.row(row);
    }
    table = table
        .note(
            "Means with 95 % confidence intervals, over the sessions that showed a picture and did not fail. MOS and \
             eMOS: computed for each session, then averaged.",
        )
        .note(SCORES);
    for group in groups {
        if let Some(remark) = group.remark() {
            table = table.note(report::literal(&remark));
        }
    }
    table
}

/// Bar charts of MOS, eMOS, stalled time and bitrate by group.
pub fn bars(groups: &[Group]) -> Vec<Bars> {
    let names: Vec<String> = groups.iter().map(Group::name).collect();
    let charted = ["mos", "emos", "stalled_s", "mean_bitrate_kbps"];
    let charted = charted.iter().filter_map(|key| KPIS.iter().find(|kpi| kpi.key == *key));
    let chart = |kpi: &Kpi| {
        Bars::new(kpi.name, Axis::new(kpi.name).unit(kpi.unit).from(0.0))
            .key(kpi.key.replace('_', "-"))
            .groups(names.clone())
            .decimals(if kpi.decimals == 0 { 0 } else { 2 })
            .series(kpi.name, groups.iter().map(|group| group.estimate(kpi)))
    };
    charted.map(chart).collect()
}

/// JSON with the sessions and, for each label, the number of sessions by state, and the means and
/// confidence intervals of the KPIs over `n` sessions.
pub fn comparison(sessions: &[Summary]) -> Value {
    let groups: Vec<Value> = groups(sessions)
        .iter()
        .map(|group| {
            let mut kpis = serde_json::Map::new();
            for kpi in &KPIS {
                let Estimate { mean, ci95 } = group.estimate(kpi);
                let n = group.values(kpi).len();
                kpis.insert(kpi.key.to_owned(), json!({ "mean": mean, "ci95": ci95, "n": n }));
            }
            json!({
                "label": group.label,
                "sessions": group.sessions.len(),
                "finished": group.count(State::Finished),
                "left": group.count(State::Left),
                "failed": group.count(State::Failed),
                "remark": group.remark(),
                "kpis": kpis,
            })
        })
        .collect();
    json!({
        "sessions": sessions,
        "labels": groups,
        "mos_max": qoe::Mok::default().max_mos(),
        "emos_max": qoe::EMOS_MAX,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_begin_like_formulas_are_disarmed_and_numbers_stay() {
        let formulas = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "--5"];
        for text in formulas {
            assert_eq!(without_formula(text), format!("'{text}"));
        }
        for text in ["", "bus", "-5", "+3.2e1", "-0.25", "a=b", "'=1"] {
            assert_eq!(without_formula(text), text);
        }
    }
}
