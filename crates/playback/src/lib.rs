//! The record of a session: what a viewer got, as one JSON document that every player writes and the
//! collector keeps. What each member means is in `docs/reference/session.md`, its shape in [`SCHEMA`].
//!
//! The type to know is [`Record`]. [`Record::parse`] reads a document, of which any bytes may have been
//! sent; [`Record::problems`] says where it contradicts itself; [`Record::new`] makes one of a
//! [`abr::Session`].

mod check;
mod make;
mod record;
mod view;

pub mod summary;

pub use make::About;
pub use record::{
    Abandoned, Audio, Cmcd, Failure, Kind, Kpis, Level, Mok, Pause, Player, Record, RecordError, Sample,
    Seek, Segment, Settings, Stall, Switch, Video, Viewing,
};
pub use summary::Summary;

/// The JSON Schema (2020-12) of a record.
pub const SCHEMA: &str = include_str!("../session.schema.json");

/// The largest document that is read, in bytes.
pub const LARGEST: usize = 4 << 20;

/// What [`Record::format`] says.
pub const FORMAT: &str = "tandem-session/1";
