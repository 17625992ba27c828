//! State of the three-way handshake and of MP_JOIN (RFC 9293, section 3.5; RFC 8684, section 3.2).

use units::Instant;

/// Sequence numbers, identifiers and the handshake segments to be sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Handshake {
    /// Initial sequence numbers of this end and of the peer.
    iss: u32,
    irs: u32,
    join: bool,
    /// The peer sent the SYN.
    passive: bool,
    send_syn: bool,
    send_ack: bool,
    /// The last ACK must be answered, even by a peer that does not see its MPTCP option.
    request_answer: bool,
    local_id: u8,
    remote_id: u8,
    local_nonce: u32,
    remote_nonce: u32,
    syn_sent_at: Instant,
    syn_attempts: u32,
}

impl Handshake {
    pub(super) fn start(&mut self, now: Instant, iss: u32) {
        self.iss = iss;
        self.send_syn = true;
        self.syn_sent_at = now;
    }
    pub(super) fn set_passive(&mut self, passive: bool) {
        self.passive = passive;
    }
    pub(super) fn is_passive(&self) -> bool {
        self.passive
    }
    pub(super) fn set_irs(&mut self, irs: u32) {
        self.irs = irs;
    }
    #[inline]
    pub(super) fn iss(&self) -> u32 {
        self.iss
    }
    #[inline]
    pub(super) fn irs(&self) -> u32 {
        self.irs
    }

    pub(super) fn set_join(&mut self, local_id: u8) {
        (self.join, self.local_id) = (true, local_id);
    }
    pub(super) fn set_local_nonce(&mut self, nonce: u32) {
        self.local_nonce = nonce;
    }
    pub(super) fn set_peer_join(&mut self, address_id: u8, nonce: u32) {
        (self.remote_id, self.remote_nonce) = (address_id, nonce);
    }
    #[inline]
    pub(super) fn is_join(&self) -> bool {
        self.join
    }
    pub(super) fn local_id(&self) -> u8 {
        self.local_id
    }
    pub(super) fn remote_id(&self) -> u8 {
        self.remote_id
    }
    pub(super) fn local_nonce(&self) -> u32 {
        self.local_nonce
    }
    pub(super) fn remote_nonce(&self) -> u32 {
        self.remote_nonce
    }

    /// A SYN, SYN/ACK or last ACK is to be sent.
    #[inline]
    pub(super) fn has_pending(&self) -> bool {
        self.send_syn || self.send_ack
    }
    pub(super) fn request_syn(&mut self) {
        self.send_syn = true;
    }
    pub(super) fn cancel_syn(&mut self) {
        self.send_syn = false;
    }
    pub(super) fn syn_pending(&self) -> bool {
        self.send_syn
    }
    pub(super) fn take_syn(&mut self) -> bool {
        core::mem::take(&mut self.send_syn)
    }
    pub(super) fn count_syn(&mut self) {
        self.syn_attempts += 1;
    }
    pub(super) fn syn_attempts(&self) -> u32 {
        self.syn_attempts
    }
    pub(super) fn syn_sent_at(&self) -> Instant {
        self.syn_sent_at
    }

    pub(super) fn request_ack(&mut self) {
        self.send_ack = true;
    }
    pub(super) fn cancel_ack(&mut self) {
        self.send_ack = false;
    }
    #[inline]
    pub(super) fn ack_pending(&self) -> bool {
        self.send_ack
    }
    pub(super) fn take_ack(&mut self) -> bool {
        core::mem::take(&mut self.send_ack)
    }
    pub(super) fn request_answer(&mut self) {
        self.request_answer = true;
    }
    pub(super) fn take_answer_request(&mut self) -> bool {
        core::mem::take(&mut self.request_answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_requests_one_syn() {
        let mut handshake = Handshake::default();
        assert!(!handshake.has_pending());
        handshake.start(Instant::from_secs(1), 77);
        assert!(handshake.has_pending() && handshake.take_syn());
        assert!(!handshake.has_pending() && !handshake.take_syn());
        assert_eq!((handshake.iss(), handshake.syn_sent_at()), (77, Instant::from_secs(1)));
    }
}
