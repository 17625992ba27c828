//! Connection handshake: keys, negotiated mode and data sequence numbers (RFC 8684, sections 3.1
//! and 3.2). `client` and `server` handle the two sides of MP_CAPABLE and MP_JOIN.

mod client;
mod keys;
mod server;

use super::event::{Event, Failure, Mode};
use super::timers::Timer;
use super::{Endpoint, Role, reset_reason};
use crate::subflow::{Reset, State, Subflow};
use crate::{Config, EcnMode, PathId, Randomness, crypto};
use units::Instant;
use wire::{Flags, MptcpSignal, Payload, Segment};

/// Option bytes of a DSS with a 32-bit DATA_ACK and a 64-bit mapping, padded.
const DSS_LEN: u64 = 24;
/// SYNs before a subflow is given up (Linux `tcp_syn_retries`: 6 after the first).
pub(super) const MAX_SYNS: u32 = 7;

/// Outcome of the MP_CAPABLE exchange, and the keys behind it.
#[derive(Debug, Clone)]
pub(super) struct Handshake {
    mode: Mode,
    /// The peer has shown that it has both keys.
    confirmed: bool,
    /// [`Event::Connected`] was reported.
    connected: bool,
    /// DSS checksums are in use (RFC 8684, section 3.3.1).
    checksum: bool,
    local_idsn: u64,
    remote_idsn: u64,
    /// Path of the first subflow.
    initial_path: Option<PathId>,
    keys: Box<Keys>,
}

/// State for the handshakes of subflows.
#[derive(Debug, Clone)]
struct Keys {
    local: u64,
    remote: Option<u64>,
    randomness: Randomness,
}

impl Handshake {
    pub(super) fn new(config: &Config, mut randomness: Randomness) -> Self {
        let local_key = randomness.bits();
        Self {
            mode: if config.mptcp { Mode::Offered } else { Mode::Tcp },
            confirmed: false,
            connected: false,
            checksum: config.checksum,
            local_idsn: crypto::initial_dsn(local_key),
            remote_idsn: 0,
            initial_path: None,
            keys: Box::new(Keys { local: local_key, remote: None, randomness }),
        }
    }

    #[inline]
    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    #[inline]
    pub(super) fn is_mptcp(&self) -> bool {
        self.mode == Mode::Mptcp
    }

    /// The peer has shown that it has both keys: joins are possible.
    #[inline]
    pub(super) fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    #[inline]
    pub(super) fn is_connected(&self) -> bool {
        self.connected
    }

    /// DSS checksums are in use.
    #[inline]
    pub(super) fn uses_checksum(&self) -> bool {
        self.checksum
    }

    /// Continues as plain TCP.
    pub(super) fn use_tcp(&mut self) {
        self.mode = Mode::Tcp;
    }

    /// Random number for a nonce or an initial sequence number.
    fn random_u32(&mut self) -> u32 {
        self.keys.randomness.bits() as u32
    }

    /// Uses checksums if either end asks for them (RFC 8684, section 3.1).
    fn negotiate_checksum(&mut self, requested: bool) {
        self.checksum |= requested;
    }

    fn set_remote_key(&mut self, key: u64) {
        self.keys.remote = Some(key);
        self.remote_idsn = crypto::initial_dsn(key);
        self.mode = Mode::Mptcp;
    }
}

/// Keys and sequence numbers on the wire.
impl Handshake {
    #[inline]
    pub(super) fn local_key(&self) -> u64 {
        self.keys.local
    }

    #[inline]
    pub(super) fn remote_key(&self) -> Option<u64> {
        self.keys.remote
    }

    /// Data sequence number of an offset in the stream to the peer.
    #[inline]
    pub(super) fn local_dsn(&self, offset: u64) -> u64 {
        self.local_idsn.wrapping_add(offset)
    }

    /// Data sequence number of an offset in the stream from the peer.
    #[inline]
    pub(super) fn remote_dsn(&self, offset: u64) -> u64 {
        self.remote_idsn.wrapping_add(offset)
    }

    /// Offset of a data sequence number in the stream to the peer.
    #[inline]
    pub(super) fn local_offset(&self, dsn: u64) -> u64 {
        dsn.wrapping_sub(self.local_idsn)
    }

    /// Offset of a data sequence number in the stream from the peer.
    #[inline]
    pub(super) fn remote_offset(&self, dsn: u64) -> u64 {
        dsn.wrapping_sub(self.remote_idsn)
    }

    /// Sets the initial data sequence numbers, to test that they wrap.
    #[cfg(test)]
    pub(super) fn set_idsns(&mut self, local: Option<u64>, remote: Option<u64>) {
        self.local_idsn = local.unwrap_or(self.local_idsn);
        self.remote_idsn = remote.unwrap_or(self.remote_idsn);
    }

    /// Token by which the peer names the connection in MP_JOIN.
    pub(super) fn local_token(&self) -> u32 {
        crypto::token(self.keys.local)
    }

    /// Token by which this end names the connection in MP_JOIN; 0 before the peer's key is known.
    pub(super) fn remote_token(&self) -> u32 {
        self.keys.remote.map_or(0, crypto::token)
    }

    /// HMAC that proves to the peer that this end has both keys.
    pub(super) fn local_join_hmac(&self, local_nonce: u32, remote_nonce: u32) -> [u8; 32] {
        let remote_key = self.keys.remote.unwrap_or(0);
        crypto::join_hmac(self.keys.local, remote_key, local_nonce, remote_nonce)
    }

    /// HMAC that the peer must send to prove that it has both keys.
    fn remote_join_hmac(&self, local_nonce: u32, remote_nonce: u32) -> [u8; 32] {
        let remote_key = self.keys.remote.unwrap_or(0);
        crypto::join_hmac(remote_key, self.keys.local, remote_nonce, local_nonce)
    }
}

/// Handshake steps common to both ends.
impl<P: Payload> Endpoint<P> {
    /// Number of open subflows is below the configured limit.
    fn has_room_for_subflow(&self) -> bool {
        let open = self.subflows.iter().filter(|s| s.is_open()).count();
        open < usize::from(self.config.max_subflows)
    }

    /// Prepares a subflow to send its SYN or SYN/ACK.
    fn start_handshake(&mut self, now: Instant, subflow: &mut Subflow<P>, state: State) {
        let iss = self.handshake.random_u32();
        subflow.start_handshake(now, state, iss);
    }

    /// Applies the options of a received SYN or SYN/ACK.
    fn apply_syn_options(&self, subflow: &mut Subflow<P>, segment: &Segment<P>) {
        let ecn = self.negotiates_ecn(subflow, segment);
        let dss_len = if self.handshake.mode() == Mode::Tcp { 0 } else { DSS_LEN };
        subflow.negotiate(&self.config, segment, ecn, dss_len);
    }

    /// A SYN requests ECN with ECE and CWR; the SYN/ACK accepts with ECE alone (RFC 3168, section
    /// 6.1.1).
    fn negotiates_ecn(&self, subflow: &Subflow<P>, segment: &Segment<P>) -> bool {
        let (ece, cwr) = (segment.flags.has(Flags::ECE), segment.flags.has(Flags::CWR));
        if segment.flags.has(Flags::ACK) {
            self.requests_ecn(subflow) && ece && !cwr
        } else {
            self.config.ecn != EcnMode::Off && ece && cwr
        }
    }

    /// Only the first SYN requests ECN: a middlebox may drop SYNs that do (RFC 3168, section
    /// 6.1.1.1).
    pub(super) fn requests_ecn(&self, subflow: &Subflow<P>) -> bool {
        self.config.ecn == EcnMode::Request && subflow.syn_attempts() <= 1
    }

    /// A subflow has completed its handshake.
    #[cold]
    pub(super) fn on_established(&mut self, now: Instant, i: usize) {
        let subflow = &mut self.subflows[i];
        subflow.start_keepalive(now, self.config.keepalive);
        let (path, joined) = (subflow.path(), subflow.is_join());
        self.report(Event::SubflowUp(path));
        self.start_receiver_driven(now, i);
        if joined {
            self.fallback.set_multipath_data();
        } else {
            self.send_announcements();
        }
        self.last_failure = None;
        self.timers.stop(Timer::SubflowWait);
        self.reinject_stale();
        // The host may use an address again whose REMOVE_ADDR has waited.
        for subflow in self.subflows.iter().filter(|s| s.is_open()) {
            self.paths.cancel_removal(subflow.local_id());
        }
        for signal in self.paths.take_signals() {
            self.subflows[i].queue_signal(signal);
        }
        if self.data_sender.has_outstanding() {
            // A repair may have waited for a subflow.
            self.await_data_ack(now);
        }
        if self.data_sender.data_fin_outstanding() && !self.timers.is_set(Timer::DataFin) {
            // The DATA_FIN has waited for a subflow.
            self.request_data_fin(now);
        }
        if self.handshake.mode() == Mode::Tcp || self.role == Role::Server {
            self.report_connected();
        }
        self.transmit_pending = true;
    }

    /// Reports [`Event::Connected`] once.
    pub(super) fn report_connected(&mut self) {
        if !self.handshake.connected {
            self.handshake.connected = true;
            self.report(Event::Connected(self.handshake.mode));
        }
    }

    /// The peer has shown that it uses MPTCP: joins are possible from here on.
    #[inline]
    pub(super) fn confirm_mptcp(&mut self) {
        if !self.handshake.confirmed {
            self.handshake.confirmed = true;
            self.stop_repeating_keys();
            self.report_connected();
        }
    }

    /// Ends the retransmission of the first subflow's third ACK.
    pub(super) fn stop_repeating_keys(&mut self) {
        let initial = |s: &&mut Subflow<P>| s.is_established() && !s.is_join();
        for subflow in self.subflows.iter_mut().filter(initial) {
            subflow.sender_mut().reset_timeouts();
            if !subflow.sender().has_unsent_or_unacked() {
                subflow.sender_mut().stop_retransmission_timer();
            }
        }
    }

    /// Rejects a join while this end asks for a fallback; a later attempt may succeed.
    fn refuse_join_for_now(&mut self, i: usize) {
        let reason = reset_reason::MIDDLEBOX_INTERFERENCE;
        let signal = MptcpSignal::Reset { transient: true, reason };
        self.reset_with_signal(i, Failure::Middlebox, Some(signal));
    }

    /// Rejects a join after a failed authentication, and all later joins on the path.
    fn refuse_unauthenticated_join(&mut self, i: usize) {
        self.subflows[i].set_permanently_refused(true);
        self.reset_subflow(i, Failure::Authentication, reset_reason::MPTCP_ERROR);
    }

    /// Answers a segment that belongs to no subflow with a reset (RFC 9293, section 3.10.7.1).
    #[cold]
    pub(super) fn refuse_segment(&mut self, i: usize, segment: &Segment<P>, signal: Option<MptcpSignal>) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        let subflow = &self.subflows[i];
        let ports = (segment.destination, segment.source);
        let same = (subflow.local_port(), subflow.remote_port()) == ports;
        // The peer missed the reset of this subflow: repeat its reason.
        let reason_matters =
            |signal: &MptcpSignal| !self.ended || !matches!(signal, MptcpSignal::Reset { .. });
        let repeated = subflow.own_reset_signal().filter(|signal| same && reason_matters(signal));
        let len = segment.payload.len() as u32
            + u32::from(segment.flags.has(Flags::SYN))
            + u32::from(segment.flags.has(Flags::FIN));
        let acknowledges = segment.flags.has(Flags::ACK);
        self.subflows[i].queue_reset(Reset {
            source: segment.destination,
            destination: segment.source,
            seq: if acknowledges { segment.ack } else { 0 },
            ack: (!acknowledges).then(|| segment.seq.wrapping_add(len)),
            signal: signal.or(repeated),
        });
        self.transmit_pending = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    #[test]
    fn both_ends_compute_the_same_join_hmacs() {
        let config = Config::default();
        let mut client = Handshake::new(&config, Seed::new(1).into());
        let mut server = Handshake::new(&config, Seed::new(2).into());
        client.set_remote_key(server.local_key());
        server.set_remote_key(client.local_key());
        assert_eq!(client.local_join_hmac(3, 4), server.remote_join_hmac(4, 3));
        assert_eq!(client.remote_join_hmac(3, 4), server.local_join_hmac(4, 3));
        assert_eq!(client.remote_token(), server.local_token());
        assert_eq!(client.remote_offset(server.local_dsn(7)), 7);
    }
}
