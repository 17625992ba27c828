//! Congestion controls: how fast a subflow sends. One algorithm per file, behind
//! [`CongestionControl`].
//!
//! To add one here, write its file and add its `mod` line and its row in `congestion_controls!`
//! below. A crate outside this one implements [`CongestionControl`] and [`CongestionFactory`]
//! instead, and puts the factory into [`Config::congestion`](crate::Config::congestion).
//!
//! Windows are counted in bytes. A coupled algorithm sees the connection's other subflows through
//! [`Coupling`].

#![allow(clippy::trivially_copy_pass_by_ref, reason = "`CongestionSettings` may grow: it is non-exhaustive")]

mod active;
mod balia;
mod bbr;
mod choice;
mod coupling;
mod cubic;
mod ecmtcp;
mod fully_coupled;
mod lia;
mod olia;
mod receiver_driven;
mod reno;
mod wvegas;

#[cfg(test)]
mod tests;

use crate::registry::named_enum;
pub(crate) use active::ActiveCongestion;
pub use choice::{CongestionChoice, CongestionFactory, CongestionSettings};
use core::fmt;
pub use coupling::{CoupledSubflow, Coupling};
use units::{Duration, Instant};

/// Registers algorithms, from rows of `Variant => "name", constructor, "summary";`. A constructor
/// takes `&CongestionSettings`.
macro_rules! congestion_controls {
    ($($(#[$attribute:meta])* $variant:ident => $name:literal, $new:expr, $summary:literal;)+) => {
        named_enum! {
            /// The registered congestion controls.
            CongestionKind {
                $($(#[$attribute])* $variant => $name, $summary;)+
            }
        }

        impl CongestionKind {
            fn build(self, settings: &CongestionSettings) -> Box<dyn CongestionControl> {
                match self { $(Self::$variant => boxed($new, settings),)+ }
            }
        }
    };
}

congestion_controls! {
    Reno => "reno", |_| reno::Reno::default(), "NewReno on each path (RFC 5681)";
    Cubic => "cubic", cubic::Cubic::new, "CUBIC on each path (RFC 9438)";
    #[default]
    Lia => "lia", |_| lia::Lia::default(), "linked increases: no more than TCP on the best path (RFC 6356)";
    LinkedIncreases => "linked-increases", |_| lia::Lia::without_cap(), "as `lia`, without TCP's increase as an upper bound (Raiciu et al. 2009)";
    FullyCoupled => "fully-coupled", |_| fully_coupled::FullyCoupled::default(), "increases and decreases by the sum of the windows (Wischik et al. 2011)";
    Olia => "olia", |_| olia::Olia::default(), "opportunistic linked increases (Khalili et al. 2013)";
    Balia => "balia", |_| balia::Balia::default(), "balanced linked adaptation (Peng et al. 2016)";
    WVegas => "wvegas", |_| wvegas::WVegas::default(), "weighted Vegas: coupled, by queueing delay (Cao et al. 2012)";
    EcMtcp => "ecmtcp", |_| ecmtcp::EcMtcp::default(), "linked increases weighted by energy per byte (after Le et al. 2012)";
    Bbr => "bbr", |_| bbr::Bbr::default(), "BBR, version 1, on each path: by bandwidth and round trip, paced";
}

fn boxed<C: CongestionControl + 'static>(
    new: impl FnOnce(&CongestionSettings) -> C,
    settings: &CongestionSettings,
) -> Box<dyn CongestionControl> {
    Box::new(new(settings))
}

/// State of the algorithm's own subflow.
#[derive(Debug, Clone, Copy)]
pub struct SubflowView {
    /// Current time.
    pub now: Instant,
    /// Sender maximum segment size, in bytes.
    pub mss: u64,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Bytes in flight before the event.
    pub in_flight: u64,
    /// Round-trip time measured by this acknowledgement, if it gave a sample.
    pub rtt: Option<Duration>,
    /// Lowest round-trip time measured on this subflow; [`Duration::MAX`] before the first sample.
    pub min_rtt: Duration,
    /// Offset up to which the peer has acknowledged; differences are bytes delivered.
    pub una: u64,
    /// True during loss recovery.
    pub recovering: bool,
}

/// Delivery rate sample of one acknowledgement (draft-cheng-iccrg-delivery-rate-estimation-02,
/// section 3.3).
#[derive(Debug, Clone, Copy)]
pub struct RateSample {
    /// Total bytes delivered, those of this acknowledgement included.
    pub delivered: u64,
    /// Total bytes delivered when the acknowledged segment was sent.
    pub prior_delivered: u64,
    /// Bytes delivered by this acknowledgement, in order or not.
    pub newly_delivered: u64,
    /// Bytes found lost by this acknowledgement.
    pub newly_lost: u64,
    /// Time over which `delivered - prior_delivered` arrived; zero if unknown.
    pub interval: Duration,
    /// The application limited sending during the interval: the rate is a lower bound.
    pub app_limited: bool,
    /// Round-trip time measured by this acknowledgement, if it gave a sample.
    pub rtt: Option<Duration>,
    /// Bytes in flight after this acknowledgement.
    pub in_flight: u64,
}

/// The congestion control of one subflow.
///
/// Implementations derive `Clone` and `Debug`. The first three methods must be written.
pub trait CongestionControl: CloneCongestionControl + fmt::Debug + Send + Sync {
    /// Grows the window for `acked` new bytes. Called outside recovery, while the window limits
    /// sending.
    fn on_ack(&mut self, acked: u64, view: &SubflowView, coupling: &Coupling, window: &mut Window);

    /// Reacts to the first loss of a window, found by SACK or duplicate acknowledgements: sets
    /// `ssthresh`.
    fn on_loss(&mut self, view: &SubflowView, window: &mut Window);

    /// Reacts to the expiry of the retransmission timer: sets `ssthresh` and `cwnd`.
    fn on_timeout(&mut self, view: &SubflowView, window: &mut Window);

    /// Notes an acknowledgement that arrived while something other than the window limited sending.
    fn on_limited_ack(&mut self, view: &SubflowView) {
        let _ = view;
    }

    /// Reacts to an ECN echo (RFC 3168, section 6.1.2: as to a loss).
    fn on_ecn(&mut self, view: &SubflowView, window: &mut Window) {
        self.on_loss(view, window);
    }

    /// Notes that new data is sent while nothing is in flight: at the start, or after an idle time.
    fn on_restart(&mut self) {}

    /// Notes that the last reduction was spurious (RFC 5682, RFC 4015). The sender restores the
    /// window itself; `regrown` is true if the window has already grown back to its earlier size.
    fn on_spurious_reduction(&mut self, regrown: bool) {
        let _ = regrown;
    }

    /// Takes the delivery rate sample of each acknowledgement, in recovery too. Called only if
    /// [`uses_rate_samples`](Self::uses_rate_samples) is true.
    fn on_rate_sample(&mut self, sample: &RateSample, view: &SubflowView, window: &mut Window) {
        let _ = (sample, view, window);
    }

    /// Returns true for an algorithm with a model of the path: the sender then samples delivery
    /// rates, paces segments and leaves recovery's window to the algorithm. Read once, for a new
    /// subflow.
    fn uses_rate_samples(&self) -> bool {
        false
    }

    /// Returns true while the algorithm itself keeps the window small, so that the rate samples of
    /// what is sent now say nothing about the path.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Returns the pacing rate, in bytes per second; `None` leaves pacing to
    /// [`Config::pacing`](crate::Config::pacing).
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// Returns true for a coupled algorithm: only then is [`Coupling`] filled. Read once, for a new
    /// subflow.
    fn is_coupled(&self) -> bool {
        false
    }

    /// Returns true if the algorithm weighs [`CoupledSubflow::energy_cost`].
    fn uses_energy_costs(&self) -> bool {
        false
    }

    /// Returns a value for the algorithms of the other subflows, which read it as
    /// [`CoupledSubflow::shared_value`]. `una` is this subflow's [`SubflowView::una`].
    fn shared_value(&self, una: u64) -> u64 {
        let _ = una;
        0
    }
}

/// Clones a boxed algorithm; implemented for every [`CongestionControl`] that is `Clone`.
pub trait CloneCongestionControl {
    /// Returns a copy with the same state.
    fn clone_box(&self) -> Box<dyn CongestionControl>;
}

impl<T: CongestionControl + Clone + 'static> CloneCongestionControl for T {
    fn clone_box(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CongestionControl> {
    fn clone(&self) -> Self {
        (**self).clone_box()
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
    /// Returns true while the window is below the threshold.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows the window by `acked` bytes up to the threshold (RFC 5681, section 3.1, with the byte
    /// counting of RFC 3465). Returns the bytes left for congestion avoidance.
    pub fn slow_start(&mut self, acked: u64) -> u64 {
        let grown = (self.cwnd + acked).min(self.ssthresh.max(self.cwnd));
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    /// Grows the window by the whole bytes of `increase`, which keeps the fraction of a byte.
    pub fn grow(&mut self, increase: &mut f64) {
        let whole = *increase as u64;
        *increase -= whole as f64;
        self.cwnd += whole;
    }

    /// Sets the threshold to half the flight size, at least two segments (RFC 5681, Eq. 4).
    /// Segments that limited transmit (RFC 3042) sent beyond the window do not count.
    pub fn halve(&mut self, view: &SubflowView) {
        self.ssthresh = (view.in_flight.min(self.cwnd) / 2).max(2 * view.mss);
    }
}
