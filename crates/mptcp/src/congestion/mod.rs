//! How fast a subflow sends: one algorithm a file, behind [`CongestionControl`].
//!
//! Windows are counted in bytes. An algorithm is an enum variant, not a boxed object: a subflow asks
//! it for every acknowledgement, and the whole state of each fits in a cache line.

mod cubic;
mod lia;
mod reno;

use core::fmt;
use core::str::FromStr;
use cubic::Cubic;
use lia::Lia;
use reno::Reno;
use units::{Duration, Time};

/// The algorithms there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CongestionKind {
    /// NewReno: RFC 5681, RFC 6582.
    Reno,
    /// CUBIC: RFC 9438.
    Cubic,
    /// Linked increases: RFC 6356.
    #[default]
    Lia,
}

impl CongestionKind {
    /// Every algorithm, in the order in which help texts list them.
    pub const ALL: [Self; 3] = [Self::Reno, Self::Cubic, Self::Lia];

    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Lia => "lia",
        }
    }
}

impl fmt::Display for CongestionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CongestionKind {
    type Err = UnknownName;
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or(UnknownName)
    }
}

/// No algorithm has this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownName;

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no algorithm has this name")
    }
}
impl core::error::Error for UnknownName {}

/// What an algorithm may know of its own subflow.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Now.
    pub now: Time,
    /// Sender maximum segment size, in bytes.
    pub mss: u64,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Bytes in flight before the event.
    pub in_flight: u64,
    /// The round trip that this acknowledgement measured, if it did.
    pub rtt: Option<Duration>,
    /// The lowest round trip measured on this subflow so far; [`Duration::MAX`] before the first.
    pub min_rtt: Duration,
}

/// How fast data arrives, as one acknowledgement tells (draft-cheng-iccrg-delivery-rate-estimation-02,
/// section 3.3).
#[derive(Debug, Clone, Copy)]
pub struct RateSample {
    /// Bytes delivered in all, this acknowledgement included.
    pub delivered: u64,
    /// Bytes delivered in all when the segment was sent that this acknowledgement is of.
    pub prior_delivered: u64,
    /// Bytes that this acknowledgement delivered, in order or not.
    pub newly_delivered: u64,
    /// Bytes that this acknowledgement shows to be lost.
    pub newly_lost: u64,
    /// What delivering `delivered - prior_delivered` took; zero where it cannot be said.
    pub interval: Duration,
    /// The sender had nothing more to send for some of that time: the rate is a lower bound.
    pub app_limited: bool,
    /// The round trip that this acknowledgement measured, if it did.
    pub rtt: Option<Duration>,
    /// Bytes in flight after it.
    pub in_flight: u64,
}

/// What a coupled algorithm knows of all subflows of the connection together (RFC 6356, section 3).
#[derive(Debug, Clone, Copy, Default)]
pub struct Coupling {
    /// Sum of the congestion windows, in bytes.
    pub total_cwnd: u64,
    /// Aggressiveness: `total * max(w/rtt²) / (sum w/rtt)²`.
    pub alpha: f64,
}

/// One subflow's algorithm.
pub trait CongestionControl {
    /// `acked` new bytes arrived while the window was the limit, outside recovery.
    fn on_ack(&mut self, acked: u64, view: &View, coupling: &Coupling, window: &mut Window);
    /// The first loss of a window, seen by duplicate acknowledgements: sets `ssthresh`.
    fn on_loss(&mut self, view: &View, window: &mut Window);
    /// The retransmission timer expired.
    fn on_timeout(&mut self, view: &View, window: &mut Window);
    /// Every acknowledgement, in recovery too, for algorithms that keep a model of the path.
    fn on_sample(&mut self, sample: &RateSample, view: &View, window: &mut Window) {
        let _ = (sample, view, window);
    }
    /// It wants [`on_sample`](Self::on_sample); rates are not sampled for others.
    fn wants_samples(&self) -> bool {
        false
    }
    /// Bytes per second at which segments are to be spaced; `None` leaves that to the sender's own
    /// switch.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
    /// The peer has seen a congestion mark (RFC 3168, section 6.1.2: as if a segment was lost).
    fn on_ecn(&mut self, view: &View, window: &mut Window) {
        self.on_loss(view, window);
    }
    /// The last reduction turns out to have been for nothing (RFC 5682, RFC 4015). The sender takes the
    /// window back by itself.
    fn on_undo(&mut self) {}
}

/// Congestion window and slow-start threshold, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold.
    pub ssthresh: u64,
}

impl Window {
    /// True below the threshold.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start with appropriate byte counting, L = 1 MSS per ACK unless several were covered
    /// (RFC 3465, RFC 5681, section 3.1). Returns the part of `acked` that is beyond the threshold.
    fn slow_start(&mut self, acked: u64) -> u64 {
        let grown = (self.cwnd + acked).min(self.ssthresh.max(self.cwnd));
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    /// Half of what is in flight, at least two segments (RFC 5681, Eq. 4). What limited transmit
    /// (RFC 3042) sent beyond the window does not count.
    fn halve(&mut self, view: &View) {
        self.ssthresh = (view.in_flight.min(self.cwnd) / 2).max(2 * view.mss);
    }
}

/// The state of whichever algorithm a subflow runs.
#[derive(Debug, Clone)]
pub(crate) enum Algorithm {
    Reno(Reno),
    Cubic(Cubic),
    Lia(Lia),
}

impl Algorithm {
    pub(crate) fn new(kind: CongestionKind) -> Self {
        match kind {
            CongestionKind::Reno => Self::Reno(Reno::default()),
            CongestionKind::Cubic => Self::Cubic(Cubic::default()),
            CongestionKind::Lia => Self::Lia(Lia::default()),
        }
    }

    /// True if it looks at the other subflows.
    pub(crate) const fn is_coupled(&self) -> bool {
        matches!(self, Self::Lia(_))
    }
}

/// The same call on whichever it is.
macro_rules! each {
    ($self:expr, $a:ident => $call:expr) => {
        match $self {
            Self::Reno($a) => $call,
            Self::Cubic($a) => $call,
            Self::Lia($a) => $call,
        }
    };
}

impl CongestionControl for Algorithm {
    fn on_ack(&mut self, acked: u64, view: &View, coupling: &Coupling, window: &mut Window) {
        each!(self, a => a.on_ack(acked, view, coupling, window));
    }
    fn on_loss(&mut self, view: &View, window: &mut Window) {
        each!(self, a => a.on_loss(view, window));
    }
    fn on_timeout(&mut self, view: &View, window: &mut Window) {
        each!(self, a => a.on_timeout(view, window));
    }
    fn on_sample(&mut self, sample: &RateSample, view: &View, window: &mut Window) {
        each!(self, a => a.on_sample(sample, view, window));
    }
    fn wants_samples(&self) -> bool {
        each!(self, a => a.wants_samples())
    }
    fn pacing_rate(&self) -> Option<u64> {
        each!(self, a => a.pacing_rate())
    }
    fn on_ecn(&mut self, view: &View, window: &mut Window) {
        each!(self, a => a.on_ecn(view, window));
    }
    fn on_undo(&mut self) {
        each!(self, a => a.on_undo());
    }
}

#[cfg(test)]
mod tests;
