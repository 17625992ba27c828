//! Errors before playback.

use crate::http::HttpError;
use playback::{Reason, ReasonKind};

/// Error before playback.
#[derive(Debug)]
pub enum PlayError {
    /// Invalid manifest, or an unsupported feature.
    Manifest(String),
    /// A segment index or file of a representation is invalid, or does not fit those of the others.
    Index(String),
    /// The manifest could not be loaded: its address, and the reason.
    Http(String, HttpError),
    /// A system feature is missing.
    System(String),
}

impl PlayError {
    /// Reason for the record of a session that failed before playback. `None` if there is no session:
    /// the machine lacks something.
    pub(crate) fn reason(&self) -> Option<Reason> {
        let (kind, message) = match self {
            Self::Manifest(what) | Self::Index(what) => (ReasonKind::Manifest, what.clone()),
            Self::Http(place, error) => (error.kind(), error.on(place)),
            Self::System(_) => return None,
        };
        Some(Reason { kind, message: message.chars().take(1_000).collect() })
    }
}

impl std::fmt::Display for PlayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Manifest(what) | Self::Index(what) | Self::System(what) => f.write_str(what),
            Self::Http(place, error) => f.write_str(&error.on(place)),
        }
    }
}

impl std::error::Error for PlayError {}
