//! Segments out.

use super::deal::Short;
use super::{Endpoint, Mode, Role};
use crate::subflow::{Chunk, Reset, State, Subflow, clock_at};
use crate::{EcnMode, PathId, crypto};
use units::Instant;
use wire::{Dss, Ecn, Flags, Mapping, MptcpSignal, Payload, Segment, TimestampOption, dss_pseudo_header};

/// Option bytes of a DSS with a 32-bit DATA_ACK and a 64-bit mapping, padded.
pub(super) const DSS_LEN: u64 = 24;
/// TCP has room for so many option bytes.
const OPTION_SPACE: usize = 40;

/// What is to be sent. A segment is large, so it is made where it leaves, once all is decided.
enum Next<P> {
    /// A chunk at an offset of the subflow.
    Data(u64, Chunk<P>),
    Control,
    DataLevel,
    Acknowledgement,
}

impl<P: Payload> Endpoint<P> {
    /// The next segment to send and the path it goes over; `None` when there is none for now.
    ///
    /// Call again after every other call, until it gives `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(PathId, Segment<P>)> {
        let mut segment = Segment::new(0, 0, 0, 0, Flags::default(), 0);
        self.transmit_into(now, &mut segment).map(|path| (path, segment))
    }

    /// As [`poll_transmit`](Self::poll_transmit), for who sends many: the segment is written over
    /// `segment`, whatever that was, and nothing is moved.
    #[inline]
    pub fn transmit_into(&mut self, now: Instant, segment: &mut Segment<P>) -> Option<PathId> {
        // An end that listens has mostly nothing to say, and that costs no call.
        if self.work { self.transmit(now, segment) } else { None }
    }

    fn transmit(&mut self, now: Instant, segment: &mut Segment<P>) -> Option<PathId> {
        if self.lost.is_some() {
            self.await_subflow(now);
        }
        let (i, next) = self.next(now)?;
        if !matches!(next, Next::Acknowledgement) || self.subflows[i].keepalive_probe_pending() {
            // It may bring an answer.
            self.subflows[i].reset_idle_acks();
        }
        match next {
            Next::Data(offset, chunk) => self.data(now, i, offset, chunk, segment),
            Next::Control => *segment = self.control(now, i),
            Next::DataLevel => *segment = self.data_level_alone(now, i),
            Next::Acknowledgement => {
                self.acknowledge(now, i, segment);
                if self.driving.is_some() {
                    self.add_report(now, i, segment);
                }
                if self.subflows[i].take_keepalive_probe() {
                    // An old sequence number, which the peer must answer (RFC 9293, section 3.8.4).
                    segment.seq = segment.seq.wrapping_sub(1);
                }
            }
        }
        Some(self.subflows[i].path())
    }

    /// What to send next, over which subflow.
    fn next(&mut self, now: Instant) -> Option<(usize, Next<P>)> {
        for i in 0..self.subflows.len() {
            if self.subflows[i].has_control() && self.control_waits(i) {
                return Some((i, Next::Control));
            }
            let subflow = &mut self.subflows[i];
            if subflow.sender().has_retransmission()
                && subflow.is_established()
                && let Some((offset, chunk)) = subflow.sender_mut().retransmit(now)
            {
                return Some((i, Next::Data(offset, chunk)));
            }
        }
        if self.sends()
            && let Some(next) = self.next_of_the_stream(now)
        {
            return Some(next);
        }
        if let Some(i) = self.data_level_waits() {
            return Some((i, Next::DataLevel));
        }
        // Acknowledgements last: by now every segment with data has carried what it could.
        let due =
            |s: &Subflow<P>| s.receiver().ack_due() && !matches!(s.state(), State::Closed | State::SynSent);
        let mut waiting = self.subflows.iter().enumerate().filter(|(_, s)| due(s)).map(|(i, _)| i);
        let next = waiting.next();
        // After the last one all is done.
        self.work = waiting.next().is_some();
        next.map(|i| (i, Next::Acknowledgement))
    }

    /// False for an end that only listens: nothing is written and not acknowledged, or in flight.
    fn sends(&self) -> bool {
        self.closing
            || self.fins
            || self.data_una < self.buffer.end
            || !self.reinjections.is_empty()
            || self.subflows.iter().any(|s| s.sender().has_unsent_or_unacked())
    }

    /// What to send next of the stream and its end.
    fn next_of_the_stream(&mut self, now: Instant) -> Option<(usize, Next<P>)> {
        match self.deal_to_the_fastest(now) {
            Short::Sent(i, offset, chunk) => return Some((i, Next::Data(offset, chunk))),
            Short::NoRoom => {}
            Short::Unusual => {
                if let Some(next) = self.next_dealt_to_any(now) {
                    return Some(next);
                }
            }
        }
        self.advance_close(now);
        // Closing may have queued a FIN.
        if self.fins
            && let Some(next) = self.next_of_queues(now)
        {
            return Some(next);
        }
        for (i, subflow) in self.subflows.iter_mut().enumerate() {
            if subflow.sender().may_need_rescue()
                && subflow.is_established()
                && let Some((offset, chunk)) = subflow.sender_mut().rescue(now)
            {
                return Some((i, Next::Data(offset, chunk)));
            }
        }
        None
    }

    /// What was dealt to a subflow, or is now.
    fn next_dealt_to_any(&mut self, now: Instant) -> Option<(usize, Next<P>)> {
        // What another subflow could not deliver is older than what waits here.
        while let Some(i) = self.deal_again() {
            if let Some(next) = self.next_dealt(now, i) {
                return Some((i, next));
            }
        }
        if let Some(next) = self.next_of_queues(now) {
            return Some(next);
        }
        while let Some(i) = self.deal(now) {
            if let Some(next) = self.next_dealt(now, i) {
                return Some((i, next));
            }
        }
        None
    }

    /// What was dealt to a subflow and has room now.
    fn next_of_queues(&mut self, now: Instant) -> Option<(usize, Next<P>)> {
        for i in 0..self.subflows.len() {
            if self.subflows[i].sender().has_unsent()
                && let Some(next) = self.next_dealt(now, i)
            {
                return Some((i, next));
            }
        }
        None
    }

    fn next_dealt(&mut self, now: Instant, i: usize) -> Option<Next<P>> {
        let acked = if self.mode == Mode::Mptcp { self.data_una } else { 0 };
        let subflow = &mut self.subflows[i];
        if !subflow.is_established() {
            return None;
        }
        let (offset, chunk) = subflow.sender_mut().send_new(now, acked)?;
        if chunk.fin {
            subflow.on_fin_sent(offset);
        } else {
            // What was acknowledged before it was sent is left out, if only a peer that lies does that on the
            // first subflow.
            self.spread |= chunk.data != offset;
        }
        Some(Next::Data(offset, chunk))
    }

    /// Is there something for [`Self::control`] to send?
    fn control_waits(&mut self, i: usize) -> bool {
        let subflow = &mut self.subflows[i];
        if subflow.handshake_ack_pending()
            && subflow.is_open()
            && !subflow.reset_pending()
            && !subflow.syn_pending()
        {
            if self.handshake_signal(i).is_some() {
                return true;
            }
            // The handshake is over: an acknowledgement like any other.
            self.subflows[i].cancel_handshake_ack();
            self.subflows[i].receiver_mut().request_ack();
            return false;
        }
        // Signals not before the peer has our keys: it could not tell what they are about.
        let tells = subflow.is_established() && self.confirmed && subflow.has_signals();
        subflow.reset_pending() || subflow.syn_pending() || tells
    }

    /// A reset, a SYN, a handshake ACK or a signal, of which [`Self::control_waits`] says that one waits.
    fn control(&mut self, now: Instant, i: usize) -> Segment<P> {
        let subflow = &mut self.subflows[i];
        if let Some(reset) = subflow.take_reset() {
            let Reset { source, destination, seq, ack, signal } = *reset;
            let mut segment = Segment::new(source, destination, seq, ack, Flags::RST.with(Flags::ACK), 0);
            segment.signal = signal;
            return segment;
        }
        if subflow.take_syn() {
            return self.syn(now, i);
        }
        let mut segment = self.acknowledgement(now, i);
        segment.sack = wire::SackBlocks::default();
        if self.subflows[i].take_handshake_ack() {
            // RFC 8684: the third ACK carries MP_CAPABLE or MP_JOIN and no DSS.
            segment.dss = None;
            segment.signal = self.handshake_signal(i);
            if self.subflows[i].take_handshake_probe() {
                // An old sequence number does that (RFC 9293, section 3.8.4).
                segment.seq = segment.seq.wrapping_sub(1);
            }
            return segment;
        }
        segment.signal = self.subflows[i].pop_signal();
        if let Some(MptcpSignal::AddAddress { address_id, hmac: Some(_), .. }) = segment.signal {
            self.announced_now(now, address_id);
        }
        if let Some(MptcpSignal::RemoveAddress { ids, count }) = segment.signal {
            self.removed_now(now, &ids[..usize::from(count)]);
        }
        if segment.options_len() > OPTION_SPACE {
            segment.timestamps = None;
        }
        segment
    }

    fn handshake_signal(&self, i: usize) -> Option<MptcpSignal> {
        let subflow = &self.subflows[i];
        if self.role == Role::Server || self.mode != Mode::Mptcp {
            return None;
        }
        if subflow.is_join() {
            let peer = self.remote_key?;
            let full = crypto::join_hmac(self.local_key, peer, subflow.local_nonce(), subflow.remote_nonce());
            let mut hmac = [0; 20];
            hmac.copy_from_slice(&full[..20]);
            return Some(MptcpSignal::JoinAck { hmac });
        }
        (!self.confirmed).then(|| self.capable(Some(self.local_key), self.remote_key, None))
    }

    fn capable(&self, own: Option<u64>, peer: Option<u64>, data: Option<(u16, Option<u16>)>) -> MptcpSignal {
        MptcpSignal::Capable {
            version: 1,
            checksum: self.checksum,
            deny_join: self.config.deny_join,
            hmac_sha256: true,
            extension: false,
            sender_key: own,
            receiver_key: peer,
            data,
        }
    }

    fn syn(&mut self, now: Instant, i: usize) -> Segment<P> {
        let answer = self.subflows[i].state() == State::SynReceived;
        let mut segment = Segment::new(0, 0, 0, 0, Flags::default(), 0);
        self.begin_segment(i, if answer { Flags::SYN_ACK } else { Flags::SYN }, 0, &mut segment);
        if !answer {
            segment.ack = 0;
        }
        let local_token = self.remote_key.map(crypto::token);
        let subflow = &mut self.subflows[i];
        subflow.on_syn_sent(now);
        if answer {
            if subflow.uses_ecn() {
                segment.flags = segment.flags.with(Flags::ECE);
            }
        } else if self.config.ecn == EcnMode::Request && subflow.syn_attempts() == 1 {
            segment.flags = segment.flags.with(Flags::ECE).with(Flags::CWR);
        }
        segment.mss = Some(self.config.mss);
        segment.sack_permitted = subflow.uses_sack();
        // An answer scales only if it was asked to.
        segment.window_scale = (!answer || subflow.own_window_scale() > 0 || subflow.peer_window_scale() > 0)
            .then_some(subflow.own_window_scale());
        if subflow.uses_timestamps() {
            segment.timestamps =
                Some(TimestampOption { value: clock_at(now), echo: subflow.receiver().clock_to_echo() });
        }
        // The window of a SYN is never scaled (RFC 7323, section 2.2).
        segment.window = self.autotune.buffer.min(65_535) as u16;
        segment.signal = if subflow.is_join() {
            let (backup, address_id, nonce) =
                (subflow.is_local_backup(), subflow.local_id(), subflow.local_nonce());
            if answer {
                let peer = self.remote_key.unwrap_or(0);
                let full = crypto::join_hmac(self.local_key, peer, nonce, subflow.remote_nonce());
                let hmac = u64::from_be_bytes(full[..8].try_into().expect("an HMAC has 32 bytes"));
                Some(MptcpSignal::JoinSynAck { backup, address_id, hmac, nonce })
            } else {
                Some(MptcpSignal::JoinSyn { backup, address_id, token: local_token.unwrap_or(0), nonce })
            }
        } else if self.mode == Mode::Tcp {
            None
        } else {
            Some(self.capable(answer.then_some(self.local_key), None, None))
        };
        segment.rec = self.rec_offer(i, answer);
        segment
    }

    /// Makes of `segment` one with everything but options and payload, at `offset` of the subflow.
    #[inline]
    fn begin_segment(&self, i: usize, flags: Flags, offset: u64, segment: &mut Segment<P>) {
        let subflow = &self.subflows[i];
        segment.source = subflow.local_port();
        segment.destination = subflow.remote_port();
        segment.seq = subflow.seq_at(offset);
        segment.ack = subflow.ack_number();
        segment.flags = flags;
        segment.ecn = Ecn::NotEct;
        segment.clear_options();
    }

    /// Fills in what every segment after the handshake has: the acknowledgements of both levels, the
    /// window, the clock.
    #[inline]
    fn complete(&mut self, now: Instant, i: usize, segment: &mut Segment<P>) {
        let base = self.window_base(i);
        let window = self.window_to_offer().saturating_sub(base);
        let told = self.advertised.saturating_sub(base);
        let subflow = &mut self.subflows[i];
        let mut field = window >> subflow.own_window_scale();
        if field << subflow.own_window_scale() < told {
            // Rounding must not take back what was offered (RFC 9293, section 3.8.6; as Linux).
            field += 1;
        }
        segment.window = field.min(65_535) as u16;
        let edge = base + (u64::from(segment.window) << subflow.own_window_scale());
        self.advertised = self.advertised.max(edge);
        if subflow.uses_timestamps() {
            segment.timestamps =
                Some(TimestampOption { value: clock_at(now), echo: subflow.receiver().clock_to_echo() });
        }
        if subflow.receiver().echoes_ce() {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        subflow.receiver_mut().on_ack_sent();
        if self.mode == Mode::Mptcp {
            let data_ack = u64::from(self.remote_idsn.wrapping_add(self.reorder.next) as u32);
            segment.dss = Some(Dss { data_ack: Some(data_ack), ack_is_short: true, ..Dss::default() });
        } else if self.infinite.is_some() {
            segment.dss = self.infinite_mapping();
        }
    }

    /// A segment that carries a chunk.
    #[inline]
    fn data(&mut self, now: Instant, i: usize, offset: u64, chunk: Chunk<P>, segment: &mut Segment<P>) {
        let flags = if chunk.fin { Flags::FIN.with(Flags::ACK) } else { Flags::ACK.with(Flags::PSH) };
        self.begin_segment(i, flags, offset, segment);
        self.complete(now, i, segment);
        if !chunk.fin && self.mode == Mode::Mptcp {
            let len = chunk.payload.len() as u16;
            let dsn = self.local_idsn.wrapping_add(chunk.data);
            let checksum = if self.checksum {
                let mut sum = dss_pseudo_header(dsn, offset as u32, len);
                sum.add_part(chunk.payload.ones_sum(), chunk.payload.len());
                Some(sum.finish())
            } else {
                None
            };
            if self.role == Role::Client && !self.confirmed && offset == 1 && !self.subflows[i].is_join() {
                segment.dss = None;
                segment.signal =
                    Some(self.capable(Some(self.local_key), self.remote_key, Some((len, checksum))));
            } else if let Some(dss) = &mut segment.dss {
                dss.mapping = Some(Mapping { dsn, ssn: offset as u32, len, checksum });
            }
        }
        let subflow = &mut self.subflows[i];
        // New data alone may be marked (RFC 3168, sections 6.1.4 and 6.1.5).
        if subflow.uses_ecn() && !chunk.fin && !subflow.sender().last_was_retransmission() {
            segment.ecn = Ecn::Ect0;
            if subflow.sender_mut().take_cwr() {
                segment.flags = segment.flags.with(Flags::CWR);
            }
        }
        segment.payload = chunk.payload;
        self.add_sack(i, segment);
    }

    /// A segment without data.
    #[inline]
    fn acknowledge(&mut self, now: Instant, i: usize, segment: &mut Segment<P>) {
        let offset = self.subflows[i].sender().next_offset();
        self.begin_segment(i, Flags::ACK, offset, segment);
        segment.payload = P::empty();
        self.complete(now, i, segment);
        if !self.confirmed && self.role == Role::Client && self.mode == Mode::Mptcp {
            // Until the peer has shown that it has our keys, every bare ACK brings them.
            if !self.subflows[i].is_join() {
                segment.dss = None;
                segment.signal = self.handshake_signal(i);
                return;
            }
        }
        self.add_sack(i, segment);
    }

    fn acknowledgement(&mut self, now: Instant, i: usize) -> Segment<P> {
        let mut segment = Segment::new(0, 0, 0, 0, Flags::default(), 0);
        self.acknowledge(now, i, &mut segment);
        segment
    }

    /// As many SACK blocks as the options leave room for.
    fn add_sack(&mut self, i: usize, segment: &mut Segment<P>) {
        let subflow = &mut self.subflows[i];
        if !subflow.uses_sack() || !subflow.receiver().has_sack_blocks() {
            return;
        }
        let free = OPTION_SPACE.saturating_sub(segment.options_len());
        let blocks = free.saturating_sub(4) / 8;
        if blocks > 0 {
            let irs = subflow.irs();
            segment.sack = subflow.receiver_mut().sack_blocks(irs, blocks.min(4));
        }
    }

    /// The subflow for a DATA_FIN or a window probe that waits: the best one, and where that brought no
    /// answer the next best. A path on which nothing else is sent may be dead and nobody knows.
    fn data_level_waits(&self) -> Option<usize> {
        // A probe is unanswered only after some: while the window stays shut every answer is like none.
        let tries = match (self.send_data_fin, self.send_probe) {
            (true, _) => self.fin_tries.saturating_sub(1),
            (false, true) => self.probe_tries.saturating_sub(4),
            (false, false) => return None,
        };
        let usable = || (0..self.subflows.len()).filter(|&i| self.subflows[i].is_established());
        let rank = |i: usize| {
            let subflow = &self.subflows[i];
            (subflow.is_stale(), subflow.is_backup(), subflow.sender().srtt(), i)
        };
        let turn = (tries as usize).checked_rem(usable().count())?;
        usable().find(|&i| usable().filter(|&other| rank(other) < rank(i)).count() == turn)
    }

    /// A DATA_FIN or a window probe, neither of which needs data of a subflow.
    fn data_level_alone(&mut self, now: Instant, i: usize) -> Segment<P> {
        let mut segment = self.acknowledgement(now, i);
        if self.send_data_fin {
            self.send_data_fin = false;
            if let (Some(fin), Some(dss)) = (self.data_fin, &mut segment.dss) {
                let dsn = self.local_idsn.wrapping_add(fin);
                let checksum = self.checksum.then(|| dss_pseudo_header(dsn, 0, 1).finish());
                dss.mapping = Some(Mapping { dsn, ssn: 0, len: 1, checksum });
                dss.data_fin = true;
                segment.sack = wire::SackBlocks::default();
            }
        } else {
            self.send_probe = false;
            // An old sequence number, which the peer must answer (RFC 9293, section 3.8.4).
            segment.seq = segment.seq.wrapping_sub(1);
        }
        segment
    }
}
