//! Fallback to TCP when a middlebox interferes (RFC 8684, section 3.7).
//!
//! It is possible only while all data went over the first subflow: data offsets and subflow offsets
//! are then equal, and an infinite mapping changes nothing. Otherwise the subflow is reset, and its
//! undelivered data goes over the others.

use super::event::Failure;
use super::timers::Timer;
use super::{Endpoint, reset_reason};
use crate::subflow::Subflow;
use tracing::debug;
use units::{Duration, Instant};
use wire::{Dss, Mapping, MptcpSignal, Payload};

/// Unanswered MP_FAILs before the subflow is given up.
const MAX_MP_FAILS: u32 = 4;
/// Shortest wait before an MP_FAIL is repeated.
const MIN_MP_FAIL_WAIT: Duration = Duration::from_millis(100);
/// Shortest time after which a peer repeats data that lacks a DATA_ACK (Linux `TCP_RTO_MIN`).
const MIN_REPEAT_DELAY: Duration = Duration::from_millis(200);
/// Segments that carry the infinite mapping, because some of them may be lost.
const INFINITE_MAPPING_COPIES: u8 = 8;

/// Whether a fallback is possible, and how far it has got.
#[derive(Debug, Clone, Default)]
pub(super) struct Fallback {
    /// Data went over another subflow than the first, or twice, in either direction.
    multipath_data: bool,
    /// The HMAC of a join was sent: the peer may use that subflow from then on. This end begins no
    /// fallback any more; it still follows a peer that says it has fallen back.
    join_confirmed: bool,
    /// Received data whose data offset differs from its offset on the first subflow: the peer can
    /// no longer fall back.
    offsets_diverged: bool,
    mp_fail: Option<Box<MpFail>>,
    infinite_mapping: Option<Box<InfiniteMapping>>,
}

/// An MP_FAIL that awaits the peer's.
#[derive(Debug, Clone, Copy)]
struct MpFail {
    /// Data offset of the mapping that failed.
    data: u64,
    tries: u32,
}

/// The mapping that tells the peer about the fallback.
#[derive(Debug, Clone, Copy)]
struct InfiniteMapping {
    from: u64,
    copies_left: u8,
}

impl Fallback {
    /// Data went over another subflow than the first, or twice.
    #[inline]
    pub(super) fn has_multipath_data(&self) -> bool {
        self.multipath_data
    }

    #[inline]
    pub(super) fn set_multipath_data(&mut self) {
        self.multipath_data = true;
    }

    /// The HMAC of a join is sent.
    #[inline]
    pub(super) fn on_join_confirmed(&mut self) {
        self.join_confirmed = true;
    }

    /// Records that a chunk was sent at this offset of a subflow.
    #[inline]
    pub(super) fn on_data_sent(&mut self, data: u64, subflow_offset: u64) {
        self.multipath_data |= data != subflow_offset;
    }

    /// Records that a mapping of `data` to a subflow offset was received.
    #[inline]
    pub(super) fn on_mapping_received(&mut self, data: u64, subflow_offset: u64) {
        self.multipath_data |= data != subflow_offset;
        self.offsets_diverged |= data != subflow_offset;
    }

    /// The peer can no longer fall back.
    #[inline]
    pub(super) fn offsets_diverged(&self) -> bool {
        self.offsets_diverged
    }

    /// An MP_FAIL awaits the peer's answer.
    #[inline]
    pub(super) fn is_failing(&self) -> bool {
        self.mp_fail.is_some()
    }

    /// Stops waiting for an answer to MP_FAIL. Returns false if none was awaited.
    pub(super) fn stop_failing(&mut self) -> bool {
        self.mp_fail.take().is_some()
    }

    /// This end has fallen back and tells the peer with an infinite mapping.
    #[inline]
    pub(super) fn has_infinite_mapping(&self) -> bool {
        self.infinite_mapping.is_some()
    }

    fn start_infinite_mapping(&mut self, from: u64) {
        let copies_left = INFINITE_MAPPING_COPIES;
        self.infinite_mapping = Some(Box::new(InfiniteMapping { from, copies_left }));
    }

    /// Start of the infinite mapping, as long as segments are to carry it.
    fn take_infinite_mapping(&mut self) -> Option<u64> {
        let mapping = self.infinite_mapping.as_mut().filter(|mapping| mapping.copies_left > 0)?;
        mapping.copies_left -= 1;
        Some(mapping.from)
    }
}

impl<P: Payload> Endpoint<P> {
    /// Subflow `i` has carried all data so far, in both directions.
    fn is_contiguous(&self, i: usize) -> bool {
        !self.fallback.multipath_data && !self.subflows[i].is_join()
    }

    /// Subflow `i` has carried all data so far, and will until the peer learns of the fallback.
    pub(super) fn stays_contiguous(&self, i: usize) -> bool {
        self.is_contiguous(i) && !self.fallback.join_confirmed
    }

    /// The DSS checksum of the mapping at `data` does not match.
    #[cold]
    pub(super) fn on_checksum_failure(&mut self, now: Instant, i: usize, data: u64) {
        if !self.stays_contiguous(i) {
            let dsn = self.handshake.remote_dsn(data);
            self.reset_with_signal(i, Failure::Checksum, Some(MptcpSignal::Fail { dsn }));
        } else if !self.fallback.is_failing() {
            self.fallback.mp_fail = Some(Box::new(MpFail { data, tries: 0 }));
            self.send_mp_fail(now);
        }
    }

    /// Sends MP_FAIL, and repeats it until it is answered.
    pub(super) fn send_mp_fail(&mut self, now: Instant) {
        let Some(failing) = &mut self.fallback.mp_fail else { return };
        let Some(subflow) = self.subflows.iter_mut().find(|s| s.is_established()) else {
            self.stop_mp_fail();
            return;
        };
        if failing.tries == MAX_MP_FAILS {
            let i = subflow.path().index();
            self.stop_mp_fail();
            self.reset_subflow(i, Failure::Checksum, reset_reason::MIDDLEBOX_INTERFERENCE);
            return;
        }
        // An end that only receives has no round-trip time.
        let wait = self.config.min_rto.max(MIN_MP_FAIL_WAIT) * (1 << failing.tries);
        failing.tries += 1;
        debug!(parent: subflow.log(), tries = failing.tries, "MP_FAIL sent");
        let dsn = self.handshake.remote_dsn(failing.data);
        subflow.queue_signal(MptcpSignal::Fail { dsn });
        self.transmit_pending = true;
        self.timers.set(Timer::MpFail, now + wait);
    }

    /// Stops repeating MP_FAIL.
    pub(super) fn stop_mp_fail(&mut self) {
        if self.fallback.stop_failing() {
            self.timers.stop(Timer::MpFail);
        }
    }

    /// Handles the peer's MP_FAIL. With `expects_answer` the peer still uses MPTCP and waits for an
    /// MP_FAIL of this end.
    #[cold]
    pub(super) fn on_mp_fail(&mut self, now: Instant, i: usize, dsn: u64, expects_answer: bool) {
        let data = self.handshake.local_offset(dsn);
        if self.handshake.is_mptcp() {
            if data == 0 || data > self.data_sender.sent_end() {
                // The failed data was never sent.
                return;
            }
            if !self.is_contiguous(i) {
                self.reset_subflow(i, Failure::Checksum, reset_reason::MIDDLEBOX_INTERFERENCE);
                return;
            }
            let was_failing = self.fallback.is_failing();
            self.fall_back_with_mapping(now);
            if was_failing {
                return;
            }
        } else if !expects_answer || !self.fallback.has_infinite_mapping() {
            return;
        }
        let dsn = self.handshake.remote_dsn(self.data_receiver.next());
        self.subflows[i].queue_signal(MptcpSignal::Fail { dsn });
        self.transmit_pending = true;
    }

    /// The peer has fallen back.
    #[cold]
    pub(super) fn on_infinite_mapping(&mut self, now: Instant, i: usize) {
        if self.is_contiguous(i) {
            self.fall_back_with_mapping(now);
        } else {
            self.reset_subflow(i, Failure::Protocol, reset_reason::MPTCP_ERROR);
        }
    }

    /// Data was acknowledged without a DSS. Once data was acknowledged with one, the path is known
    /// to pass them, and the peer may omit some.
    pub(super) fn on_ack_without_dss(&mut self, now: Instant, i: usize) {
        let subflow = &mut self.subflows[i];
        if subflow.dss_passed() {
            subflow.on_missing_dss();
        } else {
            self.fall_back_or_reset(now, i);
        }
    }

    /// Falls back if possible, or else resets subflow `i`.
    #[cold]
    pub(super) fn fall_back_or_reset(&mut self, now: Instant, i: usize) {
        if self.stays_contiguous(i) && self.is_unmapped_data_new(now, i) {
            self.fall_back_with_mapping(now);
        } else {
            self.reset_subflow(i, Failure::Middlebox, reset_reason::MIDDLEBOX_INTERFERENCE);
        }
    }

    /// Unmapped data of subflow `i` repeats nothing: the peer has not waited long enough.
    fn is_unmapped_data_new(&self, now: Instant, i: usize) -> bool {
        let waiting_since = self.subflows[i].mappings().waiting_since();
        waiting_since.is_none_or(|since| now.since(since) < MIN_REPEAT_DELAY)
    }

    /// Falls back if the peer has done so without a word, as Linux does when it finds data without
    /// a mapping: it acknowledges data, and sends data, without a DSS.
    pub(super) fn follow_silent_fallback(&mut self, now: Instant, i: usize) {
        let subflow = &self.subflows[i];
        let acknowledges = subflow.lacks_dss() && subflow.sender().una() > self.data_sender.una();
        if acknowledges && self.stays_contiguous(i) && self.is_unmapped_data_new(now, i) {
            self.fall_back_with_mapping(now);
        }
    }

    /// Falls back, and tells the peer in case only one direction loses options.
    pub(super) fn fall_back_with_mapping(&mut self, now: Instant) {
        let from = self.data_sender.una().min(self.data_sender.end());
        self.fallback.start_infinite_mapping(from);
        self.fall_back(now);
        self.transmit_pending = true;
    }

    /// DSS with the infinite mapping, as long as segments are to carry it.
    pub(super) fn infinite_mapping(&mut self) -> Option<Dss> {
        let from = self.fallback.take_infinite_mapping()?;
        let dsn = u64::from(self.handshake.local_dsn(from) as u32);
        // Its checksum is zero (RFC 8684, section 3.3.1).
        let checksum = self.handshake.uses_checksum().then_some(0);
        let mapping = Mapping { dsn, ssn: from as u32, len: 0, checksum };
        Some(Dss { mapping: Some(mapping), dsn_is_short: true, ..Dss::default() })
    }

    /// Continues as plain TCP over the first subflow.
    #[cold]
    pub(super) fn fall_back(&mut self, now: Instant) {
        for i in 0..self.subflows.len() {
            if self.subflows[i].is_join() && self.subflows[i].is_open() {
                // A join in progress.
                self.reset_subflow(i, Failure::Middlebox, reset_reason::MIDDLEBOX_INTERFERENCE);
            }
        }
        debug!(parent: &self.log, "falls back to TCP");
        self.handshake.use_tcp();
        self.stop_receiver_driven(now);
        self.stop_mp_fail();
        self.paths.clear_signals();
        self.data_sender.cancel_data_fin(&mut self.timers);
        if self.subflows.iter().any(Subflow::is_established) {
            self.stop_repeating_keys();
            self.report_connected();
        }
        for i in 0..self.subflows.len() {
            let subflow = &mut self.subflows[i];
            subflow.clear_signals();
            // From here on the subflow's acknowledgements alone count.
            let una = subflow.sender().una();
            let unmapped = subflow.mappings_mut().take_all();
            if subflow.is_open() {
                self.acknowledge_data(una.min(self.data_sender.next()));
            }
            for (at, piece) in unmapped {
                self.data_receiver.insert(at, piece);
            }
        }
        self.arm_mapping_timer();
        self.advance_close(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinite_mapping_is_sent_a_limited_number_of_times() {
        let mut fallback = Fallback::default();
        assert_eq!(fallback.take_infinite_mapping(), None);
        fallback.start_infinite_mapping(17);
        for _ in 0..INFINITE_MAPPING_COPIES {
            assert_eq!(fallback.take_infinite_mapping(), Some(17));
        }
        assert_eq!(fallback.take_infinite_mapping(), None);
        assert!(fallback.has_infinite_mapping());
    }

    #[test]
    fn sent_offsets_that_differ_rule_out_only_this_ends_fallback() {
        let mut fallback = Fallback::default();
        fallback.on_data_sent(5, 5);
        fallback.on_mapping_received(7, 7);
        assert!(!fallback.has_multipath_data() && !fallback.offsets_diverged());
        fallback.on_data_sent(5, 6);
        assert!(fallback.has_multipath_data() && !fallback.offsets_diverged());
        fallback.on_mapping_received(5, 6);
        assert!(fallback.offsets_diverged());
    }
}
