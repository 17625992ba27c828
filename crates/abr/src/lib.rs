//! Adaptive bitrate (ABR) player, sans-IO: playback buffer, start-up, stalls, and the choice of
//! each segment's bitrate.
//!
//! [`Player`] requests the segments of a [`Manifest`] and records a [`Session`]. A [`Rule`] chooses
//! the bitrates: one of [`RULES`], or a [`RuleFactory`] of another crate. [`Viewer`] runs a player
//! over one HTTP/1.1 connection; [`Server`] parses its requests.

mod estimate;
mod http;
mod manifest;
mod player;
mod rule;
mod session;
mod viewer;

pub use estimate::Estimate;
pub use http::Server;
pub use manifest::{Manifest, ManifestError};
pub use player::{Player, PlayerConfig, Request};
pub use rule::{
    AbrRule, BOLA, BOLA_BASIC, BOLA_E, BUFFER, Choice, Progress, RULES, Rule, RuleEntry, RuleError,
    RuleFactory, THROUGHPUT, View,
};
pub use session::{Abandoned, Encoding, Fetched, Kpis, Session, Stall, Wait};
pub use viewer::{Sight, Video, Viewer};
