//! What a viewer got.

use crate::Rule;
use qoe::{Levels, Linear, Mok, P1203, Stalling, VideoSegment, Viewing};
use serde_json::{Value, json};
use units::{Bitrate, Bytes, Duration, Instant};

/// The record of a session.
///
/// [`initial`](Self::initial), the [`stalls`](Self::stalls) and [`played`](Self::played) add up to the time
/// from [`start`](Self::start) to [`end`](Self::end), to the nanosecond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// By which rule its bitrates were chosen.
    pub rule: Rule,
    /// When the viewer pressed the button.
    pub start: Instant,
    /// When the video ended, or the viewer went.
    pub end: Instant,
    /// The video was played to its end.
    pub complete: bool,
    /// From the start until the first picture.
    pub initial: Wait,
    /// In the order in which they were; none of no length.
    pub stalls: Vec<Stall>,
    /// The segments that came whole, each once and in order, played or not.
    pub segments: Vec<Fetched>,
    /// What was given up, in the order in which it was.
    pub abandoned: Vec<Abandoned>,
    /// How much of the video was played.
    pub played: Duration,
    /// How long each segment plays, the longest where they differ.
    pub segment_duration: Duration,
    /// How many segments the video has.
    pub segments_in_video: usize,
}

/// The wait for the first picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// How long it was.
    pub length: Duration,
    /// There was no picture: it was closed by the end of the session.
    pub open: bool,
}

/// A wait in the middle of the video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// When the buffer ran dry.
    pub start: Instant,
    /// When the play went on.
    pub end: Instant,
    /// How much of the video had been played.
    pub position: Duration,
    /// The play did not go on: it was closed by the end of the session.
    pub open: bool,
}

/// A segment that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetched {
    /// Which, from 0.
    pub segment: usize,
    /// Its level, from 0, the lowest.
    pub level: usize,
    /// The bitrate that the manifest gives this level.
    pub bitrate: Bitrate,
    /// How large it is.
    pub size: Bytes,
    /// How long it plays.
    pub duration: Duration,
    /// When it was asked for.
    pub asked: Instant,
    /// When the first of it came.
    pub first_byte: Instant,
    /// When it was whole.
    pub arrived: Instant,
    /// What was in the buffer then, with it.
    pub buffer: Duration,
}

/// A segment that was given up on its way, to be asked for anew in a lower level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abandoned {
    /// Which, from 0.
    pub segment: usize,
    /// In which level it was on its way.
    pub level: usize,
    /// How much of it came in vain.
    pub got: Bytes,
    /// When it was asked for.
    pub asked: Instant,
    /// When it was given up.
    pub at: Instant,
}

/// A session in a few figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kpis {
    /// T_init: the wait for the first picture.
    pub initial: Duration,
    /// f_rebuf: stalls for each second of video played.
    pub stall_frequency: f64,
    /// T_rebuf: the mean length of a stall.
    pub mean_stall: Duration,
    /// The stalls together.
    pub stalled: Duration,
    /// Mean bitrate of the video that was played; stalls are no part of it.
    pub mean_bitrate: Bitrate,
    /// How many of the segments played had another level than the one before.
    pub switches: usize,
    /// The levels of the first three in [`Mok`].
    pub levels: Levels,
    /// MOS by [`Mok`], without its level 0.
    pub mos: f64,
    /// Score by [`Linear`] with its weights by default, over the segments of which something was
    /// played. The wait for the first picture is no part of it.
    pub linear: f64,
}

/// What the manifest does not say of a level, for [`Session::p1203`].
#[derive(Debug, Clone, PartialEq)]
pub struct Encoding {
    /// As the standard spells it.
    pub codec: String,
    /// Frames a second.
    pub fps: f64,
    /// Width and height.
    pub pixels: (u32, u32),
}

impl Stall {
    /// How long it was.
    pub fn length(&self) -> Duration {
        self.end.since(self.start)
    }
}

impl Session {
    /// The figures.
    pub fn kpis(&self) -> Kpis {
        let stalled = self.stalls.iter().fold(Duration::ZERO, |sum, stall| sum + stall.length());
        let viewing = Viewing {
            initial: self.initial.length,
            stalls: u32::try_from(self.stalls.len()).unwrap_or(u32::MAX),
            stalled,
            played: self.played,
        };
        let seen: Vec<Bitrate> = self.shown().map(|(segment, _)| segment.bitrate).collect();
        let bits: f64 =
            self.shown().map(|(segment, span)| segment.bitrate.as_mbps() * span.as_secs_f64()).sum();
        let mean = if self.played.is_zero() { 0.0 } else { bits / self.played.as_secs_f64() };
        let levels = Mok::default().levels(&viewing);
        Kpis {
            initial: viewing.initial,
            stall_frequency: viewing.stall_frequency(),
            mean_stall: viewing.mean_stall(),
            stalled,
            mean_bitrate: Bitrate::from_mbps(mean),
            switches: self.switches().count(),
            levels,
            mos: levels.mos(),
            linear: Linear::default().score(&seen, stalled),
        }
    }

    /// The segments of which something was played, and how much of each.
    pub fn shown(&self) -> impl Iterator<Item = (&Fetched, Duration)> {
        let mut left = self.played;
        self.segments.iter().map_while(move |segment| {
            let span = left.min(segment.duration);
            left -= span;
            (!span.is_zero()).then_some((segment, span))
        })
    }

    /// Each change of level that was seen: the segment before it and the one with it.
    pub fn switches(&self) -> impl Iterator<Item = (&Fetched, &Fetched)> {
        let shown = self.shown().count();
        self.segments[..shown]
            .windows(2)
            .map(|pair| (&pair[0], &pair[1]))
            .filter(|(before, after)| before.level != after.level)
    }

    /// The record as JSON. Times are in seconds since the start, bitrates in kbit/s, sizes in bytes.
    pub fn to_json(&self) -> Value {
        let since = |time: Instant| time.since(self.start).as_secs_f64();
        let kbps = |rate: Bitrate| rate.as_bps() as f64 / 1e3;
        let kpis = self.kpis();
        let stalls: Vec<Value> = self
            .stalls
            .iter()
            .map(|stall| {
                json!({
                    "start_s": since(stall.start),
                    "end_s": since(stall.end),
                    "position_s": stall.position.as_secs_f64(),
                    "open": stall.open,
                })
            })
            .collect();
        let switches: Vec<Value> = self
            .switches()
            .map(|(before, after)| {
                json!({ "segment": after.segment, "from_level": before.level, "to_level": after.level })
            })
            .collect();
        let abandoned: Vec<Value> = self
            .abandoned
            .iter()
            .map(|vain| {
                json!({
                    "segment": vain.segment,
                    "level": vain.level,
                    "got_bytes": vain.got.get(),
                    "asked_s": since(vain.asked),
                    "at_s": since(vain.at),
                })
            })
            .collect();
        let segments: Vec<Value> = self
            .segments
            .iter()
            .map(|segment| {
                json!({
                    "segment": segment.segment,
                    "level": segment.level,
                    "bitrate_kbps": kbps(segment.bitrate),
                    "size_bytes": segment.size.get(),
                    "asked_s": since(segment.asked),
                    "first_byte_s": since(segment.first_byte),
                    "arrived_s": since(segment.arrived),
                    "buffer_s": segment.buffer.as_secs_f64(),
                })
            })
            .collect();
        json!({
            "rule": self.rule.name(),
            "complete": self.complete,
            "duration_s": since(self.end),
            "played_s": self.played.as_secs_f64(),
            "kpis": {
                "initial_load_s": kpis.initial.as_secs_f64(),
                "initial_load_open": self.initial.open,
                "stalls_per_s": kpis.stall_frequency,
                "mean_stall_s": kpis.mean_stall.as_secs_f64(),
                "stalls": self.stalls.len(),
                "stalled_s": kpis.stalled.as_secs_f64(),
                "mean_bitrate_kbps": kbps(kpis.mean_bitrate),
                "switches": kpis.switches,
                "mok": {
                    "initial_level": kpis.levels.initial,
                    "frequency_level": kpis.levels.frequency,
                    "stall_level": kpis.levels.stall,
                    "mos": kpis.mos,
                },
                "linear": kpis.linear,
            },
            "stalls": stalls,
            "switches": switches,
            "segments": segments,
            "abandoned": abandoned,
        })
    }

    /// The session as the input of ITU-T P.1203: what was played of each segment, the wait at the start
    /// and the stalls. `encoding` says of a level what the manifest does not. The manifest says nothing
    /// of audio and of the display: fill them in.
    pub fn p1203(&self, encoding: impl Fn(usize) -> Encoding) -> P1203 {
        let video = self
            .shown()
            .map(|(segment, duration)| {
                let Encoding { codec, fps, pixels } = encoding(segment.level);
                VideoSegment { duration, bitrate: segment.size.per(segment.duration), codec, fps, pixels }
            })
            .collect();
        let stalls = self.stalls.iter();
        P1203 {
            display: qoe::Display::default(),
            audio: Vec::new(),
            video,
            initial: self.initial.length,
            stalls: stalls
                .map(|stall| Stalling { position: stall.position, length: stall.length() })
                .collect(),
        }
    }
}
