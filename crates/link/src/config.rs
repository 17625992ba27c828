//! What a link or a cell is told at the start.

use crate::loss::Loss;
use crate::trace::Trace;
use std::sync::Arc;
use units::{Bitrate, Bytes, Duration, Instant, Probability};

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkConfig {
    /// How fast it sends.
    pub rate: Rate,
    /// How much may wait before it.
    pub queue: QueueLimit,
    /// Drop or mark by how long packets have waited, before `queue` is full.
    pub codel: Option<Codel>,
    /// How long a packet is under way once its last byte has been sent.
    pub delay: Delay,
    /// Whether a packet may overtake one sent before it, where `delay` varies.
    pub reorder: bool,
    /// What is lost on the way.
    pub loss: Loss,
    /// Spans `[from, to)` in which whatever is being sent is lost; it takes its time nevertheless.
    pub outages: Vec<(Instant, Instant)>,
    /// What else happens on the way.
    pub impairments: Impairments,
}

/// How fast a link sends.
#[derive(Debug, Clone, PartialEq)]
pub enum Rate {
    /// Always the same. At rate zero nothing is ever sent.
    Fixed(Bitrate),
    /// Each rate from its time on, the last one for ever. Should be in order of time with the first
    /// at zero; the first also holds before its time, and no step at all means rate zero.
    Steps(Vec<(Instant, Bitrate)>),
    /// As a trace says, over and over.
    Trace(Arc<Trace>),
}

/// How much may wait. What does not fit is dropped at the tail.
///
/// A packet counts from when it is pushed until its last byte has been sent, so that a limit of one
/// packet or more lets an idle link send. A packet finds room where, with itself, no more than the
/// limit is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(Bytes),
    /// A packet is dropped where all that is before it needs longer than this to be sent. In a cell:
    /// longer than this if the station had the cell to itself.
    Time(Duration),
    /// Everything.
    Unlimited,
}

/// Controlled delay (CoDel, RFC 8289): once packets have waited longer than `target` for as long as
/// `interval`, one is dropped, and then others at ever shorter intervals until they wait less. With a
/// limit of [`QueueLimit::Time`] a packet is dropped at the tail where the first has waited so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codel {
    /// The wait that is no queue yet: 5 ms (RFC 8289, section 4.2), or the time of a packet on a slow
    /// link.
    pub target: Duration,
    /// About the longest round trip: 100 ms.
    pub interval: Duration,
    /// Mark what can be marked (RFC 3168) instead of dropping it.
    pub ecn: bool,
}

impl Default for Codel {
    /// As RFC 8289 has it: 5 ms in 100 ms, without marks.
    fn default() -> Self {
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false }
    }
}

/// Impairments on the way, each with its own probability. None by default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Impairments {
    /// Probability of corruption. The receiver drops the packet by its checksum; it is counted apart
    /// from losses.
    pub corrupt: Probability,
    /// Probability of duplication. The duplicate is neither duplicated nor corrupted, but may be
    /// reordered independently.
    pub duplicate: Probability,
    /// Extra delay of some packets.
    pub reorder: Option<Reorder>,
}

/// Extra delay of some packets, by which others overtake them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reorder {
    /// Probability that a packet is delayed.
    pub probability: Probability,
    /// Extra delay of such a packet.
    pub extra_delay: Duration,
}

/// How long a packet is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// Always the same.
    Fixed(Duration),
    /// Uniform in `[min, max)`, drawn for each packet.
    Uniform {
        /// The shortest.
        min: Duration,
        /// The longest; counts as `min` where it is shorter.
        max: Duration,
    },
    /// Normal, drawn for each packet; what would be negative is zero.
    Normal {
        /// The mean, before negative draws become zero.
        mean: Duration,
        /// The standard deviation.
        sd: Duration,
    },
}

impl Delay {
    /// The mean; of a normal delay before negative draws become zero.
    pub fn mean(&self) -> Duration {
        match *self {
            Self::Fixed(delay) => delay,
            Self::Uniform { min, max } => {
                Duration::from_nanos(min.as_nanos().midpoint(max.max(min).as_nanos()))
            }
            Self::Normal { mean, .. } => mean,
        }
    }
}

/// A medium that several stations share.
#[derive(Debug, Clone, PartialEq)]
pub struct CellConfig {
    /// Who gets the medium, and for how long.
    pub kind: CellKind,
    /// What the medium carries in all when one station alone sends all the time, net of the MAC's
    /// own overhead: some 60 % of an 802.11 PHY rate.
    pub rate: Bitrate,
    /// Stations that are only there to take their part.
    pub others: Vec<Load>,
    /// Wi-Fi: time that each frame costs beside its bits (preamble, backoff, acknowledgement).
    /// Zero where `rate` already counts it; 100 to 400 us for 802.11g without aggregation.
    pub overhead: Duration,
    /// LTE: over what span proportional fairness averages a user's throughput; typically 100 ms to 1 s.
    pub pf_window: Duration,
    /// LTE: fast fading of each user, none where all users are always as good.
    pub fading: Option<Fading>,
}

/// The two ways to share a medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// One frame at a time; whenever the medium is free, each station that has a frame is as likely
    /// to send it (what 802.11's DCF comes to in the long run). Both directions contend.
    Wifi,
    /// Every millisecond goes to the users by proportional fairness. One cell is one direction.
    Lte,
}

/// Rayleigh block fading: every `coherence` a user's gain `g` is drawn anew, exponential with mean 1,
/// and its rate becomes `rate * log2(1 + snr g) / log2(1 + snr)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fading {
    /// How long a gain holds; about `0.4 / doppler`, so 80 ms at walking pace and 2 GHz, 5 ms in a car.
    pub coherence: Duration,
    /// The mean signal-to-noise ratio, in dB.
    pub snr_db: f64,
}

/// Stations of a cell that send packets of one size at a constant rate, each from a random phase.
/// Only their number is simulated: they drop what their queue of [`Load::queue`] packets cannot hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// How many such stations.
    pub count: u32,
    /// What each of them offers.
    pub rate: Bitrate,
    /// The size of each packet on the medium.
    pub packet: Bytes,
    /// Each packet comes late by a uniformly random time below this.
    pub jitter: Duration,
    /// How many packets may wait at a station.
    pub queue: u32,
    /// When they begin.
    pub start: Instant,
    /// When they end.
    pub stop: Option<Instant>,
    /// What the medium carries when one of these stations sends; the cell's rate where `None`.
    pub link_rate: Option<Bitrate>,
}

/// A station of a cell that carries a path's packets, in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct StationConfig {
    /// How much may wait for the medium.
    pub queue: QueueLimit,
    /// How long a packet is under way after the medium.
    pub delay: Delay,
    /// Whether a packet may overtake one sent before it, where `delay` varies.
    pub reorder: bool,
    /// What is lost on the medium, after the MAC's own repeats.
    pub loss: Loss,
    /// Spans `[from, to)` in which whatever this station sends is lost.
    pub outages: Vec<(Instant, Instant)>,
    /// What else happens on the way, after the medium.
    pub impairments: Impairments,
    /// What the medium carries when this station sends; the cell's rate where `None`. A slow Wi-Fi
    /// station slows all others, since each has as many frames (Heusse et al. 2003); a slow LTE
    /// user has as much of the time, and less throughput.
    pub link_rate: Option<Bitrate>,
}

impl Default for LinkConfig {
    /// 10 Mbps, 100 packets, no delay, no loss.
    fn default() -> Self {
        Self {
            rate: Rate::default(),
            queue: QueueLimit::default(),
            codel: None,
            delay: Delay::default(),
            reorder: false,
            loss: Loss::None,
            outages: Vec::new(),
            impairments: Impairments::default(),
        }
    }
}

impl Default for Rate {
    /// 10 Mbps.
    fn default() -> Self {
        Self::Fixed(Bitrate::from_bps(10_000_000))
    }
}

impl Default for QueueLimit {
    /// 100 packets.
    fn default() -> Self {
        Self::Packets(100)
    }
}

impl Default for Delay {
    /// None.
    fn default() -> Self {
        Self::Fixed(Duration::ZERO)
    }
}

impl Default for CellConfig {
    /// A Wi-Fi cell of 20 Mbps with nobody else in it.
    fn default() -> Self {
        Self {
            kind: CellKind::Wifi,
            rate: Bitrate::from_bps(20_000_000),
            others: Vec::new(),
            overhead: Duration::ZERO,
            pf_window: Duration::from_millis(100),
            fading: None,
        }
    }
}

impl Default for Fading {
    /// Walking pace at 2 GHz, 10 dB.
    fn default() -> Self {
        Self { coherence: Duration::from_millis(80), snr_db: 10.0 }
    }
}

impl Default for Load {
    /// One station with 1 Mbps in packets of 1040 bytes, all the time.
    fn default() -> Self {
        Self {
            count: 1,
            rate: Bitrate::from_bps(1_000_000),
            packet: Bytes::new(1040),
            jitter: Duration::ZERO,
            queue: 50,
            start: Instant::ZERO,
            stop: None,
            link_rate: None,
        }
    }
}

impl Default for StationConfig {
    /// 100 packets, no delay, no loss, the cell's rate.
    fn default() -> Self {
        Self {
            queue: QueueLimit::default(),
            delay: Delay::default(),
            reorder: false,
            loss: Loss::None,
            outages: Vec::new(),
            impairments: Impairments::default(),
            link_rate: None,
        }
    }
}
