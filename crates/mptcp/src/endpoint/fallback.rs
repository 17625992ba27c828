//! Back to TCP where a middlebox is in the way (RFC 8684, section 3.7).
//!
//! It is possible only while all data has gone over the first subflow: data and subflow offsets are then
//! the same, and a mapping without end changes nothing. Otherwise the subflow ends with a reset, and
//! what it did not deliver goes over the others.

use super::{Endpoint, Failure, Mode};
use crate::subflow::State;
use units::{Duration, Instant};
use wire::{Dss, Mapping, MptcpSignal, Payload};

/// MP_TCPRST reason: middlebox interference (section 3.6).
pub(super) const REASON_MIDDLEBOX: u8 = 6;
/// MP_FAILs without an answer before the subflow is given up.
const FAIL_TRIES: u32 = 4;
/// Before an MP_FAIL is sent again.
const LEAST_WAIT: Duration = Duration::from_millis(100);
/// Segments that say that the mapping has no end; one may be lost.
const INFINITE_TIMES: u8 = 8;

/// MP_FAIL is out, and the peer's is awaited.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failing {
    /// Data offset of the mapping that failed.
    data: u64,
    pub(super) at: Instant,
    tries: u32,
}

/// What tells the peer that MPTCP is over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Infinite {
    from: u64,
    left: u8,
}

impl<P: Payload> Endpoint<P> {
    /// Subflow `i` has carried all data there was, both ways.
    pub(super) fn contiguous(&self, i: usize) -> bool {
        !self.spread && !self.subflows[i].is_join()
    }

    /// And will have, until the peer hears that this end falls back. A peer that has our proof for a join
    /// may spread its data from then on; one that falls back by itself does not.
    pub(super) fn stays_contiguous(&self, i: usize) -> bool {
        self.contiguous(i) && self.subflows.iter().all(|s| s.state() != State::Confirming)
    }

    /// The data of a mapping is not what was sent.
    pub(super) fn checksum_failed(&mut self, now: Instant, i: usize, data: u64) {
        if !self.stays_contiguous(i) {
            let dsn = self.remote_idsn.wrapping_add(data);
            self.reset_with(i, Failure::Checksum, Some(MptcpSignal::Fail { dsn }));
        } else if self.failing.is_none() {
            self.failing = Some(Failing { data, at: now, tries: 0 });
            self.ask_to_fall_back(now);
        }
    }

    /// Sends MP_FAIL, again and again until it is answered.
    pub(super) fn ask_to_fall_back(&mut self, now: Instant) {
        let Some(failing) = &mut self.failing else { return };
        let Some(subflow) = self.subflows.iter_mut().find(|s| s.is_established()) else {
            self.failing = None;
            return;
        };
        if failing.tries == FAIL_TRIES {
            let i = subflow.path().index();
            self.failing = None;
            self.reset_subflow(i, Failure::Checksum, REASON_MIDDLEBOX);
            return;
        }
        // Who only receives has no round trip to go by.
        failing.at = now + self.config.min_rto.max(LEAST_WAIT) * (1 << failing.tries);
        failing.tries += 1;
        let dsn = self.remote_idsn.wrapping_add(failing.data);
        subflow.queue_signal(MptcpSignal::Fail { dsn });
        self.work = true;
        self.arm_rare();
    }

    /// The peer's MP_FAIL; `asks` if it still speaks MPTCP and waits for ours.
    pub(super) fn on_fail(&mut self, now: Instant, i: usize, dsn: u64, asks: bool) {
        let data = dsn.wrapping_sub(self.local_idsn);
        if self.mode == Mode::Mptcp {
            if data == 0 || data > self.data_sent() {
                // Of data that was never sent.
                return;
            }
            if !self.contiguous(i) {
                self.reset_subflow(i, Failure::Checksum, REASON_MIDDLEBOX);
                return;
            }
            let answer = self.failing.is_none();
            self.give_up_mptcp(now);
            if !answer {
                return;
            }
        } else if !asks || self.infinite.is_none() {
            return;
        }
        let dsn = self.remote_idsn.wrapping_add(self.reorder.next);
        self.subflows[i].queue_signal(MptcpSignal::Fail { dsn });
        self.work = true;
    }

    /// The peer sends TCP from here on.
    pub(super) fn on_infinite_mapping(&mut self, now: Instant, i: usize) {
        if self.contiguous(i) {
            self.give_up_mptcp(now);
        } else {
            self.reset_subflow(i, Failure::Protocol, super::handshake::REASON_MPTCP);
        }
    }

    /// Data was acknowledged without a DSS. Once data has been acknowledged with one, the way is known
    /// to let them pass, and the peer may leave some out.
    pub(super) fn acknowledged_without_dss(&mut self, now: Instant, i: usize) {
        let subflow = &mut self.subflows[i];
        if subflow.dss_passed() {
            subflow.on_missing_dss();
        } else {
            self.give_up_mptcp_or_subflow(now, i);
        }
    }

    /// Falls back if that is possible, or else ends the subflow.
    pub(super) fn give_up_mptcp_or_subflow(&mut self, now: Instant, i: usize) {
        // Data that lost its mapping may be a repetition.
        if self.stays_contiguous(i) && !self.subflows[i].mappings().has_unmapped() {
            self.give_up_mptcp(now);
        } else {
            self.reset_subflow(i, Failure::Middlebox, REASON_MIDDLEBOX);
        }
    }

    /// Falls back, and tells the peer in case options pass one way only.
    pub(super) fn give_up_mptcp(&mut self, now: Instant) {
        self.infinite = Some(Infinite { from: self.data_una.min(self.buffer.end), left: INFINITE_TIMES });
        self.fall_back(now);
        self.work = true;
    }

    /// The mapping without end, as long as it is to be told.
    pub(super) fn infinite_mapping(&mut self) -> Option<Dss> {
        let infinite = self.infinite.as_mut().filter(|infinite| infinite.left > 0)?;
        infinite.left -= 1;
        let dsn = u64::from(self.local_idsn.wrapping_add(infinite.from) as u32);
        // Section 3.3.1: its checksum is zero.
        let mapping =
            Mapping { dsn, ssn: infinite.from as u32, len: 0, checksum: self.checksum.then_some(0) };
        Some(Dss { mapping: Some(mapping), dsn_is_short: true, ..Dss::default() })
    }

    /// Becomes plain TCP. Only a connection whose data has all gone over its first subflow can: data and
    /// subflow offsets are then the same.
    pub(super) fn fall_back(&mut self, now: Instant) {
        for i in 0..self.subflows.len() {
            if self.subflows[i].is_join() && self.subflows[i].is_open() {
                // A join that was under way.
                self.reset_subflow(i, Failure::Middlebox, REASON_MIDDLEBOX);
            }
        }
        self.mode = Mode::Tcp;
        self.stop_driving(now);
        self.failing = None;
        self.waiting.clear();
        self.fin_timer = None;
        self.send_data_fin = false;
        let established = self.subflows.iter().any(|s| s.is_established());
        if established {
            self.confirm_first();
            self.connect();
        }
        for i in 0..self.subflows.len() {
            let subflow = &mut self.subflows[i];
            subflow.clear_signals();
            // From now on only the subflow's acknowledgements count.
            let una = subflow.sender().una();
            let held = subflow.mappings_mut().take_all();
            if subflow.is_open() {
                self.data_acknowledged(una.min(self.data_next));
            }
            for (at, piece) in held {
                self.insert(at, piece);
            }
        }
        self.arm_rare();
        self.advance_close(now);
    }
}
