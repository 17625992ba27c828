//! Counters of the proxy; lock-free and readable at any time.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident),+ $(,)?) => {
        /// Live counters.
        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $name: AtomicU64),+ }

        /// Snapshot of the counters. All count from the start, except `open`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Totals { $($(#[doc = $doc])+ pub $name: u64),+ }

        impl Counters {
            /// Takes a snapshot.
            pub(crate) fn totals(&self) -> Totals {
                Totals { $($name: self.$name.load(Relaxed)),+ }
            }
        }

        impl Totals {
            /// Name, description and value of each counter.
            pub fn each(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![$((stringify!($name), concat!($($doc),+).trim_ascii(), self.$name)),+]
            }
        }
    };
}

counters! {
    /// Client connections accepted.
    accepted,
    /// Client connections currently open.
    open,
    /// Client connections accepted over MPTCP.
    accepted_mptcp,
    /// Client connections reset because the client's address is not in the allow list.
    not_allowed,
    /// Client connections reset because of a connection limit.
    too_many,
    /// Tunnels opened by CONNECT, SOCKS5, Convert or TPROXY.
    tunnels,
    /// HTTP requests answered by a server.
    requests,
    /// Malformed or ambiguous requests.
    bad_requests,
    /// Requests without valid credentials.
    unauthorized,
    /// Requests refused without verification of the password, after failed logins.
    locked_out,
    /// Client connections whose TLS handshake failed.
    tls_failed,
    /// Requests and connections refused because they come from this proxy itself.
    loops,
    /// Requests for a destination that the rules reject.
    refused_destinations,
    /// Requests whose server was not found, not reachable or answered invalidly.
    failed,
    /// Requests whose client closed its connection before the answer.
    abandoned,
    /// Clients that did not complete their request in time.
    too_slow,
    /// Connections ended by the idle timeout, the write timeout or the lifetime limit.
    timed_out,
    /// Bytes relayed from clients to servers.
    bytes_up,
    /// Bytes relayed from servers to clients.
    bytes_down,
    /// Access log lines lost because the writer was too slow or a write failed.
    log_lost,
    /// Failed writes of the access log, for example on a full disk.
    log_write_errors,
}

impl Counters {
    /// Adds one.
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Relaxed);
    }
}

/// Counters of one direction: the proxy's and the connection's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteCounters<'a>(pub(crate) [&'a AtomicU64; 2]);

impl ByteCounters<'_> {
    pub(crate) fn add(self, bytes: u64) {
        for counter in self.0 {
            counter.fetch_add(bytes, Relaxed);
        }
    }
}
