//! A record of what the player of `traffic` did.

use crate::FORMAT;
use crate::record::{
    Abandoned, Failure, Kpis, Mok, Player, Record, Sample, Segment, Settings, Stall, Switch, Video, Viewing,
};
use abr::Session;
use std::collections::BTreeMap;
use units::{Bitrate, Instant};

/// What a session itself does not know.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// New for each session: 8 to 64 letters, digits, `-`, `_`, `.`.
    pub id: String,
    /// When the viewer pressed the button, such as `2026-11-22T08:25:04.123Z`.
    pub started_at: String,
    /// Which player it was.
    pub player: Player,
    /// What was played.
    pub video: Video,
    /// How.
    pub settings: Settings,
    /// On which display.
    pub viewing: Option<Viewing>,
    /// Words to find it by.
    pub label: Option<String>,
    /// Names and versions of what else took part.
    pub versions: BTreeMap<String, String>,
    /// The player at some moments.
    pub samples: Option<Vec<Sample>>,
    /// What went wrong.
    pub errors: Option<Vec<Failure>>,
}

impl Record {
    /// The record of a session.
    pub fn new(about: About, session: &Session) -> Self {
        let since = |time: Instant| time.since(session.start).as_secs_f64();
        let kbps = |rate: Bitrate| rate.as_bps() as f64 / 1e3;
        let level = |level: usize| u8::try_from(level).unwrap_or(u8::MAX);
        let kpis = session.kpis();
        let mut shown = units::Duration::ZERO;
        let starts: Vec<f64> = session
            .shown()
            .map(|(_, span)| {
                let start = shown;
                shown += span;
                start.as_secs_f64()
            })
            .collect();
        Self {
            format: FORMAT.to_owned(),
            id: about.id,
            started_at: about.started_at,
            player: about.player,
            video: about.video,
            settings: about.settings,
            viewing: about.viewing,
            label: about.label,
            versions: about.versions,
            rule: session.rule.name().to_owned(),
            complete: session.complete,
            duration_s: since(session.end),
            played_s: session.played.as_secs_f64(),
            kpis: Kpis {
                initial_load_s: kpis.initial.as_secs_f64(),
                initial_load_open: session.initial.open,
                stalls_per_s: Some(kpis.stall_frequency).filter(|rate| rate.is_finite()),
                mean_stall_s: kpis.mean_stall.as_secs_f64(),
                stalls: session.stalls.len() as u64,
                stalled_s: kpis.stalled.as_secs_f64(),
                mean_bitrate_kbps: Some(kbps(kpis.mean_bitrate)),
                switches: kpis.switches as u64,
                mok: Mok {
                    initial_level: kpis.levels.initial,
                    frequency_level: kpis.levels.frequency,
                    stall_level: kpis.levels.stall,
                    mos: kpis.mos,
                },
                linear: Some(kpis.linear),
            },
            stalls: session
                .stalls
                .iter()
                .map(|stall| Stall {
                    start_s: since(stall.start),
                    end_s: since(stall.end),
                    position_s: stall.position.as_secs_f64(),
                    open: stall.open,
                })
                .collect(),
            switches: session
                .switches()
                .map(|(before, after)| Switch {
                    segment: Some(after.segment as u64),
                    from_level: level(before.level),
                    to_level: level(after.level),
                    position_s: starts.get(after.segment).copied(),
                })
                .collect(),
            segments: session
                .segments
                .iter()
                .map(|segment| Segment {
                    segment: segment.segment as u64,
                    level: level(segment.level),
                    bitrate_kbps: kbps(segment.bitrate),
                    size_bytes: segment.size.get(),
                    duration_s: (segment.duration != session.segment_duration)
                        .then(|| segment.duration.as_secs_f64()),
                    asked_s: since(segment.asked),
                    first_byte_s: since(segment.first_byte),
                    arrived_s: since(segment.arrived),
                    buffer_s: segment.buffer.as_secs_f64(),
                })
                .collect(),
            abandoned: session
                .abandoned
                .iter()
                .map(|vain| Abandoned {
                    segment: vain.segment as u64,
                    level: level(vain.level),
                    got_bytes: vain.got.get(),
                    asked_s: since(vain.asked),
                    at_s: since(vain.at),
                })
                .collect(),
            pauses: None,
            seeks: None,
            samples: about.samples,
            audio: None,
            errors: about.errors,
            extra: None,
        }
    }
}
