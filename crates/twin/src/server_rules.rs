//! Why clients may differ under hostile servers, beside the rules of all peers.

use crate::act::Act;
use crate::answer::JoinAnswer;
use crate::rules::{Cause, Rule};

const CONFIRMATION: Rule = Rule {
    name: "confirmation by another option than DSS",
    source: "RFC 8684, 3.1 and 3.7: the server confirms Multipath TCP by a DSS, and without one the client \
             falls back. Linux takes MP_CAPABLE and ADD_ADDR, whatever its HMAC, for the confirmation too; \
             Tandem falls back at the next segment without a DSS. Both may.",
    cause: Cause::Act(Act::CapableAgain),
    members: &["read", "end", "data_acknowledged", "acknowledged", "reset", "fin", "joins", "own_joins"],
    diverges: true,
};

/// The rules.
pub(crate) const SERVER_RULES: [Rule; 8] = [
    Rule {
        name: "reset of a join that waits for the fourth ACK",
        source: "RFC 9293, 3.10.7.4: a reset is not answered. Linux answers it by a reset of its own, since \
                 the segment is no fourth ACK (RFC 8684, 3.2). Tandem is right.",
        cause: Cause::Act(Act::Announce(JoinAnswer::LateReset)),
        members: &["own_joins"],
        diverges: false,
    },
    Rule {
        name: "ADD_ADDR on a subflow after its FIN",
        source: "RFC 8684, 3.4.1, puts it on any subflow. Tandem takes it from an ACK after the FIN and joins, \
                 Linux does not. Both may.",
        cause: Cause::Act(Act::Fin),
        members: &["own_joins"],
        diverges: false,
    },
    Rule {
        name: "ADD_ADDR repeated after its join has failed",
        source: "RFC 8684, 3.4.1, repeats an ADD_ADDR for reliability. Linux joins again, Tandem only echoes it. \
                 Both may.",
        cause: Cause::Act(Act::Repeat),
        members: &["own_joins"],
        diverges: false,
    },
    CONFIRMATION,
    Rule { cause: Cause::Act(Act::AddAddress), ..CONFIRMATION },
    Rule { cause: Cause::Act(Act::AddressFlood), ..CONFIRMATION },
    Rule {
        name: "join of the server to the client",
        source: "RFC 8684, 3.2: either host may join. Linux has no listener at the port of a client, unless \
                 it has announced one. Tandem finds the connection by its token. Both may.",
        cause: Cause::Act(Act::Join),
        members: &["joins"],
        diverges: true,
    },
    Rule {
        name: "join of the server with a wrong HMAC",
        source: "As before: Linux resets the SYN, Tandem the third ACK. Both may.",
        cause: Cause::Act(Act::JoinWrongHmac),
        members: &["joins"],
        diverges: false,
    },
];
