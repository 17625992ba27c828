//! What a proxy counts while it works; anybody may read it at any time.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident),+ $(,)?) => {
        /// The counters, as they grow.
        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $name: AtomicU64),+ }

        /// The counters at one moment. All are since the start, but for those that say now.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Totals { $($(#[doc = $doc])+ pub $name: u64),+ }

        impl Counters {
            /// How they stand.
            pub(crate) fn totals(&self) -> Totals {
                Totals { $($name: self.$name.load(Relaxed)),+ }
            }
        }

        impl Totals {
            /// Name, meaning and value of each.
            pub fn each(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![$((stringify!($name), concat!($($doc),+).trim_ascii(), self.$name)),+]
            }
        }
    };
}

counters! {
    /// Connections of clients that were taken.
    accepted,
    /// Connections of clients now.
    open,
    /// Connections of clients that speak MPTCP.
    accepted_mptcp,
    /// Connections of clients that were turned away: not in the allow-list.
    not_allowed,
    /// Connections of clients that were turned away: there were too many, of all or of that client.
    too_many,
    /// Requests for a tunnel, by CONNECT, SOCKS5, Convert or TPROXY, that were served.
    tunnels,
    /// Requests of HTTP that were answered by a server.
    requests,
    /// Requests that were malformed, or could be understood in two ways.
    bad_requests,
    /// Requests without a name and secret that are known.
    unauthorized,
    /// Requests for a destination that is refused.
    refused_destinations,
    /// Requests whose server could not be found or reached, or answered nonsense.
    failed,
    /// Clients that took too long to say what they want.
    too_slow,
    /// Connections that were ended for idleness or age.
    timed_out,
    /// Bytes from clients to servers.
    bytes_up,
    /// Bytes from servers to clients.
    bytes_down,
    /// Lines of the access log that could not be written in time.
    log_lost,
}

impl Counters {
    /// One more.
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Relaxed);
    }
}

/// Where the bytes of a flow are counted: of all, and of the connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally<'a>(pub(crate) [&'a AtomicU64; 2]);

impl Tally<'_> {
    pub(crate) fn add(self, bytes: u64) {
        for counter in self.0 {
            counter.fetch_add(bytes, Relaxed);
        }
    }
}
