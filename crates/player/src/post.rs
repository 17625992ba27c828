//! Records on their way to a collector.

use crate::Network;
use crate::http::{Client, HttpError};
use playback::Record;
use std::fmt;
use std::time::Duration;
use url::Url;

/// Why a collector did not take a record.
#[derive(Debug)]
pub enum PostError {
    /// It could not be reached.
    Http(HttpError),
    /// It was reached, and does not want it: its status, and what it says.
    Refused(u16, String),
    /// There is nothing to reach it with.
    System(std::io::Error),
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(error) => error.fmt(f),
            Self::Refused(status, text) => write!(f, "the collector answers {status}: {}", text.trim()),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PostError {}

/// Sends a record to the collector at `base` (docs/reference/session.md), again after 0.5 and 1 s where that may help.
/// Sending one that is there already is harmless. `token` is what the collector may ask for.
///
/// # Errors
/// Where the collector has not taken it.
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
                    (error.passing(), PostError::Refused(status.as_u16(), text))
                }
                Err(error) => (error.passing(), PostError::Http(error)),
            };
            if !again || left == 0 {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            (pause, left) = (pause * 2, left - 1);
        }
    })
}
