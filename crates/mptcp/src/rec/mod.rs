//! MPTCP-rec: Cao et al., "Receiver-centric Buffer Blocking-aware Multipath Data Distribution in MPTCP-based
//! Heterogeneous Wireless Networks", 2016.
//!
//! The receiver plays TCP for each path and tells the sender how fast to send there (`state`, `estimator`,
//! `smoothing`); it says in the same option what it holds out of order and will not discard; and the sender
//! leaves the worst path out while the receive buffer threatens to block (`blocking`, `collector`).
//!
//! The paper's equations are lost: what of them is stated and what is reconstructed is told beside each in
//! docs/mptcp-rec.md, and what was open is a field of [`Rec`].

pub(crate) mod blocking;
pub(crate) mod collector;
pub(crate) mod estimator;
pub(crate) mod ranges;
pub(crate) mod smoothing;
pub mod state;

pub use collector::Removal;

use core::fmt;
use core::str::FromStr;

/// The version of the options that is spoken here.
pub(crate) const VERSION: u8 = 1;

/// From what the receiver knows the round trip of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RoundTrip {
    /// From the timestamps that the data echoes (RFC 7323), or, without any, as `Rounds`.
    #[default]
    Echo,
    /// From the lengths of its own rounds, as the paper's text suggests. Nothing ties that to the path: a
    /// pause makes rounds longer, the rate lower, and so rounds longer.
    Rounds,
}

/// How a rate follows from what was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RateRule {
    /// What was received in a round over the round trip, smoothed: the paper's.
    #[default]
    Rounds,
    /// The receiver's own window over the round trip, smoothed alike: TEAR's.
    Window,
}

macro_rules! names {
    ($kind:ty, $($variant:ident $name:literal),+) => {
        impl $kind {
            /// Every one, in the order in which help texts list them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];
            /// The name in scenarios.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
        impl FromStr for $kind {
            type Err = crate::congestion::UnknownName;
            fn from_str(name: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name).ok_or(crate::congestion::UnknownName)
            }
        }
    };
}
names!(RoundTrip, Echo "echo", Rounds "rounds");
names!(RateRule, Rounds "rounds", Window "window");
names!(Removal, Worst "worst", Weighed "weighed");

/// The settings of MPTCP-rec. Both ends need them for anything to happen; each switch works for itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rec {
    /// Tell what came out of order, for good; and free what the peer told so.
    pub nr_sack: bool,
    /// Send as fast as the receiver wants it, and not by an own window.
    pub rates: bool,
    /// Deal to the path with the highest rate first, and leave paths out where the buffer will block.
    pub path_choice: bool,
    /// Weight of a path's rate before in the one after a round, from 0 to 1 (phi; theta is the rest). The
    /// paper has one default for both.
    pub phi: f64,
    /// Of so many rates the one that is told is smoothed, 1 to 16 (sigma).
    pub sigma: u8,
    /// What round trips are measured by.
    pub round_trip: RoundTrip,
    /// What rates are measured by.
    pub rate: RateRule,
    /// A round in which the sender's rate was off by more than this part of what it was told is answered at
    /// once. The paper says "not equal".
    pub tolerance: f64,
    /// Of so many observations of the receive buffer the indicator is made, 2 to 64 (m). There is one each
    /// round trip of the fastest path.
    pub observations: u8,
    /// After so many observations without a sign of blocking all paths are used again. The paper has none,
    /// which is 1.
    pub hold: u16,
    /// Which path is left out.
    pub removal: Removal,
}

impl Default for Rec {
    fn default() -> Self {
        Self {
            nr_sack: true,
            rates: true,
            path_choice: true,
            phi: 0.5,
            sigma: 8,
            round_trip: RoundTrip::Echo,
            rate: RateRule::Rounds,
            tolerance: 0.125,
            observations: 8,
            hold: 8,
            removal: Removal::Worst,
        }
    }
}

impl Rec {
    /// The same with every number within its bounds.
    pub(crate) fn clamped(self) -> Self {
        let within =
            |x: f64, otherwise: f64, most: f64| if x.is_finite() { x.clamp(0.0, most) } else { otherwise };
        Self {
            phi: within(self.phi, 0.5, 1.0),
            sigma: self.sigma.clamp(1, smoothing::MOST as u8),
            tolerance: within(self.tolerance, 0.125, 1e6),
            observations: self.observations.clamp(2, blocking::MOST as u8),
            hold: self.hold.max(1),
            ..self
        }
    }
}
