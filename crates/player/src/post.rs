//! Uploads of records to a collector.

use crate::http::{Client, HttpError, Network};
use playback::Record;
use std::fmt;
use std::time::Duration;
use url::Url;

/// Error of an upload.
#[derive(Debug)]
pub enum PostError {
    /// The collector could not be reached.
    Http(HttpError),
    /// The collector rejected the record: its status and message.
    Refused(u16, String),
    /// The client could not be set up.
    System(std::io::Error),
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(error) => error.fmt(f),
            Self::Refused(status, text) => {
                write!(f, "the collector responds with status {status}: {}", text.trim())
            }
            Self::System(error) => error.fmt(f),
        }
    }
}

impl PostError {
    /// True if no known CA signed the collector's certificate.
    pub fn is_unknown_ca(&self) -> bool {
        matches!(self, Self::Http(HttpError::Connect(_, error)) if tls::is_unknown_ca(error))
    }
}

impl std::error::Error for PostError {}

/// Sends a record to the collector at `base` (docs/reference/session.md), with retries after 0.5
/// and 1 s if they may help. Sending a stored record again is harmless. `token` is the collector's
/// token, if any.
///
/// # Errors
/// If the collector did not store it.
pub fn post(base: &Url, token: Option<&str>, record: &Record, network: &Network) -> Result<(), PostError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(PostError::System)?;
    let mut place = base.clone();
    if !place.path().ends_with("/api/sessions") {
        let path = format!("{}/api/sessions", place.path().trim_end_matches('/'));
        place.set_path(&path);
    }
    let json = record.to_json().to_string().into_bytes();
    runtime.block_on(async {
        let mut client = Client::new(network.clone());
        let mut pause = Duration::from_millis(500);
        let mut left = 2;
        loop {
            let (again, error) = match client.post(&place, token, json.clone()).await {
                Ok((status, _)) if status.is_success() => return Ok(()),
                Ok((status, text)) => {
                    let error = HttpError::Status(status, None);
                    (error.is_transient(), PostError::Refused(status.as_u16(), text))
                }
                Err(error) => (error.is_transient(), PostError::Http(error)),
            };
            if !again || left == 0 {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            (pause, left) = (pause * 2, left - 1);
        }
    })
}
