//! Results of a capture as plain numbers, in the form of `result.json`.

mod build;
mod notes;
mod place;

pub(crate) use build::summary;

use crate::event::{Event, Options};
use crate::reader::Ended;
use crate::series::Bin;
use core::net::SocketAddr;
use serde::{Serialize, Serializer};

/// Results of a capture. Times are seconds since its first packet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// `capture`.
    pub kind: &'static str,
    /// Version of this program.
    pub tandem: &'static str,
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// Bytes read.
    pub file_bytes: u64,
    /// Names of the interfaces. An unnamed one is `interface N`, by its number in the section; number 0
    /// is empty.
    pub interfaces: Vec<String>,
    /// `whole`, `cut` (within a record) or `damaged`.
    pub ended: &'static str,
    /// Time from the first packet to the last.
    pub duration_s: f64,
    /// Packets of all kinds.
    pub packets: u64,
    /// Part of them: TCP segments with a complete header.
    pub segments: u64,
    /// Connections of Multipath TCP, in order of their first segment.
    pub connections: Vec<ConnectionSummary>,
    /// Requests of MPTCP-rec's receivers.
    pub mptcp_rec: Vec<RateRequestSummary>,
    /// Other signals, up to a limit.
    pub events: Vec<Event>,
    /// Number of segments with each option.
    #[serde(serialize_with = "counts")]
    pub options: Options,
    /// Connections of plain TCP, those with the most bytes first.
    pub tcp: Vec<PlainSummary>,
    /// Omissions and anomalies, as sentences.
    pub notes: Vec<String>,
    /// Time series.
    #[serde(skip)]
    pub series: SeriesSet,
}

impl Summary {
    /// TCP payload that an interface delivered to clients, over subflows and plain TCP: bytes,
    /// each as often as it passed. Plain TCP counts listed connections only.
    pub fn payload_down_bytes(&self, interface: &str) -> u64 {
        let subflows = self.connections.iter().flat_map(|connection| &connection.subflows);
        let subflows = subflows.filter(|one| one.interface == interface).map(|one| one.down.payload_bytes);
        let plain = self.tcp.iter().filter(|one| one.interface == interface).map(|one| one.down_bytes);
        subflows.chain(plain).sum()
    }
}

/// A connection of Multipath TCP.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConnectionSummary {
    /// Number, from 1.
    pub number: usize,
    /// `handshake`: the keys were seen; `missing`: it began before the capture.
    pub beginning: &'static str,
    /// Tokens of client and server in hexadecimal, if their keys were seen.
    pub tokens: [Option<String>; 2],
    /// True if it uses data checksums.
    pub checksums: bool,
    /// True if it has fallen back to TCP.
    pub fell_back: bool,
    /// Time of the first segment.
    pub from_s: f64,
    /// Time of the last segment.
    pub to_s: f64,
    /// Client to server.
    pub up: DataSummary,
    /// Server to client.
    pub down: DataSummary,
    /// Subflows in order of appearance.
    pub subflows: Vec<SubflowSummary>,
}

/// One direction of a connection at data level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataSummary {
    /// Bytes of the stream, each counted once.
    pub bytes: u64,
    /// Maximum of bytes beyond a gap.
    pub peak_out_of_order_bytes: u64,
    /// Time of that maximum.
    pub peak_at_s: Option<f64>,
    /// Place of the capture for this data: near the `receiver`, whose reordering the figures then
    /// show, near the `sender`, or `between`; `null` if unknown.
    pub seen_near: Option<&'static str>,
    /// Bytes missing before the furthest ones.
    pub missing_bytes: u64,
    /// Time of the DATA_FIN.
    pub finished_s: Option<f64>,
}

/// A subflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SubflowSummary {
    /// Number within its connection, from 1.
    pub number: usize,
    /// Name in tables: the interface's, if it has one address of the client alone, otherwise the
    /// address.
    pub path: String,
    /// Interface that saw it.
    pub interface: String,
    /// Address and port of the client.
    pub client: SocketAddr,
    /// Address and port of the server.
    pub server: SocketAddr,
    /// `client` or `server`.
    pub opened_by: &'static str,
    /// `mp_capable`: the first subflow; `token`: joined by MP_JOIN; `data`: the beginning is
    /// missing, the data match; `alone`: the beginning is missing, no match.
    pub joined_by: &'static str,
    /// True if opened as a backup.
    pub backup: bool,
    /// Time of the first segment.
    pub from_s: f64,
    /// Time of the last segment.
    pub to_s: f64,
    /// `fin`, `rst`, or `null`.
    pub closed: Option<&'static str>,
    /// Handshake, if its beginning was seen.
    pub handshake: Option<HandshakeSummary>,
    /// Round-trip time.
    pub rtt: Option<RttSummary>,
    /// Segments that the file contains twice, from several interfaces or both directions of one;
    /// they count once.
    pub seen_elsewhere: u64,
    /// Client to server.
    pub up: Carried,
    /// Server to client.
    pub down: Carried,
}

/// Durations of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HandshakeSummary {
    /// SYNs sent.
    pub syns: u32,
    /// From the first SYN to the SYN/ACK.
    pub answer_ms: Option<f64>,
    /// From the first SYN to the third segment: a round trip at any place of capture.
    pub total_ms: Option<f64>,
}

/// Round-trip times from the place of capture to one end and back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RttSummary {
    /// End: `client` or `server`.
    pub to: &'static str,
    /// `timestamps` (RFC 7323), or `data`: from data to its acknowledgement.
    pub by: &'static str,
    /// Number of samples.
    pub samples: u64,
    /// Minimum.
    pub min_ms: f64,
    /// Median, within 1.6 %.
    pub median_ms: f64,
    /// 95th percentile, within 1.6 %.
    pub p95_ms: f64,
}

/// Counters of one direction of a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Carried {
    /// Segments of any kind.
    pub segments: u64,
    /// Part of them with payload.
    pub data_segments: u64,
    /// Bytes with IP headers.
    pub wire_bytes: u64,
    /// Payload, each byte as often as it passed.
    pub payload_bytes: u64,
    /// Payload that no subflow had carried before.
    pub new_bytes: u64,
    /// Its share of the new payload of all subflows, from 0 to 1.
    pub share: Option<f64>,
    /// Payload that another subflow had carried before, and this one had not.
    pub reinjected_bytes: u64,
    /// Segments with reinjected payload.
    pub reinjected_segments: u64,
    /// Payload with sequence numbers that this subflow had carried before.
    pub retransmitted_bytes: u64,
    /// Segments with retransmitted payload.
    pub retransmitted_segments: u64,
    /// Segments that fill a gap: retransmitted after a loss before the capture, or reordered.
    pub late_segments: u64,
    /// Payload with data that this subflow had carried at another sequence number.
    pub repeated_bytes: u64,
    /// Payload without a mapping.
    pub unmapped_bytes: u64,
    /// Payload up to the first gap; `None` without the subflow's beginning. Linux's
    /// `tcpi_bytes_received` at the other end.
    pub in_order_bytes: Option<u64>,
    /// Payload acknowledged by the other end; `None` likewise. One less than `tcpi_bytes_acked`,
    /// which counts the SYN.
    pub acknowledged_bytes: Option<u64>,
}

/// Requests of a receiver for one path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateRequestSummary {
    /// Number of the connection.
    pub connection: usize,
    /// Sender of the reports: `client` or `server`.
    pub from: &'static str,
    /// Path of the reports.
    pub path: u8,
    /// Number of reports.
    pub reports: u64,
    /// Blocks of received data in them.
    pub blocks: u64,
    /// Rates, in bytes per second.
    pub last_rate: u32,
    /// Minimum.
    pub least_rate: u32,
    /// Maximum.
    pub most_rate: u32,
}

/// A connection of plain TCP.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlainSummary {
    /// Interface that saw it.
    pub interface: String,
    /// Address and port of the client; without a SYN, the end with the higher port.
    pub client: SocketAddr,
    /// Address and port of the server.
    pub server: SocketAddr,
    /// True if it offered Multipath TCP, or joined with it, without success.
    pub offered: bool,
    /// Time of the first segment.
    pub from_s: f64,
    /// Time of the last segment.
    pub to_s: f64,
    /// Segments of both directions.
    pub segments: u64,
    /// Payload, client to server.
    pub up_bytes: u64,
    /// Payload, server to client.
    pub down_bytes: u64,
    /// Segments with payload carried before.
    pub retransmitted_segments: u64,
}

/// Time series of subflows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesSet {
    /// Width of a bin in seconds.
    pub interval_s: f64,
    /// Directions with the most bytes, ordered by connection and subflow.
    pub streams: Vec<StreamSeries>,
}

/// One direction of a subflow over time.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamSeries {
    /// Number of the connection.
    pub connection: usize,
    /// Number of the subflow.
    pub subflow: usize,
    /// Path.
    pub path: String,
    /// `up` or `down`.
    pub direction: &'static str,
    /// One bin per interval.
    pub bins: Vec<Bin>,
}

impl Summary {
    /// Content of `result.json`; docs/reference/output.md describes it.
    pub fn to_json(&self) -> serde_json::Value {
        // Numbers, texts and lists always serialise.
        serde_json::to_value(self).unwrap_or_default()
    }
}

fn counts<S: Serializer>(options: &Options, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(options.counts())
}

/// Facts about the file.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) format: &'static str,
    pub(crate) bytes: u64,
    pub(crate) interfaces: Vec<String>,
    pub(crate) ended: Ended,
    pub(crate) unknown_interface: u64,
}
