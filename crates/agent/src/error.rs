//! Why an agent ends.

use std::io;
use thiserror::Error as Derive;

/// Why an agent cannot begin, or go on.
#[derive(Debug, Derive)]
pub enum Error {
    /// The system lacks something, or refused something.
    #[error(transparent)]
    System(#[from] linux::Error),
    /// What has to outlive the agent cannot be kept.
    #[error("cannot read or write {file} in the state directory: {source}")]
    State {
        /// Which file.
        file: String,
        /// What the system answered.
        source: io::Error,
    },
    /// It cannot listen where it is to be asked.
    #[error("cannot listen at {at}: {source}")]
    Listen {
        /// Where.
        at: String,
        /// What the system answered.
        source: io::Error,
    },
    /// AlreadyRunning agent is at work.
    #[error("another agent is at work: it has {at}")]
    AlreadyRunning {
        /// What it has.
        at: String,
    },
}

impl Error {
    pub(crate) fn state(file: &str, source: io::Error) -> Self {
        Self::State { file: file.to_owned(), source }
    }

    /// What would help; may be empty.
    pub fn hint(&self) -> &str {
        match self {
            Self::System(error) => error.hint(),
            Self::State { .. } => "`state` in the configuration names another directory",
            Self::Listen { .. } => "`socket` in `[status]` names another place",
            Self::AlreadyRunning { .. } => "`tandem agent status` asks it; end it before another begins",
        }
    }

    /// Whether the system lacks something: a privilege, a part of the kernel.
    pub fn is_missing_requirement(&self) -> bool {
        matches!(self, Self::System(linux::Error::Lacks { .. }))
    }
}
