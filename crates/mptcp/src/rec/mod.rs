//! MPTCP-rec: Cao et al., "Receiver-centric Buffer Blocking-aware Multipath Data Distribution in
//! MPTCP-based Heterogeneous Wireless Networks", 2016.
//!
//! The receiver runs TCP's rate control for each path and reports the rate to the sender (`state`,
//! `estimator`, `smoothing`). The same option reports out-of-order data that the receiver will not
//! discard (NR-SACK). The sender leaves the worst path out while the receive buffer is about to
//! block (`blocking`, `collector`).
//!
//! The paper's equations are not available. `docs/background/mptcp-rec.md` says which are stated in
//! its text and which are reconstructed; each open point is a field of [`Rec`].

pub(crate) mod blocking;
pub(crate) mod collector;
pub(crate) mod estimator;
pub(crate) mod smoothing;
pub mod state;

use crate::registry::named_enum;

/// Version of the options that this implementation speaks.
pub(crate) const VERSION: u8 = 1;

named_enum! {
    /// The receiver's source of a path's round-trip time.
    RoundTrip {
        #[default]
        Echo => "echo", "by echoed timestamps; without timestamps as `rounds`";
        /// The paper's text suggests this. Nothing ties it to the path: a pause makes rounds
        /// longer, the rate lower, and so the next rounds longer.
        Rounds => "rounds", "by the length of the receiver's rounds";
    }
}

named_enum! {
    /// The receiver's rule for a path's rate.
    RateRule {
        #[default]
        Rounds => "rounds", "bytes received in a round, divided by the RTT";
        Window => "window", "a window emulated at the receiver, divided by the RTT, as in TEAR";
    }
}

named_enum! {
    /// The sender's choice of the path to leave out while the receive buffer is about to block.
    Removal {
        #[default]
        Worst => "worst", "the path with the lowest rate, as in the paper";
        Weighed => "weighed", "the slowest path, and only if the others would fill the buffer meanwhile (not in the paper)";
    }
}

named_enum! {
    /// The sender's observation of the receive buffer.
    Observed {
        #[default]
        Free => "free", "the advertised window less the out-of-order data in the receiver's reports";
        /// The paper's awnd. The window of Multipath TCP contains out-of-order data (RFC 8684,
        /// section 3.3.1).
        Advertised => "advertised", "the advertised window, as in the paper; it does not fall while the application reads at once";
    }
}

/// The settings of MPTCP-rec. It is used only if both ends have them; each switch works by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rec {
    /// Report out-of-order data that will not be discarded, and free data that the peer reports so.
    pub nr_sack: bool,
    /// Send at the rates that the receiver reports instead of by a congestion window.
    pub rates: bool,
    /// Schedule data to the path with the highest rate first, and leave paths out while the receive
    /// buffer is about to block.
    pub path_choice: bool,
    /// Weight of a path's previous rate in the rate after a round, from 0 to 1 (phi; theta is the
    /// rest). The paper has one default for both.
    pub phi: f64,
    /// Number of rates over which the reported rate is smoothed, 1 to 16 (sigma).
    pub sigma: u8,
    /// Source of round-trip times.
    pub round_trip: RoundTrip,
    /// Rule for rates.
    pub rate: RateRule,
    /// Relative difference between the sender's rate in a round and the reported rate above which
    /// the receiver reports at once. The paper reports if they are "not equal".
    pub tolerance: f64,
    /// Number of receive buffer observations behind the blocking indicator, 2 to 64 (m). The sender
    /// observes once per round trip of the fastest path.
    pub observations: u8,
    /// Number of observations without a sign of blocking after which all paths are used again. The
    /// paper has no such number, which is 1.
    pub hold: u16,
    /// Path to leave out.
    pub removal: Removal,
    /// The observed quantity of the receive buffer.
    pub observed: Observed,
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
            observed: Observed::Free,
        }
    }
}

impl Rec {
    /// Returns the settings with every number within its bounds.
    pub(crate) fn clamped(self) -> Self {
        let finite = |x: f64, default: f64, max: f64| if x.is_finite() { x.clamp(0.0, max) } else { default };
        Self {
            phi: finite(self.phi, 0.5, 1.0),
            sigma: self.sigma.clamp(1, smoothing::MAX_VALUES as u8),
            tolerance: finite(self.tolerance, 0.125, 1e6),
            observations: self.observations.clamp(2, blocking::MAX_OBSERVATIONS as u8),
            hold: self.hold.max(1),
            ..self
        }
    }
}
