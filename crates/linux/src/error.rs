//! What can go wrong between a program and its kernel.

use std::io;
use thiserror::Error;

/// Why the system did not do what was asked.
#[derive(Debug, Error)]
pub enum Error {
    /// The system lacks something: a privilege, a device, a part of the kernel.
    #[error("{what}")]
    Lacks {
        /// What is missing.
        what: String,
        /// How to get it.
        hint: String,
    },
    /// A system call failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was tried, such as `open /dev/net/tun`.
        doing: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("cannot run {name}: {source}")]
    Program {
        /// The program.
        name: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The kernel refused a netlink request.
    #[error("cannot {doing}: {source}{}", because(message))]
    Refused {
        /// What was asked for.
        doing: String,
        /// The error's number in words.
        source: io::Error,
        /// The kernel's own words (extended acknowledgement), or empty.
        message: String,
    },
    /// The kernel sent something that cannot be read.
    #[error("the kernel's answer to {doing} cannot be read: {detail}")]
    Malformed {
        /// What was asked for.
        doing: String,
        /// What is wrong with it.
        detail: String,
    },
}

fn because(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(" ({message})") }
}

impl Error {
    /// A failed system call: `doing` is a phrase such as `open /dev/net/tun`. Where the reason is a
    /// missing privilege, says which.
    pub fn system(doing: impl Into<String>, source: impl Into<io::Error>) -> Self {
        let (doing, source) = (doing.into(), source.into());
        if matches!(source.raw_os_error(), Some(libc::EPERM | libc::EACCES)) {
            return Self::Lacks {
                what: format!("cannot {doing}: permission denied"),
                hint: "this needs root, or CAP_NET_ADMIN (and CAP_SYS_ADMIN for namespaces)".to_owned(),
            };
        }
        Self::System { doing, source }
    }

    /// What would help; may be empty.
    pub fn hint(&self) -> &str {
        match self {
            Self::Lacks { hint, .. } => hint,
            Self::System { .. } | Self::Program { .. } | Self::Refused { .. } | Self::Malformed { .. } => "",
        }
    }

    /// The error number of the kernel, where there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::System { source, .. } | Self::Program { source, .. } | Self::Refused { source, .. } => {
                source.raw_os_error()
            }
            Self::Lacks { .. } | Self::Malformed { .. } => None,
        }
    }
}
