//! MPTCP connections of all processes, listed on request.

use crate::Error;
use linux::diag::{self, Diag, Filter};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Maximum number of connections listed one by one.
const MAX_LISTED: usize = 100;

/// MPTCP connections of the host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Connections {
    /// Number of connections.
    pub count: u64,
    /// Number of subflows.
    pub subflows: u64,
    /// Connections with the most bytes.
    pub most: Vec<Connection>,
}

/// A connection.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Connection {
    /// Local token.
    pub token: u32,
    /// Remote address.
    pub remote: String,
    /// Bytes received, including closed subflows.
    pub down_bytes: u64,
    /// Bytes sent and acknowledged, including closed subflows.
    pub up_bytes: u64,
    /// Bytes of both directions carried by closed subflows.
    pub ended_bytes: u64,
    /// Open subflows.
    pub subflows: Vec<Subflow>,
}

/// A subflow.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Subflow {
    /// Interface name; the local address if the interface is not managed.
    pub interface: String,
    /// Remote address.
    pub remote: String,
    /// This end marked it as backup.
    pub backup: bool,
    /// Smoothed round-trip time, in milliseconds.
    pub rtt_ms: f64,
    /// Bytes received.
    pub down_bytes: u64,
    /// Bytes sent and acknowledged.
    pub up_bytes: u64,
}

impl Connections {
    /// Lists the connections. `names` maps local addresses to interface names.
    ///
    /// # Errors
    /// Fails when the kernel cannot list sockets.
    pub fn list(diag: &mut Diag, names: &BTreeMap<IpAddr, String>) -> Result<Self, Error> {
        let mut all = Self::default();
        diag.for_each_connection(|connection| {
            all.count += 1;
            all.keep(Connection::from(&connection));
        })?;
        all.trim();
        let mut by_token: BTreeMap<u32, usize> = BTreeMap::new();
        for (at, connection) in all.most.iter().enumerate() {
            by_token.insert(connection.token, at);
        }
        diag.for_each_subflow(&Filter::default(), |subflow| {
            all.subflows += 1;
            if let Some(connection) = by_token.get(&subflow.token).and_then(|at| all.most.get_mut(*at)) {
                connection.subflows.push(subflow_status(&subflow, names));
            }
        })?;
        for connection in &mut all.most {
            let live = |of: fn(&Subflow) -> u64| connection.subflows.iter().map(of).sum::<u64>();
            let (down, up) = (live(|one| one.down_bytes), live(|one| one.up_bytes));
            // Kernels before 6.5 do not report bytes per connection.
            let (all_down, all_up) = (connection.down_bytes.max(down), connection.up_bytes.max(up));
            connection.ended_bytes = all_down - down + (all_up - up);
            (connection.down_bytes, connection.up_bytes) = (all_down, all_up);
        }
        Ok(all)
    }

    /// Adds a connection; prunes the list to bound its memory.
    fn keep(&mut self, connection: Connection) {
        self.most.push(connection);
        if self.most.len() >= 4 * MAX_LISTED {
            self.trim();
        }
    }

    fn trim(&mut self) {
        self.most.sort_by_key(|one| (u64::MAX - one.down_bytes - one.up_bytes, one.token));
        self.most.truncate(MAX_LISTED);
    }
}

impl From<&diag::Connection> for Connection {
    fn from(connection: &diag::Connection) -> Self {
        Self {
            token: connection.info.token,
            remote: connection.remote.to_string(),
            // Bounded so that the sum cannot overflow when sorting.
            down_bytes: connection.info.bytes_received.min(u64::MAX / 2),
            up_bytes: connection.info.bytes_acked.min(u64::MAX / 2),
            ended_bytes: 0,
            subflows: Vec::new(),
        }
    }
}

fn subflow_status(subflow: &diag::Subflow, names: &BTreeMap<IpAddr, String>) -> Subflow {
    let local = subflow.local.ip();
    Subflow {
        interface: names.get(&local).cloned().unwrap_or_else(|| local.to_string()),
        remote: subflow.remote.to_string(),
        backup: subflow.backup,
        rtt_ms: f64::from(subflow.tcp.srtt_us) / 1e3,
        down_bytes: subflow.tcp.bytes_received,
        // The SYN counts as one byte.
        up_bytes: subflow.tcp.bytes_acked.saturating_sub(1),
    }
}
