//! Why the servers may differ, each with its source.

use crate::act::{Act, Opening};
use crate::exchange::{Exchange, Peers};
use crate::server_rules::SERVER_RULES;

/// A class of differences with the same cause.
#[derive(Debug)]
pub struct Rule {
    /// Name of the class.
    pub name: &'static str,
    /// Section of the RFC, the behaviour of each server, and the verdict.
    pub source: &'static str,
    pub(crate) cause: Cause,
    /// Members of the outcomes that the cause alone makes differ.
    pub(crate) members: &'static [&'static str],
    /// Whether one server goes on with TCP and the other with Multipath TCP, so that all that follows
    /// differs too.
    pub(crate) diverges: bool,
}

/// The part of a script that causes a difference.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cause {
    Opening(Opening),
    Act(Act),
}

/// Members that tell how data was delivered.
const DELIVERY: &[&str] = &["read", "end", "data_acknowledged"];
/// The same for data that one server cannot place: with more than one subflow, or after data out of
/// order, it can only reset the subflow.
/// A server that has fallen back resets joins.
const UNPLACED: &[&str] =
    &["read", "end", "data_acknowledged", "acknowledged", "reset", "fin", "mp_fail", "joins", "own_joins"];
/// Members that differ between a connection of TCP and one of Multipath TCP.
const ALL_BUT_THE_OFFER: &[&str] = &[
    "read",
    "end",
    "data_acknowledged",
    "acknowledged",
    "reset",
    "fin",
    "mp_fail",
    "fast_close",
    "joins",
    "own_joins",
];

/// All rules.
pub const RULES: [Rule; 13] = [
    Rule {
        name: "wrong key in the third ACK",
        source: "RFC 8684, 3.1: a host that takes the negotiation for compromised must stop using MPTCP. \
                 Tandem falls back to TCP; Linux does not compare its key. Tandem is right.",
        cause: Cause::Opening(Opening::WrongServerKey),
        members: ALL_BUT_THE_OFFER,
        diverges: true,
    },
    Rule {
        name: "DSS in place of the keys in the third ACK",
        source: "RFC 8684, 3.1: such a session falls back to TCP. Linux does so at once. Tandem waits for \
                 the first data, since a segment with the keys may be lost, and drops what comes before \
                 it. Linux follows the letter.",
        cause: Cause::Opening(Opening::DssThirdAck),
        members: ALL_BUT_THE_OFFER,
        diverges: true,
    },
    Rule {
        name: "data without a mapping",
        source: "RFC 8684, 3.3.1 and 3.7: it is kept until a mapping comes, and discarded with the \
                 subflow once a receive window of it is there. Tandem does so; Linux falls back to TCP and \
                 delivers it, or resets the subflow if it cannot. Tandem is right, unless it is the very \
                 first data, where a fallback is right too.",
        cause: Cause::Act(Act::Unmapped),
        members: UNPLACED,
        diverges: true,
    },
    Rule {
        name: "mapping that covers half of the payload",
        source: "As data without a mapping, for the other half; with checksums, also as a wrong one.",
        cause: Cause::Act(Act::ShortMapping),
        members: UNPLACED,
        diverges: true,
    },
    Rule {
        name: "mapping of other subflow sequence numbers",
        source: "As data without a mapping: the numbers of the payload are mapped by nothing.",
        cause: Cause::Act(Act::WrongSsn),
        members: UNPLACED,
        diverges: true,
    },
    Rule {
        name: "wrong checksum, or one that was not negotiated",
        source: "RFC 8684, 3.7: failed data must not be acknowledged, and a single subflow waits for the \
                 infinite mapping after MP_FAIL. Tandem does so. Linux delivers and acknowledges the \
                 failed data, without MP_FAIL if it is the first. Tandem is right. Without checksums \
                 Tandem ignores a checksum, Linux falls back; the RFC leaves it open.",
        cause: Cause::Act(Act::WrongChecksum),
        members: UNPLACED,
        diverges: true,
    },
    Rule {
        name: "option of a wrong length",
        source: "RFC 9293, 3.1, MUST-7: a host must be prepared for it. Both ignore the option, and treat \
                 its data as data without a mapping.",
        cause: Cause::Act(Act::MalformedDss),
        members: UNPLACED,
        diverges: true,
    },
    Rule {
        name: "infinite mapping when no fallback is possible, and joins after one",
        source: "RFC 8684, 3.7: a fallback needs contiguous data and ends Multipath TCP. Tandem resets the \
                 subflow otherwise, and refuses later joins. Linux goes on, answers them, and delivers \
                 nothing more after data that it had before. Tandem is right.",
        cause: Cause::Act(Act::InfiniteMapping),
        members: &["read", "acknowledged", "reset", "end", "fin", "joins", "own_joins"],
        diverges: true,
    },
    Rule {
        name: "data after DATA_FIN",
        source: "RFC 8684, 3.3.3: nothing follows a DATA_FIN. Tandem ignores it. Linux delivers what \
                 arrives before its application has read the end, else it resets. Tandem is right.",
        cause: Cause::Act(Act::DataAfterDataFin),
        members: &[
            "read",
            "acknowledged",
            "data_acknowledged",
            "reset",
            "fin",
            "fast_close",
            "joins",
            "own_joins",
        ],
        diverges: true,
    },
    Rule {
        name: "MP_FAIL for data that was never sent",
        source: "RFC 8684, 3.7, takes MP_FAIL for an answer to data. Tandem ignores it, Linux answers with \
                 its own and falls back. Both may.",
        cause: Cause::Act(Act::Fail),
        members: &["mp_fail"],
        diverges: true,
    },
    Rule {
        name: "DATA_FIN or MP_FASTCLOSE on a subflow after its FIN",
        source: "RFC 8684, 3.3.3 and 3.5, put them on any subflow. Tandem takes them from an ACK after the \
                 FIN, Linux does not. Both may.",
        cause: Cause::Act(Act::Fin),
        members: &["end", "reset"],
        diverges: false,
    },
    Rule {
        name: "data beyond a gap, contradicted later",
        source: "RFC 8684, 3.3.1, does not say which of two contents of a number counts, nor what a \
                 DATA_FIN before received data means. Linux takes the DATA_FIN, Tandem waits. Both may.",
        cause: Cause::Act(Act::FutureDsn),
        members: DELIVERY,
        diverges: false,
    },
    Rule {
        name: "mapping that begins before the connection",
        source: "RFC 8684 does not say. Tandem drops the data of such a mapping, Linux delivers the part \
                 that is inside. Both may.",
        cause: Cause::Act(Act::OverlapOld),
        members: &["read", "end", "acknowledged", "data_acknowledged", "reset", "fin"],
        diverges: false,
    },
];

impl Cause {
    /// Whether the script has the cause among its opening and first `acts` acts.
    fn is_within(self, exchange: &Exchange, acts: usize) -> bool {
        match self {
            Self::Opening(opening) => exchange.opening == opening,
            Self::Act(act) => exchange.acts.iter().take(acts).any(|one| *one == act),
        }
    }
}

/// The rule that explains a difference.
///
/// `first` is the number of acts played when the servers first differed, and the members that differed
/// then; `members` are those that differ in the end. A cause that was not yet played explains nothing.
pub(crate) fn explain(
    exchange: &Exchange,
    first: Option<(usize, &[&str])>,
    members: &[&str],
) -> Option<&'static Rule> {
    let covers = |acts: usize, members: &[&str]| {
        let of_servers: &[Rule] = if exchange.peers == Peers::Servers { &SERVER_RULES } else { &[] };
        let all = RULES.iter().chain(of_servers);
        let played: Vec<&Rule> = all.filter(|rule| rule.cause.is_within(exchange, acts)).collect();
        let is_covered = |member: &&str| played.iter().any(|rule| rule.members.contains(member));
        members.iter().all(is_covered).then_some(played)
    };
    let played = match first {
        Some((acts, first_members)) => {
            let played = covers(acts, first_members)?;
            if !played.iter().any(|rule| rule.diverges) {
                covers(usize::MAX, members)?;
            }
            played
        }
        None => covers(usize::MAX, members)?,
    };
    let of_first = first.map_or(members, |(_, members)| members);
    played.into_iter().find(|rule| of_first.iter().any(|member| rule.members.contains(member)))
}

#[cfg(test)]
mod tests {
    use super::{RULES, SERVER_RULES};

    #[test]
    fn page_has_every_rule() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/background/twin.md");
        let text = std::fs::read_to_string(page).expect("the page");
        for rule in RULES.iter().chain(&SERVER_RULES) {
            let row = format!("| {} | {} |", rule.name, rule.source);
            assert!(text.contains(&row), "docs/background/twin.md lacks the row:\n{row}");
        }
    }
}
