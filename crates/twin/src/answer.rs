//! The vocabulary of hostile servers: answers to SYNs.

use units::Rng;

/// Answer to the SYN with MP_CAPABLE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// As RFC 8684, section 3.1, has it.
    Proper,
    /// No MPTCP option.
    PlainTcp,
    /// MP_CAPABLE of version 0 or 2.
    OtherVersion(u8),
    /// The flag B, an unknown extension.
    Extension,
    /// The flag H is not set: no known algorithm.
    NoAlgorithm,
    /// No key.
    NoKey,
    /// Two keys, as in a third ACK.
    TwoKeys,
    /// MP_JOIN in place of MP_CAPABLE.
    JoinInstead,
    /// Flag C: no joins to this address.
    DenyJoin,
    /// It acknowledges another SYN; a proper answer follows.
    WrongAck,
    /// A reset that acknowledges the SYN.
    Reset,
}

impl Answer {
    /// Three of four answers are proper.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        const HOSTILE: [Answer; 11] = [
            Answer::PlainTcp,
            Answer::OtherVersion(0),
            Answer::OtherVersion(2),
            Answer::Extension,
            Answer::NoAlgorithm,
            Answer::NoKey,
            Answer::TwoKeys,
            Answer::JoinInstead,
            Answer::DenyJoin,
            Answer::WrongAck,
            Answer::Reset,
        ];
        HOSTILE.get(rng.below(44) as usize).copied().unwrap_or(Self::Proper)
    }
}

/// Answer to a join of the client to the announced address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JoinAnswer {
    /// As RFC 8684, section 3.2, has it.
    Proper,
    /// None.
    Silence,
    /// A reset without an option.
    PlainReset,
    /// A reset with this reason, permanent or transient (MP_TCPRST).
    Reset(u8, bool),
    /// SYN/ACK without MP_JOIN.
    NoOption,
    /// SYN/ACK with MP_CAPABLE.
    Capable,
    /// SYN/ACK with a wrong HMAC.
    WrongHmac,
    /// A proper SYN/ACK, and a reset after the third ACK.
    LateReset,
    /// A proper SYN/ACK, and no fourth ACK.
    NoFourthAck,
}

impl JoinAnswer {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        match rng.below(9) {
            0 => Self::Silence,
            1 => Self::PlainReset,
            2 => Self::Reset(rng.below(8) as u8, rng.below(2) == 0),
            3 => Self::NoOption,
            4 => Self::Capable,
            5 => Self::WrongHmac,
            6 => Self::LateReset,
            7 => Self::NoFourthAck,
            _ => Self::Proper,
        }
    }
}
