//! Network settings of the client.

use super::proxy::Proxy;
use std::time::Duration;
use tls::ClientTls;

/// Network settings: proxy, sockets, timeouts and retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// HTTP proxy.
    pub proxy: Option<Proxy>,
    /// TLS of https: addresses; `None` trusts the CAs of the system.
    pub tls: Option<ClientTls>,
    /// Opens MPTCP sockets.
    pub mptcp: bool,
    /// Timeout of a connection, including TLS and the proxy's handshake.
    pub connect: Duration,
    /// Timeout between received bytes, before and within a response.
    pub patience: Duration,
    /// Number of retries, after 0.5, 1, 2, 4 and 8 s, or after the server's `Retry-After` up to 30
    /// s.
    pub retries: u32,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            proxy: None,
            tls: None,
            mptcp: false,
            connect: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            retries: 4,
        }
    }
}
