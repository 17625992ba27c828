//! Sets of TCP options.

use wire::{MptcpSignal, Payload, SackBlocks, Segment};

/// A set of TCP options, those of Multipath TCP told apart by subtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options(u16);

impl Options {
    /// No option.
    pub const NONE: Self = Self(0);
    /// Maximum segment size (RFC 9293).
    pub const MSS: Self = Self(1);
    /// Window scale (RFC 7323).
    pub const WINDOW_SCALE: Self = Self(1 << 1);
    /// SACK permitted, and SACK blocks (RFC 2018).
    pub const SACK: Self = Self(1 << 2);
    /// Timestamps (RFC 7323).
    pub const TIMESTAMPS: Self = Self(1 << 3);
    /// `MP_CAPABLE` (RFC 8684, section 3.1).
    pub const CAPABLE: Self = Self(1 << 4);
    /// `MP_JOIN` (section 3.2).
    pub const JOIN: Self = Self(1 << 5);
    /// DSS: mappings, DATA_ACK and DATA_FIN (section 3.3).
    pub const DSS: Self = Self(1 << 6);
    /// `ADD_ADDR` (section 3.4.1).
    pub const ADD_ADDRESS: Self = Self(1 << 7);
    /// `REMOVE_ADDR` (section 3.4.2).
    pub const REMOVE_ADDRESS: Self = Self(1 << 8);
    /// `MP_PRIO` (section 3.3.8).
    pub const PRIORITY: Self = Self(1 << 9);
    /// `MP_FAIL` (section 3.7).
    pub const FAIL: Self = Self(1 << 10);
    /// `MP_FASTCLOSE` (section 3.5).
    pub const FAST_CLOSE: Self = Self(1 << 11);
    /// `MP_TCPRST` (section 3.6).
    pub const RESET: Self = Self(1 << 12);
    /// Those of MPTCP-rec, in the subtype for private use.
    pub const REC: Self = Self(1 << 13);
    /// All of Multipath TCP: what a box removes that knows kind 30, or does not know it.
    pub const MPTCP: Self = Self(0x3ff0);
    /// Every option.
    pub const ALL: Self = Self(0x3fff);

    /// Every single option with its name.
    pub const NAMES: [(&'static str, Self); 14] = [
        ("mss", Self::MSS),
        ("window-scale", Self::WINDOW_SCALE),
        ("sack", Self::SACK),
        ("timestamps", Self::TIMESTAMPS),
        ("mp-capable", Self::CAPABLE),
        ("mp-join", Self::JOIN),
        ("dss", Self::DSS),
        ("add-addr", Self::ADD_ADDRESS),
        ("remove-addr", Self::REMOVE_ADDRESS),
        ("mp-prio", Self::PRIORITY),
        ("mp-fail", Self::FAIL),
        ("mp-fastclose", Self::FAST_CLOSE),
        ("mp-tcprst", Self::RESET),
        ("mptcp-rec", Self::REC),
    ];

    /// True if every option of `other` is in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// True if any option of `other` is in it.
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// The options of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The options of a segment.
    pub fn of<P: Payload>(segment: &Segment<P>) -> Self {
        let held = |here: bool, option: Self| if here { option } else { Self::NONE };
        held(segment.mss.is_some(), Self::MSS)
            .with(held(segment.window_scale.is_some(), Self::WINDOW_SCALE))
            .with(held(segment.sack_permitted || !segment.sack.is_empty(), Self::SACK))
            .with(held(segment.timestamps.is_some(), Self::TIMESTAMPS))
            .with(held(segment.dss.is_some(), Self::DSS))
            .with(held(segment.rec.is_some(), Self::REC))
            .with(segment.signal.as_ref().map_or(Self::NONE, Self::of_signal))
    }

    fn of_signal(signal: &MptcpSignal) -> Self {
        match signal {
            MptcpSignal::Capable { .. } => Self::CAPABLE,
            MptcpSignal::JoinSyn { .. } | MptcpSignal::JoinSynAck { .. } | MptcpSignal::JoinAck { .. } => {
                Self::JOIN
            }
            MptcpSignal::AddAddress { .. } => Self::ADD_ADDRESS,
            MptcpSignal::RemoveAddress { .. } => Self::REMOVE_ADDRESS,
            MptcpSignal::Priority { .. } => Self::PRIORITY,
            MptcpSignal::Fail { .. } => Self::FAIL,
            MptcpSignal::FastClose { .. } => Self::FAST_CLOSE,
            MptcpSignal::Reset { .. } => Self::RESET,
        }
    }

    /// Takes these options out of a segment.
    pub fn strip<P: Payload>(self, segment: &mut Segment<P>) {
        if self.has(Self::MSS) {
            segment.mss = None;
        }
        if self.has(Self::WINDOW_SCALE) {
            segment.window_scale = None;
        }
        if self.has(Self::SACK) {
            segment.sack_permitted = false;
            segment.sack = SackBlocks::default();
        }
        if self.has(Self::TIMESTAMPS) {
            segment.timestamps = None;
        }
        if self.has(Self::DSS) {
            segment.dss = None;
        }
        if self.has(Self::REC) {
            segment.rec = None;
        }
        if segment.signal.as_ref().is_some_and(|signal| self.has(Self::of_signal(signal))) {
            segment.signal = None;
        }
    }
}
