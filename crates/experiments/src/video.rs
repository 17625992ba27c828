//! Video sessions of a run: a table of their quality, and a chart of buffer, bitrate and stalls.

use crate::display::decimals;
use abr::{Kpis, Session};
use qoe::{EMOS_UNIT, MOS_UNIT};
use report::{Axis, Cell, Column, Lane, Line, Panel, Row, Shade, Span, Table, Timeline};
use sim::Outcome;

/// The video sessions of a run, each with the number of its connection, from 1.
pub fn sessions(outcome: &Outcome) -> impl Iterator<Item = (usize, &Session)> {
    let numbered = outcome.connections.iter().zip(1..);
    numbered.filter_map(|(connection, number)| Some((number, connection.video.as_ref()?)))
}

/// Arrival of the last segment, in seconds from the session's start; `None` if some are missing.
pub fn all_fetched_s(session: &Session) -> Option<f64> {
    let all = session.segments_in_video == session.segments.len();
    session.segments.last().filter(|_| all).map(|last| last.arrived.since(session.start).as_secs_f64())
}

/// The quality metrics of each session; `None` without video.
pub(crate) fn table(outcome: &Outcome) -> Option<Table> {
    let mut table = Table::new("Video")
        .column(Column::number("#"))
        .column(Column::text("rule"))
        .column(Column::number("load time").unit("s").key("initial_load_s"))
        .column(Column::number("stalls"))
        .column(Column::number("stalled").unit("s").key("stalled_s"))
        .column(Column::number("mean stall").unit("s").key("mean_stall_s"))
        .column(Column::number("bitrate").unit("Mbit/s").key("mean_bitrate_mbps"))
        .column(Column::number("switches").key("switches"))
        .column(Column::number("played").unit("s").key("played_s"))
        .column(Column::number("fetched after").unit("s").key("fetched_s"))
        .column(Column::number("MOS").unit(MOS_UNIT).key("mos"))
        .column(Column::number("eMOS").unit(EMOS_UNIT).key("emos"))
        .column(Column::number("linear QoE").key("linear"))
        .column(Column::text("state"));
    let mut any = false;
    for (number, session) in sessions(outcome) {
        any = true;
        let Kpis { initial, mean_stall, stalled, mean_bitrate, switches, mos, emos, linear, .. } =
            session.kpis();
        let seconds = |span: units::Duration| Cell::number(span.as_secs_f64(), 3);
        let count = |count: usize| Cell::number(count as f64, 0);
        table = table.row(Row::new([
            count(number),
            Cell::text(session.rule.name()),
            seconds(initial),
            count(session.stalls.len()),
            seconds(stalled),
            seconds(mean_stall),
            Cell::number(mean_bitrate.as_mbps(), decimals([mean_bitrate.as_mbps()])),
            count(switches),
            seconds(session.played),
            Cell::number(all_fetched_s(session).unwrap_or(f64::NAN), 3),
            Cell::number(mos.unwrap_or(f64::NAN), 4),
            Cell::number(emos.unwrap_or(f64::NAN), 2),
            Cell::number(linear.unwrap_or(f64::NAN), 1),
            Cell::text(session.state()),
        ]));
    }
    any.then(|| {
        table.note(
            "MOS: Mok, Chan, Chang 2011, from load time, stall frequency and mean stall length; 3.31 is the most. \
             eMOS: \
             Claeys et al. 2014, from bitrate levels and stalls; 0 to 5.84. Linear QoE: Yin et al. 2015. A video without a picture has none of these. State: left if the run ended before the video.",
        )
    })
}

/// A chart for each session; empty without series.
pub fn charts(outcome: &Outcome, duration_s: f64) -> Vec<Timeline> {
    let series = &outcome.series;
    let mut charts = Vec::new();
    for (number, session) in sessions(outcome) {
        let sampled = |name: &str, column: &str| {
            let column = series.column(&format!("connection{number}.{column}"))?;
            Some(Line::sampled(name, series.interval_s, series.interval_s, column.values.clone()))
        };
        let (Some(buffer), Some(bitrate)) =
            (sampled("buffer", "buffer_s"), sampled("bitrate", "bitrate_mbps"))
        else {
            continue;
        };
        let several = sessions(outcome).count() > 1;
        let (title, key) = if several {
            (format!("Video of connection {number}"), format!("video:{number}"))
        } else {
            ("Video".to_owned(), "video".to_owned())
        };
        let mut chart = Timeline::new(title).key(key);
        chart.x = Axis::seconds().from(0.0).to(duration_s);
        let panel =
            |title: &str, unit: &str, line| Panel::new(Axis::new(title).unit(unit).from(0.0)).line(line);
        charts.push(
            chart
                .panel(panel("buffer", "s", buffer))
                .panel(panel("bitrate", "Mbit/s", bitrate))
                .lane(Lane::new("playback", playback(session)))
                .caption(
                    "Playback: a full block while the video plays, a low one while it loads or stalls. Bitrate: that of \
                     the segment in download.",
                ),
        );
    }
    charts
}

/// Spans of loading, playing and stalling.
fn playback(session: &Session) -> Vec<Span> {
    let span = |from: f64, to: f64, label: &str, shade| Span { from, to, label: label.to_owned(), shade };
    let at = |time: units::Instant| time.as_secs_f64();
    let mut from = at(session.start) + session.initial.length.as_secs_f64();
    let mut spans = vec![span(at(session.start), from, "loading", Shade::Tail)];
    for stall in &session.stalls {
        spans.push(span(from, at(stall.start), "playing", Shade::Active));
        spans.push(span(at(stall.start), at(stall.end), "stall", Shade::Tail));
        from = at(stall.end);
    }
    spans.push(span(from, at(session.end), "playing", Shade::Active));
    spans.retain(|span| span.to > span.from);
    spans
}
