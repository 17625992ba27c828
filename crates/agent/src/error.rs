//! Errors of the agent.

use std::io;
use thiserror::Error as Derive;

/// Reason why the agent cannot start or continue.
#[derive(Debug, Derive)]
pub enum Error {
    /// A privilege or a kernel feature is missing, or the kernel rejected a request.
    #[error(transparent)]
    System(#[from] linux::Error),
    /// A file of the state directory cannot be read or written.
    #[error("cannot read or write {file} in the state directory: {source}")]
    State {
        /// Name of the file.
        file: String,
        /// Cause.
        source: io::Error,
    },
    /// The UNIX socket cannot be opened.
    #[error(transparent)]
    Socket(linux::unix_socket::BindError),
    /// A listening socket cannot be opened.
    #[error("cannot listen at {at}: {source}")]
    Listen {
        /// Path or address of the socket.
        at: String,
        /// Cause.
        source: io::Error,
    },
    /// Some changes of the agent remain.
    #[error("{failed} of {all} changes could not be undone: {last}")]
    NotUndone {
        /// Number of changes that remain.
        failed: usize,
        /// Number of changes that were to be undone.
        all: usize,
        /// Error of the last one.
        last: linux::Error,
    },
    /// Another agent is running.
    #[error("another agent is running: it holds {at}")]
    AlreadyRunning {
        /// Socket or directory it holds.
        at: String,
    },
}

impl Error {
    pub(crate) fn state(file: &str, source: io::Error) -> Self {
        Self::State { file: file.to_owned(), source }
    }

    /// Suggested remedy; may be empty.
    pub fn hint(&self) -> &str {
        match self {
            Self::System(error) => error.hint(),
            Self::Socket(error) => error.hint(),
            Self::State { .. } => "set another directory as `state` in the configuration",
            Self::Listen { .. } => "set another path as `socket` in `[status]`",
            Self::NotUndone { .. } => "`ip mptcp endpoint` shows them; the next start tries again",
            Self::AlreadyRunning { .. } => {
                "`tandem agent status` queries it; stop it before starting another"
            }
        }
    }

    /// True when a privilege or a kernel feature is missing.
    pub fn is_missing_requirement(&self) -> bool {
        matches!(self, Self::System(linux::Error::Lacks { .. }))
    }
}
