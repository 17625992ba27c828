//! Errors of system calls and netlink requests.

use std::io;
use thiserror::Error;

/// Error of a system call, a netlink request, or a started program.
#[derive(Debug, Error)]
pub enum Error {
    /// A privilege, a device or a kernel feature is missing.
    #[error("{what}")]
    Lacks {
        /// Failed action and its cause.
        what: String,
        /// How to provide it.
        hint: String,
    },
    /// A system call failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// Attempted action, such as `open /dev/net/tun`.
        doing: String,
        /// Error of the system call.
        source: io::Error,
    },
    /// A program could not be executed.
    #[error("cannot run {name}: {source}")]
    Program {
        /// Name of the program.
        name: String,
        /// Error of the system call.
        source: io::Error,
    },
    /// The kernel rejected a netlink request (NLMSG_ERROR).
    #[error("cannot {doing}: {source}{}", parenthesized(message))]
    Refused {
        /// Requested action.
        doing: String,
        /// Error number of the acknowledgement.
        source: io::Error,
        /// Message of the extended acknowledgement; may be empty.
        message: String,
    },
    /// The kernel's response could not be parsed.
    #[error("cannot {doing}: malformed response of the kernel: {detail}")]
    Malformed {
        /// Requested action.
        doing: String,
        /// Defect of the response.
        detail: String,
    },
}

fn parenthesized(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(" ({message})") }
}

impl Error {
    /// Error of a failed system call. `doing` is a verb phrase such as `open /dev/net/tun`.
    /// Permission errors become [`Error::Lacks`] with a hint on privileges.
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

    /// Suggested remedy; may be empty.
    pub fn hint(&self) -> &str {
        match self {
            Self::Lacks { hint, .. } => hint,
            _ if self.errno() == Some(libc::EMFILE) => {
                "raise the limit of open files of this process: `ulimit -n`"
            }
            Self::System { .. } | Self::Program { .. } | Self::Refused { .. } | Self::Malformed { .. } => "",
        }
    }

    /// The `errno` value, if any.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::System { source, .. } | Self::Program { source, .. } | Self::Refused { source, .. } => {
                source.raw_os_error()
            }
            Self::Lacks { .. } | Self::Malformed { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lack_of_descriptors_has_a_hint() {
        let error = Error::system("open a socket", io::Error::from_raw_os_error(libc::EMFILE));
        assert!(error.hint().contains("ulimit -n"), "{}", error.hint());
        assert_eq!(Error::system("open a socket", io::Error::from_raw_os_error(libc::EIO)).hint(), "");
    }
}
