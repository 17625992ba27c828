//! Construction of segments.

use super::data_receiver::MAX_UNSCALED_WINDOW;
use super::event::Mode;
use super::{Endpoint, OPTION_SPACE, Role};
use crate::subflow::{Chunk, Reset, State, clock_at};
use crate::{EcnMode, crypto};
use units::Instant;
use wire::{Dss, Ecn, Flags, Mapping, MptcpSignal, Payload, Segment, TimestampOption, dss_pseudo_header};

/// Largest value of the window field.
const MAX_WINDOW_FIELD: u64 = 65_535;
/// Most SACK blocks in a segment.
const MAX_SACK_BLOCKS: usize = 4;
const SACK_HEADER_LEN: usize = 4;
const SACK_BLOCK_LEN: usize = 8;

impl<P: Payload> Endpoint<P> {
    /// Builds a segment that carries a chunk at `offset` of the subflow.
    #[inline]
    pub(super) fn build_data(
        &mut self,
        now: Instant,
        i: usize,
        offset: u64,
        chunk: Chunk<P>,
        segment: &mut Segment<P>,
    ) {
        let flags = if chunk.fin { Flags::FIN.with(Flags::ACK) } else { Flags::ACK.with(Flags::PSH) };
        self.start_segment(i, flags, offset, segment);
        self.add_acknowledgement(now, i, segment);
        if !chunk.fin && self.handshake.is_mptcp() {
            self.add_mapping(i, offset, &chunk, segment);
        }
        let subflow = &mut self.subflows[i];
        // Only new data is ECN-capable (RFC 3168, sections 6.1.4 and 6.1.5).
        if subflow.uses_ecn() && !chunk.fin && !subflow.sender().last_was_retransmission() {
            segment.ecn = Ecn::Ect0;
            if subflow.sender_mut().take_cwr() {
                segment.flags = segment.flags.with(Flags::CWR);
            }
        }
        segment.payload = chunk.payload;
        self.add_sack(i, segment);
    }

    /// Adds the mapping of a chunk: in MP_CAPABLE for the first data of a client, else in the DSS.
    #[inline]
    fn add_mapping(&self, i: usize, offset: u64, chunk: &Chunk<P>, segment: &mut Segment<P>) {
        let cut = chunk.cut;
        let len = chunk.payload.len() as u16 + cut.len;
        let dsn = self.handshake.local_dsn(chunk.data - u64::from(cut.len));
        let ssn = (offset - u64::from(cut.len)) as u32;
        let checksum = if self.handshake.uses_checksum() {
            let mut sum = dss_pseudo_header(dsn, ssn, len);
            sum.add_part(cut.ones_sum, usize::from(cut.len));
            sum.add_part(chunk.payload.ones_sum(), chunk.payload.len());
            Some(sum.finish())
        } else {
            None
        };
        let unconfirmed = self.role == Role::Client && !self.handshake.is_confirmed();
        if unconfirmed && offset == 1 && !self.subflows[i].is_join() {
            segment.dss = None;
            segment.signal = Some(self.capable_with_keys(Some((len, checksum))));
        } else if let Some(dss) = &mut segment.dss {
            dss.mapping = Some(Mapping { dsn, ssn, len, checksum });
        }
    }

    /// Builds an acknowledgement that is due, with a report or as a probe.
    #[inline]
    pub(super) fn build_due_acknowledgement(&mut self, now: Instant, i: usize, segment: &mut Segment<P>) {
        self.build_acknowledgement(now, i, segment);
        if self.receiver_driven.is_some() {
            self.add_report(now, i, segment);
        }
        if self.subflows[i].take_keepalive_probe() {
            make_probe(segment);
        }
    }

    /// Builds a segment without data.
    #[inline]
    fn build_acknowledgement(&mut self, now: Instant, i: usize, segment: &mut Segment<P>) {
        let offset = self.subflows[i].sender().next_offset();
        self.start_segment(i, Flags::ACK, offset, segment);
        segment.payload = P::empty();
        self.add_acknowledgement(now, i, segment);
        let unconfirmed = !self.handshake.is_confirmed() && self.handshake.is_mptcp();
        if unconfirmed && self.role == Role::Client && !self.subflows[i].is_join() {
            // Every acknowledgement carries the keys until the peer shows that it has them.
            segment.dss = None;
            segment.signal = self.handshake_signal(i);
            return;
        }
        self.add_sack(i, segment);
    }

    fn new_acknowledgement(&mut self, now: Instant, i: usize) -> Segment<P> {
        let mut segment = Segment::new((0, 0), 0, 0, Flags::default(), 0);
        self.build_acknowledgement(now, i, &mut segment);
        segment
    }

    /// Builds a DATA_FIN or a window probe. Neither uses a sequence number of the subflow.
    #[cold]
    pub(super) fn build_data_level(&mut self, now: Instant, i: usize) -> Segment<P> {
        let mut segment = self.new_acknowledgement(now, i);
        if !self.data_sender.take_pending_data_fin() {
            make_probe(&mut segment);
            return segment;
        }
        let data_ack = self.data_ack_option();
        if let Some(fin) = self.data_sender.data_fin().filter(|_| self.handshake.is_mptcp()) {
            // The keys of a client that was not answered yet do not fit beside it.
            segment.signal = None;
            let dss = segment.dss.insert(data_ack);
            let dsn = self.handshake.local_dsn(fin);
            let checksum = self.handshake.uses_checksum().then(|| dss_pseudo_header(dsn, 0, 1).finish());
            dss.mapping = Some(Mapping { dsn, ssn: 0, len: 1, checksum });
            dss.data_fin = true;
            segment.sack = wire::SackBlocks::default();
        }
        segment
    }

    /// Builds a reset, a SYN, the handshake's ACK, or a segment with an MPTCP signal.
    #[cold]
    pub(super) fn build_control(&mut self, now: Instant, i: usize) -> Segment<P> {
        let subflow = &mut self.subflows[i];
        if let Some(reset) = subflow.take_reset() {
            let Reset { source, destination, seq, ack, signal } = *reset;
            let flags = if ack.is_some() { Flags::RST.with(Flags::ACK) } else { Flags::RST };
            let mut segment = Segment::new((source, destination), seq, ack.unwrap_or(0), flags, 0);
            segment.signal = signal;
            return segment;
        }
        if subflow.take_syn() {
            return self.build_syn(now, i);
        }
        let mut segment = self.new_acknowledgement(now, i);
        segment.sack = wire::SackBlocks::default();
        if self.subflows[i].take_handshake_ack() {
            // The third ACK carries MP_CAPABLE or MP_JOIN, and no DSS.
            segment.dss = None;
            segment.signal = self.handshake_signal(i);
            if self.subflows[i].take_handshake_probe() {
                make_probe(&mut segment);
            }
            return segment;
        }
        segment.signal = self.subflows[i].pop_signal();
        if let Some(signal) = &segment.signal {
            self.on_signal_sent(now, signal);
        }
        if segment.options_len() > OPTION_SPACE {
            // Every segment needs its timestamps (RFC 7323, section 3.2); the DATA_ACK follows.
            segment.dss = None;
            self.subflows[i].receiver_mut().request_ack();
        }
        if segment.options_len() > OPTION_SPACE {
            segment.timestamps = None;
        }
        segment
    }

    /// The option of the handshake's last ACK; `None` if it need not be sent any more.
    pub(super) fn handshake_signal(&self, i: usize) -> Option<MptcpSignal> {
        let subflow = &self.subflows[i];
        if !self.handshake.is_mptcp() {
            return None;
        }
        if subflow.is_join() {
            self.handshake.remote_key()?;
            let (local, remote) = (subflow.local_nonce(), subflow.remote_nonce());
            let full = self.handshake.local_join_hmac(local, remote);
            let mut hmac = [0; 20];
            hmac.copy_from_slice(&full[..20]);
            return Some(MptcpSignal::JoinAck { hmac });
        }
        let sends_keys = self.role == Role::Client && !self.handshake.is_confirmed();
        sends_keys.then(|| self.capable_with_keys(None))
    }

    /// MP_CAPABLE with both keys, and the length and checksum of the first data.
    fn capable_with_keys(&self, data: Option<(u16, Option<u16>)>) -> MptcpSignal {
        let (local, remote) = (self.handshake.local_key(), self.handshake.remote_key());
        self.capable(Some(local), remote, data)
    }

    fn capable(
        &self,
        sender_key: Option<u64>,
        receiver_key: Option<u64>,
        data: Option<(u16, Option<u16>)>,
    ) -> MptcpSignal {
        MptcpSignal::Capable {
            version: 1,
            checksum: self.handshake.uses_checksum(),
            deny_join: self.config.deny_join,
            hmac_sha256: true,
            extension: false,
            sender_key,
            receiver_key,
            data,
        }
    }

    /// Builds a SYN or a SYN/ACK.
    fn build_syn(&mut self, now: Instant, i: usize) -> Segment<P> {
        let answer = self.subflows[i].state() == State::SynReceived;
        let mut segment = Segment::new((0, 0), 0, 0, Flags::default(), 0);
        let flags = if answer { Flags::SYN_ACK } else { Flags::SYN };
        self.start_segment(i, flags, 0, &mut segment);
        if !answer {
            segment.ack = 0;
        }
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
        // A SYN/ACK scales the window only if the SYN did.
        let scales = !answer || subflow.own_window_scale() > 0 || subflow.peer_window_scale() > 0;
        segment.window_scale = scales.then_some(subflow.own_window_scale());
        if subflow.uses_timestamps() {
            let echo = subflow.receiver().clock_to_echo();
            segment.timestamps = Some(TimestampOption { value: clock_at(now), echo });
        }
        segment.window = self.data_receiver.initial_window().min(MAX_UNSCALED_WINDOW) as u16;
        segment.signal = self.syn_signal(i, answer);
        segment.rec = self.rec_offer(i, answer);
        segment
    }

    /// MP_CAPABLE or MP_JOIN of a SYN or SYN/ACK.
    fn syn_signal(&self, i: usize, answer: bool) -> Option<MptcpSignal> {
        let subflow = &self.subflows[i];
        if !subflow.is_join() {
            let key = answer.then_some(self.handshake.local_key());
            let offers = self.handshake.mode() != Mode::Tcp;
            return offers.then(|| self.capable(key, None, None));
        }
        let (backup, address_id) = (subflow.is_local_backup(), subflow.local_id());
        let nonce = subflow.local_nonce();
        Some(if answer {
            let full = self.handshake.local_join_hmac(nonce, subflow.remote_nonce());
            let hmac = crypto::truncate_join_hmac(&full);
            MptcpSignal::JoinSynAck { backup, address_id, hmac, nonce }
        } else {
            let token = self.handshake.remote_token();
            MptcpSignal::JoinSyn { backup, address_id, token, nonce }
        })
    }

    /// Sets ports, sequence numbers and flags, and clears the options.
    #[inline]
    fn start_segment(&self, i: usize, flags: Flags, offset: u64, segment: &mut Segment<P>) {
        let subflow = &self.subflows[i];
        segment.source = subflow.local_port();
        segment.destination = subflow.remote_port();
        segment.seq = subflow.seq_at(offset);
        segment.ack = subflow.ack_number();
        segment.flags = flags;
        segment.ecn = Ecn::NotEct;
        segment.clear_options();
    }

    /// Adds the fields of every segment after the handshake: window, timestamps and DATA_ACK.
    #[inline]
    fn add_acknowledgement(&mut self, now: Instant, i: usize, segment: &mut Segment<P>) {
        let base = self.window_base(i);
        let window = self.data_receiver.window_to_offer().saturating_sub(base);
        let offered = self.data_receiver.advertised().saturating_sub(base);
        let subflow = &mut self.subflows[i];
        let scale = subflow.own_window_scale();
        let rounds_up = self.config.min_window_scale > 0;
        let mut field =
            if rounds_up && window > offered { window.div_ceil(1 << scale) } else { window >> scale };
        // Rounding must not shrink the offered window (RFC 9293, section 3.8.6; as Linux) until more
        // is offered than the buffer holds (RFC 7323, section 2.4). Linux's Multipath TCP always
        // shrinks the field (`mptcp_set_rwin`): the data sender keeps the edge.
        let may_shrink = self.data_receiver.exceeds_buffer() || rounds_up && self.handshake.is_mptcp();
        if field << scale < offered && !may_shrink {
            field += 1;
        }
        segment.window = field.min(MAX_WINDOW_FIELD) as u16;
        let edge = base + (u64::from(segment.window) << scale);
        self.data_receiver.advertise(edge);
        if subflow.uses_timestamps() {
            let echo = subflow.receiver().clock_to_echo();
            segment.timestamps = Some(TimestampOption { value: clock_at(now), echo });
        }
        if subflow.receiver().echoes_ce() {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        subflow.receiver_mut().on_ack_sent(now);
        if self.handshake.is_mptcp() {
            segment.dss = Some(self.data_ack_option());
        } else if self.fallback.has_infinite_mapping() {
            segment.dss = self.infinite_mapping();
        }
    }

    /// DSS with a DATA_ACK.
    #[inline]
    fn data_ack_option(&self) -> Dss {
        let data_ack = self.handshake.remote_dsn(self.data_receiver.next()) as u32;
        Dss { data_ack: Some(u64::from(data_ack)), ack_is_short: true, ..Dss::default() }
    }

    /// Data offset from which the window sent over subflow `i` counts: the DATA_ACK. A peer that
    /// has fallen back counts from the subflow's acknowledgement (RFC 8684, section 3.7), and this
    /// end may not know of it. Data acknowledged in between has no mapping and uses the window.
    #[inline]
    fn window_base(&self, i: usize) -> u64 {
        let subflow = &self.subflows[i];
        let next = self.data_receiver.next();
        let peer_may_fall_back =
            self.handshake.is_mptcp() && !self.fallback.offsets_diverged() && !subflow.is_join();
        if peer_may_fall_back { next.max(subflow.receiver().next_offset()) } else { next }
    }

    /// Adds as many SACK blocks as there is room for.
    fn add_sack(&mut self, i: usize, segment: &mut Segment<P>) {
        let subflow = &mut self.subflows[i];
        if !subflow.uses_sack() || !subflow.receiver().has_sack_blocks() {
            return;
        }
        let free = OPTION_SPACE.saturating_sub(segment.options_len());
        let blocks = free.saturating_sub(SACK_HEADER_LEN) / SACK_BLOCK_LEN;
        if blocks > 0 {
            let (irs, max_blocks) = (subflow.irs(), blocks.min(MAX_SACK_BLOCKS));
            segment.sack = subflow.receiver_mut().sack_blocks(irs, max_blocks);
        }
    }
}

/// Turns an acknowledgement into a probe: the peer must answer an old sequence number (RFC 9293,
/// section 3.8.4).
fn make_probe<P>(segment: &mut Segment<P>) {
    segment.seq = segment.seq.wrapping_sub(1);
}
