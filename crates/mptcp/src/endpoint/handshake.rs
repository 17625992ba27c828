//! Opening: the first subflow with MP_CAPABLE (RFC 8684, section 3.1), others with MP_JOIN (3.2).

use super::{Endpoint, Event, Failure, Mode, Role};
use crate::subflow::{Reset, State, Subflow};
use crate::{EcnMode, PathId, crypto};
use units::Instant;
use wire::{Flags, MptcpSignal, Payload, Segment};

/// MP_TCPRST reason: MPTCP-specific error (RFC 8684, section 3.6).
pub(super) const REASON_MPTCP: u8 = 1;
/// And lack of resources, and administratively prohibited.
const REASON_RESOURCES: u8 = 2;
const REASON_PROHIBITED: u8 = 3;
/// The server's port.
const SERVER_PORT: u16 = 443;
const CLIENT_PORTS: u16 = 49_152;
/// SYNs before giving up (Linux `tcp_syn_retries`: 6 beyond the first).
pub(super) const SYN_TRIES: u32 = 7;

impl<P: Payload> Endpoint<P> {
    /// Opens a subflow over `path`: the connection itself if it is the first, else a join.
    ///
    /// Returns false where that cannot be: on the server's side, over a path that is in use, or
    /// beyond the first before the peer has confirmed that it speaks MPTCP (try again after
    /// [`Event::Connected`]).
    pub fn open(&mut self, now: Instant, path: PathId, backup: bool) -> bool {
        let i = self.slot(path);
        if self.role == Role::Server || self.ended || self.closing_done() || self.subflows[i].is_open() {
            return false;
        }
        let joined = self.first.is_some();
        if joined && !(self.mode == Mode::Mptcp && self.confirmed && self.may_join(i)) {
            return false;
        }
        let tries = self.subflows[i].local_port();
        let mut subflow = Subflow::closed(path, &self.config);
        // A new port for each try: the old four-tuple may still be in TIME-WAIT at the peer.
        let local_port = if tries == 0 {
            CLIENT_PORTS + u16::from(path.0) * 64
        } else {
            tries.wrapping_add(1).max(CLIENT_PORTS)
        };
        subflow.set_ports(local_port, SERVER_PORT);
        subflow.set_local_backup(backup);
        if joined {
            // A new identifier too: a REMOVE_ADDR for the old one may still be on its way.
            let id = if tries == 0 { path.0.saturating_add(1) } else { self.unused_id() };
            subflow.set_join(id);
        }
        subflow.set_local_nonce(self.rng.bits() as u32);
        subflow.start_handshake(now, State::SynSent, self.rng.bits() as u32);
        self.subflows[i] = subflow;
        self.first.get_or_insert(path);
        self.work = true;
        true
    }

    /// Neither the peer nor our limits are against another subflow.
    fn may_join(&self, i: usize) -> bool {
        let elsewhere = !self.denied || !self.accepted.is_empty();
        elsewhere && !self.subflows[i].is_permanently_refused() && self.has_room() && self.failing.is_none()
    }

    fn has_room(&self) -> bool {
        self.subflows.iter().filter(|s| s.is_open()).count() < usize::from(self.config.max_subflows)
    }

    /// An address identifier that no open subflow uses, and that none has used for as long as can be.
    fn unused_id(&mut self) -> u8 {
        let spare = u8::MAX - super::FIRST_SPARE_ID;
        for _ in 0..=spare {
            self.last_id = self.last_id.wrapping_add(1).max(super::FIRST_SPARE_ID);
            if !self.subflows.iter().any(|s| s.is_open() && s.local_id() == self.last_id) {
                break;
            }
        }
        self.last_id
    }

    /// A SYN for a path without a subflow, on the server's side.
    pub(super) fn accept(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        if self.role == Role::Client || !segment.flags.has(Flags::SYN) || segment.flags.has(Flags::ACK) {
            self.refuse(i, segment, None);
            return;
        }
        let path = PathId(i as u8);
        let mut subflow = Subflow::closed(path, &self.config);
        subflow.set_ports(segment.destination, segment.source);
        subflow.set_peer_isn(segment.seq);
        if self.first.is_none() && self.ended {
            self.refuse(i, segment, None);
            return;
        }
        if self.first.is_some() {
            let Some(MptcpSignal::JoinSyn { backup, address_id, token, nonce }) = segment.signal else {
                self.refuse(i, segment, None);
                return;
            };
            let known = self.mode == Mode::Mptcp && token == crypto::token(self.local_key);
            if !known || self.ended || self.closing_done() {
                self.refuse(i, segment, Some((REASON_MPTCP, false)));
                return;
            }
            if self.config.deny_join && self.announced.is_empty() {
                self.refuse(i, segment, Some((REASON_PROHIBITED, false)));
                return;
            }
            if !self.has_room() {
                self.refuse(i, segment, Some((REASON_RESOURCES, true)));
                return;
            }
            subflow.set_join(0);
            subflow.set_peer_join(backup, address_id, nonce);
            subflow.set_local_nonce(self.rng.bits() as u32);
        } else {
            match segment.signal {
                // Section 3.1: checksums are used if either end asks for them.
                Some(MptcpSignal::Capable {
                    version: 1,
                    hmac_sha256: true,
                    extension: false,
                    checksum,
                    deny_join,
                    ..
                }) => {
                    self.checksum |= checksum;
                    self.denied = deny_join;
                    self.hear_offer(segment);
                }
                _ => self.mode = Mode::Tcp,
            }
            self.first = Some(path);
        }
        self.settle(&mut subflow, segment);
        subflow.start_handshake(now, State::SynReceived, self.rng.bits() as u32);
        subflow.inherit_ports(&mut self.subflows[i]);
        self.subflows[i] = subflow;
        self.work = true;
    }

    /// Takes over what a SYN or SYN/ACK offers.
    fn settle(&self, subflow: &mut Subflow<P>, segment: &Segment<P>) {
        let ecn = self.agrees_to_marks(subflow, segment);
        let dss_len = if self.mode == Mode::Tcp { 0 } else { super::output::DSS_LEN };
        subflow.negotiate(&self.config, segment, ecn, dss_len);
    }

    /// A SYN asks with ECE and CWR, the answer agrees with ECE alone (RFC 3168, section 6.1.1).
    fn agrees_to_marks(&self, subflow: &Subflow<P>, segment: &Segment<P>) -> bool {
        let (ece, cwr) = (segment.flags.has(Flags::ECE), segment.flags.has(Flags::CWR));
        if segment.flags.has(Flags::ACK) {
            self.asks_for_marks(subflow) && ece && !cwr
        } else {
            self.config.ecn != EcnMode::Off && ece && cwr
        }
    }

    /// Not in a SYN that is sent again: a middlebox may drop it for that (section 6.1.1.1).
    pub(super) fn asks_for_marks(&self, subflow: &Subflow<P>) -> bool {
        self.config.ecn == EcnMode::Request && subflow.syn_attempts() <= 1
    }

    /// A segment for a subflow in SYN-SENT (RFC 9293, section 3.10.7.3).
    pub(super) fn in_syn_sent(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        let ours = segment.ack == self.subflows[i].seq_at(1);
        if segment.flags.has(Flags::RST) {
            if segment.flags.has(Flags::ACK) && ours {
                let reason = super::input::reason_of(segment.signal.filter(|_| self.subflows[i].is_join()));
                if reason.is_some_and(|reason| !reason.transient) {
                    self.subflows[i].set_permanently_refused(true);
                }
                self.subflow_lost(i, Failure::Reset(reason));
            }
            return;
        }
        if !segment.flags.has(Flags::SYN_ACK) || !ours {
            return;
        }
        let joined = self.subflows[i].is_join();
        let mut fallback = false;
        match segment.signal {
            Some(MptcpSignal::Capable {
                version: 1,
                sender_key: Some(key),
                hmac_sha256: true,
                checksum,
                deny_join,
                ..
            }) if !joined && self.mode == Mode::Offered => {
                self.checksum |= checksum;
                self.denied = deny_join;
                self.learn_key(key);
            }
            Some(MptcpSignal::JoinSynAck { backup, address_id, hmac, nonce })
                if joined && self.failing.is_none() =>
            {
                let subflow = &mut self.subflows[i];
                let expected = crypto::join_hmac(
                    self.remote_key.unwrap_or(0),
                    self.local_key,
                    nonce,
                    subflow.local_nonce(),
                );
                if expected[..8] != hmac.to_be_bytes() {
                    self.subflows[i].set_permanently_refused(true);
                    self.reset_subflow(i, Failure::Authentication, REASON_MPTCP);
                    return;
                }
                subflow.set_peer_join(backup, address_id, nonce);
            }
            // Not while this end asks to fall back: all data stays on the first subflow.
            Some(MptcpSignal::JoinSynAck { .. }) if joined => {
                self.refuse_for_now(i);
                return;
            }
            // A join without MP_JOIN in the answer: a middlebox or another host (section 3.2).
            _ if joined => {
                self.subflows[i].set_permanently_refused(true);
                self.reset_subflow(i, Failure::Authentication, REASON_MPTCP);
                return;
            }
            // Section 3.7: no MP_CAPABLE in the answer, so this is TCP.
            _ => fallback = true,
        }
        if fallback {
            self.mode = Mode::Tcp;
        } else if !joined {
            self.hear_offer(segment);
        }
        let mut subflow =
            core::mem::replace(&mut self.subflows[i], Subflow::closed(PathId(i as u8), &self.config));
        subflow.set_peer_isn(segment.seq);
        self.settle(&mut subflow, segment);
        subflow.on_syn_ack(now, self.mode == Mode::Mptcp);
        self.subflows[i] = subflow;
        // The window of a SYN/ACK is not scaled (RFC 7323, section 2.2).
        self.widen_window(1 + u64::from(segment.window));
        if !joined {
            self.established(now, i);
        }
        self.work = true;
    }

    /// A segment with ACK for a subflow in SYN-RECEIVED; true if it is established now.
    pub(super) fn in_syn_received(&mut self, now: Instant, i: usize, segment: &Segment<P>) -> bool {
        let subflow = &mut self.subflows[i];
        if segment.flags.has(Flags::SYN) {
            // A repeated SYN: the answer was lost.
            subflow.request_syn();
            return false;
        }
        if !segment.flags.has(Flags::ACK) || segment.ack != subflow.seq_at(1) {
            return false;
        }
        if subflow.is_join() {
            let own = crypto::join_hmac(
                self.remote_key.unwrap_or(0),
                self.local_key,
                subflow.remote_nonce(),
                subflow.local_nonce(),
            );
            match segment.signal {
                Some(MptcpSignal::JoinAck { .. }) if self.failing.is_some() => {
                    self.refuse_for_now(i);
                    return false;
                }
                Some(MptcpSignal::JoinAck { hmac }) if hmac == own[..20] => {}
                // A wrong one, or none: before the fourth ACK the peer may send nothing else (section 3.2).
                _ => {
                    self.subflows[i].set_permanently_refused(true);
                    self.reset_subflow(i, Failure::Authentication, REASON_MPTCP);
                    return false;
                }
            }
            // The fourth ACK, without which the peer may send no data (section 3.2).
            self.subflows[i].receiver_mut().request_ack();
        } else if self.mode == Mode::Offered {
            match segment.signal {
                Some(MptcpSignal::Capable { sender_key: Some(key), receiver_key: Some(own), .. })
                    if own == self.local_key =>
                {
                    self.learn_key(key);
                    self.confirmed = true;
                    // Tells the peer that its keys have arrived, so that it may join.
                    self.subflows[i].receiver_mut().request_ack();
                }
                // Keys, but not ours.
                Some(MptcpSignal::Capable { .. }) => self.fall_back(now),
                // The peer has given up meanwhile.
                _ if segment.dss.is_some_and(|dss| dss.mapping.is_some_and(|map| map.len == 0)) => {
                    self.fall_back(now);
                }
                // MPTCP, but the segment that brings the keys was lost: it will be sent again.
                _ if segment.dss.is_some() || segment.signal.is_some() => return false,
                // Section 3.7: the third ACK came without its option.
                _ => self.fall_back(now),
            }
        }
        self.subflows[i].on_third_ack(now);
        self.established(now, i);
        true
    }

    /// Another try may succeed later.
    fn refuse_for_now(&mut self, i: usize) {
        let signal = MptcpSignal::Reset { transient: true, reason: super::fallback::REASON_MIDDLEBOX };
        self.reset_with(i, Failure::Middlebox, Some(signal));
    }

    fn learn_key(&mut self, key: u64) {
        self.remote_key = Some(key);
        self.remote_idsn = crypto::initial_dsn(key);
        self.mode = Mode::Mptcp;
    }

    pub(super) fn established(&mut self, now: Instant, i: usize) {
        let subflow = &mut self.subflows[i];
        subflow.start_keepalive(now, self.config.keepalive);
        let path = subflow.path();
        self.events.push_back(Event::SubflowUp(path));
        if self.driving.is_some() {
            self.drive_subflow(now, i);
        }
        self.spread |= self.subflows[i].is_join();
        (self.lost, self.alone) = (None, None);
        self.relieve();
        for signal in self.waiting.drain(..) {
            self.subflows[i].queue_signal(signal);
        }
        if self.mode == Mode::Mptcp && self.data_una < self.data_next {
            // A repair may have waited for somebody to carry it.
            self.await_data_ack(now);
        }
        if self.data_fin.is_some_and(|fin| self.data_una <= fin) && self.fin_timer.is_none() {
            // There was nobody to carry it.
            self.request_data_fin(now);
        }
        if !self.connected && (self.mode == Mode::Tcp || self.role == Role::Server) {
            self.connect();
        }
        self.work = true;
    }

    pub(super) fn connect(&mut self) {
        if !self.connected {
            self.connected = true;
            self.events.push_back(Event::Connected(self.mode));
        }
    }

    /// The peer has shown that it speaks MPTCP: joins are possible from now on.
    pub(super) fn confirm(&mut self) {
        if !self.confirmed {
            self.confirmed = true;
            self.confirm_first();
            self.connect();
        }
    }

    /// The first subflow's handshake needs no more repeating.
    pub(super) fn confirm_first(&mut self) {
        for subflow in self.subflows.iter_mut().filter(|s| s.is_established() && !s.is_join()) {
            subflow.sender_mut().reset_timeouts();
            if !subflow.sender().has_unsent_or_unacked() {
                subflow.sender_mut().stop_retransmission_timer();
            }
        }
    }

    /// Answers a segment that belongs to nothing with a reset (RFC 9293, section 3.5.2).
    pub(super) fn refuse(&mut self, i: usize, segment: &Segment<P>, reason: Option<(u8, bool)>) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        let subflow = &self.subflows[i];
        let same = (subflow.local_port(), subflow.remote_port()) == (segment.destination, segment.source);
        // Our reset was lost, or did not fit.
        let told = subflow.own_reset_signal().filter(|_| same);
        let len = segment.payload.len() as u32
            + u32::from(segment.flags.has(Flags::SYN))
            + u32::from(segment.flags.has(Flags::FIN));
        self.subflows[i].queue_reset(Reset {
            source: segment.destination,
            destination: segment.source,
            seq: if segment.flags.has(Flags::ACK) { segment.ack } else { 0 },
            ack: segment.seq.wrapping_add(len),
            signal: reason.map(|(reason, transient)| MptcpSignal::Reset { transient, reason }).or(told),
        });
        self.work = true;
    }
}
