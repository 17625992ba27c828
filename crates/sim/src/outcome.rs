//! What came of a run.

use crate::delivery::DeliveryOutcome;
use abr::Session;
use serde::{Serialize, Serializer};
use units::Instant;

/// Everything that a run measured. Serialises in a fixed order; the capture is left to the caller.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The seed of the run.
    pub seed: u64,
    /// Simulated time, in seconds.
    pub duration_s: f64,
    /// The device as a whole.
    pub device: DeviceOutcome,
    /// One for each `[[traffic]]`.
    pub connections: Vec<ConnectionOutcome>,
    /// One for each `[[path]]`.
    pub paths: Vec<PathOutcome>,
    /// One for each flow of datagrams.
    pub background: Vec<BackgroundOutcome>,
    /// One for each connection where it was asked for by [`run_recorded`](crate::run_recorded), else none.
    #[serde(skip)]
    pub deliveries: Vec<DeliveryOutcome>,
    /// Segments that reached an endpoint.
    pub segments: u64,
    /// Rows at a fixed interval.
    #[serde(skip)]
    pub series: Series,
    /// The power states of each path's interface.
    #[serde(skip)]
    pub timelines: Vec<Timeline>,
    /// A pcapng file, if one was asked for.
    #[serde(skip)]
    pub capture: Option<Vec<u8>>,
}

/// The device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceOutcome {
    /// Its name.
    pub name: String,
    /// The policy's name.
    pub policy: String,
    /// Drawn by all its radios, in joules.
    pub energy_j: f64,
    /// Of which because two radios were active at once.
    pub joint_energy_j: f64,
    /// Mean power, in watts.
    pub energy_rate_w: f64,
    /// How long a full battery lasts at that power, in seconds; `null` where nothing was drawn.
    pub lifespan_s: Option<f64>,
    /// What is left of the battery at the end, from 0 to 1.
    pub battery_left: f64,
    /// Megabits delivered to applications per joule.
    pub efficiency_mbit_per_j: Option<f64>,
    /// How often the policy changed a priority or the shares.
    pub policy_changes: u64,
}

/// One application and its connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConnectionOutcome {
    /// What kind of application.
    pub kind: &'static str,
    /// `down` or `up`.
    pub direction: &'static str,
    /// `mptcp` or `tcp`, as it came out of the handshake.
    pub protocol: &'static str,
    /// What the application wanted to write, in bytes.
    pub offered_bytes: u64,
    /// What found the send buffer full and was dropped, in bytes.
    pub dropped_bytes: u64,
    /// What the other application read, in bytes.
    pub delivered_bytes: u64,
    /// Of which in segments that a middlebox had changed: no checksum found it.
    pub corrupted_bytes: u64,
    /// Delivered over the time from start to the last byte if it is complete, else to the stop or the
    /// end of the run, in Mbit/s.
    pub goodput_mbps: f64,
    /// From start to the last byte, in seconds, if everything written was delivered and closed.
    pub completed_s: Option<f64>,
    /// The most that waited beyond a gap, in bytes; `None` on a kernel, which does not tell.
    pub peak_out_of_order_bytes: Option<u64>,
    /// Sent over one path after another had it, in bytes: reinjected, sent again opportunistically, or
    /// copied by the redundant scheduler. `None` on a kernel.
    pub repeated_bytes: Option<u64>,
    /// The connection was lost.
    pub failed: bool,
    /// Of a video, what the viewer got.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "session")]
    pub video: Option<Session>,
}

#[expect(clippy::ref_option, reason = "so serde calls it")]
fn session<S: Serializer>(video: &Option<Session>, serializer: S) -> Result<S::Ok, S::Error> {
    video.as_ref().map(Session::to_json).serialize(serializer)
}

/// One path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathOutcome {
    /// Its name.
    pub name: String,
    /// Its radio's profile.
    pub radio: String,
    /// Payload that reached the device, in bytes.
    pub payload_down_bytes: u64,
    /// Payload that the device sent, in bytes.
    pub payload_up_bytes: u64,
    /// The same with all headers.
    pub wire_down_bytes: u64,
    /// The same with all headers.
    pub wire_up_bytes: u64,
    /// Mean payload rate to the device, in Mbit/s.
    pub rate_down_mbps: f64,
    /// Mean payload rate from the device, in Mbit/s.
    pub rate_up_mbps: f64,
    /// Packets dropped at a full queue, or early by CoDel, both ways.
    pub dropped_packets: u64,
    /// Packets that CoDel marked instead of dropping them, both ways.
    pub marked_packets: u64,
    /// Packets lost on the way, both ways.
    pub lost_packets: u64,
    /// Packets damaged on the way, both ways; lost like the others, but not among them.
    pub damaged_packets: u64,
    /// Packets that became two on the way, both ways.
    pub doubled_packets: u64,
    /// Segments sent again, both ways.
    pub retransmissions: u64,
    /// What its middleboxes did, from the device on.
    pub middleboxes: Vec<MiddleboxOutcome>,
    /// What its interface drew.
    pub energy: EnergyOutcome,
    /// What the same traffic draws under other profiles.
    pub also: Vec<EnergyOutcome>,
}

/// One flow of datagrams beside the connections. What was not delivered was dropped, lost, damaged, or
/// is still under way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BackgroundOutcome {
    /// The path's name.
    pub path: String,
    /// `down` or `up`.
    pub direction: &'static str,
    /// Datagrams that were sent.
    pub offered_packets: u64,
    /// The same in bytes, with all headers.
    pub offered_bytes: u64,
    /// Datagrams that arrived, doubles counted.
    pub delivered_packets: u64,
    /// The same in bytes, with all headers.
    pub delivered_bytes: u64,
    /// How long those were under way in the mean, in seconds; `null` where none arrived.
    pub mean_delay_s: Option<f64>,
    /// The longest, in seconds.
    pub longest_delay_s: f64,
}

/// What a middlebox did, in segments of both directions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MiddleboxOutcome {
    /// What it is.
    pub kind: &'static str,
    /// Came to it.
    pub seen: u64,
    /// Left it otherwise than they came.
    pub changed: u64,
    /// Pieces beyond the first of what it cut.
    pub added: u64,
    /// Became part of another.
    pub merged: u64,
    /// It dropped.
    pub dropped: u64,
    /// Resets that it sent.
    pub answered: u64,
}

/// Where an interface's energy went, in joules.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnergyOutcome {
    /// The profile.
    pub radio: String,
    /// All of it.
    pub total_j: f64,
    /// Waiting for paging.
    pub idle_j: f64,
    /// Waking up.
    pub promotion_j: f64,
    /// Being active, apart from what the data rate adds.
    pub active_j: f64,
    /// What the data itself added.
    pub data_j: f64,
    /// Staying awake after the last packet.
    pub tail_j: f64,
}

/// Rows at a fixed interval, by column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Seconds between rows; the first row is at one interval.
    pub interval_s: f64,
    /// The columns, all of one length.
    pub columns: Vec<SeriesColumn>,
}

/// One column of a [`Series`].
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesColumn {
    /// `owner.quantity_unit`, such as `wifi.rate_down_mbps`.
    pub name: String,
    /// The unit for an axis.
    pub unit: &'static str,
    /// A value for each row.
    pub values: Vec<f64>,
}

impl Series {
    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&SeriesColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
}

/// The power states of one path's interface: from when on, and which.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// The path.
    pub path: String,
    /// In order of time.
    pub states: Vec<(Instant, String)>,
}
