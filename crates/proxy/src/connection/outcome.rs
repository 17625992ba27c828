//! Outcome of a client connection, for its end and for the access log.

use crate::relay::End;

/// Reason for the end of a client connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The end of the proxy cut it.
    Shutdown,
    /// All requests were served.
    Closed,
    /// The client did not complete a request in time.
    TooSlow,
    /// It, or its request, came from this proxy itself.
    Loop,
    /// There was no TLS session.
    TlsFailed,
    /// Missing or wrong credentials.
    Unauthorized,
    /// The client has to wait after failed logins.
    LockedOut,
    /// The user was removed, or has another password.
    Revoked,
    /// The client asked for the abilities of the converter.
    Asked,
    /// A relay between client and server ended.
    Relay(End),
    /// A request was invalid or failed, for this reason.
    Failed(&'static str),
}

impl Outcome {
    /// Name in the access log.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Shutdown => "shutdown",
            Self::Closed => "closed",
            Self::TooSlow => "too slow",
            Self::Loop => "loop",
            Self::TlsFailed => "tls failed",
            Self::Unauthorized => "unauthorized",
            Self::LockedOut => "locked out",
            Self::Revoked => "revoked",
            Self::Asked => "asked",
            Self::Relay(end) => end.name(),
            Self::Failed(reason) => reason,
        }
    }
}
