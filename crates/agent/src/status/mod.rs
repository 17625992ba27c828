//! How things stand: what the agent tells whoever asks.

mod client;
mod connections;
mod metrics;
mod server;
mod table;

pub use client::query;
pub use connections::{Connection, Connections, Subflow};
pub use metrics::metrics;
pub use server::{Responder, Server};
pub use table::tables;

use serde::{Deserialize, Serialize};

/// How things stand.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Status {
    /// The policy, with its parameters.
    pub policy: String,
    /// Nothing is changed, only said.
    pub dry_run: bool,
    /// Since the agent began, in seconds.
    pub running_s: f64,
    /// The counters are read so often, in milliseconds.
    pub interval_ms: f64,
    /// The interfaces that are managed.
    pub interfaces: Vec<Interface>,
    /// The players that tell how they stand.
    #[serde(default)]
    pub players: Vec<PlayerStatus>,
    /// What is worth a remark, in words.
    pub remarks: Vec<String>,
    /// The MPTCP connections of the host; those who only want metrics do not ask.
    pub connections: Option<Connections>,
}

/// How an interface stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// What kind it is: `wifi`, `lte` and so on.
    pub kind: String,
    /// Its power profile.
    pub radio: String,
    /// The round trip that the policy is shown, in milliseconds, where it looks at it and something is sent.
    #[serde(default)]
    pub round_trip_ms: Option<f64>,
    /// `up`, `down`, `absent`, or `closed` by the policy or an allowance.
    pub link: String,
    /// Its subflows are backups.
    pub backup: bool,
    /// It receives (`rx`) or not (`idle`), as the detector sees it.
    pub channel: String,
    /// The addresses that subflows begin from.
    pub addresses: Vec<String>,
    /// Received lately, in Mbit/s.
    pub down_mbps: f64,
    /// Sent lately, in Mbit/s.
    pub up_mbps: f64,
    /// Received since the agent began, in bytes.
    pub down_bytes: u64,
    /// Sent since the agent began, in bytes.
    pub up_bytes: u64,
    /// Its part of all that was carried since the agent began, from 0 to 1; nothing before anything was.
    pub share: Option<f64>,
    /// What its profile calls the state of the radio.
    pub power_state: String,
    /// Drawn since the agent began by the profile, in joules.
    pub joules: f64,
    /// How often it became a backup in the last minute.
    pub switches: u64,
    /// What promotions and tails drew in the last minute, in joules.
    pub tail_j: f64,
    /// What switching saved in the last minute by estimate, in joules; negative where it cost more.
    pub saved_j: f64,
    /// How much it may carry.
    pub allowance: Option<AllowanceStatus>,
}

/// How a player stands; what it does not tell is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PlayerStatus {
    /// Its session (`sid` of CMCD).
    pub session: String,
    /// What it asks for (`ot` of CMCD): `v` for pictures, `a` for sound, `av` for both.
    pub object: Option<String>,
    /// What is in its buffer by now, in seconds.
    pub buffer_s: Option<f64>,
    /// The bitrate that it asks for, in kbit/s.
    pub bitrate_kbps: Option<f64>,
    /// What is still to come of what it asks for, in bytes.
    pub missing_bytes: Option<u64>,
    /// What it measured that the network carries, in kbit/s.
    pub throughput_kbps: Option<f64>,
    /// Nothing is played until that comes.
    pub urgent: bool,
    /// Since it said so, in seconds.
    pub silent_s: f64,
}

/// How an allowance stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AllowanceStatus {
    /// Who shares it: the pattern of the interfaces' names.
    pub of: String,
    /// How much there is in a period, in bytes.
    pub data_bytes: u64,
    /// How much is used of it, in bytes.
    pub used_bytes: u64,
    /// `day`, `week` or `month`.
    pub per: String,
    /// When the next period begins, in seconds since 1970.
    pub next_period: i64,
    /// `close`, `backup` or `warn`.
    pub at_cap: String,
    /// It is used up.
    pub is_up: bool,
}
