//! Retransmission at data level: a sender keeps data until its DATA_ACK (RFC 8684, section 3.3.6),
//! because a subflow may have acknowledged it without its mapping.

use super::data_sender::RepairState;
use super::event::Failure;
use super::{Endpoint, reset_reason};
use crate::subflow::Subflow;
use units::Instant;
use wire::Payload;

/// Repairs in vain before a subflow without DSS in its acknowledgements is given up.
const MAX_REPAIRS_WITHOUT_DSS: u32 = 3;
/// Multiple of the retransmission timeout after which missing data is retransmitted.
const PATIENCE: u32 = 1;
/// The same while a fallback is possible, which a repair would prevent: the peer's MP_FAIL may have
/// been lost several times.
const PATIENCE_BEFORE_FALLBACK: u32 = 8;

impl<P: Payload> Endpoint<P> {
    /// Starts the wait for the DATA_ACK of data that no subflow has in flight any more.
    pub(super) fn await_data_ack(&mut self, now: Instant) {
        if !self.handshake.is_mptcp() || self.ended {
            return;
        }
        let patience = if self.fallback.has_multipath_data() { PATIENCE } else { PATIENCE_BEFORE_FALLBACK };
        let Self { data_sender, subflows, config, timers, .. } = self;
        data_sender.arm_repair(now, patience, subflows, config, timers);
    }

    /// Handles the timer of the missing DATA_ACK.
    pub(super) fn on_data_ack_timeout(&mut self, now: Instant) {
        if !self.handshake.is_mptcp() || !self.handshake.is_confirmed() || self.ended {
            return;
        }
        match self.data_sender.repair_state(&self.subflows) {
            RepairState::Done => {}
            RepairState::Waiting => self.await_data_ack(now),
            RepairState::Missing(tries) => {
                if self.end_subflow_without_dss(now, tries) {
                    self.await_data_ack(now);
                } else {
                    self.retransmit_missing_data(now);
                }
            }
        }
    }

    /// Falls back or resets a subflow whose acknowledgements lack a DSS, if that explains the
    /// missing DATA_ACK. Returns true if it did.
    fn end_subflow_without_dss(&mut self, now: Instant, tries: u32) -> bool {
        let without_dss = |s: &Subflow<P>| s.is_established() && s.lacks_dss();
        let Some(i) = self.subflows.iter().position(without_dss) else { return false };
        let max_tries = if self.has_other_with_dss(i) { 1 } else { MAX_REPAIRS_WITHOUT_DSS };
        if self.follow_fallback(now, i) {
            true
        } else if tries >= max_tries {
            self.reset_subflow(i, Failure::Middlebox, reset_reason::MIDDLEBOX_INTERFERENCE);
            true
        } else {
            false
        }
    }

    /// Falls back or resets subflow `i` if its acknowledgements lack a DSS and the peer may have
    /// fallen back: a retransmission at data level would corrupt its stream. Returns true if it did.
    pub(super) fn follow_fallback(&mut self, now: Instant, i: usize) -> bool {
        let follows = self.subflows[i].lacks_dss() && !self.fallback.has_multipath_data();
        if follows {
            self.fall_back_or_reset(now, i);
        }
        follows
    }

    fn retransmit_missing_data(&mut self, now: Instant) {
        let Some(i) = self.data_sender.repair_subflow(&self.subflows) else { return };
        if self.data_sender.repair(&mut self.subflows, i) {
            // Data offsets and subflow offsets differ from here on.
            self.fallback.set_multipath_data();
            self.await_data_ack(now);
        } else {
            // The peer reported the data as held for good, and has discarded it.
            self.reset_all(Failure::Protocol);
        }
        self.transmit_pending = true;
    }

    /// Another subflow carries data and gets acknowledgements with a DSS.
    fn has_other_with_dss(&self, i: usize) -> bool {
        let with_dss = |s: &Subflow<P>| s.carries_data() && !s.lacks_dss();
        self.subflows.iter().any(|s| s.path().index() != i && with_dss(s))
    }
}
