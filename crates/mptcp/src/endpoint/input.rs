//! Received segments.

use super::event::{Event, Failure};
use super::path_manager::Address;
use super::reset_reason::reset_reason;
use super::timers::Timer;
use super::{Endpoint, Role};
use crate::PathId;
use crate::seq::extend;
use crate::subflow::{Acknowledgement, Arrival, Mapped, State, Subflow, clock_at};
use core::borrow::Borrow;
use units::{Duration, Instant};
use wire::{Dss, Flags, MptcpSignal, Payload, SackBlocks, Segment};

/// A sequence number may differ from the next one by the receive buffer and this, in bytes.
const SEQUENCE_SLACK: u64 = 65_536;
/// Largest round-trip time that a timestamp may measure, in milliseconds.
const MAX_TIMESTAMP_RTT_MS: u64 = 60_000;

impl<P: Payload> Endpoint<P> {
    /// Handles a segment received over `path`. It accepts the segment or a reference to it.
    #[inline]
    pub fn handle_segment(&mut self, now: Instant, path: PathId, segment: impl Borrow<Segment<P>>) {
        self.on_segment(now, path, segment.borrow());
    }

    fn on_segment(&mut self, now: Instant, path: PathId, segment: &Segment<P>) {
        if self.handle_next_data(now, path.index(), segment) {
            return;
        }
        let i = self.slot(path);
        let subflow = &self.subflows[i];
        let syn = segment.flags.has(Flags::SYN);
        if syn && subflow.was_used_by(segment.source) {
            // A delayed or duplicated SYN of an earlier subflow.
            return;
        }
        let in_time_wait = matches!(subflow.state(), State::TimeWait { .. });
        let reopened = in_time_wait && syn && segment.source != subflow.remote_port();
        if subflow.is_closed() || reopened {
            self.accept(now, i, segment);
            return;
        }
        if segment.destination != subflow.local_port() || segment.source != subflow.remote_port() {
            self.on_other_ports(now, i, segment);
            return;
        }
        self.transmit_pending = true;
        match self.subflows[i].state() {
            State::SynSent => self.in_syn_sent(now, i, segment),
            State::SynReceived => {
                if segment.flags.has(Flags::RST) {
                    self.on_reset(now, i, segment);
                } else if self.in_syn_received(now, i, segment) {
                    self.in_established(now, i, segment);
                }
            }
            State::Confirming => self.in_confirming(now, i, segment),
            State::Established | State::TimeWait { .. } => {
                if syn {
                    self.on_unexpected_syn(now, i, segment);
                } else {
                    self.in_established(now, i, segment);
                }
            }
            State::Closed => {}
        }
    }

    /// Handles a segment for a join that waits for the fourth ACK.
    #[cold]
    fn in_confirming(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        let subflow = &mut self.subflows[i];
        if segment.flags.has(Flags::SYN) {
            subflow.request_handshake_ack();
        } else if segment.flags.has(Flags::RST) {
            self.on_reset(now, i, segment);
        } else if segment.flags.has(Flags::ACK) && segment.ack == subflow.seq_at(1) {
            // The fourth ACK, or data, which confirms as much (RFC 8684, section 3.2).
            subflow.on_fourth_ack();
            self.on_established(now, i);
            self.in_established(now, i, segment);
        }
    }

    /// Answers a SYN on an established subflow: the handshake's ACK was lost, or the SYN is old.
    #[cold]
    fn on_unexpected_syn(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        let subflow = &mut self.subflows[i];
        if self.config.challenge_acks && !segment.flags.has(Flags::ACK) {
            // An attacker must not reset the subflow with a guess (RFC 5961, section 4).
            subflow.challenge(now);
            return;
        }
        // The peer of a join has the HMAC already. It needs a plain acknowledgement, which carries
        // a DATA_ACK.
        if segment.flags.has(Flags::ACK) && !subflow.is_join() {
            subflow.request_handshake_ack();
        } else {
            subflow.cancel_handshake_ack();
        }
        subflow.receiver_mut().request_ack();
    }

    /// Handles a segment of an earlier or a later subflow over the same path.
    #[cold]
    fn on_other_ports(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        let new_port = segment.source != self.subflows[i].remote_port();
        let is_join = matches!(segment.signal, Some(MptcpSignal::JoinSyn { token, .. })
            if token == self.handshake.local_token());
        let renews = self.role == Role::Server || self.subflows[i].is_passive() && is_join;
        if opens && new_port && renews {
            // The peer opened the path again: its earlier subflow is dead.
            self.subflow_lost(i, Failure::Removed);
            self.accept(now, i, segment);
        } else if segment.flags.has(Flags::ACK) {
            // The peer still uses a subflow that has ended here.
            self.refuse_segment(i, segment, None);
        }
    }

    #[cold]
    fn on_reset(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        let signal = segment.signal.filter(|_| self.handshake.is_mptcp());
        let reason = reset_reason(signal);
        let ahead = segment.seq.wrapping_sub(self.subflows[i].ack_number());
        let failure = match signal {
            Some(MptcpSignal::FastClose { key })
                if key == self.handshake.local_key() && (ahead == 0 || !self.config.challenge_acks) =>
            {
                // The key is better proof than a sequence number.
                self.subflow_lost(i, Failure::FastClose);
                self.on_fast_close();
                return;
            }
            Some(MptcpSignal::Fail { .. }) => Failure::Checksum,
            _ => Failure::Reset(reason),
        };
        let subflow = &mut self.subflows[i];
        // Only an exact sequence number resets (RFC 9293, section 3.10.7.4). A reset beyond it is
        // challenged: segments before it may be lost.
        if ahead == 0 {
            if reason.is_some_and(|reason| !reason.transient) {
                subflow.set_permanently_refused(true);
            }
            self.subflow_lost(i, failure);
        } else if u64::from(ahead) < self.config.recv_buffer.max(SEQUENCE_SLACK) {
            subflow.challenge(now);
        }
    }

    fn in_established(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        if segment.flags.has(Flags::RST) {
            self.on_reset(now, i, segment);
            return;
        }
        let Some((offset, ack)) = self.check_sequence(now, i, segment) else { return };
        self.update_clocks(now, i, (offset, ack), segment);
        let receiver = self.subflows[i].receiver();
        let is_old = offset < receiver.next_offset();
        let is_outdated = receiver.is_acknowledged(offset + segment.payload.len() as u64);
        let is_ignored = |signal| match signal {
            MptcpSignal::FastClose { .. } => is_old,
            MptcpSignal::RemoveAddress { .. } => is_outdated,
            _ => false,
        };
        if let Some(signal) = segment.signal
            && !self.ended
            && !is_ignored(signal)
        {
            self.on_signal(now, i, &signal, segment);
            if self.subflows[i].is_closed() {
                return;
            }
        }
        let mut mapped = None;
        if self.handshake.is_mptcp() {
            mapped = match segment.dss {
                Some(dss) => self.on_dss(now, i, (offset, ack), segment, &dss),
                None => self.on_missing_dss(now, i, (offset, ack), segment),
            };
        }
        if self.subflows[i].is_closed() {
            return;
        }
        self.on_ack(now, i, ack, segment);
        let subflow = &mut self.subflows[i];
        let is_old = offset < subflow.receiver().next_offset();
        if is_old && segment.payload.is_empty() && !segment.flags.has(Flags::FIN) {
            // A probe, which must be answered (RFC 9293, sections 3.8.4 and 3.10.7.4).
            subflow.receiver_mut().request_ack();
        }
        self.on_payload(now, i, offset, segment, mapped);
        self.after_segment(now, i);
    }

    /// Checks timestamp, sequence and acknowledgement numbers, and returns the latter two as
    /// subflow offsets. A segment that fails the check is challenged or dropped.
    #[inline]
    fn check_sequence(&mut self, now: Instant, i: usize, segment: &Segment<P>) -> Option<(u64, u64)> {
        let subflow = &mut self.subflows[i];
        if self.config.paws && subflow.fails_paws(now, segment) {
            subflow.challenge(now);
            return None;
        }
        // A peer sends again what it has sent in its last window at most.
        let next = subflow.receiver().next_offset();
        let reach = self.config.recv_buffer + SEQUENCE_SLACK;
        let offset = subflow.receive_offset(segment.seq).filter(|offset| offset.abs_diff(next) <= reach);
        // An acknowledgement from before the start of the subflow is old, not invalid.
        let ack = subflow.ack_offset(segment.ack).unwrap_or(0);
        let Some(offset) = offset.filter(|_| ack <= subflow.sender().next_offset()) else {
            // Outside the window, or acknowledges data never sent (RFC 9293, section 3.10.7.4).
            subflow.challenge(now);
            return None;
        };
        if !segment.flags.has(Flags::ACK) {
            return None;
        }
        let una = subflow.seq_at(subflow.sender().una());
        let behind = una.wrapping_sub(segment.ack) as i32;
        if self.config.challenge_acks && i64::from(behind) > subflow.max_peer_window() as i64 {
            // Older than any acknowledgement in transit can be (RFC 5961, section 5.2).
            subflow.challenge(now);
            return None;
        }
        subflow.on_heard(now);
        Some((offset, ack))
    }

    /// Handles ECN marks and timestamps.
    #[inline]
    fn update_clocks(&mut self, now: Instant, i: usize, (offset, ack): (u64, u64), segment: &Segment<P>) {
        let subflow = &mut self.subflows[i];
        if subflow.uses_ecn() {
            subflow.process_ecn(now, ack, segment);
        }
        if let Some(clock) = segment.timestamps {
            subflow.receiver_mut().update_clock(now, offset, clock.value);
        }
        let tunes = self.data_receiver.is_autotuned() && self.receiver_driven.is_none();
        if tunes {
            subflow.sample_receiver_rtt(now, segment);
        }
    }

    /// Handles the subflow-level acknowledgement up to the offset `ack`, and the windows.
    fn on_ack(&mut self, now: Instant, i: usize, ack: u64, segment: &Segment<P>) {
        let coupling = self.coupling(now, i, ack);
        let subflow = &mut self.subflows[i];
        let mut window = u64::from(segment.window) << subflow.peer_window_scale();
        let (blocks, count) = extend_blocks(&segment.sack, subflow.iss(), subflow.sender().una());
        let rtt = timestamp_rtt(now, subflow, ack, segment);
        // A duplicate acknowledgement has no data and the same window (RFC 5681, section 2), and no
        // MPTCP signal (RFC 8684, section 3.3.2).
        let same_window = subflow.on_window(segment.window, window);
        if self.config.overruns_window {
            window = subflow.update_send_window(window, segment.seq, ack > subflow.sender().una());
        }
        let pure = segment.payload.is_empty()
            && !self.data_dropped
            && segment.signal.is_none()
            && segment.rec.is_none()
            && !segment.flags.has(Flags::FIN)
            && same_window;
        let blocks = &blocks[..count];
        let news = Acknowledgement { offset: ack, blocks, pure, clock_sample: rtt };
        let acked = subflow.sender_mut().on_ack(now, &news, &coupling);
        self.recycle_coupling(coupling);
        if acked.advanced {
            self.outdate_data_retransmission();
        }
        let subflow = &mut self.subflows[i];
        if acked.advanced && subflow.is_stale() {
            subflow.set_stale(false);
            if !self.config.data_retransmission {
                self.reinject_stale();
            }
        }
        if !self.handshake.is_mptcp() && acked.advanced {
            self.acknowledge_data(ack.min(self.data_sender.next()));
        }
        if let Some(base) = self.window_base_of(ack, segment) {
            self.widen_window(base + window);
        }
        if self.receiver_driven.is_some() {
            self.process_report(now, i, acked.advanced, segment);
        }
        if acked.advanced
            && self.data_sender.has_outstanding()
            && !self.subflows[i].sender().has_unsent_or_unacked()
        {
            self.await_data_ack(now);
        }
    }

    /// Data offset from which the window of a segment counts, if the window is valid.
    #[inline]
    fn window_base_of(&self, ack: u64, segment: &Segment<P>) -> Option<u64> {
        if !self.handshake.is_mptcp() {
            return Some(ack);
        }
        let base = match (&segment.dss, &segment.signal) {
            (Some(dss), _) => self.data_ack_of(dss),
            // The third ACK stands for a DATA_ACK of no data.
            (None, Some(MptcpSignal::Capable { .. })) => Some(1),
            // Without a DATA_ACK the segment and its window may be old.
            _ => None,
        };
        // A DATA_ACK of data never sent is ignored (RFC 8684, section 3.8).
        base.filter(|&base| base <= self.data_sender.sent_end())
    }

    /// The DATA_ACK of a DSS, as an offset.
    #[inline]
    pub(super) fn data_ack_of(&self, dss: &Dss) -> Option<u64> {
        let offset = self.handshake.local_offset(dss.data_ack?);
        if dss.ack_is_short { extend(offset as u32, self.data_sender.una()) } else { Some(offset) }
    }

    /// Handles a DATA_ACK (RFC 8684, section 3.3.2).
    #[inline]
    pub(super) fn on_data_ack(&mut self, now: Instant, ack: u64) {
        if ack <= self.data_sender.una() || ack > self.data_sender.sent_end() {
            return;
        }
        self.acknowledge_data(ack);
        self.outdate_data_retransmission();
        self.restart_data_retransmission(now);
        if self.data_sender.data_fin_acked() {
            self.timers.stop(Timer::DataFin);
            self.advance_close(now);
        }
    }

    #[cold]
    fn on_signal(&mut self, now: Instant, i: usize, signal: &MptcpSignal, segment: &Segment<P>) {
        match *signal {
            MptcpSignal::Fail { dsn } => {
                let expects_answer = segment.dss.is_some_and(|dss| dss.data_ack.is_some());
                self.on_mp_fail(now, i, dsn, expects_answer);
            }
            // Plain TCP has none of the following.
            _ if !self.handshake.is_mptcp() => {}
            // An address identifier belongs to version 0 (RFC 8684, section 3.3.8).
            MptcpSignal::Priority { backup, address_id: None } => {
                let subflow = &mut self.subflows[i];
                if subflow.set_peer_backup(backup) {
                    let path = subflow.path();
                    self.report(Event::Priority(path, backup));
                }
            }
            MptcpSignal::AddAddress { address_id, address, port, hmac } => {
                self.on_add_address(i, Address { id: address_id, ip: address, port }, hmac);
            }
            MptcpSignal::FastClose { key } if key == self.handshake.local_key() => {
                self.on_fast_close();
            }
            MptcpSignal::RemoveAddress { ids, count } => {
                for &id in &ids[..usize::from(count.min(8))] {
                    self.on_remove_address(id);
                }
            }
            // The third ACK was repeated: the answer to it was lost.
            MptcpSignal::JoinAck { .. } => self.subflows[i].receiver_mut().request_ack(),
            MptcpSignal::Capable { data: None, .. } if self.role == Role::Server => {
                self.subflows[i].receiver_mut().request_ack();
            }
            _ => {}
        }
    }

    /// Handles the payload and the FIN of a segment.
    fn on_payload(
        &mut self,
        now: Instant,
        i: usize,
        offset: u64,
        segment: &Segment<P>,
        mapped: Option<Mapped>,
    ) {
        if self.data_dropped {
            self.subflows[i].receiver_mut().request_ack();
            return;
        }
        let len = segment.payload.len() as u64;
        let mut arrival = Arrival::Duplicate;
        if len > 0 {
            if self.subflows[i].receiver().is_beyond_fin(offset + len) {
                // Text after a FIN is ignored (RFC 9293, section 3.10.7.4).
                self.subflows[i].receiver_mut().request_ack();
                return;
            }
            let receiver = self.subflows[i].receiver();
            let fits = offset <= receiver.next_offset() || !receiver.is_full();
            if !fits || !self.place_payload(now, i, offset, segment.payload.clone(), mapped) {
                // Data without room is not accepted, so it is not acknowledged.
                self.subflows[i].receiver_mut().request_ack();
                return;
            }
            let subflow = &mut self.subflows[i];
            if subflow.is_closed() {
                return;
            }
            arrival = subflow.receiver_mut().record(offset, offset + len);
            if subflow.out_of_order().pieces() > 0 {
                self.place_out_of_order(i);
            }
            if arrival == Arrival::OutOfOrder && !self.handshake.is_mptcp() {
                self.data_receiver.cover_gap();
            }
            if self.receiver_driven.is_some() {
                self.estimate_rate(now, i, arrival, segment);
            }
        }
        let subflow = &mut self.subflows[i];
        if segment.flags.has(Flags::FIN) {
            let receiver = subflow.receiver_mut();
            if offset + len >= receiver.next_offset() {
                receiver.on_fin(offset + len);
            } else {
                // A repetition, or a forgery amid received data (RFC 9293, section 3.10.7.4).
                receiver.request_ack();
            }
        }
        if len > 0 {
            let mss = subflow.max_payload();
            if self.data_receiver.open_window() {
                subflow.receiver_mut().acknowledge_next_at_once();
            }
            subflow.receiver_mut().schedule_ack(now, arrival, len, mss, self.config.delayed_ack);
        }
    }

    /// Takes the steps that a received segment may have made possible.
    fn after_segment(&mut self, now: Instant, i: usize) {
        self.tune_receive_buffer(now);
        if self.subflows[i].mappings().has_unmapped() {
            self.check_unmapped(now, i);
            if self.subflows[i].is_closed() {
                return;
            }
        }
        if self.handshake.is_mptcp() && self.data_receiver.consume_peer_fin() {
            self.subflows[i].receiver_mut().request_ack();
            self.on_peer_closed();
        }
        let subflow = &mut self.subflows[i];
        if subflow.receiver().fin_reached() {
            subflow.on_peer_fin();
            self.on_subflow_fin(i);
        }
        self.advance_close(now);
    }

    /// Autotunes the receive buffer by the round trip of the slowest subflow, whose data the
    /// others' data waits for.
    #[inline]
    fn tune_receive_buffer(&mut self, now: Instant) {
        if !self.data_receiver.is_autotuned() {
            return;
        }
        let established = self.subflows.iter().filter(|s| s.is_established());
        let rtts = established.filter_map(Subflow::data_rtt);
        if let Some(rtt) = rtts.max() {
            self.data_receiver.tune(now, rtt);
        }
    }
}

/// Round-trip time measured by the echoed timestamp of a segment that acknowledges new data.
#[inline]
fn timestamp_rtt<P: Payload>(
    now: Instant,
    subflow: &Subflow<P>,
    ack: u64,
    segment: &Segment<P>,
) -> Option<Duration> {
    let clock = segment.timestamps?;
    if !subflow.uses_timestamps() || clock.echo == 0 || ack <= subflow.sender().una() {
        return None;
    }
    let elapsed = u64::from(clock_at(now).wrapping_sub(clock.echo));
    Some(Duration::from_millis(elapsed.min(MAX_TIMESTAMP_RTT_MS)))
}

/// Converts SACK blocks to offsets, without invalid ones.
fn extend_blocks(sack: &SackBlocks, iss: u32, near: u64) -> ([(u64, u64); SackBlocks::MAX], usize) {
    let mut blocks = [(0, 0); SackBlocks::MAX];
    let mut count = 0;
    for &(left, right) in sack.as_slice() {
        let ends = (extend(left.wrapping_sub(iss), near), extend(right.wrapping_sub(iss), near));
        if let (Some(left), Some(right)) = ends {
            blocks[count] = (left, right);
            count += 1;
        }
    }
    (blocks, count)
}
