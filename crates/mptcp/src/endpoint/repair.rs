//! What rarely happens by itself: data that a subflow acknowledged and the connection never did, an
//! MP_FAIL or an ADD_ADDR without an answer.

use super::{Endpoint, Failure, Mode, Reinjection};
use crate::subflow::Chunk;
use units::Instant;
use wire::Payload;

/// Repairs in vain after which a subflow whose acknowledgements lack a DSS is given up.
const REPAIR_TRIES: u32 = 3;

/// Data that waits for a DATA_ACK although no subflow has it any more.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Repair {
    pub(super) at: Option<Instant>,
    /// What was the first data offset not acknowledged.
    una: u64,
    tries: u32,
}

impl<P: Payload> Endpoint<P> {
    /// When the next of these is due.
    pub(super) fn arm_rare(&mut self) {
        let fail = self.failing.map(|failing| failing.at);
        let others = [self.announcement_due(), self.unmapped_due(), self.alone];
        let first = self.repair.at.into_iter().chain(fail).chain(others.into_iter().flatten()).min();
        self.rare = first.filter(|_| !self.ended);
    }

    pub(super) fn on_rare(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.repair.at) {
            self.repair.at = None;
            self.repair(now);
        }
        if due(self.failing.map(|failing| failing.at)) {
            self.ask_to_fall_back(now);
        }
        if due(self.announcement_due()) {
            self.announce_again(now);
        }
        if due(self.unmapped_due()) {
            self.give_up_unmapped(now);
        }
        if due(self.alone) {
            self.give_up_alone();
        }
        self.arm_rare();
    }

    /// A subflow has nothing left in flight, and data waits for its DATA_ACK: that should come before
    /// long.
    pub(super) fn await_data_ack(&mut self, now: Instant) {
        if self.repair.at.is_some() || self.mode != Mode::Mptcp || self.ended {
            return;
        }
        if self.repair.una != self.data_una {
            self.repair.tries = 0;
        }
        self.repair.una = self.data_una;
        let longest = self.subflows.iter().filter(|s| s.is_established()).map(|s| s.sender().rto()).max();
        // A repair sets data and subflow offsets apart. Before that, an MP_FAIL may come, even if it is lost
        // some times.
        let patience = if self.spread { 1 } else { 8 };
        let wait = longest.unwrap_or(self.config.initial_rto) * (patience << self.repair.tries.min(6));
        self.repair.at = Some(now + wait.min(self.config.max_rto));
        self.arm_rare();
    }

    /// RFC 8684, section 3.3.6: the sender keeps data until it is acknowledged at data level, and sends it
    /// again where no subflow will: what a subflow took may have lost its mapping on the way.
    fn repair(&mut self, now: Instant) {
        let una = self.data_una;
        if self.mode != Mode::Mptcp || !self.confirmed || self.ended || una >= self.data_next {
            return;
        }
        if self.repair.una != una {
            self.await_data_ack(now);
            return;
        }
        let waits = |r: &Reinjection<P>| r.chunk.data <= una && una < r.chunk.end();
        let held = |s: &crate::subflow::Subflow<P>| s.is_open() && s.sender().has_data_at(una);
        if self.reinjections.iter().any(waits) || self.subflows.iter().any(held) {
            // Looked at again later: it may be taken back, or its subflow may end.
            self.await_data_ack(now);
            return;
        }
        let stripped = self.subflows.iter().position(|s| s.is_established() && s.lacks_dss());
        match stripped {
            // The peer may have fallen back: to send data twice would spoil its stream.
            Some(i) if !self.spread => {
                self.give_up_mptcp_or_subflow(now, i);
                self.await_data_ack(now);
                return;
            }
            Some(i) if self.repair.tries >= if self.has_other(i) { 1 } else { REPAIR_TRIES } => {
                self.reset_subflow(i, Failure::Middlebox, super::fallback::REASON_MIDDLEBOX);
                self.await_data_ack(now);
                return;
            }
            _ => {}
        }
        // Each time over another: the one that lost the mapping may lose it again.
        let mut able: Vec<usize> =
            (0..self.subflows.len()).filter(|&i| self.subflows[i].carries_data()).collect();
        able.sort_by_key(|&i| (super::deal::rank(&self.subflows[i]), self.subflows[i].sender().srtt()));
        let Some(i) = (self.repair.tries as usize).checked_rem(able.len()).map(|turn| able[turn]) else {
            return;
        };
        let most = self.subflows[i].max_payload().min(self.data_next - una);
        if let Some(payload) = self.buffer.slice(una, most) {
            self.repeated_bytes += payload.len() as u64;
            self.subflows[i].sender_mut().enqueue_in_order(Chunk { data: una, payload, fin: false });
            // Data and subflow offsets go apart.
            self.spread = true;
            self.repair.tries += 1;
            self.work = true;
            self.await_data_ack(now);
        } else {
            // The peer had it for good, as it said, and now it has not.
            (0..self.subflows.len()).for_each(|i| self.reset_with(i, Failure::Protocol, None));
            self.fail(Failure::Protocol);
            self.work = true;
        }
    }

    /// Another subflow, whose acknowledgements have all that they should.
    fn has_other(&self, i: usize) -> bool {
        let whole = |s: &crate::subflow::Subflow<P>| s.carries_data() && !s.lacks_dss();
        self.subflows.iter().any(|s| s.path().index() != i && whole(s))
    }
}
