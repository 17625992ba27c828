//! The seven states of the receiver's congestion control, after TEAR (Rhee, Ozdemir, Yi 2000).
//! Their names and roles are the paper's; their transitions are reconstructed.
//! docs/background/mptcp-rec.md has the state diagram.

/// State of the receiver on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// SR: slow start begins with the next packet in order.
    #[default]
    SlowStartReady,
    /// SS: the window grows by a packet for each that comes.
    SlowStart,
    /// CR: congestion avoidance begins with the next packet in order.
    AvoidanceReady,
    /// CA: the window grows by a packet each round.
    Avoidance,
    /// GAP: packets are missing, lost or reordered.
    Gap,
    /// FR: a loss was found; the window stays halved for a round trip.
    FastRecovery,
    /// TO: a loss, and too few packets after it within a retransmission timeout.
    Timeout,
}

/// An event on a path that may change the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Any packet has arrived.
    Packet,
    /// The next packet in order has arrived, and none is missing.
    InOrder,
    /// The window has reached the threshold.
    Threshold,
    /// The first packet beyond a missing one has arrived.
    Hole,
    /// The missing packets have arrived.
    Closed {
        /// The window is below the threshold.
        below: bool,
    },
    /// Three packets beyond the missing one have arrived: it is lost (RFC 5681).
    Loss,
    /// A retransmission timeout has passed since the first packet beyond a missing one.
    Timeout,
    /// A round trip has passed since the state was entered.
    RoundTrip,
}

impl State {
    /// Every state, in the order of the diagram.
    pub const ALL: [Self; 7] = [
        Self::SlowStartReady,
        Self::SlowStart,
        Self::AvoidanceReady,
        Self::Avoidance,
        Self::Gap,
        Self::FastRecovery,
        Self::Timeout,
    ];

    /// Returns the state after `event`, or `None` if the event has no effect in this state.
    pub const fn after(self, event: Event) -> Option<Self> {
        Some(match (self, event) {
            (Self::SlowStartReady, Event::InOrder) => Self::SlowStart,
            (Self::SlowStart, Event::Threshold) | (Self::AvoidanceReady, Event::InOrder) => Self::Avoidance,
            (Self::SlowStart | Self::Avoidance, Event::Hole) => Self::Gap,
            (Self::Gap, Event::Closed { below: true }) => Self::SlowStart,
            (Self::Gap, Event::Closed { below: false }) => Self::Avoidance,
            (Self::Gap, Event::Loss) => Self::FastRecovery,
            (Self::Gap, Event::Timeout) => Self::Timeout,
            (Self::FastRecovery, Event::RoundTrip) => Self::AvoidanceReady,
            (Self::Timeout, Event::Packet) => Self::SlowStartReady,
            _ => return None,
        })
    }

    /// Returns the paper's abbreviation.
    pub const fn short(self) -> &'static str {
        match self {
            Self::SlowStartReady => "SR",
            Self::SlowStart => "SS",
            Self::AvoidanceReady => "CR",
            Self::Avoidance => "CA",
            Self::Gap => "GAP",
            Self::FastRecovery => "FR",
            Self::Timeout => "TO",
        }
    }

    /// Returns true in the states that count rounds and grow the window.
    pub const fn grows(self) -> bool {
        matches!(self, Self::SlowStart | Self::Avoidance)
    }
}
