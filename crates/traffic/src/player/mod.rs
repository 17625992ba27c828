//! An adaptive player, sans-IO: buffer, start-up, stalls, and which bitrate comes next.

mod estimate;
mod http;
mod machine;
mod manifest;
mod rule;
mod session;
mod viewer;

pub use estimate::Estimate;
pub use http::Server;
pub use machine::{Player, PlayerConfig, Request};
pub use manifest::{Manifest, ManifestError};
pub use rule::{Rule, RuleError};
pub use session::{Abandoned, Encoding, Fetched, Kpis, Session, Stall, Wait};
pub use viewer::{Sight, Video, Viewer};
