//! The MPTCP connections of the host, whichever program has them: asked for only when somebody wants to know.

use crate::Error;
use linux::diag::{self, Diag, Filter};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// So many connections are told of one by one: those that carried most.
const TOLD: usize = 100;

/// All connections.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Connections {
    /// How many there are.
    pub count: u64,
    /// How many subflows they have.
    pub subflows: u64,
    /// Those that carried most.
    pub most: Vec<Connection>,
}

/// A connection.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Connection {
    /// The local token.
    pub token: u32,
    /// The other end.
    pub remote: String,
    /// Received and sent in all by subflows that are and that were, in bytes.
    pub down_bytes: u64,
    /// The same, sent and acknowledged.
    pub up_bytes: u64,
    /// Of those, what subflows carried that have ended.
    pub ended_bytes: u64,
    /// Its subflows.
    pub subflows: Vec<Subflow>,
}

/// A subflow.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Subflow {
    /// Its interface, or its local address where that is of none that is managed.
    pub interface: String,
    /// The other end.
    pub remote: String,
    /// This end wants it only where no other is.
    pub backup: bool,
    /// Smoothed round-trip time, in milliseconds.
    pub rtt_ms: f64,
    /// Received, in bytes.
    pub down_bytes: u64,
    /// Sent and acknowledged, in bytes.
    pub up_bytes: u64,
}

impl Connections {
    /// Asks the kernel. `names` are the interfaces' names by their addresses.
    ///
    /// # Errors
    /// Where the kernel does not tell.
    pub fn look(diag: &mut Diag, names: &BTreeMap<IpAddr, String>) -> Result<Self, Error> {
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
                connection.subflows.push(told(&subflow, names));
            }
        })?;
        for connection in &mut all.most {
            let live = |of: fn(&Subflow) -> u64| connection.subflows.iter().map(of).sum::<u64>();
            let (down, up) = (live(|one| one.down_bytes), live(|one| one.up_bytes));
            // Kernels before 6.5 do not count a connection's bytes.
            let (all_down, all_up) = (connection.down_bytes.max(down), connection.up_bytes.max(up));
            connection.ended_bytes = all_down - down + (all_up - up);
            (connection.down_bytes, connection.up_bytes) = (all_down, all_up);
        }
        Ok(all)
    }

    /// Keeps what may be among the most, in bounded space.
    fn keep(&mut self, connection: Connection) {
        self.most.push(connection);
        if self.most.len() >= 4 * TOLD {
            self.trim();
        }
    }

    fn trim(&mut self) {
        self.most.sort_by_key(|one| (u64::MAX - one.down_bytes - one.up_bytes, one.token));
        self.most.truncate(TOLD);
    }
}

impl From<&diag::Connection> for Connection {
    fn from(connection: &diag::Connection) -> Self {
        Self {
            token: connection.info.token,
            remote: connection.remote.to_string(),
            // Each at most half of what there is: their sum is sorted by.
            down_bytes: connection.info.bytes_received.min(u64::MAX / 2),
            up_bytes: connection.info.bytes_acked.min(u64::MAX / 2),
            ended_bytes: 0,
            subflows: Vec::new(),
        }
    }
}

fn told(subflow: &diag::Subflow, names: &BTreeMap<IpAddr, String>) -> Subflow {
    let local = subflow.local.ip();
    Subflow {
        interface: names.get(&local).cloned().unwrap_or_else(|| local.to_string()),
        remote: subflow.remote.to_string(),
        backup: subflow.backup,
        rtt_ms: f64::from(subflow.tcp.srtt_us) / 1e3,
        down_bytes: subflow.tcp.bytes_received,
        // The SYN counts as one.
        up_bytes: subflow.tcp.bytes_acked.saturating_sub(1),
    }
}
