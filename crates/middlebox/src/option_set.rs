//! Sets of TCP options, with Multipath TCP options by subtype.

use bitflags::bitflags;
use wire::{MptcpSignal, Payload, SackBlocks, Segment};

bitflags! {
/// A set of TCP options, with Multipath TCP options by subtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OptionSet: u16 {
    /// Maximum segment size (RFC 9293).
    const MSS = 1;
    /// Window scale (RFC 7323).
    const WINDOW_SCALE = 1 << 1;
    /// SACK permitted, and SACK blocks (RFC 2018).
    const SACK = 1 << 2;
    /// Timestamps (RFC 7323).
    const TIMESTAMPS = 1 << 3;
    /// `MP_CAPABLE` (RFC 8684, section 3.1).
    const CAPABLE = 1 << 4;
    /// `MP_JOIN` (section 3.2).
    const JOIN = 1 << 5;
    /// DSS: mappings, DATA_ACK and DATA_FIN (section 3.3).
    const DSS = 1 << 6;
    /// `ADD_ADDR` (section 3.4.1).
    const ADD_ADDRESS = 1 << 7;
    /// `REMOVE_ADDR` (section 3.4.2).
    const REMOVE_ADDRESS = 1 << 8;
    /// `MP_PRIO` (section 3.3.8).
    const PRIORITY = 1 << 9;
    /// `MP_FAIL` (section 3.7).
    const FAIL = 1 << 10;
    /// `MP_FASTCLOSE` (section 3.5).
    const FAST_CLOSE = 1 << 11;
    /// `MP_TCPRST` (section 3.6).
    const RESET = 1 << 12;
    /// MPTCP-rec options, in the subtype for private use.
    const REC = 1 << 13;
    /// All options of Multipath TCP (kind 30).
    const MPTCP = 0x3ff0;
    /// Every option.
    const ALL = 0x3fff;
}
}

impl OptionSet {
    /// Every single option with its name in scenarios.
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

    /// The options of a segment.
    pub fn of<P: Payload>(segment: &Segment<P>) -> Self {
        let mut options = segment.signal.as_ref().map_or(Self::empty(), Self::of_signal);
        options.set(Self::MSS, segment.mss.is_some());
        options.set(Self::WINDOW_SCALE, segment.window_scale.is_some());
        options.set(Self::SACK, segment.sack_permitted || !segment.sack.is_empty());
        options.set(Self::TIMESTAMPS, segment.timestamps.is_some());
        options.set(Self::DSS, segment.dss.is_some());
        options.set(Self::REC, segment.rec.is_some());
        options
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

    /// Removes these options from a segment.
    pub fn strip<P: Payload>(self, segment: &mut Segment<P>) {
        if self.contains(Self::MSS) {
            segment.mss = None;
        }
        if self.contains(Self::WINDOW_SCALE) {
            segment.window_scale = None;
        }
        if self.contains(Self::SACK) {
            segment.sack_permitted = false;
            segment.sack = SackBlocks::default();
        }
        if self.contains(Self::TIMESTAMPS) {
            segment.timestamps = None;
        }
        if self.contains(Self::DSS) {
            segment.dss = None;
        }
        if self.contains(Self::REC) {
            segment.rec = None;
        }
        if segment.signal.as_ref().is_some_and(|signal| self.contains(Self::of_signal(signal))) {
            segment.signal = None;
        }
    }
}
