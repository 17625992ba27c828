//! Records of the access log: one line of JSON per client connection and per HTTP request.
//!
//! Omits paths, queries, header fields and passwords. Usernames are logged.

use linux::socket::{self, MptcpInfo, SubflowInfo};
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::TcpStream;

/// One log record.
#[derive(Debug, Default, Serialize)]
pub(crate) struct LogRecord<'a> {
    /// `connection` or `request`.
    pub(crate) event: &'static str,
    /// Id of the connection; a request adds its number.
    pub(crate) id: String,
    /// End time in seconds since 1970.
    pub(crate) time: f64,
    pub(crate) client: String,
    /// Client protocol: `http`, `socks5`, `convert` or `transparent`.
    pub(crate) front: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) destination: Option<String>,
    /// Address of the server connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// Reason for the end.
    pub(crate) outcome: &'a str,
    /// Reason in words, for a connection that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
    pub(crate) seconds: f64,
    /// Bytes from the client; `bytes_down` counts bytes to the client.
    pub(crate) bytes_up: u64,
    pub(crate) bytes_down: u64,
    /// Transport of the client connection: `mptcp` or `tcp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) subflows: Vec<Subflow>,
}

/// Traffic of one subflow of a client connection, in the client's directions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Subflow {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) bytes_up: u64,
    pub(crate) bytes_down: u64,
    pub(crate) rtt_ms: f64,
}

/// Subflow statistics of a client connection. Sampled several times, because the kernel drops the
/// state of closed subflows.
#[derive(Debug, Default)]
pub(crate) struct SubflowStats {
    pub(crate) is_mptcp: bool,
    seen: BTreeMap<u32, Subflow>,
}

impl SubflowStats {
    pub(crate) fn new(is_mptcp: bool) -> Self {
        Self { is_mptcp, seen: BTreeMap::new() }
    }

    /// Samples the kernel's subflow statistics.
    pub(crate) fn sample(&mut self, stream: &TcpStream) {
        if !self.is_mptcp {
            return;
        }
        for one in socket::full_info(stream).unwrap_or_default() {
            self.record(&one);
        }
    }

    fn record(&mut self, one: &SubflowInfo) {
        let seen = Subflow {
            local: one.local,
            remote: one.remote,
            bytes_up: one.tcp.bytes_received,
            bytes_down: one.tcp.bytes_sent.saturating_sub(one.tcp.bytes_retransmitted),
            rtt_ms: f64::from(one.tcp.srtt_us) / 1e3,
        };
        // A closing subflow reports decreasing counters: keep the largest.
        let before = self.seen.entry(one.id).or_insert_with(|| seen.clone());
        if seen.bytes_up + seen.bytes_down >= before.bytes_up + before.bytes_down {
            *before = seen;
        }
    }

    /// Takes the statistics of all subflows seen.
    pub(crate) fn take(&mut self) -> Vec<Subflow> {
        std::mem::take(&mut self.seen).into_values().collect()
    }
}

/// Whether the connection negotiated MPTCP without falling back to TCP.
pub(crate) fn is_mptcp(stream: &TcpStream) -> bool {
    matches!(socket::mptcp_info(stream), Ok(Some(MptcpInfo { fallback: false, .. })))
}

/// Seconds since 1970.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Seconds, rounded to a microsecond.
pub(crate) fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}
