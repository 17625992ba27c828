//! Error of a session that cannot begin.

use crate::http::HttpError;

/// Error before playback began.
#[derive(Debug)]
pub enum PlayError {
    /// Invalid manifest, or an unsupported feature.
    Manifest(String),
    /// The manifest could not be loaded: its address, and the reason.
    Http(String, HttpError),
    /// A system feature is missing.
    System(String),
}

impl std::fmt::Display for PlayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Manifest(what) | Self::System(what) => f.write_str(what),
            Self::Http(place, error) => write!(f, "{place}: {error}"),
        }
    }
}

impl std::error::Error for PlayError {}
