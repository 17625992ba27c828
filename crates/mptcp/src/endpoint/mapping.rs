//! Data sequence mappings: the place of a subflow's payload in the data stream, and the DSS
//! checksum (RFC 8684, section 3.3.1).

use super::event::Failure;
use super::timers::Timer;
use super::{Endpoint, Role, reset_reason};
use crate::seq::extend;
use crate::subflow::Mapped;
use units::{Duration, Instant};
use wire::checksum::Sum;
use wire::{Dss, Flags, MptcpSignal, Payload, Segment, dss_pseudo_header};

/// How long in-order data may wait for its mapping, which the peer may have to retransmit.
const MAPPING_TIMEOUT: Duration = Duration::from_secs(60);
/// Pure acknowledgements without a cause, in a row, that prove a loss of options. A network that
/// duplicates packets makes fewer of one.
const MAX_IDLE_REPEATS: u8 = 5;
/// Longest mapping: its length has 16 bits.
const MAX_MAPPING_LEN: u64 = 65_535;
/// Largest distance of a valid data offset from the expected one, far beyond any window.
const MAX_DATA_DISTANCE: u64 = 1 << 40;

impl<P: Payload> Endpoint<P> {
    /// Handles a DSS in a segment at `offset` of subflow `i`, which acknowledges up to `acked`. Returns
    /// the mapping if it is for exactly this segment; another one is kept.
    #[inline]
    pub(super) fn on_dss(
        &mut self,
        now: Instant,
        i: usize,
        (offset, acked): (u64, u64),
        segment: &Segment<P>,
        dss: &Dss,
    ) -> Option<Mapped> {
        self.confirm_mptcp();
        self.subflows[i].cancel_handshake_ack();
        if let Some(ack) = self.data_ack_of(dss) {
            let subflow = &mut self.subflows[i];
            let is_old = acked < subflow.sender().una();
            subflow.on_data_ack_seen(segment.ack != subflow.seq_at(1), is_old);
            self.on_data_ack(now, ack);
        }
        let map = dss.mapping?;
        if map.len > 0 {
            return self.on_mapping(now, i, offset, segment, dss);
        }
        let end = offset + segment.payload.len() as u64;
        if !dss.data_fin && !self.subflows[i].receiver().is_acknowledged(end) {
            self.on_infinite_mapping(now, i);
        }
        None
    }

    fn on_mapping(
        &mut self,
        now: Instant,
        i: usize,
        offset: u64,
        segment: &Segment<P>,
        dss: &Dss,
    ) -> Option<Mapped> {
        let map = dss.mapping?;
        let next = self.data_receiver.next();
        let data = if dss.dsn_is_short {
            extend(self.handshake.remote_offset(map.dsn) as u32, next)
        } else {
            Some(self.handshake.remote_offset(map.dsn))
        };
        let furthest = next + MAX_DATA_DISTANCE;
        let Some(data) = data.filter(|&data| data < furthest) else {
            // Data far outside the window is dropped and not acknowledged (RFC 8684, section 3.8): at
            // this place the window refuses it.
            let len = segment.payload.len() as u64;
            return Some(Mapped { subflow: offset, data: furthest, len, checksum: None });
        };
        let checksum = self.expected_sum(i, data, map.ssn, map.len, map.checksum).ok()?;
        let len = u64::from(map.len) - u64::from(dss.data_fin);
        let at = extend(map.ssn, self.subflows[i].receiver().next_offset());
        let exact = len == 0 || at == Some(offset) && len == segment.payload.len() as u64;
        if let Some(expected) = checksum
            && exact
            && data + len >= next
            && !verify_checksum(expected, if len > 0 { Some(&segment.payload) } else { None })
        {
            self.on_checksum_failure(now, i, data);
            return None;
        }
        if dss.data_fin {
            self.data_receiver.set_peer_fin(data + len);
            self.subflows[i].receiver_mut().request_ack();
        }
        if len == 0 {
            return None;
        }
        let mapped = Mapped { subflow: at?, data, len, checksum };
        self.fallback.on_mapping_received(data, mapped.subflow);
        self.keep_mapping(i, mapped, exact, (offset, offset + segment.payload.len() as u64))
    }

    /// Sum that a mapping's data must have to match its checksum; `Ok(None)` without checksums.
    fn expected_sum(
        &mut self,
        i: usize,
        data: u64,
        ssn: u32,
        len: u16,
        checksum: Option<u16>,
    ) -> Result<Option<u16>, ()> {
        if !self.handshake.uses_checksum() {
            // A checksum that was not negotiated is ignored.
            return Ok(None);
        }
        let Some(checksum) = checksum else {
            // A missing checksum that was negotiated ends the subflow (RFC 8684, section 3.3.1).
            self.reset_subflow(i, Failure::Protocol, reset_reason::MPTCP_ERROR);
            return Err(());
        };
        let mut sum = dss_pseudo_header(self.handshake.remote_dsn(data), ssn, len);
        sum.add_part(checksum, 2);
        Ok(Some(!sum.finish()))
    }

    /// Keeps `mapped` for payload still to come, unless it is exactly for the segment at hand.
    /// Returns it if it places that segment, the bytes `[from, to)`: the first mapping of a byte
    /// counts.
    #[inline]
    fn keep_mapping(
        &mut self,
        i: usize,
        mapped: Mapped,
        exact: bool,
        (from, to): (u64, u64),
    ) -> Option<Mapped> {
        if exact && !self.fallback.is_failing() {
            return Some(mapped);
        }
        let subflow = &mut self.subflows[i];
        let next = subflow.receiver().next_offset();
        let mappings = subflow.mappings_mut();
        mappings.drop_used(next);
        let covers = mapped.checksum.is_none() && mapped.subflow <= from && to <= mapped.end();
        let own = (covers && mappings.find(from).is_none()).then_some(mapped);
        if mappings.is_redundant(&mapped, next) {
            return own;
        }
        mappings.add(mapped);
        let delivered = mapped.checksum.is_some() || self.deliver_unmapped(i, &mapped, None);
        if delivered { own } else { None }
    }

    /// Delivers the payload that waited for a mapping, or the same bytes of `verified`, which starts
    /// where the mapping does. Resets the subflow and returns false if the mapping is invalid.
    fn deliver_unmapped(&mut self, i: usize, mapped: &Mapped, verified: Option<&P>) -> bool {
        let mappings = self.subflows[i].mappings_mut();
        for (at, kept) in mappings.take_unmapped(mapped.subflow, mapped.end()) {
            let from = (at - mapped.subflow) as usize;
            let piece = match verified {
                Some(payload) => payload.slice(from, from + kept.len()),
                None => kept,
            };
            if !self.place_acknowledged(mapped.data + (at - mapped.subflow), piece) {
                // The stream has no place for the mapping.
                self.reset_subflow(i, Failure::Protocol, reset_reason::MPTCP_ERROR);
                return false;
            }
        }
        true
    }

    /// Handles a segment without a DSS on an MPTCP connection, which acknowledges up to `ack`.
    /// Returns its mapping if MP_CAPABLE carries one.
    #[cold]
    pub(super) fn on_missing_dss(
        &mut self,
        now: Instant,
        i: usize,
        (offset, ack): (u64, u64),
        segment: &Segment<P>,
    ) -> Option<Mapped> {
        let confirmed = self.handshake.is_confirmed();
        if confirmed && segment.signal.is_none() {
            self.subflows[i].on_missing_dss();
        }
        if confirmed
            && self.repeats_without_cause(i, segment)
            && self.subflows[i].count_idle_ack() >= MAX_IDLE_REPEATS
        {
            self.fall_back_or_reset(now, i);
            return None;
        }
        if segment.signal.is_some() {
            return self.on_capable_data(now, i, offset, segment);
        }
        let subflow = &self.subflows[i];
        // An MPTCP server sends a DSS with everything from the start, and so does a client until it
        // is answered: the peer does not use MPTCP, or a middlebox removes it (RFC 8684, section
        // 3.7).
        let server_without_mptcp = self.role == Role::Client
            && !confirmed
            && !subflow.is_join()
            && !self.fallback.has_multipath_data();
        let has_data = !segment.payload.is_empty();
        // The FIN may end the whole stream of a peer that has fallen back; a FIN in answer would
        // then end this one.
        let is_new = offset + segment.payload.len() as u64 >= subflow.receiver().next_offset();
        let fin = segment.flags.has(Flags::FIN) && is_new;
        let early_fin = fin && !subflow.is_join() && !self.is_data_closed();
        let acks_data = ack > subflow.sender().una().max(1);
        if server_without_mptcp || has_data && self.has_received_nothing() && self.stays_contiguous(i) {
            self.fall_back_with_mapping(now);
        } else if early_fin {
            self.fall_back_or_reset(now, i);
        } else if acks_data {
            self.on_ack_without_dss(now, i);
        }
        None
    }

    /// Handles the first data of a client, with its mapping in MP_CAPABLE (RFC 8684, section 3.1).
    fn on_capable_data(
        &mut self,
        now: Instant,
        i: usize,
        offset: u64,
        segment: &Segment<P>,
    ) -> Option<Mapped> {
        let Some(MptcpSignal::Capable { data: Some((len, checksum)), .. }) = segment.signal else {
            return None;
        };
        if self.role != Role::Server || len == 0 {
            return None;
        }
        let checksum = self.expected_sum(i, 1, 1, len, checksum).ok()?;
        let mapped = Mapped { subflow: 1, data: 1, len: u64::from(len), checksum };
        let exact = offset == 1 && mapped.len == segment.payload.len() as u64;
        if let Some(expected) = checksum
            && exact
            && mapped.data + mapped.len > self.data_receiver.next()
            && !verify_checksum(expected, Some(&segment.payload))
        {
            self.on_checksum_failure(now, i, 1);
            return None;
        }
        self.keep_mapping(i, mapped, exact, (offset, offset + segment.payload.len() as u64))
    }

    /// The segment repeats an acknowledgement although nothing was sent that it could answer: it
    /// carried an option that was removed.
    fn repeats_without_cause(&self, i: usize, segment: &Segment<P>) -> bool {
        let subflow = &self.subflows[i];
        segment.payload.is_empty()
            && !self.data_dropped
            && segment.flags.bits() == Flags::ACK.bits()
            && segment.signal.is_none()
            && segment.sack.is_empty()
            && segment.seq == subflow.ack_number()
            && segment.ack == subflow.seq_at(subflow.sender().una())
            && subflow.is_same_window(segment.window)
            && !subflow.sender().has_unsent_or_unacked()
    }

    /// Neither data nor a mapping was received.
    fn has_received_nothing(&self) -> bool {
        self.data_receiver.end() == 1 && self.subflows.iter().all(|s| s.mappings().is_empty())
    }

    /// Inserts payload at `offset` of subflow `i` into the stream, by `mapped` or by a kept
    /// mapping. Returns false if it lies beyond the receive window.
    #[inline]
    pub(super) fn place_payload(
        &mut self,
        now: Instant,
        i: usize,
        offset: u64,
        payload: P,
        mapped: Option<Mapped>,
    ) -> bool {
        if !self.handshake.is_mptcp() {
            return self.data_receiver.accept(offset, payload);
        }
        if let Some(map) = mapped {
            if self.subflows[i].receiver().is_new(offset, offset + payload.len() as u64) {
                return self.place_mapped(i, offset, map.data + (offset - map.subflow), payload);
            }
            return self.place_new_part(i, offset, &payload, &map);
        }
        let placed = self.place_by_kept_mappings(i, offset, payload);
        if placed {
            self.deliver_verified(now, i);
        }
        placed
    }

    /// Places the part of `payload` that the subflow has not received before, which includes data that
    /// waits for a mapping. The first mapping of a byte counts (RFC 8684, section 3.3.1).
    #[inline(never)]
    fn place_new_part(&mut self, i: usize, offset: u64, payload: &P, map: &Mapped) -> bool {
        let end = offset + payload.len() as u64;
        let covered =
            Mapped { subflow: offset, data: map.data + (offset - map.subflow), len: end - offset, ..*map };
        // A checksum covers this payload only: the bytes that wait may have been altered.
        let verified = covered.checksum.is_some().then_some(payload);
        if !self.deliver_unmapped(i, &covered, verified) {
            // The subflow is reset.
            return true;
        }
        let missing = self.subflows[i].receiver().missing(offset, end);
        missing.into_iter().all(|(from, to)| {
            let part = payload.slice((from - offset) as usize, (to - offset) as usize);
            self.place_mapped(i, from, covered.data + (from - offset), part)
        })
    }

    /// Inserts payload at `offset` of subflow `i` into the stream at `data`. With `subflow_order` it
    /// waits until nothing before it is missing on the subflow. Returns false if there is no room.
    fn place_mapped(&mut self, i: usize, offset: u64, data: u64, payload: P) -> bool {
        let is_next = offset <= self.subflows[i].receiver().next_offset();
        if !self.config.subflow_order || is_next {
            return self.drop_beyond_window(data, payload.len()) || self.data_receiver.accept(data, payload);
        }
        let waiting: u64 = self.subflows.iter().map(|s| s.out_of_order().bytes()).sum();
        let queue = self.subflows[i].out_of_order_mut();
        let has_room = waiting + payload.len() as u64 <= self.data_receiver.max_buffer()
            && queue.pieces() < self.data_receiver.max_waiting_pieces();
        let is_refused =
            !self.config.overruns_window && data + payload.len() as u64 > self.data_receiver.advertised();
        if !has_room || is_refused {
            return false;
        }
        queue.insert(offset, data, payload);
        true
    }

    /// Inserts the payload of subflow `i` that waited for a gap into the stream, as far as nothing before
    /// it is missing.
    #[inline(never)]
    pub(super) fn place_out_of_order(&mut self, i: usize) {
        let next = self.subflows[i].receiver().next_offset();
        while let Some((data, payload)) = self.subflows[i].out_of_order_mut().take_before(next) {
            self.place_acknowledged(data, payload);
        }
    }

    /// With `overruns_window`, drops `len` bytes at `data` that are out of order and beyond the window,
    /// although their subflow acknowledges them. Returns true if it did.
    fn drop_beyond_window(&mut self, data: u64, len: usize) -> bool {
        let drops = self.config.overruns_window && !self.admit(data, len) && data > self.data_receiver.next();
        if drops {
            // The peer will send them again at another offset of a subflow.
            self.fallback.set_multipath_data();
        }
        drops
    }

    /// Inserts payload that its subflow has acknowledged, or drops it if it lies beyond the window: the
    /// peer, which may overrun the window as Linux does, has to send it again. Returns false if the
    /// stream has ended before it.
    fn place_acknowledged(&mut self, data: u64, payload: P) -> bool {
        if !self.admit(data, payload.len()) {
            self.fallback.set_multipath_data();
            return true;
        }
        self.data_receiver.insert(data, payload)
    }

    /// Opens the window for the next bytes in order, as long as the buffer has room. Returns true if
    /// `len` bytes at `data` lie within the window then.
    fn admit(&mut self, data: u64, len: usize) -> bool {
        let end = data + len as u64;
        if data <= self.data_receiver.next() && self.data_receiver.has_room() {
            self.data_receiver.advertise(end);
        }
        end <= self.data_receiver.advertised()
    }

    /// Inserts the mapped part of a payload into the stream, and keeps the rest.
    fn place_by_kept_mappings(&mut self, i: usize, offset: u64, payload: P) -> bool {
        let (mut at, mut rest) = (offset, payload);
        while !rest.is_empty() {
            let subflow = &mut self.subflows[i];
            // Data with a checksum waits until its mapping is complete.
            let failing = self.fallback.is_failing();
            let map = subflow.mappings().find(at).filter(|map| map.checksum.is_none() && !failing);
            let Some(map) = map else {
                // The next bytes in order are always accepted, or the subflow would stall.
                let full = subflow.mappings().is_full();
                if full && at == offset && at > subflow.receiver().next_offset() {
                    return false;
                }
                // Bytes received before are kept or delivered.
                for (from, to) in subflow.receiver().missing(at, at + rest.len() as u64) {
                    let piece = rest.slice((from - at) as usize, (to - at) as usize);
                    subflow.mappings_mut().keep_unmapped(from, piece);
                }
                break;
            };
            let cut = (map.end() - at).min(rest.len() as u64) as usize;
            if !self.place_mapped(i, at, map.data + (at - map.subflow), rest.slice(0, cut)) {
                return false;
            }
            rest = rest.slice(cut, rest.len());
            at += cut as u64;
        }
        true
    }

    /// Delivers payload under complete mappings, and checks for in-order payload without a mapping.
    #[inline(never)]
    pub(super) fn check_unmapped(&mut self, now: Instant, i: usize) {
        if self.fallback.is_failing() || !self.handshake.is_mptcp() {
            return;
        }
        self.deliver_verified(now, i);
        let checksum = self.handshake.uses_checksum();
        let subflow = &mut self.subflows[i];
        let next = subflow.receiver().next_offset();
        if subflow.mappings().has_excess_pieces() {
            self.reset_subflow(i, Failure::Middlebox, reset_reason::MIDDLEBOX_INTERFERENCE);
            return;
        }
        match subflow.mappings().unmapped_before(next, checksum) {
            0 => {
                if subflow.mappings_mut().stop_waiting().is_some() {
                    self.arm_mapping_timer();
                }
            }
            // More unmapped data than a mapping can cover (RFC 8684, section 3.7).
            MAX_MAPPING_LEN.. => {
                self.reset_subflow(i, Failure::Middlebox, reset_reason::MIDDLEBOX_INTERFERENCE);
            }
            _ => {
                if subflow.mappings().waiting_since().is_none() {
                    subflow.mappings_mut().start_waiting(now);
                    self.arm_mapping_timer();
                }
                self.follow_silent_fallback(now, i);
            }
        }
    }

    /// Sets the mapping timer to the earliest deadline of the open subflows.
    pub(super) fn arm_mapping_timer(&mut self) {
        let open = self.subflows.iter().filter(|s| s.is_open());
        let first = open.filter_map(|s| s.mappings().waiting_since()).min();
        self.timers.set_or_stop(Timer::Mapping, first.map(|since| since + MAPPING_TIMEOUT));
    }

    /// Resets the subflows whose in-order data has waited too long for its mapping; the data they
    /// acknowledged comes over another. The limit of RFC 8684, section 3.7, a full buffer, is never
    /// reached if the peer has sent everything.
    pub(super) fn on_mapping_timeout(&mut self, now: Instant) {
        for i in 0..self.subflows.len() {
            let since = self.subflows[i].mappings().waiting_since();
            if since.is_some_and(|since| since + MAPPING_TIMEOUT <= now) {
                self.subflows[i].mappings_mut().stop_waiting();
                self.reset_subflow(i, Failure::Middlebox, reset_reason::MIDDLEBOX_INTERFERENCE);
            }
        }
        self.arm_mapping_timer();
    }

    /// Delivers the data of complete mappings if the checksum matches.
    fn deliver_verified(&mut self, now: Instant, i: usize) {
        if !self.handshake.uses_checksum() || self.fallback.is_failing() {
            return;
        }
        loop {
            let mappings = self.subflows[i].mappings_mut();
            let Some(complete) = mappings.take_complete() else { return };
            let map = complete.map;
            let expected = map.checksum.unwrap_or(0);
            let is_new = map.data + map.len > self.data_receiver.next();
            let parts = complete.parts.iter().map(|(_, part)| part);
            if is_new && !verify_checksum(expected, parts) {
                mappings.put_back(complete);
                self.on_checksum_failure(now, i, map.data);
                return;
            }
            mappings.set_verified(&complete);
            for (at, part) in complete.parts {
                if !self.place_acknowledged(map.data + (at - map.subflow), part) {
                    self.reset_subflow(i, Failure::Protocol, reset_reason::MPTCP_ERROR);
                    return;
                }
            }
        }
    }
}

/// Returns true if the parts of a mapping's data, in order, match its checksum.
fn verify_checksum<'a, P: Payload + 'a>(expected: u16, parts: impl IntoIterator<Item = &'a P>) -> bool {
    let mut sum = Sum::new();
    sum.add_part(expected, 2);
    for part in parts {
        sum.add_part(part.ones_sum(), part.len());
    }
    sum.finish() == 0
}

#[cfg(test)]
mod tests;
