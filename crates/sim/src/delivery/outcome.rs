//! What came of a connection's data on its way.

use serde::Serialize;
use wire::{Segment, Span};

/// The data of one connection, in the direction in which its application writes. Offsets are bytes from
/// the first of the stream, which is a data sequence number less the first one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeliveryOutcome {
    /// When data left and where it lies, repeats and all: seconds, bytes. Thinned to every 2^n-th
    /// segment, 2048 points at most.
    pub sent: Vec<(f64, u64)>,
    /// When data arrived and where it lies, likewise; also what came twice.
    pub received: Vec<(f64, u64)>,
    /// How far two segments that arrived one after the other lie apart.
    pub offsets: OffsetOutcome,
    /// From first sending to delivery.
    pub delay: DelayOutcome,
    /// What the end that writes had to do.
    pub sender: WorkOutcome,
    /// What the end that reads had to do.
    pub receiver: WorkOutcome,
}

/// Out-of-order offsets: where a segment's data lies, less where that of the one that arrived before it
/// does, over whichever path they came. In order it is the length of a segment. Data of which the
/// application had all before it came are left aside: they enter no buffer, and a copy from a path that
/// was silent for seconds would be further off than anything that has to be put in order.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct OffsetOutcome {
    /// The largest, sign left aside, in bytes.
    pub peak_bytes: u64,
    /// 95 % of them are no larger, sign left aside, to within 1/128; `None` where there is none.
    pub p95_bytes: Option<u64>,
    /// How many there were.
    pub count: u64,
    /// How many, sign left aside, were 0, then 1, 2 to 3, 4 to 7 bytes and so on.
    pub by_power_of_two: Vec<u64>,
    /// The lowest and the highest of each 240th part of the run: seconds, bytes.
    #[serde(skip)]
    pub over_time: Vec<(f64, i64)>,
}

/// End-to-end delay: from when a piece of data was first sent, over whichever path, to when it had been
/// delivered in order, whole. A piece is what the segment carried that was first with it.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct DelayOutcome {
    /// Pieces that were delivered.
    pub count: u64,
    /// Mean, in seconds; `None` where nothing was delivered.
    pub mean_s: Option<f64>,
    /// Median, in seconds, to within 1/128.
    pub p50_s: Option<f64>,
    /// 95 % of the pieces took no longer, likewise.
    pub p95_s: Option<f64>,
    /// 99 % of the pieces took no longer, likewise.
    pub p99_s: Option<f64>,
    /// The longest, in seconds.
    pub longest_s: f64,
    /// Jitter: the mean of how much the delays of two pieces differ that were delivered one after the other,
    /// sign left aside (RFC 3550, section 6.4.1, D without the smoothing), in seconds.
    pub jitter_s: Option<f64>,
    /// For each 240th part of the run in which something was delivered.
    #[serde(skip)]
    pub over_time: Vec<DelayPoint>,
}

/// Delay within a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DelayPoint {
    /// The end of the span, in seconds.
    pub time_s: f64,
    /// Mean delay of what was delivered in it, in seconds.
    pub mean_s: f64,
    /// Jitter of the same, in seconds; `None` for the first piece of all.
    pub jitter_s: Option<f64>,
}

/// What an end of a connection had to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
pub struct WorkOutcome {
    /// What it made.
    pub sent: SegmentCounts,
    /// What it had to read.
    pub received: SegmentCounts,
}

/// Segments, and what options were in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
pub struct SegmentCounts {
    /// With data or without.
    pub segments: u64,
    /// Their options.
    pub options: OptionCounts,
}

/// TCP options, by class. An option counts once, however many blocks it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
pub struct OptionCounts {
    /// Selective acknowledgements (RFC 2018).
    pub sack: u64,
    /// Data Sequence Signals (RFC 8684, section 3.3).
    pub dss: u64,
    /// All other options of RFC 8684.
    pub mptcp: u64,
    /// MPTCP options of the subtype for private use (RFC 8684, section 7.2): those of MPTCP-rec.
    pub experimental: u64,
    /// The rest: maximum segment size, window scale, SACK permitted, timestamps.
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
    /// All classes together.
    pub fn total(&self) -> u64 {
        self.sack + self.dss + self.mptcp + self.experimental + self.tcp
    }
}
