//! How fast a subflow sends: one algorithm a file, behind [`CongestionControl`].
//!
//! Windows are counted in bytes. An algorithm is an enum variant, not a boxed object: a subflow asks
//! it for every acknowledgement, and the state of most fits in a cache line.
//!
//! | Name | | Source |
//! |---|---|---|
//! | `reno` | alone | RFC 5681, RFC 6582 |
//! | `cubic` | alone | RFC 9438 |
//! | `bbr` | alone, paced | draft-cardwell-iccrg-bbr-congestion-control-00 |
//! | `lia` | coupled | RFC 6356 |
//! | `olia` | coupled | draft-khalili-mptcp-congestion-control-05 |
//! | `balia` | coupled | draft-walid-mptcp-congestion-control-04 |
//! | `wvegas` | coupled, by delay | draft-xu-mptcp-congestion-control-05 |
//! | `ecmtcp` | coupled, by energy | after Le et al. 2012 |

mod balia;
mod bbr;
mod cubic;
mod driven;
mod ecmtcp;
mod lia;
mod olia;
mod reno;
mod wvegas;

use balia::Balia;
use bbr::Bbr;
use core::fmt;
use core::str::FromStr;
use cubic::Cubic;
use driven::Driven;
use ecmtcp::EcMtcp;
use lia::Lia;
use olia::Olia;
use reno::Reno;
use units::{Duration, Instant};
use wvegas::WVegas;

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
    /// Opportunistic linked increases: draft-khalili-mptcp-congestion-control-05.
    Olia,
    /// Balanced linked adaptation: draft-walid-mptcp-congestion-control-04.
    Balia,
    /// Weighted Vegas: draft-xu-mptcp-congestion-control-05.
    WVegas,
    /// Energy-aware linked increases, after Le et al. 2012.
    EcMtcp,
    /// BBR, version 1: draft-cardwell-iccrg-bbr-congestion-control-00.
    Bbr,
}

impl CongestionKind {
    /// Every algorithm, in the order in which help texts list them.
    pub const ALL: [Self; 8] =
        [Self::Reno, Self::Cubic, Self::Lia, Self::Olia, Self::Balia, Self::WVegas, Self::EcMtcp, Self::Bbr];

    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Lia => "lia",
            Self::Olia => "olia",
            Self::Balia => "balia",
            Self::WVegas => "wvegas",
            Self::EcMtcp => "ecmtcp",
            Self::Bbr => "bbr",
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
    pub now: Instant,
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
    /// Offset up to which the peer has acknowledged, so that differences are bytes delivered.
    pub una: u64,
    /// A loss is being repaired.
    pub recovering: bool,
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

/// What a coupled algorithm knows of all subflows of the connection together. Of the fields only those
/// are filled that the algorithm says it needs (see `Needs`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Coupling {
    /// Sum of the congestion windows, in bytes.
    pub total_cwnd: u64,
    /// Aggressiveness (RFC 6356, section 3.1): `total * max(w/rtt²) / (sum w/rtt)²`.
    pub alpha: f64,
    /// Sum of `w/rtt`, in bytes per second.
    pub total_rate: f64,
    /// The greatest `w/rtt`, in bytes per second.
    pub best_rate: f64,
    /// OLIA: what this subflow gains of the others or gives them, in segments a round trip.
    pub shift: f64,
    /// ecMTCP: the lowest cost of a byte on any subflow over its cost here, from 0 to 1.
    pub thrift: f64,
}

/// What an algorithm needs to know of the other subflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// `total_cwnd` and `alpha`.
    Alpha,
    /// The same and `thrift`, with costs in `alpha`.
    Costs,
    /// `total_rate` and `best_rate`.
    Rates,
    /// `total_rate` and `shift`.
    Shift,
}

/// One subflow's algorithm.
pub trait CongestionControl {
    /// `acked` new bytes arrived while the window was the limit, outside recovery.
    fn on_ack(&mut self, acked: u64, view: &View, coupling: &Coupling, window: &mut Window);
    /// An acknowledgement that earns no growth: the window was not what held data back.
    fn on_unused(&mut self, view: &View) {
        let _ = view;
    }
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
    /// window back by itself, and where it has since grown to what it was anyway, it is `overtaken`.
    fn on_undo(&mut self, overtaken: bool) {
        let _ = overtaken;
    }
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
    Olia(Olia),
    Balia(Balia),
    WVegas(WVegas),
    EcMtcp(EcMtcp),
    /// Several times as large as the others.
    Bbr(Box<Bbr>),
    /// The receiver's, for as long as it says something.
    Driven(Box<Driven>),
}

impl Algorithm {
    /// CUBIC `as_linux` has it where that is true; nothing to the others.
    pub(crate) fn new(kind: CongestionKind, as_linux: bool) -> Self {
        match kind {
            CongestionKind::Reno => Self::Reno(Reno::default()),
            CongestionKind::Cubic => Self::Cubic(Cubic::new(as_linux)),
            CongestionKind::Lia => Self::Lia(Lia::default()),
            CongestionKind::Olia => Self::Olia(Olia::default()),
            CongestionKind::Balia => Self::Balia(Balia::default()),
            CongestionKind::WVegas => Self::WVegas(WVegas::default()),
            CongestionKind::EcMtcp => Self::EcMtcp(EcMtcp::default()),
            CongestionKind::Bbr => Self::Bbr(Box::default()),
        }
    }

    /// What it looks at of the other subflows.
    pub(crate) const fn needs(&self) -> Needs {
        match self {
            Self::Reno(_) | Self::Cubic(_) | Self::Bbr(_) | Self::Driven(_) => Needs::Nothing,
            Self::Lia(_) => Needs::Alpha,
            Self::EcMtcp(_) => Needs::Costs,
            Self::Balia(_) | Self::WVegas(_) => Needs::Rates,
            Self::Olia(_) => Needs::Shift,
        }
    }

    /// OLIA: the greater of the bytes between the last two losses and since the last, where the
    /// acknowledgement stands at `una`.
    pub(crate) fn between_losses(&self, una: u64) -> u64 {
        match self {
            Self::Olia(olia) => olia.between_losses(una),
            Self::Driven(driven) => driven.before().between_losses(una),
            _ => una,
        }
    }

    /// The peer wants `rate` bytes per second, whatever this would do by itself; `None` gives it back its own
    /// mind.
    pub(crate) fn drive(&mut self, rate: Option<u64>) {
        let own = core::mem::replace(self, Self::Reno(Reno::default()));
        *self = match (own, rate) {
            (Self::Driven(driven), None) => driven.into_before(),
            (own, None) => own,
            (Self::Driven(mut driven), Some(rate)) => {
                driven.set_rate(rate);
                Self::Driven(driven)
            }
            (own, Some(rate)) => {
                let mut driven = Driven::new(own);
                driven.set_rate(rate);
                Self::Driven(Box::new(driven))
            }
        };
    }

    pub(crate) fn is_driven(&self) -> bool {
        matches!(self, Self::Driven(_))
    }

    /// The window and the rate that the peer wants, in bytes and bytes per second, if it wants any.
    pub(crate) fn driven(&self, mss: u64, srtt: Duration) -> Option<(u64, u64)> {
        let Self::Driven(driven) = self else { return None };
        Some((driven.window(mss, srtt), driven.rate(mss, srtt)))
    }
}

/// The same call on whichever it is.
macro_rules! each {
    ($self:expr, $a:ident => $call:expr) => {
        match $self {
            Self::Reno($a) => $call,
            Self::Cubic($a) => $call,
            Self::Lia($a) => $call,
            Self::Olia($a) => $call,
            Self::Balia($a) => $call,
            Self::WVegas($a) => $call,
            Self::EcMtcp($a) => $call,
            Self::Bbr($a) => $call,
            Self::Driven($a) => $call,
        }
    };
}

impl CongestionControl for Algorithm {
    fn on_ack(&mut self, acked: u64, view: &View, coupling: &Coupling, window: &mut Window) {
        each!(self, a => a.on_ack(acked, view, coupling, window));
    }
    fn on_unused(&mut self, view: &View) {
        each!(self, a => a.on_unused(view));
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
    fn on_undo(&mut self, overtaken: bool) {
        each!(self, a => a.on_undo(overtaken));
    }
}

#[cfg(test)]
mod tests;
