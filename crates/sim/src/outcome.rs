//! Results of a run.

use crate::delay::{Distribution, HeadOfLineOutcome};
use crate::delivery::DeliveryOutcome;
use crate::series::Series;
use abr::Session;
use serde::{Serialize, Serializer};
use units::Instant;

/// Results of a run. Fields are serialised in a fixed order; series, timelines and the capture are
/// left to the caller.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Seed of the run.
    pub seed: u64,
    /// Simulated time, in seconds.
    pub duration_s: f64,
    /// The device as a whole.
    pub device: DeviceOutcome,
    /// One for each `[[traffic]]` of the scenario.
    pub connections: Vec<ConnectionOutcome>,
    /// One for each `[[path]]` of the scenario.
    pub paths: Vec<PathOutcome>,
    /// One for each background flow.
    pub background: Vec<BackgroundOutcome>,
    /// One for each connection after [`run_recorded`](crate::run_recorded), else empty.
    #[serde(skip)]
    pub deliveries: Vec<DeliveryOutcome>,
    /// Segments that reached an endpoint.
    pub segments: u64,
    /// Time series.
    #[serde(skip)]
    pub series: Series,
    /// Power states of each path's interface.
    #[serde(skip)]
    pub timelines: Vec<Timeline>,
    /// Packet capture in the pcapng format, if the experiment enabled it.
    #[serde(skip)]
    pub capture: Option<Vec<u8>>,
}

/// Energy and policy of the device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceOutcome {
    /// Name of the device.
    pub name: String,
    /// Name of the policy.
    pub policy: String,
    /// Energy of all radios and of their joint activity, in joules.
    pub energy_j: f64,
    /// Part of it that was drawn because several radios were active at once.
    pub joint_energy_j: f64,
    /// Mean power, in watts.
    pub energy_rate_w: f64,
    /// Lifetime of a full battery at that power, in seconds; `null` if no energy was drawn.
    pub lifespan_s: Option<f64>,
    /// Battery level at the end, from 0 to 1.
    pub battery_left: f64,
    /// Megabits delivered to applications per joule.
    pub efficiency_mbit_per_j: Option<f64>,
    /// Number of policy actions that changed a priority or the shares.
    pub policy_changes: u64,
}

/// An application and its connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConnectionOutcome {
    /// Kind of application.
    pub kind: &'static str,
    /// `down` or `up`.
    pub direction: &'static str,
    /// Protocol after the handshake and any fallback: `mptcp`, `mptcp-rec` or `tcp`.
    pub protocol: &'static str,
    /// Data that the application offered, in bytes.
    pub offered_bytes: u64,
    /// Data that the application dropped because the send buffer was full, in bytes.
    pub dropped_bytes: u64,
    /// Data that the receiving application read, in bytes.
    pub delivered_bytes: u64,
    /// Part of it that a middlebox had changed undetected by a checksum, in bytes.
    pub corrupted_bytes: u64,
    /// Delivered data over the time from start to the last byte if the connection is complete, else
    /// to the end of the run, or to the later of its stop and its last byte, in Mbit/s.
    pub goodput_mbps: f64,
    /// Time from start to the last byte, in seconds, if all data was delivered and both ends
    /// closed. A file that its stop cuts off is incomplete.
    pub completed_s: Option<f64>,
    /// Peak of the data held out of order, in bytes; `None` on a kernel, which does not report it.
    pub peak_out_of_order_bytes: Option<u64>,
    /// Data sent over more than one path, in bytes: reinjections, opportunistic retransmissions and
    /// copies of the redundant scheduler. `None` on a kernel.
    pub repeated_bytes: Option<u64>,
    /// Message of the application, of which a delay is one sample: `packet`, `block` or `segment`.
    pub message: &'static str,
    /// Delay of the application's messages, from write to complete read; of a video’s segments,
    /// from request to last byte.
    pub delay: Distribution,
    /// Jitter: absolute difference of the delays of successive messages.
    pub jitter: Distribution,
    /// Head-of-line blocking; `None` on a kernel, which does not report it.
    pub head_of_line: Option<HeadOfLineOutcome>,
    /// The connection was reset or timed out.
    pub failed: bool,
    /// Record of the video session, if the connection carried video.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "session")]
    pub video: Option<Session>,
}

#[expect(clippy::ref_option, reason = "signature that serde requires")]
fn session<S: Serializer>(video: &Option<Session>, serializer: S) -> Result<S::Ok, S::Error> {
    video.as_ref().map(Session::to_json).serialize(serializer)
}

/// Traffic and energy of a path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathOutcome {
    /// Name of the path.
    pub name: String,
    /// Name of the radio's power profile.
    pub radio: String,
    /// Payload that the device received, in bytes.
    pub payload_down_bytes: u64,
    /// Payload that the device sent, in bytes.
    pub payload_up_bytes: u64,
    /// Traffic that the device received, in bytes with all headers.
    pub wire_down_bytes: u64,
    /// Traffic that the device sent, in bytes with all headers.
    pub wire_up_bytes: u64,
    /// Mean payload rate to the device, in Mbit/s.
    pub rate_down_mbps: f64,
    /// Mean payload rate from the device, in Mbit/s.
    pub rate_up_mbps: f64,
    /// Packets dropped by a full queue or by CoDel, both directions.
    pub dropped_packets: u64,
    /// Packets that CoDel marked with CE instead of dropping them, both directions.
    pub marked_packets: u64,
    /// Packets lost by the links' loss model, both directions.
    pub lost_packets: u64,
    /// Packets lost because they were corrupted, both directions; not included in `lost_packets`.
    pub damaged_packets: u64,
    /// Packets duplicated by the links, both directions.
    pub doubled_packets: u64,
    /// Retransmitted segments, both directions.
    pub retransmissions: u64,
    /// Counters of the middleboxes, in order from the device.
    pub middleboxes: Vec<MiddleboxOutcome>,
    /// Energy of the interface.
    pub energy: EnergyOutcome,
    /// Energy of the same traffic under further profiles.
    pub also: Vec<EnergyOutcome>,
}

/// A background flow. Datagrams that were not delivered were dropped, lost, corrupted, met an absent
/// interface, or are still in flight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BackgroundOutcome {
    /// Name of the path.
    pub path: String,
    /// `down` or `up`.
    pub direction: &'static str,
    /// Datagrams sent.
    pub offered_packets: u64,
    /// Bytes sent, with all headers.
    pub offered_bytes: u64,
    /// Datagrams that arrived, duplicates included.
    pub delivered_packets: u64,
    /// Bytes that arrived, with all headers.
    pub delivered_bytes: u64,
    /// Mean delay, in seconds; `null` if no datagram arrived.
    pub mean_delay_s: Option<f64>,
    /// Longest delay, in seconds.
    pub longest_delay_s: f64,
    /// Delay of the datagrams that arrived, from the sender to the receiver.
    pub delay: Distribution,
    /// Jitter: absolute difference of the delays of datagrams that arrived one after the other.
    pub jitter: Distribution,
}

/// Counters of a middlebox, in segments of both directions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MiddleboxOutcome {
    /// Kind of middlebox.
    pub kind: &'static str,
    /// Segments received.
    pub seen: u64,
    /// Segments changed.
    pub changed: u64,
    /// Additional segments made by splitting.
    pub added: u64,
    /// Segments merged into another.
    pub merged: u64,
    /// Segments dropped.
    pub dropped: u64,
    /// Resets sent.
    pub answered: u64,
}

/// Energy of an interface by cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnergyOutcome {
    /// Name of the power profile.
    pub radio: String,
    /// Total energy, in joules.
    pub total_j: f64,
    /// Energy in the idle state, in joules.
    pub idle_j: f64,
    /// Energy of promotions from idle to active, in joules.
    pub promotion_j: f64,
    /// Base energy of the active state, in joules.
    pub active_j: f64,
    /// Energy in proportion to the data, in joules.
    pub data_j: f64,
    /// Tail energy: the interface stays awake after the last packet, in joules.
    pub tail_j: f64,
}

/// Power states of a path's interface over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Name of the path.
    pub path: String,
    /// Start and name of each state, in order of time.
    pub states: Vec<(Instant, String)>,
}
