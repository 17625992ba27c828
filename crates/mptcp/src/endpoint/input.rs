//! Segments in.

use super::{Endpoint, Event, Failure, Mode, ResetReason, Role};
use crate::PathId;
use crate::seq::extend;
use crate::subflow::{Arrival, Mapped, State, clock_at};
use core::borrow::Borrow;
use units::{Duration, Instant};
use wire::{Dss, Flags, MptcpSignal, Payload, SackBlocks, Segment};

impl<P: Payload> Endpoint<P> {
    /// A segment came in over `path`: given, or shown where it lies.
    #[inline]
    pub fn handle_segment(&mut self, now: Instant, path: PathId, segment: impl Borrow<Segment<P>>) {
        self.on_segment(now, path, segment.borrow());
    }

    fn on_segment(&mut self, now: Instant, path: PathId, segment: &Segment<P>) {
        if self.next_data(now, path.index(), segment) {
            return;
        }
        let i = self.slot(path);
        let subflow = &self.subflows[i];
        let reopened = matches!(subflow.state(), State::TimeWait { .. })
            && segment.flags.has(Flags::SYN)
            && segment.source != subflow.remote_port();
        // A SYN of a subflow that is no more, held up or sent twice by the network.
        if segment.flags.has(Flags::SYN) && subflow.was_used_by(segment.source) {
            return;
        }
        if subflow.is_closed() || reopened {
            self.accept(now, i, segment);
            return;
        }
        if segment.destination != subflow.local_port() || segment.source != subflow.remote_port() {
            self.other_ports(now, i, segment);
            return;
        }
        self.work = true;
        match subflow.state() {
            State::SynSent => self.in_syn_sent(now, i, segment),
            State::SynReceived => {
                if segment.flags.has(Flags::RST) {
                    self.on_reset(now, i, segment);
                } else if self.in_syn_received(now, i, segment) {
                    self.in_established(now, i, segment);
                }
            }
            State::Confirming => {
                if segment.flags.has(Flags::SYN) {
                    self.subflows[i].request_handshake_ack();
                } else if segment.flags.has(Flags::RST) {
                    self.on_reset(now, i, segment);
                } else if segment.flags.has(Flags::ACK) && segment.ack == self.subflows[i].seq_at(1) {
                    // The fourth ACK, or data that says the same (RFC 8684, section 3.2).
                    self.subflows[i].on_fourth_ack();
                    self.established(now, i);
                    self.in_established(now, i, segment);
                }
            }
            State::Established | State::TimeWait { .. } => {
                if segment.flags.has(Flags::SYN) {
                    // Our handshake ACK was lost, or this is an old duplicate: say where we are.
                    let subflow = &mut self.subflows[i];
                    if self.config.challenge_acks && !segment.flags.has(Flags::ACK) {
                        // Whoever has it in mind to reset us must know where we are (RFC 5961, section 4).
                        subflow.challenge(now);
                        return;
                    }
                    // The peer of a join has had it: more than a plain acknowledgement it does not need,
                    // and the handshake's has no DATA_ACK.
                    if segment.flags.has(Flags::ACK) && !subflow.is_join() {
                        subflow.request_handshake_ack();
                    } else {
                        subflow.cancel_handshake_ack();
                    }
                    subflow.receiver_mut().request_ack();
                } else {
                    self.in_established(now, i, segment);
                }
            }
            State::Closed => {}
        }
    }

    /// A segment of an earlier or a later subflow over the same path.
    fn other_ports(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        let newer =
            segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) && self.role == Role::Server;
        if newer && segment.source != self.subflows[i].remote_port() {
            // The device opened the path again: what was there before is dead.
            self.subflow_lost(i, Failure::Removed);
            self.accept(now, i, segment);
        } else if segment.flags.has(Flags::ACK) {
            // The other end of a subflow that is no more: it had better know.
            self.refuse(i, segment, None);
        }
    }

    fn on_reset(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        let signal = segment.signal.filter(|_| self.mode == Mode::Mptcp);
        let reason = reason_of(signal);
        let failure = match signal {
            Some(MptcpSignal::FastClose { key }) if key == self.local_key => {
                // The key proves more than a sequence number does.
                self.subflow_lost(i, Failure::FastClose);
                self.on_fast_close();
                return;
            }
            Some(MptcpSignal::Fail { .. }) => Failure::Checksum,
            _ => Failure::Reset(reason),
        };
        let subflow = &mut self.subflows[i];
        // RFC 9293, section 3.10.7.4: only an exact match resets. One ahead of what has come is asked
        // for again, where it is exact: what was sent before it may be lost.
        let ahead = segment.seq.wrapping_sub(subflow.ack_number());
        if ahead == 0 {
            if reason.is_some_and(|reason| !reason.transient) {
                self.subflows[i].set_permanently_refused(true);
            }
            self.subflow_lost(i, failure);
        } else if u64::from(ahead) < self.config.recv_buffer.max(65_536) {
            subflow.challenge(now);
        }
    }

    fn in_established(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        if segment.flags.has(Flags::RST) {
            self.on_reset(now, i, segment);
            return;
        }
        let furthest = self.config.recv_buffer + 65_536;
        let subflow = &mut self.subflows[i];
        if self.config.paws && subflow.fails_paws(now, segment) {
            subflow.challenge(now);
            return;
        }
        subflow.on_heard(now);
        let offset = subflow
            .receive_offset(segment.seq)
            .filter(|&offset| offset <= subflow.receiver().next_offset() + furthest);
        // An acknowledgement from before the subflow's start is old, not wrong.
        let ack = subflow.ack_offset(segment.ack).unwrap_or(0);
        let Some(offset) = offset.filter(|_| ack <= subflow.sender().next_offset()) else {
            // Out of the window, or an acknowledgement of what was never sent (RFC 9293, section
            // 3.10.7.4).
            subflow.challenge(now);
            return;
        };
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        let una = subflow.seq_at(subflow.sender().una());
        let behind = una.wrapping_sub(segment.ack) as i32;
        if self.config.challenge_acks && i64::from(behind) > subflow.max_peer_window() as i64 {
            // Older than any that may still be on its way (RFC 5961, section 5.2).
            subflow.challenge(now);
            return;
        }
        if subflow.uses_ecn() {
            subflow.process_ecn(now, ack, segment);
        }
        if let Some(clock) = segment.timestamps {
            subflow.receiver_mut().update_clock(now, offset, clock.value);
        }
        if self.config.autotune.is_some() && !segment.payload.is_empty() && self.driving.is_none() {
            subflow.sample_receiver_rtt(now, segment);
        }
        // Not in TIME-WAIT, where nothing is left that it could be about.
        if let Some(signal) = segment.signal
            && !self.ended
        {
            self.on_signal(now, i, &signal, segment);
            if self.subflows[i].is_closed() {
                return;
            }
        }
        let mut mapped = None;
        if self.mode == Mode::Mptcp {
            match segment.dss {
                Some(dss) => mapped = self.on_dss(now, i, offset, segment, &dss),
                None => mapped = self.without_dss(now, i, (offset, ack), segment),
            }
        }
        if self.subflows[i].is_closed() {
            // What it said ended it.
            return;
        }
        self.on_ack(now, i, ack, segment);
        let subflow = &self.subflows[i];
        if offset < subflow.receiver().next_offset()
            && segment.payload.is_empty()
            && !segment.flags.has(Flags::FIN)
        {
            // A probe: an old sequence number and nothing in it (RFC 9293, section 3.8.4 and 3.10.7.4).
            self.subflows[i].receiver_mut().request_ack();
        }
        self.on_payload(now, i, offset, segment, mapped);
        self.after_input(now, i);
    }

    /// The subflow-level acknowledgement, up to the offset `ack`.
    fn on_ack(&mut self, now: Instant, i: usize, ack: u64, segment: &Segment<P>) {
        let coupling = self.coupling(i, ack);
        let subflow = &mut self.subflows[i];
        let window = u64::from(segment.window) << subflow.peer_window_scale();
        let (blocks, count) = extend_blocks(&segment.sack, subflow.iss(), subflow.sender().una());
        let clock = segment
            .timestamps
            .filter(|c| subflow.uses_timestamps() && c.echo != 0 && ack > subflow.sender().una())
            .map(|clock| {
                let now_ms = clock_at(now);
                Duration::from_millis(u64::from(now_ms.wrapping_sub(clock.echo)).min(60_000))
            });
        // RFC 5681, section 2: a duplicate brings no data and no other window. RFC 8684, section 3.3.2:
        // nor an MPTCP signal.
        let same_window = subflow.on_window(segment.window, window);
        let plain = segment.payload.is_empty()
            && segment.signal.is_none()
            && segment.rec.is_none()
            && !segment.flags.has(Flags::FIN)
            && same_window;
        let acked = subflow.sender_mut().on_ack(now, ack, &blocks[..count], plain, clock, &coupling);
        if acked.advanced && subflow.is_stale() {
            subflow.set_stale(false);
            self.relieve();
        }
        let base = match self.mode {
            Mode::Mptcp => match (&segment.dss, &segment.signal) {
                (Some(dss), _) => self.data_ack_of(dss),
                // The third ACK stands for a DATA_ACK of nothing yet.
                (None, Some(MptcpSignal::Capable { .. })) => Some(1),
                // One without any may be old, and its window with it.
                _ => None,
            },
            _ => Some(ack),
        };
        if self.mode != Mode::Mptcp && acked.advanced {
            self.data_acknowledged(ack.min(self.data_next));
        }
        // A DATA_ACK of what was never sent is none (RFC 8684, section 3.8).
        if let Some(base) = base.filter(|&base| base <= self.data_sent() || self.mode != Mode::Mptcp) {
            self.widen_window(base + window);
        }
        if self.driving.is_some() {
            self.hear_report(now, i, acked.advanced, segment);
        }
        if acked.advanced
            && self.mode == Mode::Mptcp
            && self.data_una < self.data_next
            && !self.subflows[i].sender().has_unsent_or_unacked()
        {
            self.await_data_ack(now);
        }
    }

    pub(super) fn data_ack_of(&self, dss: &Dss) -> Option<u64> {
        let ack = dss.data_ack?;
        if dss.ack_is_short {
            extend((ack as u32).wrapping_sub(self.local_idsn as u32), self.data_una)
        } else {
            Some(ack.wrapping_sub(self.local_idsn))
        }
    }

    fn on_signal(&mut self, now: Instant, i: usize, signal: &MptcpSignal, segment: &Segment<P>) {
        match *signal {
            MptcpSignal::Fail { dsn } => {
                let asks = segment.dss.is_some_and(|dss| dss.data_ack.is_some());
                self.on_fail(now, i, dsn, asks);
            }
            // What follows is nothing to TCP.
            _ if self.mode != Mode::Mptcp => {}
            MptcpSignal::Priority { backup, .. } => {
                let subflow = &mut self.subflows[i];
                if subflow.set_peer_backup(backup) {
                    let path = subflow.path();
                    self.events.push_back(Event::Priority(path, backup));
                }
            }
            MptcpSignal::AddAddress { address_id, address, port, hmac } => {
                self.on_add_address(i, address_id, address, port, hmac);
            }
            MptcpSignal::FastClose { key } if key == self.local_key => self.on_fast_close(),
            MptcpSignal::RemoveAddress { ids, count } => {
                for &id in &ids[..usize::from(count.min(8))] {
                    self.on_remove_address(id);
                }
            }
            // The third ACK once more: the answer to it was lost.
            MptcpSignal::JoinAck { .. } | MptcpSignal::Capable { data: None, .. }
                if self.role == Role::Server =>
            {
                self.subflows[i].receiver_mut().request_ack();
            }
            _ => {}
        }
    }

    /// Places what a segment carries, and its FIN.
    fn on_payload(
        &mut self,
        now: Instant,
        i: usize,
        offset: u64,
        segment: &Segment<P>,
        mapped: Option<Mapped>,
    ) {
        let len = segment.payload.len() as u64;
        let fin = segment.flags.has(Flags::FIN);
        if len == 0 && !fin {
            return;
        }
        let mut arrival = Arrival::Duplicate;
        if len > 0 {
            if !self.place(now, i, offset, segment.payload.clone(), mapped) {
                // Beyond the window: nothing was taken, so nothing is acknowledged.
                self.subflows[i].receiver_mut().request_ack();
                return;
            }
            let subflow = &mut self.subflows[i];
            if subflow.is_closed() {
                return;
            }
            arrival = subflow.receiver_mut().record(offset, offset + len);
            if self.driving.is_some() {
                self.note_arrival(now, i, arrival, len, segment);
            }
        }
        let subflow = &mut self.subflows[i];
        if fin {
            subflow.receiver_mut().on_fin(offset + len);
        }
        if len > 0 {
            let mss = subflow.max_payload();
            subflow.receiver_mut().schedule_ack(now, arrival, len, mss, self.config.delayed_ack);
        }
    }

    /// What a segment may have made possible.
    fn after_input(&mut self, now: Instant, i: usize) {
        self.tune_buffer(now);
        if self.subflows[i].mappings().has_unmapped() {
            self.place_held(now, i);
            if self.subflows[i].is_closed() {
                return;
            }
        }
        if self.peer_fin == Some(self.reorder.next) && self.mode == Mode::Mptcp {
            self.reorder.consume_fin();
            self.subflows[i].receiver_mut().request_ack();
            self.note_peer_closed();
        }
        let subflow = &mut self.subflows[i];
        if subflow.receiver().fin_reached() {
            subflow.on_peer_fin();
            self.on_subflow_fin(i);
        }
        self.advance_close(now);
    }

    pub(super) fn note_peer_closed(&mut self) {
        if !self.peer_closed {
            self.peer_closed = true;
            self.events.push_back(Event::PeerClosed);
        }
    }
}

/// What a reset says of why.
pub(super) fn reason_of(signal: Option<MptcpSignal>) -> Option<ResetReason> {
    match signal {
        Some(MptcpSignal::Reset { transient, reason }) => Some(ResetReason { code: reason, transient }),
        _ => None,
    }
}

/// SACK blocks as offsets; those that cannot be are left out.
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
