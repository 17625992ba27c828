//! Radio profiles as TOML: description, reader and writer.

mod format;
mod read;
mod write;

pub use format::{KINDS, PROFILE, PROFILE_SHAPE};
pub use read::ProfileValue;
pub(crate) use read::{from_fields, from_toml};
pub(crate) use write::to_toml;

/// The duration of a state that only a packet ends.
const ENDLESS: &str = "endless";
