//! Active side: opening subflows, and the answers to a SYN. The server opens only joins.

use super::{Endpoint, Role};
use crate::endpoint::event::{Failure, Mode, SubflowEnds};
use crate::endpoint::reset_reason::reset_reason;
use crate::subflow::{State, Subflow};
use crate::{PathId, crypto};
use units::Instant;
use wire::{Flags, MptcpSignal, Payload, Segment};

const SERVER_PORT: u16 = 443;
/// First port of the client; the dynamic ports start here (RFC 6335, section 6).
const FIRST_CLIENT_PORT: u16 = 49_152;
/// Distance between the first ports of two paths.
const PORTS_PER_PATH: u16 = 64;

impl<P: Payload> Endpoint<P> {
    /// Opens a subflow over `path`. The first one opens the connection, later ones join it.
    ///
    /// Returns false if that is impossible: for the first subflow on a server, over a path in use, or
    /// for a join before the peer has confirmed that it uses MPTCP. Try again after
    /// [`Event::Connected`](crate::Event::Connected).
    pub fn open(&mut self, now: Instant, path: PathId, backup: bool) -> bool {
        self.open_subflow(now, path, None, backup)
    }

    /// Opens a subflow as [`open`](Self::open) does, between the given ends. The caller heeds
    /// [`is_refused`](Self::is_refused): an earlier subflow of that index may have had other ends.
    pub fn open_between(&mut self, now: Instant, path: PathId, ends: SubflowEnds, backup: bool) -> bool {
        self.open_subflow(now, path, Some(ends), backup)
    }

    fn open_subflow(&mut self, now: Instant, path: PathId, ends: Option<SubflowEnds>, backup: bool) -> bool {
        let i = self.slot(path);
        let joined = self.handshake.initial_path.is_some();
        let may_open = joined || self.role == Role::Client;
        if !may_open || self.ended || self.is_data_closed() || self.subflows[i].is_open() {
            return false;
        }
        let can_join = self.handshake.is_mptcp() && self.handshake.is_confirmed() && self.may_join(i, ends);
        if joined && !can_join {
            return false;
        }
        let last_port = self.subflows[i].local_port();
        let mut subflow = Subflow::closed(path, &self.config, &self.log);
        // A new port for each attempt: the peer may hold the old four-tuple in TIME-WAIT.
        let local_port = if let Some(ends) = ends {
            ends.local_port
        } else if last_port == 0 {
            FIRST_CLIENT_PORT + u16::from(path.0) * PORTS_PER_PATH
        } else {
            last_port.wrapping_add(1).max(FIRST_CLIENT_PORT)
        };
        subflow.set_ports(local_port, ends.map_or(SERVER_PORT, |ends| ends.remote_port));
        subflow.set_local_backup(backup);
        if joined {
            // A new identifier as well: a REMOVE_ADDR for the old one may still be on its way.
            subflow.set_join(match ends {
                Some(ends) => ends.address_id,
                None if last_port == 0 => path.0.saturating_add(1),
                None => self.unused_address_id(),
            });
        }
        subflow.set_local_nonce(self.handshake.random_u32());
        self.start_handshake(now, &mut subflow, State::SynSent);
        self.subflows[i] = subflow;
        self.handshake.initial_path.get_or_insert(path);
        self.transmit_pending = true;
        true
    }

    /// Neither the peer nor the local limits prevent a join.
    fn may_join(&self, i: usize, ends: Option<SubflowEnds>) -> bool {
        self.paths.may_join()
            && (ends.is_some() || !self.subflows[i].is_permanently_refused())
            && self.has_room_for_subflow()
            && !self.fallback.is_failing()
    }

    fn unused_address_id(&mut self) -> u8 {
        let subflows = &self.subflows;
        self.paths.next_spare_id(|id| subflows.iter().any(|s| s.is_open() && s.local_id() == id))
    }

    /// Handles a segment for a subflow in SYN-SENT (RFC 9293, section 3.10.7.3).
    #[cold]
    pub(in crate::endpoint) fn in_syn_sent(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        let acks_syn = segment.ack == self.subflows[i].seq_at(1);
        if segment.flags.has(Flags::RST) {
            if segment.flags.has(Flags::ACK) && acks_syn {
                let reason = reset_reason(segment.signal.filter(|_| self.subflows[i].is_join()));
                if reason.is_some_and(|reason| !reason.transient) {
                    self.subflows[i].set_permanently_refused(true);
                }
                self.subflow_lost(i, Failure::Reset(reason));
            }
            return;
        }
        if segment.flags.has(Flags::ACK) && !acks_syn {
            self.refuse_segment(i, segment, None);
            return;
        }
        if !segment.flags.has(Flags::SYN_ACK) {
            return;
        }
        if self.subflows[i].is_join() {
            if self.check_join_answer(i, segment) {
                self.complete_handshake(now, i, segment);
            }
        } else {
            self.on_capable_answer(segment);
            self.complete_handshake(now, i, segment);
        }
    }

    /// Authenticates the answer to MP_JOIN; resets the subflow and returns false if it is not
    /// valid.
    fn check_join_answer(&mut self, i: usize, segment: &Segment<P>) -> bool {
        let Some(MptcpSignal::JoinSynAck { backup, address_id, hmac, nonce }) = segment.signal else {
            // A middlebox removed MP_JOIN, or another host answered (RFC 8684, section 3.2).
            self.refuse_unauthenticated_join(i);
            return false;
        };
        if self.fallback.is_failing() {
            // All data stays on the first subflow while this end asks for a fallback.
            self.refuse_join_for_now(i);
            return false;
        }
        let local_nonce = self.subflows[i].local_nonce();
        let expected = self.handshake.remote_join_hmac(local_nonce, nonce);
        if crypto::truncate_join_hmac(&expected) != hmac {
            self.refuse_unauthenticated_join(i);
            return false;
        }
        self.subflows[i].set_peer_join(backup, address_id, nonce);
        true
    }

    /// Handles the answer to MP_CAPABLE. Without the option the connection is plain TCP (RFC 8684,
    /// section 3.7).
    fn on_capable_answer(&mut self, segment: &Segment<P>) {
        match segment.signal {
            Some(MptcpSignal::Capable {
                version: 1,
                sender_key: Some(key),
                // The form of a third ACK is no answer (RFC 8684, figure 4).
                receiver_key: None,
                hmac_sha256: true,
                extension: false,
                checksum,
                deny_join,
                ..
            }) if self.handshake.mode() == Mode::Offered => {
                self.handshake.negotiate_checksum(checksum);
                self.paths.set_initial_address_denied(deny_join);
                self.handshake.set_remote_key(key);
                self.negotiate_receiver_driven(segment);
            }
            _ => self.handshake.use_tcp(),
        }
    }

    /// Sends the third ACK. A join waits for the fourth.
    fn complete_handshake(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        let closed = Subflow::closed(PathId(i as u8), &self.config, &self.log);
        let mut subflow = core::mem::replace(&mut self.subflows[i], closed);
        let joined = subflow.is_join();
        subflow.set_peer_isn(segment.seq);
        self.apply_syn_options(&mut subflow, segment);
        // The third ACK is repeated until the peer shows that it has the HMAC or the keys.
        subflow.on_syn_ack(now, self.handshake.is_mptcp());
        self.subflows[i] = subflow;
        // The window of a SYN/ACK is not scaled (RFC 7323, section 2.2).
        self.widen_window(1 + u64::from(segment.window));
        if joined {
            self.fallback.on_join_confirmed();
        } else {
            if self.handshake.is_mptcp() && self.subflows[i].is_local_backup() {
                // MP_CAPABLE has no flag for it, as MP_JOIN has.
                self.signal_priority(i);
            }
            self.on_established(now, i);
        }
        self.transmit_pending = true;
    }
}
