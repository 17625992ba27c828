//! Status of the agent, its metrics and tables, and the HTTP server and client.

mod client;
mod connections;
mod gate;
mod listeners;
mod metrics;
mod player_port;
mod server;
mod slots;
mod table;

pub use client::query;
pub use connections::{Connection, Connections, Subflow};
pub use gate::{
    Judgement, MAX_REPORT_BYTES, PlayerGate, Refusal, TOKEN_BYTES, Token, Verdict, parse_origin, parse_report,
};
pub use listeners::PortFailures;
pub use metrics::metrics;
pub use player_port::PlayerPort;
pub use server::{Responder, Server};
pub use table::{explanations, tables};

use serde::{Deserialize, Serialize};

/// Status of the agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Status {
    /// Policy with its parameters.
    pub policy: String,
    /// Changes are only logged.
    pub dry_run: bool,
    /// Time since the start, in seconds.
    pub running_s: f64,
    /// Sampling interval, in milliseconds.
    pub interval_ms: f64,
    /// Managed interfaces.
    pub interfaces: Vec<Interface>,
    /// Players with recent reports.
    #[serde(default)]
    pub players: Vec<PlayerStatus>,
    /// Notes for the user.
    pub remarks: Vec<String>,
    /// MPTCP connections of the host; omitted in metrics.
    pub connections: Option<Connections>,
}

/// Status of an interface.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Interface {
    /// Interface name.
    pub name: String,
    /// Kind, such as `wifi` or `lte`.
    pub kind: String,
    /// Round-trip time shown to the policy, in milliseconds; absent when not measured.
    #[serde(default)]
    pub round_trip_ms: Option<f64>,
    /// `up`, `down`, `absent`, or `closed` by the policy or an allowance.
    pub link: String,
    /// Its subflows are backups.
    pub backup: bool,
    /// `rx` while receiving, else `idle`.
    pub channel: String,
    /// Local addresses of its subflows.
    pub addresses: Vec<String>,
    /// Receive rate, in Mbit/s.
    pub down_mbps: f64,
    /// Send rate, in Mbit/s.
    pub up_mbps: f64,
    /// Bytes received since the agent manages it.
    pub down_bytes: u64,
    /// Bytes sent since the agent manages it.
    pub up_bytes: u64,
    /// Fraction of the bytes of all managed interfaces, 0 to 1; absent without traffic.
    pub share: Option<f64>,
    /// Estimated energy; absent without a power profile.
    #[serde(flatten)]
    pub energy: Option<EnergyStatus>,
    /// Data allowance.
    pub allowance: Option<AllowanceStatus>,
}

/// Estimated energy of an interface, according to its power profile.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EnergyStatus {
    /// Name of the power profile.
    pub radio: String,
    /// Power state named by the profile.
    pub power_state: String,
    /// Energy since the agent manages the interface, in joules.
    pub joules: f64,
    /// Switches to backup in the last minute.
    pub switches: u64,
    /// Energy of promotions and tails in the last minute, in joules.
    pub tail_j: f64,
    /// Estimated energy saved by switching in the last minute, in joules; may be negative.
    pub saved_j: f64,
}

/// Status of a player; values it does not report are absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PlayerStatus {
    /// Session (CMCD `sid`).
    pub session: String,
    /// Object type (CMCD `ot`): `v` video, `a` audio, `av` both.
    pub object: Option<String>,
    /// Estimated buffer level now, in seconds.
    pub buffer_s: Option<f64>,
    /// Requested bitrate, in kbit/s.
    pub bitrate_kbps: Option<f64>,
    /// Missing bytes of the current request.
    pub missing_bytes: Option<u64>,
    /// Throughput measured by the player, in kbit/s.
    pub throughput_kbps: Option<f64>,
    /// Playback waits for the current request.
    pub urgent: bool,
    /// Time since the last report, in seconds.
    pub silent_s: f64,
}

/// Status of a data allowance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AllowanceStatus {
    /// Name pattern of the interfaces that share it.
    pub of: String,
    /// Limit per period, in bytes.
    pub data_bytes: u64,
    /// Bytes used in this period.
    pub used_bytes: u64,
    /// `day`, `week` or `month`.
    pub per: String,
    /// Start of the next period, in seconds since 1970.
    pub next_period: i64,
    /// `close`, `backup` or `warn`.
    pub at_cap: String,
    /// The allowance is used up, or would soon be at the rate at which `at_cap` took effect.
    pub is_up: bool,
}
