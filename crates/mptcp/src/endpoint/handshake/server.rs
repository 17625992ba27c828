//! Passive side: accepting subflows, and the third ACK. The client accepts only joins.

use super::{Endpoint, Role};
use crate::PathId;
use crate::endpoint::event::Mode;
use crate::endpoint::reset_reason;
use crate::subflow::{State, Subflow};
use units::Instant;
use wire::{Flags, MptcpSignal, Payload, Segment};

impl<P: Payload> Endpoint<P> {
    /// Handles a segment for a path without a subflow: a SYN opens one.
    pub(in crate::endpoint) fn accept(&mut self, now: Instant, i: usize, segment: &Segment<P>) {
        let syn = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        let first = self.handshake.initial_path.is_none();
        if !syn || first && (self.role == Role::Client || self.ended) {
            self.refuse_segment(i, segment, None);
            return;
        }
        let path = PathId(i as u8);
        let mut subflow = Subflow::closed(path, &self.config, &self.log);
        subflow.set_ports(segment.destination, segment.source);
        subflow.set_peer_isn(segment.seq);
        if first {
            self.accept_first(segment);
            self.handshake.initial_path = Some(path);
        } else if let Err(signal) = self.accept_join(&mut subflow, segment) {
            self.refuse_segment(i, segment, signal);
            return;
        }
        self.apply_syn_options(&mut subflow, segment);
        self.start_handshake(now, &mut subflow, State::SynReceived);
        subflow.inherit_ports(&mut self.subflows[i]);
        self.subflows[i] = subflow;
        self.transmit_pending = true;
    }

    /// Handles the MP_CAPABLE of the first SYN.
    fn accept_first(&mut self, segment: &Segment<P>) {
        match segment.signal {
            Some(MptcpSignal::Capable {
                // A later version is answered by this one (RFC 8684, section 3.1).
                version: 1..,
                hmac_sha256: true,
                extension: false,
                checksum,
                deny_join,
                // A SYN of version 1 has no key (RFC 8684, figure 4).
                sender_key: None,
                ..
            }) => {
                self.handshake.negotiate_checksum(checksum);
                self.paths.set_initial_address_denied(deny_join);
                self.negotiate_receiver_driven(segment);
            }
            _ => self.handshake.use_tcp(),
        }
    }

    /// Handles the MP_JOIN of a later SYN. An error is the signal of the reset that refuses it.
    fn accept_join(
        &mut self,
        subflow: &mut Subflow<P>,
        segment: &Segment<P>,
    ) -> Result<(), Option<MptcpSignal>> {
        let refuse = |reason, transient| Err(Some(MptcpSignal::Reset { transient, reason }));
        let Some(MptcpSignal::JoinSyn { backup, address_id, token, nonce }) = segment.signal else {
            return Err(None);
        };
        let known = self.handshake.is_mptcp() && token == self.handshake.local_token();
        if !known || self.ended || self.is_data_closed() {
            return refuse(reset_reason::MPTCP_ERROR, false);
        }
        if self.config.deny_join && !self.paths.has_announced() {
            return refuse(reset_reason::PROHIBITED, false);
        }
        if !self.has_room_for_subflow() {
            return refuse(reset_reason::LACK_OF_RESOURCES, true);
        }
        subflow.set_join(self.paths.local_id(subflow.path()));
        subflow.set_peer_join(backup, address_id, nonce);
        subflow.set_local_nonce(self.handshake.random_u32());
        Ok(())
    }

    /// Handles a segment for a subflow in SYN-RECEIVED. Returns true if it is established now.
    #[cold]
    pub(in crate::endpoint) fn in_syn_received(
        &mut self,
        now: Instant,
        i: usize,
        segment: &Segment<P>,
    ) -> bool {
        let subflow = &mut self.subflows[i];
        if segment.flags.has(Flags::SYN) {
            // A retransmitted SYN: the SYN/ACK was lost.
            subflow.request_syn();
            return false;
        }
        if !segment.flags.has(Flags::ACK) {
            return false;
        }
        if segment.ack != subflow.seq_at(1) {
            // It acknowledges another SYN (RFC 9293, section 3.10.7.4).
            self.refuse_segment(i, segment, None);
            return false;
        }
        let accepted = if subflow.is_join() {
            self.check_join_ack(i, segment)
        } else {
            self.handshake.mode() != Mode::Offered || self.check_capable_ack(now, i, segment)
        };
        if accepted {
            self.subflows[i].on_third_ack(now);
            self.on_established(now, i);
        }
        accepted
    }

    /// Authenticates the third ACK of a join; resets the subflow and returns false if it is not
    /// valid.
    fn check_join_ack(&mut self, i: usize, segment: &Segment<P>) -> bool {
        let subflow = &self.subflows[i];
        let expected = self.handshake.remote_join_hmac(subflow.local_nonce(), subflow.remote_nonce());
        match segment.signal {
            Some(MptcpSignal::JoinAck { .. }) if self.fallback.is_failing() => {
                self.refuse_join_for_now(i);
                false
            }
            Some(MptcpSignal::JoinAck { hmac }) if hmac == expected[..20] => {
                // The peer may send no data before this fourth ACK (RFC 8684, section 3.2).
                self.subflows[i].receiver_mut().request_ack();
                true
            }
            // The HMAC is wrong or missing. Before the fourth ACK the peer sends nothing else.
            _ => {
                self.refuse_unauthenticated_join(i);
                false
            }
        }
    }

    /// Handles the third ACK of the first subflow. Returns false if the keys are still to come.
    fn check_capable_ack(&mut self, now: Instant, i: usize, segment: &Segment<P>) -> bool {
        let has_infinite_mapping = segment.dss.is_some_and(|dss| dss.mapping.is_some_and(|map| map.len == 0));
        let is_first_data =
            !segment.payload.is_empty() && self.subflows[i].receive_offset(segment.seq) == Some(1);
        match segment.signal {
            Some(MptcpSignal::Capable {
                version: 1,
                hmac_sha256: true,
                extension: false,
                sender_key: Some(key),
                receiver_key: Some(own),
                ..
            }) if own == self.handshake.local_key() => {
                self.handshake.set_remote_key(key);
                self.handshake.confirmed = true;
                // Tells the peer that its keys have arrived, so that it may join.
                self.subflows[i].receiver_mut().request_ack();
            }
            // The receiver's key is missing or wrong, or the flags ask for another protocol.
            Some(MptcpSignal::Capable { .. }) => self.fall_back(now),
            // The peer has fallen back in the meantime.
            _ if has_infinite_mapping => self.fall_back(now),
            // The first bytes came without the keys, which they always carry (RFC 8684, section 3.1).
            _ if is_first_data => self.fall_back(now),
            // MPTCP, but the segment with the keys was lost; it will be retransmitted.
            _ if segment.dss.is_some() || segment.signal.is_some() => return false,
            // The third ACK arrived without its option (RFC 8684, section 3.7).
            _ => self.fall_back(now),
        }
        true
    }
}
