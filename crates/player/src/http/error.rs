//! Error of a request.

use hyper::StatusCode;
use playback::ReasonKind;
use std::fmt;
use std::io;
use std::time::Duration;

/// Error of a request.
#[derive(Debug)]
pub enum HttpError {
    /// Invalid URL, or an unsupported scheme.
    Url(String),
    /// No connection: the destination and the reason.
    Connect(String, io::Error),
    /// The connection failed.
    Broken(String),
    /// Timeout: what is missing, and the time.
    Timeout(&'static str, Duration),
    /// Unexpected status.
    Status(StatusCode, Option<Duration>),
    /// Invalid response.
    Invalid(String),
}

impl HttpError {
    /// True if a retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Url(_) | Self::Invalid(_) => false,
            Self::Connect(_, error) => tls::reason(error).is_none(),
            Self::Broken(_) | Self::Timeout(..) => true,
            Self::Status(status, _) => {
                status.is_server_error()
                    || *status == StatusCode::REQUEST_TIMEOUT
                    || *status == StatusCode::TOO_MANY_REQUESTS
            }
        }
    }

    /// Status of the response, if there was one.
    pub fn status(&self) -> Option<u16> {
        if let Self::Status(status, _) = self { Some(status.as_u16()) } else { None }
    }

    /// Kind of the failure for a record.
    pub fn kind(&self) -> ReasonKind {
        match self {
            Self::Status(..) | Self::Invalid(_) => ReasonKind::Http,
            Self::Connect(..) | Self::Broken(_) => ReasonKind::Network,
            Self::Timeout(..) => ReasonKind::Timeout,
            Self::Url(_) => ReasonKind::Other,
        }
    }

    /// Description of the failed request for `url`, such as `HTTP 404 Not Found on http://…`.
    pub fn on(&self, url: &str) -> String {
        match self {
            Self::Status(status, _) => format!("HTTP {status} on {url}"),
            _ => format!("{self}, on {url}"),
        }
    }

    /// Requested delay (`Retry-After`).
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::Status(_, after) = self { *after } else { None }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(what) | Self::Broken(what) | Self::Invalid(what) => f.write_str(what),
            Self::Connect(to, error) => {
                // The error may name the destination itself.
                let text = tls::reason(error).unwrap_or_else(|| error.to_string());
                let reason = text.strip_prefix(&format!("cannot connect to {to}: ")).unwrap_or(&text);
                let reason = reason.split(" (os error").next().unwrap_or_default();
                write!(f, "cannot connect to {to}: {reason}")
            }
            Self::Timeout(what, after) => write!(f, "{what} within {} s", after.as_secs_f64()),
            Self::Status(status, _) => write!(f, "the server responds with status {status}"),
        }
    }
}

impl std::error::Error for HttpError {}
