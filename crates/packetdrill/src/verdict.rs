//! Result of a script.

use core::fmt;
use std::collections::BTreeSet;

/// Result of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The endpoint did all that the script expects, with these concessions.
    Passes(BTreeSet<Concession>),
    /// The script tests something that the endpoint does not have: the reason.
    DoesNotApply(String),
    /// The endpoint did something else.
    Differs(Difference),
}

/// First difference between a script and the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Line of the script.
    pub line: u32,
    /// The field that differs, the value expected and the actual one.
    pub message: String,
}

/// A difference that the player accepts. RFC 8684 and RFC 9293 allow both behaviours, except for
/// [`DataAckLength`](Self::DataAckLength).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Concession {
    /// The endpoint sent an acknowledgement without data that the script does not have.
    ExtraAck,
    /// The next segment, or one on another subflow, acknowledged the data that the script expects in a
    /// segment of its own.
    MergedAck,
    /// The DATA_ACK has 4 bytes, and 8 in the script: a deviation of the endpoint (RFC 8684, section
    /// 3.3.2).
    DataAckLength,
    /// The endpoint added a DATA_ACK to a segment that has none in the script.
    ExtraDataAck,
    /// Several segments carried the data that the script expects in one.
    SmallerSegments,
    /// A DATA_FIN was not repeated with a new acknowledgement or on another subflow.
    DataFinOnce,
    /// A segment after a fallback has the infinite mapping (RFC 8684, section 3.7).
    InfiniteMapping,
    /// A retransmission came later, after up to twice the time: RFC 6298, section 5.5, doubles it.
    BackOff,
    /// The script's mapping of zero bytes on a segment without data was left out.
    EmptyMapping,
    /// A command that inspects Linux was not run.
    Inspection,
}

impl fmt::Display for Concession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ExtraAck => "extra ACK",
            Self::MergedAck => "merged ACK",
            Self::DataAckLength => "DATA_ACK length",
            Self::ExtraDataAck => "extra DATA_ACK",
            Self::SmallerSegments => "smaller segments",
            Self::DataFinOnce => "DATA_FIN once",
            Self::InfiniteMapping => "infinite mapping",
            Self::BackOff => "back-off",
            Self::EmptyMapping => "empty mapping",
            Self::Inspection => "inspection",
        })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passes(concessions) if concessions.is_empty() => f.write_str("passes"),
            Self::Passes(concessions) => {
                let names: Vec<String> = concessions.iter().map(Concession::to_string).collect();
                write!(f, "passes ({})", names.join(", "))
            }
            Self::DoesNotApply(reason) => write!(f, "does not apply: {reason}"),
            Self::Differs(Difference { line, message }) => write!(f, "differs: line {line}: {message}"),
        }
    }
}
