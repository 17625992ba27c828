//! Data sequence mappings: where what a subflow brings belongs in the data stream (RFC 8684, section
//! 3.3.1), and whether it is what was sent (the data checksum).

use super::{Endpoint, Failure, Mode, Role};
use crate::seq::extend;
use crate::subflow::Mapped;
use units::{Duration, Instant};
use wire::checksum::Sum;
use wire::{Dss, Flags, MptcpSignal, Payload, Segment, dss_pseudo_header};

/// How long data in order may wait for its mapping: longer than it takes a peer to send it again.
const MAPPING_PATIENCE: Duration = Duration::from_secs(60);
/// Acknowledgements that say nothing, in a row: more than a network that duplicates makes of one.
const IDLE_REPEATS: u8 = 5;
/// The longest that a mapping can be: the length has 16 bits.
const LONGEST: u64 = 65_535;
/// How far from what is expected a data offset may lie and still be looked at. Windows are far below.
const FAR: u64 = 1 << 40;

impl<P: Payload> Endpoint<P> {
    /// Takes a DSS in. Gives the mapping if it is for just this segment, as it mostly is; another is
    /// kept.
    pub(super) fn on_dss(
        &mut self,
        now: Instant,
        i: usize,
        offset: u64,
        segment: &Segment<P>,
        dss: &Dss,
    ) -> Option<Mapped> {
        self.confirm();
        self.subflows[i].cancel_handshake_ack();
        if let Some(ack) = self.data_ack_of(dss) {
            let subflow = &mut self.subflows[i];
            subflow.on_data_ack_seen(segment.ack != subflow.seq_at(1));
            self.on_data_ack(now, ack);
        }
        let map = dss.mapping?;
        if map.len == 0 {
            if !dss.data_fin {
                self.on_infinite_mapping(now, i);
            }
            return None;
        }
        let data = if dss.dsn_is_short {
            extend((map.dsn as u32).wrapping_sub(self.remote_idsn as u32), self.reorder.next)
        } else {
            Some(map.dsn.wrapping_sub(self.remote_idsn))
        };
        // Section 3.8: what lies far outside the window is dropped, and not acknowledged.
        let data = data.filter(|&data| data < self.reorder.next.saturating_add(FAR))?;
        let checksum = self.expected(i, data, map.ssn, map.len, map.checksum).ok()?;
        let len = u64::from(map.len) - u64::from(dss.data_fin);
        let at = extend(map.ssn, self.subflows[i].receiver().next_offset());
        let exact = len == 0 || at == Some(offset) && len == segment.payload.len() as u64;
        if let Some(expected) = checksum
            && exact
            && data + len >= self.reorder.next
            && !verifies(expected, if len > 0 { Some(&segment.payload) } else { None })
        {
            self.checksum_failed(now, i, data);
            return None;
        }
        if dss.data_fin {
            let fin = data + len;
            // Where data lies beyond, it is no end.
            if self.reorder.end() <= fin && fin <= self.advertised {
                self.peer_fin.get_or_insert(fin);
            }
            self.subflows[i].receiver_mut().request_ack();
        }
        if len == 0 {
            return None;
        }
        let mapped = Mapped { subflow: at?, data, len, checksum };
        self.spread |= mapped.subflow != data;
        self.parted |= mapped.subflow != data;
        self.keep(i, mapped, exact, (offset, offset + segment.payload.len() as u64))
    }

    /// What the sum over a mapping's data must come to with; nothing without checksums.
    fn expected(
        &mut self,
        i: usize,
        data: u64,
        ssn: u32,
        len: u16,
        checksum: Option<u16>,
    ) -> Result<Option<u16>, ()> {
        if !self.checksum {
            // One that was not agreed on is ignored.
            return Ok(None);
        }
        let Some(checksum) = checksum else {
            // Section 3.3.1: one that was agreed on and is missing ends the subflow.
            self.reset_subflow(i, Failure::Protocol, super::handshake::REASON_MPTCP);
            return Err(());
        };
        let mut sum = dss_pseudo_header(self.remote_idsn.wrapping_add(data), ssn, len);
        sum.add_part(checksum, 2);
        Ok(Some(!sum.finish()))
    }

    /// Keeps `mapped` for what is still to come, unless it is for just the segment at hand. Gives it back
    /// where it is what places that, the bytes from `from` to `to`: the first mapping of a byte counts.
    fn keep(&mut self, i: usize, mapped: Mapped, exact: bool, (from, to): (u64, u64)) -> Option<Mapped> {
        if exact && self.failing.is_none() {
            return Some(mapped);
        }
        let subflow = &mut self.subflows[i];
        // Bytes that came in order may still wait for theirs.
        let next = subflow.receiver().next_offset();
        let mappings = subflow.mappings_mut();
        mappings.drop_used(next);
        let covers = mapped.checksum.is_none() && mapped.subflow <= from && to <= mapped.end();
        let own = (covers && mappings.find(from).is_none()).then_some(mapped);
        if mappings.is_redundant(&mapped, next) {
            return own;
        }
        mappings.add(mapped);
        if mapped.checksum.is_none() {
            for (at, piece) in mappings.take_unmapped(mapped.subflow, mapped.end()) {
                if !self.insert(mapped.data + (at - mapped.subflow), piece) {
                    // It was acknowledged, and now turns out to belong nowhere.
                    self.reset_subflow(i, Failure::Protocol, super::handshake::REASON_MPTCP);
                    return None;
                }
            }
        }
        own
    }

    /// A segment came without a DSS on an MPTCP connection, acknowledging up to the offset `ack`. Gives
    /// its mapping if it has one all the same.
    pub(super) fn without_dss(
        &mut self,
        now: Instant,
        i: usize,
        (offset, ack): (u64, u64),
        segment: &Segment<P>,
    ) -> Option<Mapped> {
        if self.confirmed && segment.signal.is_none() {
            self.subflows[i].on_missing_dss();
        }
        if self.confirmed
            && self.says_nothing(i, segment)
            && self.subflows[i].count_idle_ack() >= IDLE_REPEATS
        {
            self.give_up_mptcp_or_subflow(now, i);
            return None;
        }
        let subflow = &self.subflows[i];
        match (self.role, segment.signal) {
            // The first data of a client (section 3.1): DSN and SSN are both 1.
            (Role::Server, Some(MptcpSignal::Capable { data: Some((len, checksum)), .. })) if len > 0 => {
                let checksum = self.expected(i, 1, 1, len, checksum).ok()?;
                let mapped = Mapped { subflow: 1, data: 1, len: u64::from(len), checksum };
                let exact = offset == 1 && mapped.len == segment.payload.len() as u64;
                if let Some(expected) = checksum
                    && exact
                    && self.reorder.next == 1
                    && !verifies(expected, Some(&segment.payload))
                {
                    self.checksum_failed(now, i, 1);
                    return None;
                }
                self.keep(i, mapped, exact, (offset, offset + segment.payload.len() as u64))
            }
            // Section 3.7: a server that speaks MPTCP sends a DSS with everything from the start, so
            // this one does not, or a middlebox does not let it.
            (Role::Client, None) if !self.confirmed && !subflow.is_join() => {
                self.give_up_mptcp(now);
                None
            }
            // And so does a client, until it has been answered.
            (_, None) if !segment.payload.is_empty() && self.nothing_came() && self.stays_contiguous(i) => {
                self.give_up_mptcp(now);
                None
            }
            // The whole connection's, if the peer has fallen back: a FIN in answer would seem to be the end of
            // our data.
            (_, None) if segment.flags.has(Flags::FIN) && !subflow.is_join() && !self.closing_done() => {
                self.give_up_mptcp_or_subflow(now, i);
                None
            }
            // Data was acknowledged, and none of it at data level.
            (_, None) if ack > subflow.sender().una().max(1) => {
                self.acknowledged_without_dss(now, i);
                None
            }
            _ => None,
        }
    }

    /// The same acknowledgement once more, though nothing was sent that it could answer: it was for an option
    /// that is gone.
    fn says_nothing(&self, i: usize, segment: &Segment<P>) -> bool {
        let subflow = &self.subflows[i];
        segment.payload.is_empty()
            && segment.flags.bits() == Flags::ACK.bits()
            && segment.signal.is_none()
            && segment.sack.is_empty()
            && segment.seq == subflow.ack_number()
            && segment.ack == subflow.seq_at(subflow.sender().una())
            && subflow.is_same_window(segment.window)
            && !subflow.sender().has_unsent_or_unacked()
    }

    /// No data, and no mapping of any.
    fn nothing_came(&self) -> bool {
        self.reorder.end() == 1 && self.subflows.iter().all(|s| s.mappings().is_empty())
    }

    /// Puts payload where `mapped`, or a mapping that was kept, says. False if it lies beyond the
    /// receive window.
    pub(super) fn place(
        &mut self,
        now: Instant,
        i: usize,
        offset: u64,
        payload: P,
        mapped: Option<Mapped>,
    ) -> bool {
        if self.mode != Mode::Mptcp {
            return self.insert(offset, payload);
        }
        if let Some(map) = mapped {
            return self.insert(map.data + (offset - map.subflow), payload);
        }
        let (mut at, mut rest) = (offset, payload);
        while !rest.is_empty() {
            let subflow = &mut self.subflows[i];
            // Not before all that the checksum covers is here.
            let map =
                subflow.mappings().find(at).filter(|map| map.checksum.is_none() && self.failing.is_none());
            let Some(map) = map else {
                // What is next is always taken, or nothing would ever go on.
                if subflow.mappings().is_full() && at == offset && at > subflow.receiver().next_offset() {
                    return false;
                }
                // What has come before is here, or was placed.
                for (from, to) in subflow.receiver().missing(at, at + rest.len() as u64) {
                    let piece = rest.slice((from - at) as usize, (to - at) as usize);
                    subflow.mappings_mut().keep_unmapped(from, piece);
                }
                break;
            };
            let cut = (map.end() - at).min(rest.len() as u64) as usize;
            if !self.insert(map.data + (at - map.subflow), rest.slice(0, cut)) {
                return false;
            }
            rest = rest.slice(cut, rest.len());
            at += cut as u64;
        }
        self.verify_held(now, i);
        true
    }

    /// Looks at what is held: what can be delivered, and whether it should have been before.
    pub(super) fn place_held(&mut self, now: Instant, i: usize) {
        if self.failing.is_some() || self.mode != Mode::Mptcp {
            return;
        }
        self.verify_held(now, i);
        let subflow = &mut self.subflows[i];
        let next = subflow.receiver().next_offset();
        match subflow.mappings().unmapped_before(next, self.checksum) {
            0 => {
                subflow.mappings_mut().take_deadline();
            }
            // Section 3.7: the buffer fills up with what no mapping came for.
            LONGEST.. => self.reset_subflow(i, Failure::Middlebox, super::fallback::REASON_MIDDLEBOX),
            _ => {
                subflow.mappings_mut().start_deadline(now + MAPPING_PATIENCE);
                self.arm_rare();
            }
        }
    }

    /// When data in order has waited too long for its mapping.
    pub(super) fn unmapped_due(&self) -> Option<Instant> {
        self.subflows.iter().filter(|s| s.is_open()).filter_map(|s| s.mappings().deadline()).min()
    }

    /// Section 3.7 knows of a break only once the buffer is full, which it never is where the peer has sent
    /// all that it had to send. The subflow ends, and what it has acknowledged comes over another.
    pub(super) fn give_up_unmapped(&mut self, now: Instant) {
        for i in 0..self.subflows.len() {
            if self.subflows[i].mappings_mut().take_deadline().is_some_and(|at| at <= now) {
                self.reset_subflow(i, Failure::Middlebox, super::fallback::REASON_MIDDLEBOX);
            }
        }
    }

    /// Delivers the data of mappings that are complete and have the right checksum.
    fn verify_held(&mut self, now: Instant, i: usize) {
        if !self.checksum || self.failing.is_some() {
            return;
        }
        loop {
            let mappings = self.subflows[i].mappings_mut();
            let Some(complete) = mappings.take_complete() else { return };
            let map = complete.map;
            let fresh = map.data + map.len > self.reorder.next;
            let parts = complete.parts.iter().map(|(_, part)| part);
            if fresh && !verifies(map.checksum.unwrap_or(0), parts) {
                mappings.put_back(complete);
                self.checksum_failed(now, i, map.data);
                return;
            }
            mappings.set_verified(&complete);
            for (at, part) in complete.parts {
                if !self.insert(map.data + (at - map.subflow), part) {
                    self.reset_subflow(i, Failure::Protocol, super::handshake::REASON_MPTCP);
                    return;
                }
            }
        }
    }

    /// Into the connection's buffer, unless it lies beyond the window that was advertised.
    pub(super) fn insert(&mut self, data: u64, piece: P) -> bool {
        let end = data.saturating_add(piece.len() as u64);
        let beyond_fin = self.peer_fin.is_some_and(|fin| end > fin);
        if data == 0 || end > self.advertised || beyond_fin {
            return false;
        }
        if self.driving.is_some() {
            self.note_place(data);
        }
        self.reorder.insert(data, piece);
        true
    }
}

/// Do the parts of a mapping's data, in order, make its checksum right?
fn verifies<'a, P: Payload + 'a>(expected: u16, parts: impl IntoIterator<Item = &'a P>) -> bool {
    let mut sum = Sum::new();
    sum.add_part(expected, 2);
    for part in parts {
        sum.add_part(part.ones_sum(), part.len());
    }
    sum.finish() == 0
}

#[cfg(test)]
mod tests {
    use crate::{Config, Endpoint, PathId};
    use units::{Instant, Seed};
    use wire::{Payload, Span};

    /// Passes segments to and fro, without time, until there are none; `short` cuts numbers to 32 bits.
    fn exchange(ends: &mut [Endpoint<Span>; 2], short: bool) -> u64 {
        let (mut read, mut quiet) = (0, false);
        while !quiet {
            quiet = true;
            for from in [0, 1] {
                while let Some((path, mut segment)) = ends[from].poll_transmit(Instant::ZERO) {
                    quiet = false;
                    if let Some(dss) = segment.dss.as_mut().filter(|_| short) {
                        dss.dsn_is_short = true;
                        if let Some(map) = &mut dss.mapping {
                            map.dsn &= 0xffff_ffff;
                        }
                    }
                    ends[1 - from].handle_segment(Instant::ZERO, path, &segment);
                }
            }
            while let Some(span) = ends[1].read(usize::MAX) {
                assert_eq!(span.offset, read);
                read += span.len() as u64;
                quiet = false;
            }
        }
        read
    }

    #[test]
    fn numbers_wrap_at_32_and_64_bits() {
        for (idsn, checksum) in
            [(0x1_ffff_8000, false), (0x1_ffff_8000, true), (u64::MAX - 50_000, false), (u64::MAX - 9, true)]
        {
            for short in [false, true] {
                let config = Config { checksum, delayed_ack: units::Duration::ZERO, ..Config::default() };
                let mut ends =
                    [Endpoint::client(config.clone(), Seed::new(1)), Endpoint::server(config, Seed::new(2))];
                ends[0].open(Instant::ZERO, PathId(0), false);
                exchange(&mut ends, short);
                ends[0].local_idsn = idsn;
                ends[1].remote_idsn = idsn;
                assert_eq!(ends[0].write(&Span::new(0, 200_000)), 200_000);
                assert_eq!(exchange(&mut ends, short), 200_000, "{idsn:x} {short}");
                assert_eq!(ends[0].acknowledged(), 200_000);
            }
        }
    }
}
