//! Why the servers may differ, each with its source.

use crate::act::{Act, Opening};
use crate::exchange::Exchange;

/// A class of differences with the same cause.
#[derive(Debug)]
pub struct Rule {
    /// Name of the class.
    pub name: &'static str,
    /// Section of the RFC, the behaviour of each server, and the verdict.
    pub source: &'static str,
    cause: Cause,
    /// Members of the outcomes that the cause alone makes differ.
    members: &'static [&'static str],
    /// Whether one server goes on with TCP and the other with Multipath TCP, so that all that follows
    /// differs too.
    diverges: bool,
}

/// The part of a script that causes a difference.
#[derive(Debug, Clone, Copy)]
enum Cause {
    Opening(Opening),
    Act(Act),
}

const DELIVERY: &[&str] = &["read", "end", "data_acknowledged"];

/// All rules.
pub const RULES: [Rule; 13] = [
    Rule {
        name: "wrong key in the third ACK",
        source: "RFC 8684, 3.1: a host that takes the negotiation for compromised must stop using MPTCP. \
                 Tandem falls back to TCP; Linux does not compare its key. Tandem is right.",
        cause: Cause::Opening(Opening::WrongServerKey),
        members: &["data_acknowledged"],
        diverges: true,
    },
    Rule {
        name: "DSS in place of the keys in the third ACK",
        source: "RFC 8684, 3.1: such a session falls back to TCP. Linux does so at once. Tandem waits for \
                 the first data, since a segment with the keys may be lost, and drops what comes before \
                 it. Linux follows the letter.",
        cause: Cause::Opening(Opening::DssThirdAck),
        members: &["end"],
        diverges: true,
    },
    Rule {
        name: "data without a mapping",
        source: "RFC 8684, 3.3.1 and 3.7: it is kept until a mapping comes, and discarded with the \
                 subflow. Tandem does so; Linux falls back to TCP and delivers it. Tandem is right, \
                 unless it is the very first data, where a fallback is right too.",
        cause: Cause::Act(Act::Unmapped),
        members: DELIVERY,
        diverges: true,
    },
    Rule {
        name: "mapping that covers half of the payload",
        source: "As data without a mapping, for the other half; with checksums, also as a wrong one.",
        cause: Cause::Act(Act::ShortMapping),
        members: &["read", "end", "data_acknowledged", "mp_fail"],
        diverges: true,
    },
    Rule {
        name: "mapping of other subflow sequence numbers",
        source: "As data without a mapping: the numbers of the payload are mapped by nothing.",
        cause: Cause::Act(Act::WrongSsn),
        members: DELIVERY,
        diverges: true,
    },
    Rule {
        name: "wrong checksum, or one that was not negotiated",
        source: "RFC 8684, 3.7: failed data must not be acknowledged, and a single subflow waits for the \
                 infinite mapping after MP_FAIL. Tandem does so. Linux delivers and acknowledges the \
                 failed data, without MP_FAIL if it is the first. Tandem is right. Without checksums \
                 Tandem ignores a checksum, Linux falls back; the RFC leaves it open.",
        cause: Cause::Act(Act::WrongChecksum),
        members: &["read", "end", "data_acknowledged", "mp_fail"],
        diverges: true,
    },
    Rule {
        name: "option of a wrong length",
        source: "RFC 9293, 3.1, MUST-7: only a crash is forbidden. Tandem drops the segment, Linux the \
                 option, after which its data has no mapping. Both may.",
        cause: Cause::Act(Act::MalformedDss),
        members: &["read", "end", "acknowledged", "data_acknowledged", "reset", "fin"],
        diverges: true,
    },
    Rule {
        name: "infinite mapping when no fallback is possible, and joins after one",
        source: "RFC 8684, 3.7: a fallback needs contiguous data and ends Multipath TCP. Tandem resets the \
                 subflow otherwise, and refuses later joins. Linux goes on, and answers them. Tandem is \
                 right.",
        cause: Cause::Act(Act::InfiniteMapping),
        members: &["acknowledged", "reset", "end", "fin", "joins"],
        diverges: true,
    },
    Rule {
        name: "data after DATA_FIN",
        source: "RFC 8684, 3.3.3: nothing follows a DATA_FIN. Tandem ignores it. Linux delivers what \
                 arrives before its application has read the end, else it resets. Tandem is right.",
        cause: Cause::Act(Act::DataAfterDataFin),
        members: &["read", "acknowledged", "data_acknowledged", "reset", "fin", "fast_close"],
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
        name: "DATA_FIN on a subflow after its FIN",
        source: "RFC 8684, 3.3.3, puts DATA_FIN on any subflow. Tandem takes it from a segment after the \
                 FIN, Linux does not. Both may.",
        cause: Cause::Act(Act::Fin),
        members: &["end"],
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
        source: "RFC 8684, 3.3.1: such a mapping is invalid. Tandem drops its data, Linux delivers the \
                 part that is inside. Both may.",
        cause: Cause::Act(Act::OverlapOld),
        members: &["read", "end", "acknowledged", "data_acknowledged", "reset", "fin"],
        diverges: false,
    },
];

impl Cause {
    fn is_in(self, exchange: &Exchange) -> bool {
        match self {
            Self::Opening(opening) => exchange.opening == opening,
            Self::Act(act) => exchange.acts.contains(&act),
        }
    }
}

/// The first rule that explains a difference in these members. Causes in one script add up.
pub(crate) fn explain(exchange: &Exchange, members: &[&str]) -> Option<&'static Rule> {
    let present: Vec<&Rule> = RULES.iter().filter(|rule| rule.cause.is_in(exchange)).collect();
    let is_covered =
        |member: &&str| present.iter().any(|rule| rule.diverges || rule.members.contains(member));
    let explains =
        |rule: &&&Rule| rule.diverges || members.iter().any(|member| rule.members.contains(member));
    members.iter().all(is_covered).then(|| present.iter().find(explains).copied()).flatten()
}

#[cfg(test)]
mod tests {
    use super::RULES;

    #[test]
    fn page_has_every_rule() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/background/twin.md");
        let text = std::fs::read_to_string(page).expect("the page");
        for rule in &RULES {
            let row = format!("| {} | {} |", rule.name, rule.source);
            assert!(text.contains(&row), "docs/background/twin.md lacks the row:\n{row}");
        }
    }
}
