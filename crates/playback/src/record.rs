//! Types of the playback record. A test compares them with the schema.

use crate::{FORMAT, FORMER_FORMAT, MAX_RECORD_BYTES};
use core::fmt;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The playback record. Times are in seconds since `started_at`.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    pub versions: BTreeMap<String, String>,
    pub rule: String,
    pub complete: bool,
    /// `None` in documents of the former format; see [`Record::outcome`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Present if the session failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
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

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The video was played to its end.
    Finished,
    /// The viewer, a time limit or the end of a run ended the session before the video.
    Left,
    /// An error ended the session.
    Failed,
}

impl State {
    /// Name in the document.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Left => "left",
            Self::Failed => "failed",
        }
    }
}

/// Reason of a failed session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Reason {
    pub kind: ReasonKind,
    pub message: String,
}

/// Kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasonKind {
    /// An HTTP status other than success, or an invalid response.
    Http,
    /// No connection, or a broken one.
    Network,
    /// No data for the timeout of the player.
    Timeout,
    /// Invalid manifest, or an unsupported feature of it.
    Manifest,
    /// The video cannot be decoded.
    Decode,
    /// Any other reason.
    Other,
}

/// The player.
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

/// The video.
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

/// Kind of the video's source.
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
    /// Name in the document.
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

/// One bitrate of the video.
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

/// Settings of the player, as far as they are known.
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

/// Transmission of the player's state with its requests (CMCD, CTA-5004).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cmcd {
    /// In header fields.
    Header,
    /// In a query argument.
    Query,
    /// Not sent.
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

/// Key performance indicators of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Kpis {
    pub initial_load_s: f64,
    pub initial_load_open: bool,
    /// `None` if the session stalled before any playback.
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
    pub emos: Option<f64>,
    #[serde(default)]
    pub linear: Option<f64>,
}

/// Deserializes a member that must be present but may be `null`.
fn present<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Option<f64>, D::Error> {
    Option::deserialize(reader)
}

/// Levels and MOS by Mok, Chan, Chang 2011.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Mok {
    pub initial_level: u8,
    pub frequency_level: u8,
    pub stall_level: u8,
    /// `None` without a picture.
    #[serde(deserialize_with = "present")]
    pub mos: Option<f64>,
    /// Highest MOS of the model.
    #[serde(default)]
    pub mos_max: Option<f64>,
}

/// An interruption of playback by an empty buffer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Stall {
    pub start_s: f64,
    pub end_s: f64,
    pub position_s: f64,
    pub open: bool,
}

/// A change of level between consecutive segments in playback.
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

/// A received segment.
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

/// A segment download that the player abandoned.
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

/// A pause by the viewer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Pause {
    pub start_s: f64,
    pub end_s: f64,
}

/// A seek by the viewer, and the wait after it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Seek {
    pub start_s: f64,
    pub end_s: f64,
    pub from_s: f64,
    pub to_s: f64,
}

/// A sample of the player's state.
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

/// A piece of audio, for P.1203.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "docs/reference/session.md says what each member is")]
pub struct Audio {
    pub duration_s: f64,
    pub bitrate_kbps: f64,
    pub codec: String,
}

/// An error during the session.
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

/// Reason for rejecting a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordError {
    /// The document has more than [`MAX_RECORD_BYTES`] bytes; holds its size.
    TooLarge(usize),
    /// The document is not JSON or has the wrong shape; holds the error with line and column.
    Malformed(String),
    /// The document is out of bounds or contradicts itself; holds all problems.
    Wrong(Vec<String>),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(bytes) => {
                write!(f, "expected a record of at most {MAX_RECORD_BYTES} bytes, found {bytes}")
            }
            Self::Malformed(error) => f.write_str(error),
            Self::Wrong(problems) => f.write_str(&problems.join("; ")),
        }
    }
}

impl core::error::Error for RecordError {}

impl Record {
    /// Reads a document and checks it.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordError> {
        let record = Self::parse_accepted(bytes)?;
        let problems = record.problems();
        if problems.is_empty() { Ok(record) } else { Err(RecordError::Wrong(problems)) }
    }

    /// Reads a document that was accepted earlier, perhaps by a version with fewer checks.
    pub fn parse_accepted(bytes: &[u8]) -> Result<Self, RecordError> {
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(RecordError::TooLarge(bytes.len()));
        }
        serde_json::from_slice(bytes).map_err(|error| RecordError::Malformed(error.to_string()))
    }

    /// State of the session and, if it failed, the reason. Documents of the former format have no
    /// state: it follows from `complete` and from the fatal error.
    pub fn outcome(&self) -> (State, Option<Reason>) {
        if let Some(state) = self.state {
            return (state, self.reason.clone());
        }
        if self.complete {
            return (State::Finished, None);
        }
        let Some(error) = self.errors.iter().flatten().find(|error| error.fatal) else {
            return (State::Left, None);
        };
        let kind = if error.status.is_some() { ReasonKind::Http } else { ReasonKind::Other };
        (State::Failed, Some(Reason { kind, message: error.message.clone() }))
    }

    /// The label; `None` if it is empty.
    pub fn nonempty_label(&self) -> Option<&str> {
        self.label.as_deref().filter(|label| !label.is_empty())
    }

    /// The record as JSON. A number that is not finite becomes `null`.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }

    /// The record as indented JSON text.
    pub fn to_text(&self) -> String {
        let mut text = format!("{:#}", self.to_json());
        text.push('\n');
        text
    }

    /// Whether the record has the supported format.
    pub fn has_known_format(&self) -> bool {
        [FORMAT, FORMER_FORMAT].contains(&self.format.as_str())
    }
}
