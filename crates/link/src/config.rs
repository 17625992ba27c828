//! Configuration of links and cells.

use crate::channel::{MAX_EFFICIENCY, spectral_efficiency};
use crate::loss::Loss;
use crate::trace::Trace;
use std::sync::Arc;
use units::{Bitrate, Bytes, Duration, Instant, Probability, Seed};

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkConfig {
    /// Link rate.
    pub rate: Rate,
    /// Queue limit.
    pub queue: QueueLimit,
    /// Active queue management, before `queue` is full.
    pub codel: Option<Codel>,
    /// Propagation delay, after the last byte has been transmitted.
    pub delay: Delay,
    /// Whether packets may overtake earlier ones when `delay` varies.
    pub reorder: bool,
    /// Losses.
    pub loss: Loss,
    /// Periods `[from, to)` in which every transmitted packet is lost. It still occupies the link.
    pub outages: Vec<(Instant, Instant)>,
    /// Other impairments.
    pub impairments: Impairments,
}

/// Rate of a link.
#[derive(Debug, Clone, PartialEq)]
pub enum Rate {
    /// A constant rate. A link of rate zero transmits no packets.
    Fixed(Bitrate),
    /// Start time and rate of each step, in order of time. The first rate also holds before its
    /// start and the last one has no end. Without steps the rate is zero.
    Steps(Vec<(Instant, Bitrate)>),
    /// The rates of a trace, repeated.
    Trace(Arc<Trace>),
}

/// Limit of a drop-tail queue.
///
/// A packet counts from its push until its last byte has been transmitted. It is accepted if the
/// queue, including it, does not exceed the limit; with a limit in time, if the queue before it does
/// not. Any limit of at least one packet lets an idle link transmit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// Number of packets.
    Packets(u32),
    /// Number of bytes.
    Bytes(Bytes),
    /// Transmission time of the queued packets, at the rates that the link will have. In a cell, their transmission time if the station
    /// had the medium to itself, with fading at the mean channel.
    Time(Duration),
    /// No limit.
    Unlimited,
}

/// CoDel (RFC 8289): drops a packet once the queueing delay has exceeded `target` for `interval`,
/// then further packets at decreasing intervals until the delay falls below `target`. With
/// [`QueueLimit::Time`], packets are dropped at the tail while the first has waited that long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Codel {
    /// Acceptable queueing delay: 5 ms (RFC 8289, section 4.2), on a slow link at least the
    /// transmission time of one packet.
    pub target: Duration,
    /// Roughly the longest round-trip time: 100 ms.
    pub interval: Duration,
    /// Mark ECN-capable packets (RFC 3168) instead of dropping them.
    pub ecn: bool,
}

impl Default for Codel {
    /// The values of RFC 8289: 5 ms and 100 ms, without ECN.
    fn default() -> Self {
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false }
    }
}

/// Impairments on the way, each with its own probability. None by default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Impairments {
    /// Probability of corruption. The receiver drops the packet by its checksum; it is counted
    /// apart from losses.
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

/// Propagation delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// Constant.
    Fixed(Duration),
    /// Uniform in `[min, max)`, drawn for each packet.
    Uniform {
        /// Lower bound.
        min: Duration,
        /// Upper bound; `min` if it is smaller.
        max: Duration,
    },
    /// Normal, drawn for each packet; negative values become zero.
    Normal {
        /// Mean before negative values become zero.
        mean: Duration,
        /// Standard deviation.
        sd: Duration,
    },
    /// Redrawn periodically between `min` and `max` with this mean and deviation: the figures that
    /// `ping` prints. The distribution is a scaled beta.
    Measured {
        /// Lower bound.
        min: Duration,
        /// Mean.
        mean: Duration,
        /// Upper bound.
        max: Duration,
        /// Standard deviation.
        sd: Duration,
        /// Time between draws.
        every: Duration,
    },
}

impl Delay {
    /// Returns the mean; for a normal delay, before negative values become zero.
    pub fn mean(&self) -> Duration {
        match *self {
            Self::Fixed(delay) => delay,
            Self::Uniform { min, max } => {
                Duration::from_nanos(min.as_nanos().midpoint(max.max(min).as_nanos()))
            }
            Self::Normal { mean, .. } | Self::Measured { mean, .. } => mean,
        }
    }
}

/// A medium shared by several stations.
#[derive(Debug, Clone, PartialEq)]
pub struct CellConfig {
    /// Access method.
    pub kind: CellKind,
    /// Capacity with one saturated station at the best channel, net of MAC overhead: about 60 % of
    /// an 802.11 PHY rate.
    pub rate: Bitrate,
    /// Background stations.
    pub others: Vec<Load>,
    /// Wi-Fi: overhead per frame (preamble, backoff, acknowledgement). Zero if `rate` includes it;
    /// 100 to 400 us for 802.11g without aggregation.
    pub overhead: Duration,
    /// LTE: averaging window of proportional fairness; typically 100 ms to 1 s.
    pub pf_window: Duration,
    /// LTE: fast fading of each user.
    pub fading: Option<Fading>,
}

/// Access method of a shared medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// One frame at a time; whenever the medium is free, each sender that has a frame is as likely
    /// to send it (the long-run behaviour of 802.11's DCF). Both directions contend, and the access
    /// point counts once for all its downlinks.
    Wifi,
    /// Every millisecond goes to the users by proportional fairness. One cell is one direction.
    Lte,
}

/// Rayleigh block fading: every `coherence` a user's gain `g` is drawn anew, exponential with a mean
/// of one. The user's rate is that of the SNR `snr g`, as for [`StationConfig::snr_db`]. With a link
/// rate it is `link_rate * log2(1 + snr g) / log2(1 + snr)`, at most the cell's rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fading {
    /// Coherence time; about `0.4 / doppler`, so 80 ms at walking pace and 2 GHz, 5 ms in a car.
    pub coherence: Duration,
    /// Mean signal-to-noise ratio of users without one of their own, in dB.
    pub snr_db: f64,
}

/// Stations of a cell that send packets of one size at a constant rate, each from a random phase.
/// Only packet counts are simulated. A station drops packets beyond its queue limit,
/// [`Load::queue`].
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Number of stations.
    pub count: u32,
    /// Offered rate of each station.
    pub rate: Bitrate,
    /// Size of each packet on the medium.
    pub packet: Bytes,
    /// Upper limit of the random delay of each packet, which is uniformly distributed.
    pub jitter: Duration,
    /// Queue limit of each station, in packets.
    pub queue: u32,
    /// Start time.
    pub start: Instant,
    /// End time.
    pub stop: Option<Instant>,
    /// Rate of the medium while one of these stations transmits; the cell's rate if `None`.
    pub link_rate: Option<Bitrate>,
}

/// A station of a cell that carries a path's packets, in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct StationConfig {
    /// Queue limit.
    pub queue: QueueLimit,
    /// Propagation delay after the medium.
    pub delay: Delay,
    /// Whether packets may overtake earlier ones when `delay` varies.
    pub reorder: bool,
    /// Losses on the medium, after MAC retransmissions.
    pub loss: Loss,
    /// Periods `[from, to)` in which every packet of this station is lost.
    pub outages: Vec<(Instant, Instant)>,
    /// Other impairments, after the medium.
    pub impairments: Impairments,
    /// Rate of the medium while this station transmits; the cell's rate if `None`. A slow Wi-Fi
    /// station slows all others, because all get equally many frames (Heusse et al. 2003). A slow
    /// LTE user gets the same share of time at a lower throughput.
    pub link_rate: Option<Bitrate>,
    /// Signal-to-noise ratio of the station, in dB, mean over the fading. The rate of the medium is
    /// then `rate * efficiency(snr) / 4.4`: the cell's rate is that of the best channel
    /// ([`spectral_efficiency`](crate::spectral_efficiency)). `link_rate` takes precedence.
    pub snr_db: Option<f64>,
}

impl StationConfig {
    /// Rate of the medium while this station transmits in `cell`. With fading it is that of the mean
    /// channel.
    pub fn rate(&self, cell: &CellConfig) -> Bitrate {
        let fading = cell.fading.filter(|_| cell.kind == CellKind::Lte);
        match (self.link_rate, self.snr_db.or(fading.map(|fading| fading.snr_db))) {
            (Some(rate), _) => rate,
            (None, Some(db)) => rate_at(cell.rate, snr_from_db(db)),
            (None, None) => cell.rate,
        }
    }
}

/// A station as it joins a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellStation {
    /// Queue, channel and impairments.
    pub config: StationConfig,
    /// Who sends its packets.
    pub sender: Sender,
    /// Seed of its losses, delays and fading, which other stations do not change.
    pub seed: Seed,
}

/// Who sends the packets of a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The access point or base station: a downlink. A Wi-Fi access point contends once for all
    /// its downlinks, and sends for one of those with a frame, at random.
    AccessPoint,
    /// The station itself: an uplink.
    Client,
}

/// Rate at a linear SNR in a cell whose `peak` rate is that of the best channel.
pub(crate) fn rate_at(peak: Bitrate, snr: f64) -> Bitrate {
    Bitrate::from_bps((peak.as_bps() as f64 * spectral_efficiency(snr) / MAX_EFFICIENCY) as u64)
}

/// Linear SNR of a value in dB, which is clamped to the range from -100 to 100 dB.
pub(crate) fn snr_from_db(db: f64) -> f64 {
    let db = if db.is_finite() { db.clamp(-100.0, 100.0) } else { -100.0 };
    libm::pow(10.0, db / 10.0)
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
    /// A Wi-Fi cell of 20 Mbps without background stations.
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
            snr_db: None,
        }
    }
}
