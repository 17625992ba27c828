//! Tables, charts and report of a session, and its export for ITU-T P.1203.

use crate::check::TOLERANCE_S;
use crate::record::{Record, Segment, State};
use crate::summary::{self, Summary};
use qoe::{AudioSegment, Display, P1203, Stalling, VideoSegment};
use report::{
    Axis, Cell, Chart, Column, Lane, Line, Mark, Page, Panel, Row, Section, Shade, Shape, Span, Table,
    Timeline, Track, literal,
};
use serde_json::Value;
use std::collections::BTreeMap;
use units::{Bitrate, Bytes, Duration};

/// Label of the spans in which the video plays.
const PLAYING: &str = "playing";
/// Maximum number of points of a line.
const MAX_POINTS: usize = 20_000;

impl Record {
    /// Summary of the session for lists and comparisons.
    pub fn summary(&self) -> Summary {
        Summary::from(self)
    }

    /// The viewer sought, so that the segments were not played in the order of the video.
    pub fn has_seeks(&self) -> bool {
        self.seeks.iter().flatten().next().is_some()
    }

    /// The segments of a session without seeks that were played, in the order of the video, and the
    /// played duration of each, up to `played_s`. Of a segment received in several bitrates, the last
    /// copy that arrived before its playback counts. Empty for a player without segments.
    fn shown(&self) -> impl Iterator<Item = (&Segment, f64)> {
        let starts = self.playing_starts();
        let mut left = self.played_s;
        self.copies().into_iter().filter_map(move |copies| {
            let at = time_of(&starts, self.played_s - left);
            let in_time = copies.iter().rfind(|copy| copy.arrived_s <= at);
            let segment = *in_time.or(copies.first())?;
            Some((segment, take_played(&mut left, self.length(segment))?))
        })
    }

    /// The copies of each segment in order of arrival, and the segments in the order of the video.
    ///
    /// If segments of different numbers are shorter than the loaded video by a segment or more, the
    /// numbers begin anew in each period. No segment is then a copy of another, and their order is that
    /// of arrival.
    fn copies(&self) -> Vec<Vec<&Segment>> {
        let mut by_number: BTreeMap<u64, Vec<&Segment>> = BTreeMap::new();
        for segment in &self.segments {
            by_number.entry(segment.segment).or_default().push(segment);
        }
        let covered_s: f64 = by_number.values().map(|copies| self.length(copies[0])).sum();
        let longest_s = self.segments.iter().map(|segment| self.length(segment)).fold(0.0, f64::max);
        if self.loaded_s() - covered_s >= longest_s {
            return self.segments.iter().map(|segment| vec![segment]).collect();
        }
        by_number.into_values().collect()
    }

    /// Length of the video that was played or in the buffer, without copies.
    fn loaded_s(&self) -> f64 {
        let spans = self.playback_spans();
        let played_by = |at: f64| -> f64 {
            let playing = spans.iter().filter(|span| span.label == PLAYING);
            playing.map(|span| (span.to.min(at) - span.from).max(0.0)).sum()
        };
        let by_arrival = self.segments.iter().map(|one| played_by(one.arrived_s) + one.buffer_s);
        by_arrival.fold(self.played_s, f64::max)
    }

    /// The played time before each span of playing, and the time at which the span starts.
    fn playing_starts(&self) -> Vec<(f64, f64)> {
        let mut played = 0.0;
        let mut starts = Vec::new();
        for span in self.playback_spans().iter().filter(|span| span.label == PLAYING) {
            starts.push((played, span.from));
            played += span.to - span.from;
        }
        starts
    }

    fn length(&self, segment: &Segment) -> f64 {
        segment.duration_s.or(self.video.segment_duration_s).unwrap_or(0.0)
    }

    /// The session as input of ITU-T P.1203. Unknown properties of the video default to H.264 with
    /// 24 frames per second and 1920 by 1080 pixels, because the format requires them.
    ///
    /// # Errors
    /// If the session [has seeks](Self::has_seeks).
    pub fn p1203(&self) -> Result<Value, String> {
        if self.has_seeks() {
            return Err("expected a session without seeks: the record does not say which parts of the \
                        segments were played; the page that played it can save this input"
                .to_owned());
        }
        let seconds = Duration::from_secs_f64;
        let kbps = |kbps: f64| Bitrate::from_mbps(kbps * 1e-3);
        let video = self
            .shown()
            .map(|(segment, span)| {
                let level = self.video.levels.get(usize::from(segment.level));
                let length = seconds(self.length(segment));
                let bitrate = if segment.size_bytes > 0 && !length.is_zero() {
                    Bytes::new(segment.size_bytes).per(length)
                } else {
                    kbps(segment.bitrate_kbps)
                };
                let pixels = level.and_then(|level| Some((level.width?, level.height?)));
                VideoSegment {
                    duration: seconds(span),
                    bitrate,
                    codec: level.and_then(|level| level.codec.clone()).unwrap_or_else(|| "h264".to_owned()),
                    fps: level.and_then(|level| level.fps).unwrap_or(24.0),
                    pixels: pixels.unwrap_or((1920, 1080)),
                }
            })
            .collect();
        let mut left = self.played_s;
        let audio = self.audio.iter().flatten().filter_map(|piece| {
            Some(AudioSegment {
                duration: seconds(take_played(&mut left, piece.duration_s)?),
                bitrate: kbps(piece.bitrate_kbps),
                codec: piece.codec.clone(),
            })
        });
        let display = self.viewing.map_or_else(Display::default, |viewing| Display {
            handheld: viewing.handheld,
            pixels: (viewing.width, viewing.height),
            distance_cm: viewing.distance_cm,
        });
        let stalls = self.stalls.iter().map(|stall| Stalling {
            position: seconds(stall.position_s),
            length: seconds((stall.end_s - stall.start_s).max(0.0)),
        });
        let session = P1203 {
            display,
            audio: audio.collect(),
            video,
            initial: seconds(self.kpis.initial_load_s),
            stalls: stalls.collect(),
        };
        Ok(session.to_json())
    }

    /// Table of the segments.
    pub fn segments(&self) -> Table {
        let mut table = Table::new("Segments")
            .column(Column::number("segment"))
            .column(Column::number("level"))
            .column(Column::number("bitrate").unit("kbit/s").key("bitrate_kbps"))
            .column(Column::number("size").unit("B").key("size_bytes"))
            .column(Column::number("plays").unit("s").key("duration_s"))
            .column(Column::number("asked").unit("s").key("asked_s"))
            .column(Column::number("first byte").unit("s").key("first_byte_s"))
            .column(Column::number("arrived").unit("s").key("arrived_s"))
            .column(Column::number("buffer").unit("s").key("buffer_s"));
        for segment in &self.segments {
            table = table.row(Row::new([
                Cell::number(segment.segment as f64, 0),
                Cell::number(f64::from(segment.level), 0),
                Cell::number(segment.bitrate_kbps, 0),
                Cell::number(segment.size_bytes as f64, 0),
                Cell::number(self.length(segment), 3),
                Cell::number(segment.asked_s, 3),
                Cell::number(segment.first_byte_s, 3),
                Cell::number(segment.arrived_s, 3),
                Cell::number(segment.buffer_s, 3),
            ]));
        }
        table
    }

    /// Table of the stalls.
    pub fn stall_table(&self) -> Table {
        let mut table = Table::new("Stalls")
            .column(Column::number("from").unit("s").key("start_s"))
            .column(Column::number("to").unit("s").key("end_s"))
            .column(Column::number("length").unit("s").key("length_s"))
            .column(Column::number("position").unit("s of video").key("position_s"))
            .column(Column::text("").key("open"));
        for stall in &self.stalls {
            table = table.row(Row::new([
                Cell::number(stall.start_s, 3),
                Cell::number(stall.end_s, 3),
                Cell::number(stall.end_s - stall.start_s, 3),
                Cell::number(stall.position_s, 3),
                Cell::text(if stall.open { "open" } else { "" }),
            ]));
        }
        table
    }

    /// Timeline of playback, buffer, bitrate and throughput.
    pub fn chart(&self) -> Chart {
        let mut tracks = vec![
            Track::Lane(Lane { name: "playback".to_owned(), spans: self.playback_spans() }),
            Track::Panel(self.buffer_panel()),
            rate_panel("bitrate", self.bitrates(), false),
        ];
        let throughput = self.throughputs();
        if !throughput.is_empty() {
            // A panel of its own: throughput in a fast network is far above the bitrate.
            tracks.push(rate_panel("throughput", throughput, true));
        }
        Chart::Timeline(Timeline {
            key: "session".to_owned(),
            title: "Playback, buffer and bitrate".to_owned(),
            caption:
                "Playback: loading, playing, paused, seeking or stalled. Buffer: seconds of video. Bitrate: \
                      that of each segment from its request on."
                    .to_owned(),
            x: Axis::seconds(),
            tracks,
        })
    }

    /// Spans of loading, playing, stalling, pausing and seeking.
    fn playback_spans(&self) -> Vec<Span> {
        let stalls = self.stalls.iter().map(|stall| (stall.start_s, stall.end_s, "stalled", Shade::Active));
        let pauses = self.pauses.iter().flatten();
        let pauses = pauses.map(|pause| (pause.start_s, pause.end_s, "paused", Shade::Tail));
        let seeks = self.seeks.iter().flatten();
        let seeks = seeks.map(|seek| (seek.start_s, seek.end_s, "seeking", Shade::Promotion));
        let mut interruptions: Vec<(f64, f64, &str, Shade)> = stalls.chain(pauses).chain(seeks).collect();
        interruptions.sort_by(|one, other| one.0.total_cmp(&other.0));

        let mut spans = Vec::new();
        let mut add = |from: f64, to: f64, label: &str, shade| {
            if to > from {
                spans.push(Span { from, to, label: label.to_owned(), shade });
            }
        };
        let initial = self.kpis.initial_load_s;
        add(0.0, initial, "loading", Shade::Promotion);
        let mut at = initial;
        for (start, end, label, shade) in interruptions {
            add(at, start, PLAYING, Shade::Idle);
            add(start.max(at), end, label, shade);
            at = end.max(at);
        }
        add(at, self.duration_s, PLAYING, Shade::Idle);
        spans
    }

    fn buffer_panel(&self) -> Panel {
        let (x, y) = self.buffer();
        Panel {
            y: Axis::new("buffer").unit("s").from(0.0),
            lines: vec![Line { name: "buffer".to_owned(), x, y, ..Line::default() }],
            marks: Vec::<Mark>::new(),
        }
    }

    /// Bitrate of each segment from its request on, in Mbit/s.
    fn bitrates(&self) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> =
            self.segments.iter().map(|segment| (segment.asked_s, segment.bitrate_kbps * 1e-3)).collect();
        // A request may be answered after a later one.
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        points.extend(points.last().map(|(_, rate)| (self.duration_s, *rate)));
        points
    }

    /// Sampled throughput, in Mbit/s.
    fn throughputs(&self) -> Vec<(f64, f64)> {
        let samples = self.samples.iter().flatten();
        samples.filter_map(|sample| Some((sample.at_s, sample.throughput_kbps? * 1e-3))).collect()
    }

    /// The buffer over time: the samples, or values computed from the arrivals of segments.
    fn buffer(&self) -> (Vec<f64>, Vec<f64>) {
        if let Some(samples) = self.samples.as_ref().filter(|samples| samples.len() > 1) {
            return samples.iter().take(MAX_POINTS).map(|sample| (sample.at_s, sample.buffer_s)).unzip();
        }
        let before = |segment: &Segment| (segment.buffer_s - self.length(segment)).max(0.0);
        self.segments
            .iter()
            .take(MAX_POINTS)
            .flat_map(|segment| [(segment.arrived_s, before(segment)), (segment.arrived_s, segment.buffer_s)])
            .unzip()
    }

    /// The HTML report.
    pub fn page(&self) -> Page {
        let summary = self.summary();
        let video = summary.title.clone().unwrap_or_else(|| self.video.kind.name().to_owned());
        let text = |text: &str| literal(text);
        let end = match (summary.state, &summary.reason) {
            (State::Finished, _) => "finished".to_owned(),
            (State::Left, _) => "left before the end of the video".to_owned(),
            (State::Failed, reason) => {
                format!("failed: {}", reason.as_ref().map_or("unknown reason", |reason| &reason.message))
            }
        };
        let waits = if self.kpis.initial_load_open {
            "no picture".to_owned()
        } else {
            format!("{} stalls with a total of {:.2} s", self.stalls.len(), self.kpis.stalled_s)
        };
        let mut facts = vec![
            ("video".to_owned(), text(&video)),
            ("started".to_owned(), text(&self.started_at)),
            ("player".to_owned(), text(&format!("{} {}", self.player.name, self.player.version))),
            ("rule".to_owned(), text(&self.rule)),
            ("state".to_owned(), text(&end)),
            ("session".to_owned(), text(&self.id)),
        ];
        let optional = [
            ("label", self.nonempty_label().map(str::to_owned)),
            ("device", self.device.clone()),
            ("time zone", self.zone.clone()),
            ("engine", self.player.engine.clone()),
            ("proxy", self.settings.proxy.clone()),
            ("sockets", self.settings.mptcp.map(|mptcp| if mptcp { "MPTCP" } else { "TCP" }.to_owned())),
        ];
        facts.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), text(&value?)))));
        let figures = Section::new("Figures")
            .table(summary::table(&[summary], false).note(summary::SCORES))
            .facts(facts);
        let mut page = Page::new(self.nonempty_label().unwrap_or("Session"))
            .main_chart("session")
            .lead(format!(
                "{:.1} s of video in {:.1} s, {waits}; {}.",
                self.played_s,
                self.duration_s,
                literal(&end)
            ))
            .section(Section::new("Timeline").chart(self.chart()))
            .section(figures);
        if !self.stalls.is_empty() {
            page = page.section(Section::new("Stalls").table(self.stall_table()));
        }
        let errors: Vec<String> = self
            .errors
            .iter()
            .flatten()
            .take(100)
            .map(|error| text(&format!("{:.3} s: {}", error.at_s, error.message)))
            .collect();
        if !errors.is_empty() {
            page = page.section(Section::new("Errors").list(errors));
        }
        page.footer(format!("`tandem` {}", env!("CARGO_PKG_VERSION")))
    }
}

/// Time at which playback passes a played time, by the [starts](Record::playing_starts) of playing.
/// At a stall it is the end of the stall.
fn time_of(starts: &[(f64, f64)], played: f64) -> f64 {
    let passed = starts.partition_point(|(before, _)| *before <= played + TOLERANCE_S);
    starts[..passed].last().map_or(0.0, |(before, start)| start + (played - before))
}

/// Takes the played part of a segment from the time that is left; `None` if nothing of it was played.
fn take_played(left: &mut f64, length: f64) -> Option<f64> {
    let part = left.min(length);
    *left -= part;
    (part > 0.0).then_some(part)
}

/// A stepped line of rates in Mbit/s with an axis of its own.
fn rate_panel(title: &str, points: Vec<(f64, f64)>, reference: bool) -> Track {
    let (x, y) = points.into_iter().unzip();
    let line = Line { name: title.to_owned(), x, y, shape: Shape::Step, reference, ..Line::default() };
    Track::Panel(Panel { y: Axis::new(title).unit("Mbit/s").from(0.0), lines: vec![line], marks: Vec::new() })
}
