//! Adaptive bitrate (ABR) player, sans-IO: playback buffer, start-up, stalls, and the choice of each
//! segment's bitrate.
//!
//! [`Player`] requests the segments of a [`Manifest`] and records a [`Session`]. A [`Rule`] chooses the
//! bitrates. [`Viewer`] runs a player over one HTTP/1.1 connection; [`Server`] parses its requests.

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
pub use rule::{Rule, RuleError};
pub use session::{Abandoned, Encoding, Fetched, Kpis, Session, Stall, Wait};
pub use viewer::{Sight, Video, Viewer};
