//! Results of a delivery recorder.

use serde::Serialize;
use wire::{Segment, Span};

/// Transfer of a connection's data, in the direction in which its application writes. Stream
/// offsets are data sequence numbers relative to the first one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeliveryOutcome {
    /// Time in seconds and stream offset in bytes of every 2^n-th segment sent, retransmissions
    /// included; at most 2048 points.
    pub sent: Vec<(f64, u64)>,
    /// The same for segments received, duplicates included.
    pub received: Vec<(f64, u64)>,
    /// Offsets between segments that arrived one after the other.
    pub offsets: OffsetOutcome,
    /// Delay from first transmission to delivery.
    pub delay: DelayOutcome,
    /// Segments processed by the sending end.
    pub sender: WorkOutcome,
    /// Segments processed by the receiving end.
    pub receiver: WorkOutcome,
}

/// Out-of-order offsets: the stream offset of a segment less that of the segment that arrived
/// before it, over any path. In order, an offset is the length of a segment. Segments whose data
/// the application has already read are ignored: they enter no buffer, and a late copy would exceed
/// every real offset.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct OffsetOutcome {
    /// Largest magnitude, in bytes.
    pub peak_bytes: u64,
    /// 95th percentile of the magnitude, to within 1/128, in bytes; `None` without offsets.
    pub p95_bytes: Option<u64>,
    /// Number of offsets.
    pub count: u64,
    /// Number of offsets with a magnitude of 0, 1, 2 to 3, 4 to 7 bytes and so on.
    pub by_power_of_two: Vec<u64>,
    /// Lowest and highest offset in each 240th of the run: seconds, bytes.
    #[serde(skip)]
    pub over_time: Vec<(f64, i64)>,
}

/// End-to-end delay of a piece of data: from its first transmission over any path until the
/// application has read all of it. A piece is the new data of one segment.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct DelayOutcome {
    /// Number of delivered pieces.
    pub count: u64,
    /// Mean delay, in seconds; `None` if nothing was delivered.
    pub mean_s: Option<f64>,
    /// Median, to within 1/128, in seconds.
    pub p50_s: Option<f64>,
    /// 95th percentile, to within 1/128, in seconds.
    pub p95_s: Option<f64>,
    /// 99th percentile, to within 1/128, in seconds.
    pub p99_s: Option<f64>,
    /// Longest delay, in seconds.
    pub longest_s: f64,
    /// Jitter: mean absolute difference between the delays of successive pieces (RFC 3550, section
    /// 6.4.1, D without the smoothing), in seconds.
    pub jitter_s: Option<f64>,
    /// One point for each 240th of the run in which data was delivered.
    #[serde(skip)]
    pub over_time: Vec<DelayPoint>,
}

/// Delay within an interval of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DelayPoint {
    /// End of the interval, in seconds.
    pub time_s: f64,
    /// Mean delay of the pieces delivered in the interval, in seconds.
    pub mean_s: f64,
    /// Jitter of these pieces, in seconds; `None` if the first piece of the run is the only one.
    pub jitter_s: Option<f64>,
}

/// Segments processed by an end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
pub struct WorkOutcome {
    /// Segments sent.
    pub sent: SegmentCounts,
    /// Segments received.
    pub received: SegmentCounts,
}

/// Numbers of segments and of their options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
pub struct SegmentCounts {
    /// Segments with and without data.
    pub segments: u64,
    /// TCP options of these segments.
    pub options: OptionCounts,
}

/// Numbers of TCP options by class. A SACK option counts once, for any number of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
pub struct OptionCounts {
    /// Selective acknowledgements (RFC 2018).
    pub sack: u64,
    /// Data Sequence Signals (RFC 8684, section 3.3).
    pub dss: u64,
    /// All other options of RFC 8684.
    pub mptcp: u64,
    /// MPTCP options of the private-use subtype (RFC 8684, section 7.2), which MPTCP-rec uses.
    pub experimental: u64,
    /// Other options: maximum segment size, window scale, SACK permitted, timestamps.
    pub tcp: u64,
}

impl SegmentCounts {
    /// Counts a segment.
    pub(super) fn count(&mut self, segment: &Segment<Span>) {
        self.segments += 1;
        let options = &mut self.options;
        options.sack += u64::from(!segment.sack.is_empty());
        options.dss += u64::from(segment.dss.is_some());
        options.mptcp += u64::from(segment.signal.is_some());
        options.experimental += u64::from(segment.rec.is_some());
        options.tcp += u64::from(segment.mss.is_some())
            + u64::from(segment.window_scale.is_some())
            + u64::from(segment.sack_permitted)
            + u64::from(segment.timestamps.is_some());
    }
}

impl OptionCounts {
    /// Sum over all classes.
    pub fn total(&self) -> u64 {
        self.sack + self.dss + self.mptcp + self.experimental + self.tcp
    }
}
