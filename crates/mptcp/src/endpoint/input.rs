//! Segments in.

use super::{Endpoint, Event, Failure, Mode, Role};
use crate::PathId;
use crate::congestion::Coupling;
use crate::seq::extend;
use crate::subflow::{Arrival, Mapped, State};
use units::{Duration, Time};
use wire::{Dss, Flags, MptcpSignal, Payload, SackBlocks, Segment};

/// Mappings and pieces kept for one another before the peer counts as broken.
const MOST_PENDING: usize = 256;

impl<P: Payload> Endpoint<P> {
    /// A segment came in over `path`.
    #[expect(clippy::needless_pass_by_value, reason = "a segment that arrived is done with")]
    pub fn handle_segment(&mut self, now: Time, path: PathId, segment: Segment<P>) {
        let i = self.slot(path);
        let subflow = &self.subflows[i];
        let reopened = matches!(subflow.state, State::TimeWait { .. })
            && segment.flags.has(Flags::SYN)
            && segment.source != subflow.remote_port;
        if subflow.state == State::Closed || reopened {
            self.accept(now, i, &segment);
            return;
        }
        if segment.destination != subflow.local_port || segment.source != subflow.remote_port {
            self.other_ports(now, i, &segment);
            return;
        }
        self.work = true;
        match subflow.state {
            State::SynSent => self.in_syn_sent(now, i, &segment),
            State::SynReceived => {
                if segment.flags.has(Flags::RST) {
                    self.on_reset(i, &segment);
                } else if self.in_syn_received(now, i, &segment) {
                    self.in_established(now, i, &segment);
                }
            }
            State::Confirming => {
                if segment.flags.has(Flags::SYN) {
                    self.subflows[i].send_handshake_ack = true;
                } else if segment.flags.has(Flags::RST) {
                    self.on_reset(i, &segment);
                } else if segment.flags.has(Flags::ACK) {
                    // The fourth ACK, or data that says the same (RFC 8684, section 3.2).
                    self.subflows[i].state = State::Established;
                    self.subflows[i].sender.timer = None;
                    self.established(i);
                    self.in_established(now, i, &segment);
                }
            }
            State::Established | State::TimeWait { .. } => {
                if segment.flags.has(Flags::SYN) {
                    // Our handshake ACK was lost, or this is an old duplicate: say where we are.
                    let subflow = &mut self.subflows[i];
                    subflow.send_handshake_ack = segment.flags.has(Flags::ACK);
                    subflow.receiver.ack_now = true;
                } else {
                    self.in_established(now, i, &segment);
                }
            }
            State::Closed => {}
        }
    }

    /// A segment of an earlier or a later subflow over the same path.
    fn other_ports(&mut self, now: Time, i: usize, segment: &Segment<P>) {
        let newer =
            segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) && self.role == Role::Server;
        if newer && segment.source != self.subflows[i].remote_port {
            // The device opened the path again: what was there before is dead.
            self.subflow_lost(i, Failure::Removed);
            self.accept(now, i, segment);
        }
    }

    fn on_reset(&mut self, i: usize, segment: &Segment<P>) {
        let subflow = &self.subflows[i];
        // RFC 5961, section 3.2: only an exact match resets.
        if segment.seq == subflow.irs.wrapping_add(subflow.receiver.next as u32) {
            self.subflow_lost(i, Failure::Reset);
        }
    }

    fn in_established(&mut self, now: Time, i: usize, segment: &Segment<P>) {
        if segment.flags.has(Flags::RST) {
            self.on_reset(i, segment);
            return;
        }
        let subflow = &mut self.subflows[i];
        let Some(offset) = extend(segment.seq.wrapping_sub(subflow.irs), subflow.receiver.next) else {
            subflow.receiver.ack_now = true;
            return;
        };
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        if let Some(clock) = segment.timestamps
            && offset <= subflow.receiver.last_ack_sent.max(1)
        {
            // RFC 7323, section 4.3.
            subflow.receiver.peer_clock = clock.value;
        }
        if let Some(signal) = segment.signal {
            self.on_signal(i, &signal);
        }
        let mut data_level_ok = true;
        if self.mode == Mode::Mptcp {
            match segment.dss {
                Some(dss) => self.on_dss(now, i, offset, segment, &dss),
                None => data_level_ok = self.without_dss(i, offset, segment),
            }
        }
        if !data_level_ok || !self.on_ack(now, i, segment) {
            return;
        }
        let subflow = &self.subflows[i];
        if offset < subflow.receiver.next && segment.payload.is_empty() && !segment.flags.has(Flags::FIN) {
            // A probe: an old sequence number and nothing in it (RFC 9293, section 3.8.4 and 3.10.7.4).
            self.subflows[i].receiver.ack_now = true;
        }
        self.on_payload(now, i, offset, segment);
        self.after_input(now, i);
    }

    /// The subflow-level acknowledgement. False if it acknowledges what was never sent.
    fn on_ack(&mut self, now: Time, i: usize, segment: &Segment<P>) -> bool {
        let coupling =
            if self.subflows[i].sender.is_coupled() { self.coupling() } else { Coupling::default() };
        let subflow = &mut self.subflows[i];
        let Some(ack) = extend(segment.ack.wrapping_sub(subflow.iss), subflow.sender.una) else {
            return true;
        };
        if ack > subflow.sender.next {
            subflow.receiver.ack_now = true;
            return false;
        }
        let window = u64::from(segment.window) << subflow.peer_scale;
        let (blocks, count) = extend_blocks(&segment.sack, subflow.iss, subflow.sender.una);
        let clock =
            segment.timestamps.filter(|_| subflow.timestamps && ack > subflow.sender.una).map(|clock| {
                let now_ms = super::output::clock(now);
                Duration::from_millis(u64::from(now_ms.wrapping_sub(clock.echo)).min(60_000))
            });
        // RFC 8684, section 3.3.2 end: an ACK with an MPTCP signal is no sign of congestion.
        let plain = segment.payload.is_empty() && segment.signal.is_none() && !segment.flags.has(Flags::FIN);
        let acked = subflow.sender.on_ack(now, ack, &blocks[..count], plain, clock, &coupling);
        if acked.advanced {
            subflow.stale = false;
        }
        let base = match self.mode {
            Mode::Mptcp => match (&segment.dss, &segment.signal) {
                (Some(dss), _) => self.data_ack_of(dss),
                // The third ACK stands for a DATA_ACK of nothing yet.
                (None, Some(MptcpSignal::Capable { .. })) => Some(1),
                _ => None,
            },
            _ => Some(ack),
        };
        if self.mode != Mode::Mptcp && acked.advanced {
            self.data_acknowledged(ack.min(self.buffer.end));
        }
        if let Some(base) = base {
            self.widen_window(base + window);
        }
        true
    }

    fn data_ack_of(&self, dss: &Dss) -> Option<u64> {
        let ack = dss.data_ack?;
        if dss.ack_is_short {
            extend((ack as u32).wrapping_sub(self.local_idsn as u32), self.data_una)
        } else {
            Some(ack.wrapping_sub(self.local_idsn))
        }
    }

    fn on_dss(&mut self, now: Time, i: usize, offset: u64, segment: &Segment<P>, dss: &Dss) {
        self.confirm();
        self.subflows[i].send_handshake_ack = false;
        if let Some(ack) = self.data_ack_of(dss) {
            self.on_data_ack(now, ack);
        }
        let Some(map) = dss.mapping else { return };
        let data = if dss.dsn_is_short {
            extend((map.dsn as u32).wrapping_sub(self.remote_idsn as u32), self.reorder.next)
        } else {
            Some(map.dsn.wrapping_sub(self.remote_idsn))
        };
        let Some(data) = data else { return };
        let mut len = u64::from(map.len);
        if dss.data_fin && len > 0 {
            len -= 1;
            self.peer_fin.get_or_insert(data + len);
            self.subflows[i].receiver.ack_now = true;
        }
        if len == 0 {
            return;
        }
        let subflow = &mut self.subflows[i];
        let Some(at) = extend(map.ssn, subflow.receiver.next) else { return };
        // The common mapping covers just its own segment and is used up with it.
        if at != offset || len != segment.payload.len() as u64 {
            subflow.mappings.retain(|m| m.subflow + m.len > subflow.receiver.next);
            if !subflow.mappings.iter().any(|m| m.subflow == at && m.len >= len) {
                subflow.mappings.push(Mapped { subflow: at, data, len });
            }
            if subflow.mappings.len() > MOST_PENDING {
                self.reset_subflow(i, Failure::Protocol, Some(super::handshake::REASON_MPTCP));
            }
        }
    }

    /// Data, or an acknowledgement of data, came without a DSS on an MPTCP connection. False if the
    /// segment is to be dropped.
    fn without_dss(&mut self, i: usize, offset: u64, segment: &Segment<P>) -> bool {
        if let Some(MptcpSignal::Capable { data, .. }) = segment.signal {
            // The first data of a client (RFC 8684, section 3.1): DSN and SSN are both 1.
            if let Some((len, _)) = data {
                self.subflows[i].mappings.push(Mapped { subflow: 1, data: 1, len: u64::from(len) });
            }
            return true;
        }
        let only = self.subflows.iter().filter(|s| s.is_open()).count() == 1;
        if !self.confirmed && only && !segment.payload.is_empty() && offset == 1 {
            // Section 3.7: the peer, or a middlebox, does not go on with MPTCP.
            self.fall_back();
        }
        true
    }

    fn on_signal(&mut self, i: usize, signal: &MptcpSignal) {
        match *signal {
            MptcpSignal::Priority { backup, .. } => {
                let subflow = &mut self.subflows[i];
                if subflow.backup_there != backup {
                    subflow.backup_there = backup;
                    let path = subflow.path;
                    self.events.push_back(Event::Priority(path, backup));
                }
            }
            MptcpSignal::AddAddress { address_id, address, port, hmac } => {
                self.on_add_address(i, address_id, address, port, hmac);
            }
            MptcpSignal::RemoveAddress { ids, count } => {
                for &id in &ids[..usize::from(count.min(8))] {
                    self.on_remove_address(id);
                }
            }
            _ => {}
        }
    }

    /// Places what a segment carries, and its FIN.
    fn on_payload(&mut self, now: Time, i: usize, offset: u64, segment: &Segment<P>) {
        let len = segment.payload.len() as u64;
        let fin = segment.flags.has(Flags::FIN);
        if len == 0 && !fin {
            return;
        }
        let subflow = &mut self.subflows[i];
        if offset > subflow.receiver.next + self.config.recv_buffer + 65_536 {
            subflow.receiver.ack_now = true;
            return;
        }
        let mut arrival = Arrival::Duplicate;
        if len > 0 {
            if !self.place(i, offset, segment) {
                // Beyond the window: nothing was taken, so nothing is acknowledged.
                self.subflows[i].receiver.ack_now = true;
                return;
            }
            let subflow = &mut self.subflows[i];
            arrival = subflow.receiver.record(offset, offset + len);
        }
        let subflow = &mut self.subflows[i];
        if fin {
            subflow.receiver.fin_at.get_or_insert(offset + len);
            subflow.receiver.record(offset + len, offset + len + 1);
            subflow.receiver.ack_now = true;
        }
        if len > 0 {
            let mss = subflow.payload_max;
            subflow.receiver.schedule_ack(now, arrival, len, mss, self.config.delayed_ack);
        }
    }

    /// Puts a segment's payload where its mappings say. False if it lies beyond the receive window.
    fn place(&mut self, i: usize, offset: u64, segment: &Segment<P>) -> bool {
        let len = segment.payload.len() as u64;
        if self.mode != Mode::Mptcp {
            return self.insert(offset, segment.payload.clone());
        }
        if let Some(Dss { mapping: Some(map), dsn_is_short: false, data_fin, .. }) = segment.dss {
            let mapped = u64::from(map.len) - u64::from(data_fin && map.len > 0);
            if mapped == len && extend(map.ssn, offset) == Some(offset) {
                return self.insert(map.dsn.wrapping_sub(self.remote_idsn), segment.payload.clone());
            }
        }
        let (mut at, mut rest) = (offset, segment.payload.clone());
        while !rest.is_empty() {
            let covering =
                self.subflows[i].mappings.iter().find(|m| m.subflow <= at && at < m.subflow + m.len);
            let Some(&map) = covering else {
                let subflow = &mut self.subflows[i];
                if subflow.unmapped.len() >= MOST_PENDING {
                    return false;
                }
                subflow.unmapped.push((at, rest));
                return true;
            };
            let cut = (map.subflow + map.len - at).min(rest.len() as u64) as usize;
            if !self.insert(map.data + (at - map.subflow), rest.slice(0, cut)) {
                return false;
            }
            rest = rest.slice(cut, rest.len());
            at += cut as u64;
        }
        true
    }

    /// Into the connection's buffer, unless it lies beyond the window that was advertised.
    fn insert(&mut self, data: u64, piece: P) -> bool {
        let end = data.saturating_add(piece.len() as u64);
        let beyond_fin = self.peer_fin.is_some_and(|fin| end > fin);
        if data == 0 || end > self.advertised || beyond_fin {
            return false;
        }
        self.reorder.insert(data, piece);
        true
    }

    /// What a segment may have made possible.
    fn after_input(&mut self, now: Time, i: usize) {
        if !self.subflows[i].unmapped.is_empty() && !self.subflows[i].mappings.is_empty() {
            let pending = core::mem::take(&mut self.subflows[i].unmapped);
            for (at, piece) in pending {
                let mut carrier = Segment::new(0, 0, 0, 0, Flags::ACK, 0);
                carrier.payload = piece;
                self.place(i, at, &carrier);
            }
        }
        if self.peer_fin == Some(self.reorder.next) && self.mode == Mode::Mptcp {
            self.reorder.consume_fin();
            self.subflows[i].receiver.ack_now = true;
            self.note_peer_closed();
        }
        if self.subflows[i].receiver.fin_reached() {
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

    /// What a coupled algorithm needs of all subflows (RFC 6356, section 3.1).
    fn coupling(&self) -> Coupling {
        let (mut total, mut best, mut sum) = (0, 0.0_f64, 0.0);
        for subflow in self.subflows.iter().filter(|s| s.state == State::Established) {
            let window = subflow.sender.coupled_window();
            let rtt = subflow.sender.rtt.srtt().as_secs_f64().max(1e-6);
            total += window;
            best = best.max(window as f64 / (rtt * rtt));
            sum += window as f64 / rtt;
        }
        let alpha = if sum > 0.0 { total as f64 * best / (sum * sum) } else { 1.0 };
        Coupling { total_cwnd: total, alpha }
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
