//! The vocabulary of hostile clients.

use crate::answer::JoinAnswer;
use units::Rng;

/// How the client opens the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opening {
    /// As RFC 8684, section 3.1, has it.
    Proper,
    /// No MPTCP option in the SYN.
    PlainTcp,
    /// MP_CAPABLE of version 0 or 2.
    OtherVersion(u8),
    /// The flag B, an unknown extension.
    Extension,
    /// The flag H is not set: no known algorithm.
    NoAlgorithm,
    /// A key in the SYN, as version 0 had it.
    KeyInSyn,
    /// The third ACK has no MPTCP option, and data follows without one.
    SilentThirdAck,
    /// The third ACK has the wrong key of the server.
    WrongServerKey,
    /// The third ACK has a DSS in place of MP_CAPABLE.
    DssThirdAck,
    /// The third ACK is lost; the first data has MP_CAPABLE with the data-level length.
    DataInThirdAck,
}

/// A step of the client after the opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Data with its mapping.
    Data,
    /// Data, mapped by 32-bit numbers.
    ShortNumbers,
    /// Data without a mapping.
    Unmapped,
    /// Data mapped beyond a gap.
    FutureDsn,
    /// Other data, mapped to numbers that were delivered before.
    OldDsn,
    /// Data, of which the first half is mapped to delivered numbers.
    OverlapOld,
    /// A mapping with another subflow sequence number.
    WrongSsn,
    /// A mapping for this segment and the next one, which has none of its own.
    LongMapping,
    /// A mapping for half of the payload.
    ShortMapping,
    /// A mapping of length 0, the infinite one.
    InfiniteMapping,
    /// A mapping with a wrong checksum, or a checksum without negotiation.
    WrongChecksum,
    /// A DATA_ACK of data that was never sent.
    FutureDataAck,
    /// The segments of the previous act once more.
    Repeat,
    /// Data that arrives before its predecessor.
    Swapped,
    /// Data beyond the server's window.
    BeyondWindow,
    /// A reset with the exact number.
    Reset,
    /// A reset in the window, but not at its start.
    ResetInWindow,
    /// A reset outside the window.
    ResetOutside,
    /// A SYN inside the window.
    SynInWindow,
    /// MP_FASTCLOSE with the server's key.
    FastClose,
    /// MP_FASTCLOSE with another key.
    FastCloseWrongKey,
    /// MP_FAIL with the next data sequence number.
    Fail,
    /// MP_PRIO.
    Priority,
    /// ADD_ADDR with a wrong HMAC.
    AddAddress,
    /// Many ADD_ADDRs with wrong HMACs.
    AddressFlood,
    /// ADD_ADDR of a second address of a hostile server, which then answers the join so.
    Announce(JoinAnswer),
    /// REMOVE_ADDR of an unknown identifier.
    RemoveAddress,
    /// MP_JOIN with an unknown token.
    JoinUnknown,
    /// MP_JOIN with a wrong HMAC in the third ACK.
    JoinWrongHmac,
    /// A proper MP_JOIN.
    Join,
    /// DATA_FIN, and data after it.
    DataAfterDataFin,
    /// A FIN of the subflow without DATA_FIN.
    Fin,
    /// A DSS with a wrong length field.
    MalformedDss,
    /// An MPTCP option with an unknown subtype.
    UnknownSubtype,
    /// MP_CAPABLE again.
    CapableAgain,
    /// A segment with a wrong TCP checksum.
    WrongTcpChecksum,
}

impl Opening {
    /// Three of four openings are proper.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        const HOSTILE: [Opening; 10] = [
            Opening::PlainTcp,
            Opening::OtherVersion(0),
            Opening::OtherVersion(2),
            Opening::Extension,
            Opening::NoAlgorithm,
            Opening::KeyInSyn,
            Opening::SilentThirdAck,
            Opening::WrongServerKey,
            Opening::DssThirdAck,
            Opening::DataInThirdAck,
        ];
        HOSTILE.get(rng.below(40) as usize).copied().unwrap_or(Self::Proper)
    }
}

impl Act {
    /// All acts of clients but plain data.
    pub const HOSTILE: [Self; 33] = [
        Self::ShortNumbers,
        Self::Unmapped,
        Self::FutureDsn,
        Self::OldDsn,
        Self::OverlapOld,
        Self::WrongSsn,
        Self::LongMapping,
        Self::ShortMapping,
        Self::InfiniteMapping,
        Self::WrongChecksum,
        Self::FutureDataAck,
        Self::Repeat,
        Self::Swapped,
        Self::BeyondWindow,
        Self::Reset,
        Self::ResetInWindow,
        Self::ResetOutside,
        Self::SynInWindow,
        Self::FastClose,
        Self::FastCloseWrongKey,
        Self::Fail,
        Self::Priority,
        Self::AddAddress,
        Self::RemoveAddress,
        Self::JoinUnknown,
        Self::JoinWrongHmac,
        Self::Join,
        Self::DataAfterDataFin,
        Self::Fin,
        Self::MalformedDss,
        Self::UnknownSubtype,
        Self::CapableAgain,
        Self::WrongTcpChecksum,
    ];

    /// Four of five acts are plain data.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let hostile = Self::HOSTILE;
        hostile.get(rng.below(5 * hostile.len() as u64) as usize).copied().unwrap_or(Self::Data)
    }

    /// As [`draw`](Self::draw), for a server. Announcements are as frequent as all other hostile acts.
    pub(crate) fn draw_of_server(rng: &mut Rng) -> Self {
        match rng.below(10) {
            0 => Self::Announce(JoinAnswer::draw(rng)),
            1 if rng.below(8) == 0 => Self::AddressFlood,
            _ => Self::draw(rng),
        }
    }
}
