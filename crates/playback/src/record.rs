//! The document's shape. Its bounds are those of the schema, which a test holds beside it.

use crate::{FORMAT, LARGEST};
use core::fmt;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a viewer got. Times are in seconds since `started_at`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Record {
    pub format: String,
    pub id: String,
    pub started_at: String,
    pub player: Player,
    pub video: Video,
    pub settings: Settings,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewing: Option<Viewing>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub versions: BTreeMap<String, String>,
    pub rule: String,
    pub complete: bool,
    pub duration_s: f64,
    pub played_s: f64,
    pub kpis: Kpis,
    pub stalls: Vec<Stall>,
    pub switches: Vec<Switch>,
    pub segments: Vec<Segment>,
    pub abandoned: Vec<Abandoned>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Vec<Pause>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeks: Option<Vec<Seek>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<Vec<Sample>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<Vec<Audio>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<Failure>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
}

/// Which player it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Player {
    pub name: String,
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
}

/// What was played.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Video {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_duration_s: Option<f64>,
    pub levels: Vec<Level>,
}

/// What kind of source the video had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A DASH manifest.
    Dash,
    /// A list of the segments' sizes.
    Sizes,
    /// One file.
    File,
    /// YouTube's own player.
    Youtube,
    /// A simulation.
    Simulated,
}

impl Kind {
    /// The word that the document has for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dash => "dash",
            Self::Sizes => "sizes",
            Self::File => "file",
            Self::Youtube => "youtube",
            Self::Simulated => "simulated",
        }
    }
}

/// One of the video's bitrates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Level {
    pub bitrate_kbps: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fps: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
}

/// How the player was told to play, as far as that is known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Settings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_buffer_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abandon: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cmcd: Option<Cmcd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mptcp: Option<bool>,
}

/// How the player's state went with its requests (CTA-5004).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cmcd {
    /// As header fields.
    Header,
    /// As an argument of the query.
    Query,
    /// Not at all.
    Off,
}

/// The display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Viewing {
    pub handheld: bool,
    pub width: u32,
    pub height: u32,
    pub distance_cm: u32,
}

/// The session in a few figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Kpis {
    pub initial_load_s: f64,
    pub initial_load_open: bool,
    /// `None` where it stalled and nothing was played.
    #[serde(deserialize_with = "present")]
    pub stalls_per_s: Option<f64>,
    pub mean_stall_s: f64,
    pub stalls: u64,
    pub stalled_s: f64,
    #[serde(default)]
    pub mean_bitrate_kbps: Option<f64>,
    pub switches: u64,
    pub mok: Mok,
    #[serde(default)]
    pub linear: Option<f64>,
}

/// The member has to be there, even if it is `null`.
fn present<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Option<f64>, D::Error> {
    Option::deserialize(reader)
}

/// Levels and MOS of Mok, Chan, Chang 2011.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Mok {
    pub initial_level: u8,
    pub frequency_level: u8,
    pub stall_level: u8,
    pub mos: f64,
}

/// A wait in the middle of the video.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Stall {
    pub start_s: f64,
    pub end_s: f64,
    pub position_s: f64,
    pub open: bool,
}

/// A change of level that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Switch {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<u64>,
    pub from_level: u8,
    pub to_level: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position_s: Option<f64>,
}

/// A segment that came.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Segment {
    pub segment: u64,
    pub level: u8,
    pub bitrate_kbps: f64,
    pub size_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    pub asked_s: f64,
    pub first_byte_s: f64,
    pub arrived_s: f64,
    pub buffer_s: f64,
}

/// A segment that was given up on its way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Abandoned {
    pub segment: u64,
    pub level: u8,
    pub got_bytes: u64,
    pub asked_s: f64,
    pub at_s: f64,
}

/// The viewer stopped the play.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Pause {
    pub start_s: f64,
    pub end_s: f64,
}

/// The viewer went to another place in the video, and waited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Seek {
    pub start_s: f64,
    pub end_s: f64,
    pub from_s: f64,
    pub to_s: f64,
}

/// The player at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Sample {
    pub at_s: f64,
    pub buffer_s: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_kbps: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
}

/// A stretch of audio, for P.1203.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Audio {
    pub duration_s: f64,
    pub bitrate_kbps: f64,
    pub codec: String,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Failure {
    pub at_s: f64,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    pub fatal: bool,
}

/// Why bytes are no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordError {
    /// More than [`LARGEST`] bytes; it has so many.
    TooLarge(usize),
    /// No JSON, or not of this shape: what is wrong, and at which line and column.
    Malformed(String),
    /// Of the right shape, but out of bounds or in contradiction with itself: everything that is wrong.
    Wrong(Vec<String>),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(bytes) => {
                write!(f, "expected a record of at most {LARGEST} bytes, found {bytes}")
            }
            Self::Malformed(what) => f.write_str(what),
            Self::Wrong(problems) => f.write_str(&problems.join("; ")),
        }
    }
}

impl core::error::Error for RecordError {}

impl Record {
    /// Reads a document, and checks it.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordError> {
        if bytes.len() > LARGEST {
            return Err(RecordError::TooLarge(bytes.len()));
        }
        let record: Self =
            serde_json::from_slice(bytes).map_err(|error| RecordError::Malformed(error.to_string()))?;
        let problems = record.problems();
        if problems.is_empty() { Ok(record) } else { Err(RecordError::Wrong(problems)) }
    }

    /// The document. A number that is not finite is `null`.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }

    /// The document as text, indented.
    pub fn to_text(&self) -> String {
        let mut text = format!("{:#}", self.to_json());
        text.push('\n');
        text
    }

    /// Whether it says that it is of the format that is known here.
    pub fn known(&self) -> bool {
        self.format == FORMAT
    }
}
