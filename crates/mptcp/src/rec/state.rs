//! The seven states of the receiver's congestion control, after TEAR (Rhee, Ozdemir, Yi 2000): their names and
//! roles are the paper's, their transitions reconstructed.
//!
//! ```text
//!            next in order            window at threshold
//!   ┌──> SR ───────────────> SS ──────────────────────────> CA <──────────────┐
//!   │                        │ ^ hole closed, below it      ^ │               │ next in order
//!   │                   hole │ │           hole closed, not ┘ │ hole          │
//!   │                        v │                       ┌──────┘               │
//!   │ anything comes         GAP <─────────────────────┘                      │
//!   │                        │ │ two more beyond it                           │
//!   │      nothing for a RTO │ └────────────────> FR ───── a round trip ────> CR
//!   └── TO <─────────────────┘
//! ```

/// Where the receiver stands on a path.
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
    /// GAP: packets are missing: lost, or late.
    Gap,
    /// FR: a loss, and the window is halved for a round trip.
    FastRecovery,
    /// TO: a loss, and nothing came after it.
    Timeout,
}

/// What happens on a path, as far as it moves the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A packet has come, whichever.
    Packet,
    /// The next packet in order, and none is missing.
    InOrder,
    /// The window has reached the threshold.
    Threshold,
    /// A packet beyond one that is missing, the first.
    Hole,
    /// What was missing has come.
    Closed {
        /// The window is below the threshold.
        below: bool,
    },
    /// So many beyond what is missing that it is lost (three, as RFC 5681 has it).
    Loss,
    /// Nothing has come for a retransmission timeout.
    Silence,
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

    /// Where `event` leads: every transition there is. `None` where it does not matter.
    pub const fn after(self, event: Event) -> Option<Self> {
        Some(match (self, event) {
            (Self::SlowStartReady, Event::InOrder) => Self::SlowStart,
            (Self::SlowStart, Event::Threshold) | (Self::AvoidanceReady, Event::InOrder) => Self::Avoidance,
            (Self::SlowStart | Self::Avoidance, Event::Hole) => Self::Gap,
            (Self::Gap, Event::Closed { below: true }) => Self::SlowStart,
            (Self::Gap, Event::Closed { below: false }) => Self::Avoidance,
            (Self::Gap, Event::Loss) => Self::FastRecovery,
            (Self::Gap, Event::Silence) => Self::Timeout,
            (Self::FastRecovery, Event::RoundTrip) => Self::AvoidanceReady,
            (Self::Timeout, Event::Packet) => Self::SlowStartReady,
            _ => return None,
        })
    }

    /// The paper's short name.
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

    /// Rounds are counted.
    pub const fn grows(self) -> bool {
        matches!(self, Self::SlowStart | Self::Avoidance)
    }
}
