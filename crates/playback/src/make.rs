//! Builds a record from a session of the player in `abr`.

use crate::FORMAT;
use crate::record::{
    Abandoned, Failure, Kpis, Mok, Player, Reason, Record, Sample, Segment, Settings, Stall, State, Switch,
    Video, Viewing,
};
use abr::Session;
use std::collections::BTreeMap;
use units::{Bitrate, Duration, Instant};

/// Data of a record that the session itself does not contain.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    /// Unique for each session: 8 to 64 letters, digits, `-`, `_`, `.`.
    pub id: String,
    /// Time at which the viewer started the video, such as `2026-11-22T08:25:04.123Z`.
    pub started_at: String,
    /// The player.
    pub player: Player,
    /// The video.
    pub video: Video,
    /// Settings of the player.
    pub settings: Settings,
    /// The display.
    pub viewing: Option<Viewing>,
    /// Label chosen by the user, by which sessions are grouped.
    pub label: Option<String>,
    /// Name or kind of the device.
    pub device: Option<String>,
    /// Time zone of the device.
    pub zone: Option<String>,
    /// Names and versions of the other components.
    pub versions: BTreeMap<String, String>,
    /// Samples of the player's state.
    pub samples: Option<Vec<Sample>>,
    /// Errors during the session.
    pub errors: Option<Vec<Failure>>,
    /// Reason for which the session failed, if it did.
    pub reason: Option<Reason>,
}

impl Record {
    /// The record of a session.
    pub fn new(metadata: Metadata, session: &Session) -> Self {
        Self {
            format: FORMAT.to_owned(),
            id: metadata.id,
            started_at: metadata.started_at,
            player: metadata.player,
            video: metadata.video,
            settings: metadata.settings,
            viewing: metadata.viewing,
            label: metadata.label,
            device: metadata.device,
            zone: metadata.zone,
            versions: metadata.versions,
            rule: session.rule.name().to_owned(),
            complete: session.complete,
            state: Some(match (session.complete, &metadata.reason) {
                (true, _) => State::Finished,
                (false, None) => State::Left,
                (false, Some(_)) => State::Failed,
            }),
            reason: metadata.reason.filter(|_| !session.complete),
            duration_s: since_start(session, session.end),
            played_s: session.played.as_secs_f64(),
            kpis: kpis(session),
            stalls: stalls(session),
            switches: switches(session),
            segments: segments(session),
            abandoned: abandoned(session),
            pauses: None,
            seeks: None,
            samples: metadata.samples,
            audio: None,
            errors: metadata.errors,
            extra: None,
        }
    }
}

fn since_start(session: &Session, time: Instant) -> f64 {
    time.since(session.start).as_secs_f64()
}

fn kbps(rate: Bitrate) -> f64 {
    rate.as_bps() as f64 / 1e3
}

/// A level as the record stores it.
fn level(level: usize) -> u8 {
    u8::try_from(level).unwrap_or(u8::MAX)
}

fn kpis(session: &Session) -> Kpis {
    let kpis = session.kpis();
    Kpis {
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
            mos_max: Some(qoe::Mok::default().max_mos()),
        },
        emos: kpis.emos,
        linear: kpis.linear,
    }
}

fn stalls(session: &Session) -> Vec<Stall> {
    let stalls = session.stalls.iter().map(|stall| Stall {
        start_s: since_start(session, stall.start),
        end_s: since_start(session, stall.end),
        position_s: stall.position.as_secs_f64(),
        open: stall.open,
    });
    stalls.collect()
}

fn switches(session: &Session) -> Vec<Switch> {
    let mut position = Duration::ZERO;
    let mut positions = Vec::new();
    for (_, span) in session.shown() {
        positions.push(position.as_secs_f64());
        position += span;
    }
    let switches = session.switches().map(|(before, after)| Switch {
        segment: Some(after.segment as u64),
        from_level: level(before.level),
        to_level: level(after.level),
        position_s: positions.get(after.segment).copied(),
    });
    switches.collect()
}

fn segments(session: &Session) -> Vec<Segment> {
    let segments = session.segments.iter().map(|segment| Segment {
        segment: segment.segment as u64,
        level: level(segment.level),
        bitrate_kbps: kbps(segment.bitrate),
        size_bytes: segment.size.get(),
        duration_s: (segment.duration != session.segment_duration).then(|| segment.duration.as_secs_f64()),
        asked_s: since_start(session, segment.asked),
        first_byte_s: since_start(session, segment.first_byte),
        arrived_s: since_start(session, segment.arrived),
        buffer_s: segment.buffer.as_secs_f64(),
    });
    segments.collect()
}

fn abandoned(session: &Session) -> Vec<Abandoned> {
    let abandoned = session.abandoned.iter().map(|download| Abandoned {
        segment: download.segment as u64,
        level: level(download.level),
        got_bytes: download.got.get(),
        asked_s: since_start(session, download.asked),
        at_s: since_start(session, download.at),
    });
    abandoned.collect()
}
