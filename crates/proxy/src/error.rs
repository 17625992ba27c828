//! Why a proxy cannot begin, or go on.

use crate::config::Serve;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error as Derive;

/// Why a proxy cannot begin, or go on.
#[derive(Debug, Derive)]
pub enum Error {
    /// The system lacks something, or refused something.
    #[error(transparent)]
    System(#[from] linux::Error),
    /// Anybody could use it.
    #[error("the listener at {at} ({}) would be open to everybody", serve.name())]
    Open {
        /// Where it would listen.
        at: SocketAddr,
        /// What it would speak.
        serve: Serve,
    },
    /// Its threads, its access log or its status socket cannot be had.
    #[error("cannot {doing}: {source}")]
    Own {
        /// What was tried.
        doing: String,
        /// What the system answered.
        source: io::Error,
    },
    /// Another proxy is at work there.
    #[error("another proxy is at work: it has {0}")]
    Another(PathBuf),
}

impl Error {
    pub(crate) fn own(doing: impl Into<String>, source: io::Error) -> Self {
        Self::Own { doing: doing.into(), source }
    }

    /// What would help; may be empty.
    pub fn hint(&self) -> &str {
        match self {
            Self::System(error) => error.hint(),
            Self::Open { serve: Serve::Convert | Serve::Transparent, .. } => {
                "say which clients it serves: `allow = [\"192.0.2.0/24\"]` in `[clients]`"
            }
            Self::Open { .. } => {
                "say which clients it serves, by `allow = [\"192.0.2.0/24\"]` or `users = \"FILE\"` in `[clients]`"
            }
            Self::Own { .. } => "",
            Self::Another(_) => "`tandem proxy status` asks it; end it before another begins",
        }
    }

    /// Whether the system lacks something: a privilege, a part of the kernel.
    pub fn is_lack(&self) -> bool {
        matches!(self, Self::System(linux::Error::Lacks { .. }))
    }
}
