//! Establishment of a subflow: ports, identifiers, options and the states of the handshake.

use super::{State, Subflow};
use crate::Config;
use tracing::debug;
use units::Instant;
use wire::{Payload, Segment};

impl<P: Payload> Subflow<P> {
    pub(crate) fn set_ports(&mut self, local: u16, remote: u16) {
        self.ports.set(local, remote);
    }

    /// Remembers the remote port of `previous`, the subflow that this one replaces.
    pub(crate) fn inherit_ports(&mut self, previous: &mut Self) {
        self.ports.inherit(&mut previous.ports);
    }

    /// Makes this subflow a join to an existing connection (RFC 8684, section 3.2).
    pub(crate) fn set_join(&mut self, local_id: u8) {
        self.handshake.set_join(local_id);
    }

    pub(crate) fn set_local_nonce(&mut self, nonce: u32) {
        self.handshake.set_local_nonce(nonce);
    }

    /// Takes over the fields of the peer's MP_JOIN.
    pub(crate) fn set_peer_join(&mut self, backup: bool, address_id: u8, nonce: u32) {
        self.handshake.set_peer_join(address_id, nonce);
        self.priority.set_peer(backup);
    }

    pub(crate) fn set_peer_isn(&mut self, seq: u32) {
        self.handshake.set_irs(seq);
    }

    /// Enters `state`, SYN-SENT or SYN-RECEIVED, with the initial sequence number `iss`.
    pub(crate) fn start_handshake(&mut self, now: Instant, state: State, iss: u32) {
        self.state = state;
        debug!(parent: &self.log, ?state, join = self.is_join(), "handshake started");
        self.handshake.start(now, iss);
        self.handshake.set_passive(state == State::SynReceived);
        self.sender.start();
        self.receiver.start();
    }

    /// Applies the options of the peer's SYN or SYN/ACK. `dss_len` are the option bytes that every
    /// segment with data will need for MPTCP.
    pub(crate) fn negotiate(&mut self, config: &Config, segment: &Segment<P>, ecn: bool, dss_len: u64) {
        self.options.negotiate(config, segment, ecn, dss_len);
        if let Some(clock) = segment.timestamps {
            self.receiver.set_initial_clock(clock.value);
        }
        self.sender.negotiated(self.options.max_payload(), self.options.sack());
        if !self.options.sack() {
            self.receiver.stop_compression();
        }
    }

    /// Counts a SYN or SYN/ACK that is sent now, and starts its timer.
    pub(crate) fn on_syn_sent(&mut self, now: Instant) {
        self.handshake.count_syn();
        debug!(parent: &self.log, attempt = self.handshake.syn_attempts(), "SYN or SYN/ACK sent");
        self.sender.arm_retransmission_timer(now);
    }

    /// The peer acknowledged the SYN or SYN/ACK.
    fn on_syn_acked(&mut self, now: Instant) {
        let attempts = self.handshake.syn_attempts();
        if attempts > 1 {
            self.sender.reset_rto_after_lost_syn();
        } else {
            self.sender.sample_rtt(now.since(self.handshake.syn_sent_at()));
        }
        if attempts > 2 {
            self.sender.start_with_one_segment();
        }
        self.sender.on_syn_acked();
        self.handshake.cancel_syn();
    }

    /// The client received a valid SYN/ACK. Until the peer shows that it has the keys or the HMAC
    /// of the third ACK, `repeat_ack` sends that again on a timer.
    pub(crate) fn on_syn_ack(&mut self, now: Instant, repeat_ack: bool) {
        self.on_syn_acked(now);
        self.handshake.request_ack();
        self.state = if self.is_join() { State::Confirming } else { State::Established };
        if repeat_ack {
            self.sender.arm_retransmission_timer(now);
        }
    }

    /// The server received the third ACK.
    pub(crate) fn on_third_ack(&mut self, now: Instant) {
        self.on_syn_acked(now);
        self.state = State::Established;
    }

    /// The client of a join received the fourth ACK.
    pub(crate) fn on_fourth_ack(&mut self) {
        self.state = State::Established;
        self.sender.stop_handshake_timer();
    }

    /// Sends the SYN or SYN/ACK again.
    pub(crate) fn request_syn(&mut self) {
        self.handshake.request_syn();
    }

    pub(crate) fn syn_pending(&self) -> bool {
        self.handshake.syn_pending()
    }

    /// True once if a SYN or SYN/ACK is to be sent.
    pub(crate) fn take_syn(&mut self) -> bool {
        self.handshake.take_syn()
    }

    /// Sends the last ACK of the handshake (again).
    pub(crate) fn request_handshake_ack(&mut self) {
        self.handshake.request_ack();
    }

    pub(crate) fn cancel_handshake_ack(&mut self) {
        self.handshake.cancel_ack();
    }

    #[inline]
    pub(crate) fn handshake_ack_pending(&self) -> bool {
        self.handshake.ack_pending()
    }

    /// True once if the last ACK of the handshake is to be sent.
    pub(crate) fn take_handshake_ack(&mut self) -> bool {
        self.handshake.take_ack()
    }

    /// Repeats the handshake's last ACK in a form that a peer without MPTCP answers as well.
    pub(crate) fn request_answered_handshake_ack(&mut self) {
        self.handshake.request_ack();
        self.handshake.request_answer();
    }

    /// True once if the handshake's last ACK must provoke an answer.
    pub(crate) fn take_handshake_probe(&mut self) -> bool {
        self.handshake.take_answer_request()
    }

    /// SYNs or SYN/ACKs sent so far.
    pub(crate) fn syn_attempts(&self) -> u32 {
        self.handshake.syn_attempts()
    }

    /// Joined to an existing connection (RFC 8684, section 3.2).
    #[inline]
    pub(crate) fn is_join(&self) -> bool {
        self.handshake.is_join()
    }

    pub(crate) fn local_id(&self) -> u8 {
        self.handshake.local_id()
    }
    pub(crate) fn remote_id(&self) -> u8 {
        self.handshake.remote_id()
    }
    pub(crate) fn local_nonce(&self) -> u32 {
        self.handshake.local_nonce()
    }
    pub(crate) fn remote_nonce(&self) -> u32 {
        self.handshake.remote_nonce()
    }
}
