//! The playback record of a video session: one JSON document that every player writes and the
//! collector stores. `docs/reference/session.md` describes its members, [`SCHEMA`] its shape.
//!
//! The main type is [`Record`]. [`Record::parse`] reads and checks an untrusted document,
//! [`Record::problems`] lists contradictions in a record, and [`Record::new`] builds a record from
//! an [`abr::Session`]. [`summary`] compares sessions.

mod check;
mod make;
mod record;
mod view;

pub mod summary;

pub use check::{MAX_ENTRIES, MAX_URL_CHARS};
pub use make::Metadata;
pub use record::{
    Abandoned, Audio, Cmcd, Failure, Kind, Kpis, Level, Mok, Pause, Player, Reason, ReasonKind, Record,
    RecordError, Sample, Seek, Segment, Settings, Stall, State, Switch, Video, Viewing,
};
pub use summary::Summary;

/// JSON Schema (2020-12) of a record.
pub const SCHEMA: &str = include_str!("../session.schema.json");

/// Maximum size of a document, in bytes.
pub const MAX_RECORD_BYTES: usize = 4 << 20;

/// Value of [`Record::format`].
pub const FORMAT: &str = "tandem-session/2";

/// The former format, which is still read: without `state`, and with a MOS in every session.
pub const FORMER_FORMAT: &str = "tandem-session/1";
