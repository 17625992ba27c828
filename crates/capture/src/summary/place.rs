//! The place of a capture, between the ends of a subflow.

use crate::flow::{Flow, Membership};
use units::Duration;
use wire::pcapng::Direction;

/// Place of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Near {
    /// Near this side of the connection.
    Side(usize),
    Between,
}

/// By the packets' directions if the file has them, else by the handshake: the near end answers at
/// once.
pub(super) fn near(flow: &Flow, membership: Membership) -> Option<Near> {
    for (d, stream) in flow.streams.iter().enumerate() {
        match stream.point.and_then(|point| point.direction) {
            Some(Direction::Outbound) => return Some(Near::Side(membership.side ^ d)),
            Some(Direction::Inbound) => return Some(Near::Side(membership.side ^ (1 - d))),
            None => {}
        }
    }
    let handshake = flow.handshake;
    let (syn, answer, ack) = (handshake.syn?, handshake.answer?, handshake.ack?);
    if handshake.syns > 1 {
        return None;
    }
    let (there, here) = (answer.since(syn), ack.since(answer));
    let opener = membership.side ^ flow.opener;
    let times = |a: Duration, b: Duration| a.as_nanos() / 4 > b.as_nanos();
    Some(if times(there, here) {
        Near::Side(opener)
    } else if times(here, there) {
        Near::Side(1 - opener)
    } else {
        Near::Between
    })
}
