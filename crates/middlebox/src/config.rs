//! Configuration of a middlebox.

use crate::option_set::OptionSet;
use units::{Duration, Instant, Probability};

/// Configuration of one middlebox.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MiddleboxConfig {
    /// Kind and parameters.
    pub kind: MiddleboxKind,
    /// Directions in which the middlebox acts. Sequence rewriting and NAT always act in both.
    pub directions: Directions,
    /// Start of its action; segments pass unchanged before. A start within a connection simulates a
    /// change of route.
    pub from: Instant,
    /// End of its action.
    pub until: Option<Instant>,
}

/// Kind of middlebox.
///
/// | Kind | Real device | Effect on Multipath TCP (sections of RFC 8684) |
/// | --- | --- | --- |
/// | `StripOptions` | firewall without support of kind 30 | fallback to TCP (3.1, 3.7) |
/// | `RewriteSequence` | firewall: random sequence numbers | none: mappings are relative (3.3) |
/// | `Split` | segmentation offload (TSO) | none: a mapping may cover several segments |
/// | `Coalesce` | receive offload (LRO, GRO), TCP proxy | data without a mapping is retransmitted |
/// | `Nat` | home gateway with a short idle timeout | the subflow fails, the connection continues |
/// | `Corrupt` | application-level gateway | the DSS checksum fails (3.7) |
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MiddleboxKind {
    /// Removes TCP options, or drops segments that have them.
    StripOptions {
        /// Options to look for.
        options: OptionSet,
        /// Segments to examine.
        filter: SegmentFilter,
        /// Action on a segment with one of the options.
        action: OptionAction,
        /// Probability of the action, for each segment.
        chance: Probability,
    },
    /// Adds an offset to the sequence numbers of each direction, and subtracts it from the
    /// acknowledgements: a firewall that randomises initial sequence numbers.
    RewriteSequence {
        /// Offset of the device's sequence numbers.
        up: u32,
        /// Offset of the server's sequence numbers.
        down: u32,
        /// Translate SACK blocks too. Some firewalls do not: the sender then gets blocks that it
        /// never sent.
        sack: bool,
    },
    /// Splits segments, as segmentation offload does. Each piece has all options of the original,
    /// including the same mapping (RFC 8684, section 3.3). A SYN is not split.
    Split {
        /// Maximum payload of a piece, in bytes; 0 counts as 1.
        mss: u16,
    },
    /// Merges consecutive segments. The result has the options of the first segment, and the
    /// acknowledgement number and window of the last.
    Coalesce {
        /// Maximum payload of a merged segment, in bytes; 64 KiB for receive offload.
        max_bytes: u32,
        /// Maximum time for which a segment is held.
        hold: Duration,
    },
    /// Network address translator that forgets idle connections. Segments of the server without a
    /// mapping are dropped.
    Nat {
        /// Idle timeout of a mapping: RFC 5382 requires at least 2 h 4 min, many gateways use
        /// minutes.
        idle: Duration,
        /// Action on the device's next segment after the timeout.
        on_expiry: ExpiryAction,
    },
    /// Changes payload bytes without changing their number, and fixes the TCP checksum. Only the
    /// DSS checksum can detect it (RFC 8684, section 3.3.1).
    Corrupt {
        /// Probability for each segment with payload.
        chance: Probability,
    },
}

/// Segments that an option-stripping middlebox examines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SegmentFilter {
    /// SYN and SYN/ACK.
    Syn,
    /// All except SYN and SYN/ACK.
    NotSyn,
    /// Segments with payload.
    Data,
    /// All segments.
    #[default]
    All,
}

/// Action on a segment with an unwanted option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OptionAction {
    /// Remove the option and pass the segment.
    #[default]
    Strip,
    /// Drop the segment.
    Drop,
}

/// Action of a translator on a segment of the device without a live mapping that is not a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpiryAction {
    /// Create a mapping with the same port: only segments in between are lost.
    #[default]
    Renew,
    /// Create a mapping with another port: the server does not know the connection.
    NewPort,
    /// Reply with a RST, as for a connection that does not exist (RFC 9293, section 3.5.2).
    Reset,
    /// Drop segments until a SYN arrives.
    Drop,
}

/// Directions of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Directions {
    /// From the device.
    Up,
    /// To the device.
    Down,
    /// Both directions.
    #[default]
    Both,
}

impl MiddleboxConfig {
    /// A middlebox that acts in both directions and all the time.
    pub const fn new(kind: MiddleboxKind) -> Self {
        Self { kind, directions: Directions::Both, from: Instant::ZERO, until: None }
    }

    /// True if the middlebox acts on a segment of this direction at `now`.
    pub(crate) fn is_active(&self, now: Instant, from_device: bool) -> bool {
        let selected = match self.directions {
            Directions::Up => from_device,
            Directions::Down => !from_device,
            Directions::Both => true,
        };
        let always_both =
            matches!(self.kind, MiddleboxKind::RewriteSequence { .. } | MiddleboxKind::Nat { .. });
        (selected || always_both) && now >= self.from && self.until.is_none_or(|until| now < until)
    }
}

impl MiddleboxKind {
    /// Names of all kinds.
    pub const NAMES: [&'static str; 6] =
        ["strip-options", "rewrite-sequence", "split", "coalesce", "forget-nat", "corrupt"];

    /// Name of the kind in scenarios and results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::StripOptions { .. } => "strip-options",
            Self::RewriteSequence { .. } => "rewrite-sequence",
            Self::Split { .. } => "split",
            Self::Coalesce { .. } => "coalesce",
            Self::Nat { .. } => "forget-nat",
            Self::Corrupt { .. } => "corrupt",
        }
    }
}
