//! Errors of the proxy as a whole.

use crate::config::ListenerProtocol;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error as Derive;

/// Fatal error of a proxy, at start or reload.
#[derive(Debug, Derive)]
pub enum Error {
    /// A system call failed, or the system lacks a feature.
    #[error(transparent)]
    System(#[from] linux::Error),
    /// The listener would be an open proxy.
    #[error("the listener at {at} ({}) would be an open proxy", serve.name())]
    OpenProxy {
        /// Listening address.
        at: SocketAddr,
        /// Protocol of the listener.
        serve: ListenerProtocol,
    },
    /// Clients would send passwords in clear over a network.
    #[error("the listener at {at} ({}) would receive passwords in clear text over a network", serve.name())]
    ClearPasswords {
        /// Listening address.
        at: SocketAddr,
        /// Protocol of the listener.
        serve: ListenerProtocol,
    },
    /// The listener cannot have TLS.
    #[error("the listener at {at} ({}) cannot have TLS", serve.name())]
    NoTls {
        /// Listening address.
        at: SocketAddr,
        /// Protocol of the listener.
        serve: ListenerProtocol,
    },
    /// The proxy would send its credential in clear over a network.
    #[error("the credential would reach the upstream {0} in clear text over a network")]
    ClearCredential(String),
    /// The metrics would be open to everybody at the address.
    #[error("everybody who reaches {0} could read the metrics")]
    OpenMetrics(SocketAddr),
    /// A thread, the access log or a socket could not be set up.
    #[error("cannot {doing}: {source}")]
    Setup {
        /// Failed action.
        doing: String,
        /// Cause.
        source: io::Error,
    },
    /// The limit of open files leaves no room for a connection.
    #[error("this process may open only {limit} files, and the proxy needs {needed} for one connection")]
    FewFiles {
        /// Limit of the process.
        limit: u64,
        /// Smallest limit that serves one connection.
        needed: u64,
    },
    /// The status socket cannot be opened.
    #[error(transparent)]
    Socket(linux::unix_socket::BindError),
    /// Another process serves the status socket.
    #[error("another proxy is already running: it listens at {0}")]
    AlreadyRunning(PathBuf),
}

impl Error {
    pub(crate) fn setup(doing: impl Into<String>, source: io::Error) -> Self {
        Self::Setup { doing: doing.into(), source }
    }

    /// Suggested fix; may be empty.
    pub fn hint(&self) -> &str {
        match self {
            Self::System(error) => error.hint(),
            Self::OpenProxy {
                serve:
                    ListenerProtocol::Convert | ListenerProtocol::Transparent | ListenerProtocol::Redirected,
                ..
            } => "restrict the clients: `allow = [\"192.0.2.0/24\"]` in `[clients]`",
            Self::OpenProxy { .. } => {
                "restrict the clients by `allow = [\"192.0.2.0/24\"]` or `users = \"FILE\"` in `[clients]`"
            }
            Self::OpenMetrics(_) => "restrict the readers: `metrics_from = [\"192.0.2.7/32\"]` in `[status]`",
            Self::Socket(error) => error.hint(),
            Self::ClearPasswords { .. } => {
                "encrypt by `tls = true`, or accept the risk: `clear_passwords = true` in `[clients]`"
            }
            Self::ClearCredential(_) => {
                "encrypt by `[upstream.tls]`, or accept the risk: `clear_passwords = true` in `[upstream]`"
            }
            Self::NoTls { .. } => "TLS is for HTTP and SOCKS5, and needs `certificate` and `key` in `[tls]`",
            Self::FewFiles { .. } => "raise it: `ulimit -n 4096`, or `LimitNOFILE=` of the systemd unit",
            Self::Setup { .. } => "",
            Self::AlreadyRunning(_) => "see `tandem proxy status`; stop it before starting another one",
        }
    }

    /// Whether the system lacks a privilege, a kernel feature or descriptors.
    pub fn is_lack(&self) -> bool {
        matches!(self, Self::System(linux::Error::Lacks { .. }) | Self::FewFiles { .. })
    }
}
