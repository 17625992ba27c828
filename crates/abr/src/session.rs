//! The record of a session, its key figures and its export.

use crate::Rule;
use qoe::{Levels, Linear, Mok, P1203, Stalling, VideoSegment, Viewing, emos};
use serde_json::{Value, json};
use units::{Bitrate, Bytes, Duration, Instant};

/// The record of a session.
///
/// [`initial`](Self::initial), [`stalls`](Self::stalls) and [`played`](Self::played) add up to the
/// time from [`start`](Self::start) to [`end`](Self::end), to the nanosecond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Rule that chose the bitrates.
    pub rule: Rule,
    /// Time at which the viewer started the video.
    pub start: Instant,
    /// Time at which the video ended or the viewer left.
    pub end: Instant,
    /// The video was played to its end.
    pub complete: bool,
    /// Wait for the first picture.
    pub initial: Wait,
    /// The stalls, in order; none has zero length.
    pub stalls: Vec<Stall>,
    /// The segments that arrived, each once and in order, played or not.
    pub segments: Vec<Fetched>,
    /// The downloads that were replaced, in order.
    pub abandoned: Vec<Abandoned>,
    /// Played time of the video.
    pub played: Duration,
    /// Duration of a segment; of the longest if they differ.
    pub segment_duration: Duration,
    /// Number of segments of the video.
    pub segments_in_video: usize,
    /// Number of levels of the video.
    pub levels_in_video: usize,
}

/// The wait for the first picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Its length.
    pub length: Duration,
    /// No picture was shown: the end of the session closed the wait.
    pub open: bool,
}

/// A stall after playback has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// Time at which the buffer was empty.
    pub start: Instant,
    /// Time at which playback resumed.
    pub end: Instant,
    /// Played time of the video before it.
    pub position: Duration,
    /// Playback did not resume: the end of the session closed the stall.
    pub open: bool,
}

/// A segment that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetched {
    /// The segment, from 0.
    pub segment: usize,
    /// Its level, from 0, the lowest.
    pub level: usize,
    /// Its bitrate in the manifest.
    pub bitrate: Bitrate,
    /// Its size.
    pub size: Bytes,
    /// Its duration.
    pub duration: Duration,
    /// Time of the request.
    pub asked: Instant,
    /// Time of the first byte.
    pub first_byte: Instant,
    /// Time of the last byte.
    pub arrived: Instant,
    /// Playback time in the buffer then, including this segment.
    pub buffer: Duration,
}

/// A download that was replaced by one in a lower level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abandoned {
    /// The segment, from 0.
    pub segment: usize,
    /// Level of the replaced download.
    pub level: usize,
    /// Received bytes that were discarded.
    pub got: Bytes,
    /// Time of the request.
    pub asked: Instant,
    /// Time of the replacement.
    pub at: Instant,
}

/// Key figures of a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kpis {
    /// T_init: the wait for the first picture.
    pub initial: Duration,
    /// f_rebuf: stalls per second of played video.
    pub stall_frequency: f64,
    /// T_rebuf: the mean length of a stall.
    pub mean_stall: Duration,
    /// Total length of the stalls.
    pub stalled: Duration,
    /// Mean bitrate of the played video, without stalls.
    pub mean_bitrate: Bitrate,
    /// Number of played segments whose level differs from the previous one.
    pub switches: usize,
    /// Levels of the first three figures in [`Mok`].
    pub levels: Levels,
    /// MOS by [`Mok`], without its level 0; `None` without a picture.
    pub mos: Option<f64>,
    /// Score by [`emos`]; `None` without a picture and for a video with one level.
    pub emos: Option<f64>,
    /// Score by [`Linear`] with its default weights over the segments that were at least partly
    /// played, without the wait for the first picture; `None` without a picture.
    pub linear: Option<f64>,
}

/// Encoding of a level beyond the manifest, for [`Session::p1203`].
#[derive(Debug, Clone, PartialEq)]
pub struct Encoding {
    /// Codec, spelled as in the standard.
    pub codec: String,
    /// Frames per second.
    pub fps: f64,
    /// Width and height in pixels.
    pub pixels: (u32, u32),
}

impl Stall {
    /// Its length.
    pub fn length(&self) -> Duration {
        self.end.since(self.start)
    }
}

impl Session {
    /// The key figures.
    pub fn kpis(&self) -> Kpis {
        let stalled = self.stalls.iter().fold(Duration::ZERO, |sum, stall| sum + stall.length());
        let viewing = Viewing {
            initial: self.initial.length,
            stalls: u32::try_from(self.stalls.len()).unwrap_or(u32::MAX),
            stalled,
            played: self.played,
        };
        let seen: Vec<Bitrate> = self.shown().map(|(segment, _)| segment.bitrate).collect();
        let seen_levels: Vec<usize> = self.shown().map(|(segment, _)| segment.level).collect();
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
            mos: (!self.initial.open).then(|| levels.mos()),
            emos: emos(&seen_levels, self.levels_in_video, &viewing),
            linear: (!self.initial.open).then(|| Linear::default().score(&seen, stalled)),
        }
    }

    /// State of the session: `finished`, or `left` if it ended before its video.
    pub fn state(&self) -> &'static str {
        if self.complete { "finished" } else { "left" }
    }

    /// The segments that were at least partly played, and the played time of each.
    pub fn shown(&self) -> impl Iterator<Item = (&Fetched, Duration)> {
        let mut left = self.played;
        self.segments.iter().map_while(move |segment| {
            let span = left.min(segment.duration);
            left -= span;
            (!span.is_zero()).then_some((segment, span))
        })
    }

    /// Each played change of level: the segment before it and the segment after it.
    pub fn switches(&self) -> impl Iterator<Item = (&Fetched, &Fetched)> {
        let shown = self.shown().count();
        self.segments[..shown]
            .windows(2)
            .map(|pair| (&pair[0], &pair[1]))
            .filter(|(before, after)| before.level != after.level)
    }

    /// The record as JSON. Times are in seconds since the start, bitrates in kbit/s, sizes in
    /// bytes.
    pub fn to_json(&self) -> Value {
        let switches: Vec<Value> = self
            .switches()
            .map(|(before, after)| {
                json!({ "segment": after.segment, "from_level": before.level, "to_level": after.level })
            })
            .collect();
        json!({
            "rule": self.rule.name(),
            "complete": self.complete,
            "state": self.state(),
            "duration_s": self.seconds(self.end),
            "played_s": self.played.as_secs_f64(),
            "kpis": self.kpis_json(),
            "stalls": self.stalls.iter().map(|stall| self.stall_json(stall)).collect::<Vec<_>>(),
            "switches": switches,
            "segments": self.segments.iter().map(|segment| self.segment_json(segment)).collect::<Vec<_>>(),
            "abandoned": self.abandoned.iter().map(|replaced| self.abandoned_json(replaced)).collect::<Vec<_>>(),
        })
    }

    /// Seconds since the start.
    fn seconds(&self, time: Instant) -> f64 {
        time.since(self.start).as_secs_f64()
    }

    fn kpis_json(&self) -> Value {
        let kpis = self.kpis();
        json!({
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
                "mos_max": Mok::default().max_mos(),
            },
            "emos": kpis.emos,
            "linear": kpis.linear,
        })
    }

    fn stall_json(&self, stall: &Stall) -> Value {
        json!({
            "start_s": self.seconds(stall.start),
            "end_s": self.seconds(stall.end),
            "position_s": stall.position.as_secs_f64(),
            "open": stall.open,
        })
    }

    fn segment_json(&self, segment: &Fetched) -> Value {
        json!({
            "segment": segment.segment,
            "level": segment.level,
            "bitrate_kbps": kbps(segment.bitrate),
            "size_bytes": segment.size.get(),
            "asked_s": self.seconds(segment.asked),
            "first_byte_s": self.seconds(segment.first_byte),
            "arrived_s": self.seconds(segment.arrived),
            "buffer_s": segment.buffer.as_secs_f64(),
        })
    }

    fn abandoned_json(&self, replaced: &Abandoned) -> Value {
        json!({
            "segment": replaced.segment,
            "level": replaced.level,
            "got_bytes": replaced.got.get(),
            "asked_s": self.seconds(replaced.asked),
            "at_s": self.seconds(replaced.at),
        })
    }

    /// The session as input of ITU-T P.1203: the played part of each segment, the initial wait and
    /// the stalls. `encoding` describes a level. Audio and display are left for the caller to fill
    /// in.
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

fn kbps(rate: Bitrate) -> f64 {
    rate.as_bps() as f64 / 1e3
}
