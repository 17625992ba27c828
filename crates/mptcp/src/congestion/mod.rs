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

impl CongestionControl for Algorithm {
    fn on_ack(&mut self, acked: u64, view: &View, coupling: &Coupling, window: &mut Window) {
        match self {
            Self::Reno(a) => a.on_ack(acked, view, coupling, window),
            Self::Cubic(a) => a.on_ack(acked, view, coupling, window),
            Self::Lia(a) => a.on_ack(acked, view, coupling, window),
        }
    }
    fn on_loss(&mut self, view: &View, window: &mut Window) {
        match self {
            Self::Reno(a) => a.on_loss(view, window),
            Self::Cubic(a) => a.on_loss(view, window),
            Self::Lia(a) => a.on_loss(view, window),
        }
    }
    fn on_timeout(&mut self, view: &View, window: &mut Window) {
        match self {
            Self::Reno(a) => a.on_timeout(view, window),
            Self::Cubic(a) => a.on_timeout(view, window),
            Self::Lia(a) => a.on_timeout(view, window),
        }
    }
}

#[cfg(test)]
mod tests;
