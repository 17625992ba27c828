//! One subflow: a TCP connection over one path.
//!
//! [`Subflow`] owns the parts of one TCP connection, each in a module of its own: the handshake,
//! the negotiated options, the data sequence mappings, the receive half and the send half. The
//! connection above is [`Endpoint`](crate::Endpoint), which uses the methods of this type only.

mod establish;
mod fin;
mod handshake;
mod keepalive;
mod mappings;
mod options;
mod out_of_order;
mod ports;
mod receiver;
mod reset;
mod rtt;
mod sack_compression;
mod sender;
mod unmapped;

pub(crate) use keepalive::KeepaliveAction;
pub(crate) use mappings::{Mapped, Mappings};
pub(crate) use options::{MIN_MSS, own_window_scale};
pub(crate) use out_of_order::OutOfOrderQueue;
pub(crate) use receiver::{Arrival, Receiver};
pub(crate) use reset::Reset;
pub(crate) use rtt::Rtt;
pub(crate) use sender::{Acknowledgement, Chunk, Cut, Sender};

use crate::log::Log;
use crate::seq::extend;
use crate::{Config, Keepalive, PathId};
use fin::FinState;
use handshake::Handshake;
use keepalive::Liveness;
use options::{DssHistory, Negotiated, PeerWindow, Priority};
use ports::Ports;
use reset::ResetState;
use std::collections::VecDeque;
use tracing::{debug, info_span};
use units::{Duration, Instant};
use wire::{Ecn, Flags, MptcpSignal, Payload, Segment};

/// How long a closed subflow answers a repeated FIN (Linux: 60 s; RFC 9293: 2 MSL).
const TIME_WAIT: Duration = Duration::from_secs(60);

/// Longest silence of a peer with a closed window (Linux `TCP_RTO_MAX`).
const MAX_SILENCE: Duration = Duration::from_secs(120);

/// Connection state (RFC 9293, section 3.3.2). The closing states follow from the FINs sent,
/// acknowledged and received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Closed,
    SynSent,
    SynReceived,
    /// The third ACK of a join was sent and the fourth is awaited (RFC 8684, section 3.2).
    Confirming,
    Established,
    TimeWait {
        until: Instant,
    },
}

/// Send and receive state of one TCP connection, and its role in the MPTCP connection.
#[derive(Debug, Clone)]
pub(crate) struct Subflow<P> {
    state: State,
    path: PathId,
    /// The peer did not answer the last transmissions.
    stale: bool,
    ports: Ports,
    handshake: Handshake,
    options: Negotiated,
    priority: Priority,
    peer_window: PeerWindow,
    dss: DssHistory,
    liveness: Liveness,
    fin: FinState,
    reset: ResetState,
    mappings: Mappings<P>,
    out_of_order: OutOfOrderQueue<P>,
    signals: VecDeque<MptcpSignal>,
    /// With the redundant scheduler: data offset after the last byte assigned to this subflow.
    copied_until: u64,
    receiver: Receiver,
    sender: Sender<P>,
    /// Span of the log entries.
    log: Log,
}

impl<P: Payload> Subflow<P> {
    /// A subflow over `path` that does not exist yet. `endpoint_log` is the span of the endpoint's
    /// log entries.
    pub(crate) fn closed(path: PathId, config: &Config, endpoint_log: &Log) -> Self {
        let log = Log::new(info_span!(parent: endpoint_log, "subflow", path = path.0));
        let mss = u64::from(config.mss);
        Self {
            state: State::Closed,
            path,
            stale: false,
            ports: Ports::default(),
            handshake: Handshake::default(),
            options: Negotiated::new(config),
            priority: Priority::default(),
            peer_window: PeerWindow::default(),
            dss: DssHistory::default(),
            liveness: Liveness::default(),
            fin: FinState::default(),
            reset: ResetState::default(),
            mappings: Mappings::new(),
            out_of_order: OutOfOrderQueue::new(),
            signals: VecDeque::new(),
            copied_until: 0,
            receiver: Receiver::new(config),
            sender: Sender::new(config, mss, log.clone()),
            log,
        }
    }
}

/// State, parts and sequence numbers.
impl<P: Payload> Subflow<P> {
    #[inline]
    pub(crate) fn state(&self) -> State {
        self.state
    }
    #[inline]
    pub(crate) fn is_established(&self) -> bool {
        self.state == State::Established
    }
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed | State::TimeWait { .. })
    }
    /// Data may be sent over it.
    #[inline]
    pub(crate) fn carries_data(&self) -> bool {
        self.is_established() && !self.fin.is_queued()
    }
    #[inline]
    pub(crate) fn path(&self) -> PathId {
        self.path
    }
    pub(crate) fn log(&self) -> &Log {
        &self.log
    }
    #[inline]
    pub(crate) fn sender(&self) -> &Sender<P> {
        &self.sender
    }
    #[inline]
    pub(crate) fn sender_mut(&mut self) -> &mut Sender<P> {
        &mut self.sender
    }
    #[inline]
    pub(crate) fn receiver(&self) -> &Receiver {
        &self.receiver
    }
    #[inline]
    pub(crate) fn receiver_mut(&mut self) -> &mut Receiver {
        &mut self.receiver
    }
    #[inline]
    pub(crate) fn mappings(&self) -> &Mappings<P> {
        &self.mappings
    }
    #[inline]
    pub(crate) fn mappings_mut(&mut self) -> &mut Mappings<P> {
        &mut self.mappings
    }
    #[inline]
    pub(crate) fn out_of_order(&self) -> &OutOfOrderQueue<P> {
        &self.out_of_order
    }
    #[inline]
    pub(crate) fn out_of_order_mut(&mut self) -> &mut OutOfOrderQueue<P> {
        &mut self.out_of_order
    }
    #[inline]
    pub(crate) fn local_port(&self) -> u16 {
        self.ports.local()
    }
    #[inline]
    pub(crate) fn remote_port(&self) -> u16 {
        self.ports.remote()
    }
    /// The peer opened the subflow.
    pub(crate) fn is_passive(&self) -> bool {
        self.handshake.is_passive()
    }
    /// An earlier subflow over this path used `remote_port`.
    pub(crate) fn was_used_by(&self, remote_port: u16) -> bool {
        self.ports.was_used_by(remote_port)
    }

    /// Sequence number of the byte at `offset` of the send direction.
    #[inline]
    pub(crate) fn seq_at(&self, offset: u64) -> u32 {
        self.handshake.iss().wrapping_add(offset as u32)
    }
    /// Acknowledgement number: the next sequence number expected from the peer.
    #[inline]
    pub(crate) fn ack_number(&self) -> u32 {
        self.handshake.irs().wrapping_add(self.receiver.next_offset() as u32)
    }
    /// Offset of a sequence number of the peer, near the next one expected.
    #[inline]
    pub(crate) fn receive_offset(&self, seq: u32) -> Option<u64> {
        extend(seq.wrapping_sub(self.handshake.irs()), self.receiver.next_offset())
    }
    /// Offset of an acknowledgement number, near the first one not acknowledged.
    #[inline]
    pub(crate) fn ack_offset(&self, ack: u32) -> Option<u64> {
        extend(ack.wrapping_sub(self.handshake.iss()), self.sender.una())
    }
    /// Initial sequence number of this end.
    #[inline]
    pub(crate) fn iss(&self) -> u32 {
        self.handshake.iss()
    }
    /// Initial sequence number of the peer.
    #[inline]
    pub(crate) fn irs(&self) -> u32 {
        self.handshake.irs()
    }

    /// Payload of a full segment: the MSS without the options of every segment.
    #[inline]
    pub(crate) fn max_payload(&self) -> u64 {
        self.options.max_payload()
    }
    #[inline]
    pub(crate) fn peer_window_scale(&self) -> u8 {
        self.options.peer_scale()
    }
    #[inline]
    pub(crate) fn own_window_scale(&self) -> u8 {
        self.options.own_scale()
    }
    #[inline]
    pub(crate) fn uses_timestamps(&self) -> bool {
        self.options.timestamps()
    }
    #[inline]
    pub(crate) fn uses_sack(&self) -> bool {
        self.options.sack()
    }
    /// Both ends use explicit congestion notification (RFC 3168, section 6.1.1).
    #[inline]
    pub(crate) fn uses_ecn(&self) -> bool {
        self.options.ecn()
    }
}

/// Priority, liveness and MPTCP state.
impl<P: Payload> Subflow<P> {
    #[inline]
    pub(crate) fn is_backup(&self) -> bool {
        self.priority.is_backup()
    }
    /// This end asked for the subflow to be a backup.
    pub(crate) fn is_local_backup(&self) -> bool {
        self.priority.is_local()
    }
    pub(crate) fn set_local_backup(&mut self, backup: bool) {
        if backup != self.is_local_backup() {
            debug!(parent: &self.log, backup, "local priority changed");
        }
        self.priority.set_local(backup);
    }
    /// Applies the peer's priority. Returns true if it changed.
    pub(crate) fn set_peer_backup(&mut self, backup: bool) -> bool {
        self.priority.set_peer(backup)
    }
    #[inline]
    pub(crate) fn is_stale(&self) -> bool {
        self.stale
    }
    pub(crate) fn set_stale(&mut self, stale: bool) {
        debug!(parent: &self.log, stale, "responsiveness changed");
        self.stale = stale;
    }
    pub(crate) fn copied_until(&self) -> u64 {
        self.copied_until
    }
    #[inline]
    pub(crate) fn set_copied_until(&mut self, data: u64) {
        self.copied_until = data;
    }

    /// Stores the window field of a segment. Returns true if it equals that of the segment before.
    #[inline]
    pub(crate) fn on_window(&mut self, field: u16, bytes: u64) -> bool {
        self.peer_window.update(field, bytes)
    }
    /// Updates the send window as Linux does, by a segment with a window of `bytes`, and returns it.
    #[inline]
    pub(crate) fn update_send_window(&mut self, bytes: u64, seq: u32, advances: bool) -> u64 {
        self.peer_window.update_send_window(bytes, seq, advances)
    }
    /// The peer answers with a closed window: it is no reason to give up.
    pub(crate) fn is_held_off(&self, now: Instant) -> bool {
        self.peer_window.is_same(0) && now.since(self.last_heard()) <= MAX_SILENCE
    }
    /// The window field of the last segment is `field`.
    #[inline]
    pub(crate) fn is_same_window(&self, field: u16) -> bool {
        self.peer_window.is_same(field)
    }
    /// Largest window that the peer has offered, in bytes.
    pub(crate) fn max_peer_window(&self) -> u64 {
        self.peer_window.max()
    }

    /// A segment with a DATA_ACK arrived; `after_syn` if it also acknowledged more than the SYN, `is_old`
    /// if another one has acknowledged more.
    #[inline]
    pub(crate) fn on_data_ack_seen(&mut self, after_syn: bool, is_old: bool) {
        self.dss.on_data_ack(after_syn, is_old);
    }
    pub(crate) fn on_missing_dss(&mut self) {
        self.dss.on_missing();
    }
    /// The latest acknowledgements came without a DSS.
    #[inline]
    pub(crate) fn lacks_dss(&self) -> bool {
        self.dss.is_missing()
    }
    /// Data of this end was acknowledged with a DATA_ACK at least once.
    pub(crate) fn dss_passed(&self) -> bool {
        self.dss.has_passed()
    }
    /// Counts an acknowledgement without cause. Returns how many came in a row.
    pub(crate) fn count_idle_ack(&mut self) -> u8 {
        self.dss.count_idle_ack()
    }
    #[inline]
    pub(crate) fn reset_idle_acks(&mut self) {
        self.dss.reset_idle_acks();
    }

    pub(crate) fn queue_signal(&mut self, signal: MptcpSignal) {
        self.signals.push_back(signal);
    }
    pub(crate) fn has_signals(&self) -> bool {
        !self.signals.is_empty()
    }
    pub(crate) fn pop_signal(&mut self) -> Option<MptcpSignal> {
        self.signals.pop_front()
    }
    pub(crate) fn clear_signals(&mut self) {
        self.signals.clear();
    }

    /// A valid segment of the peer arrived.
    #[inline]
    pub(crate) fn on_heard(&mut self, now: Instant) {
        self.liveness.on_heard(now);
    }
    /// When the peer was last heard.
    pub(crate) fn last_heard(&self) -> Instant {
        self.liveness.last_heard()
    }
    pub(crate) fn start_keepalive(&mut self, now: Instant, keepalive: Option<Keepalive>) {
        self.liveness.start(now, keepalive);
    }
    pub(crate) fn keepalive_due(&self, now: Instant) -> bool {
        self.liveness.is_due(now)
    }
    /// The keepalive timer expired.
    pub(crate) fn on_keepalive_timer(&mut self, now: Instant, keepalive: &Keepalive) -> KeepaliveAction {
        let action = self.liveness.on_timer(now, keepalive, self.sender.has_unsent_or_unacked());
        if action == KeepaliveAction::Probe {
            self.receiver.request_ack();
        }
        action
    }
    pub(crate) fn keepalive_probe_pending(&self) -> bool {
        self.liveness.probe_pending()
    }
    /// True once if the next acknowledgement is a keepalive probe.
    pub(crate) fn take_keepalive_probe(&mut self) -> bool {
        self.liveness.take_probe()
    }
}

/// Segments in.
impl<P: Payload> Subflow<P> {
    /// Answers an unacceptable segment with an acknowledgement, at most once in 500 ms. Without
    /// that limit two ends that disagree would answer each other for ever (RFC 5961, section 7).
    #[cold]
    pub(crate) fn challenge(&mut self, now: Instant) {
        if self.reset.may_challenge(now) {
            self.receiver.request_ack();
        }
    }

    /// PAWS: the timestamp is older than the latest one of the peer (RFC 7323, section 5.3).
    pub(crate) fn fails_paws(&self, now: Instant, segment: &Segment<P>) -> bool {
        self.uses_timestamps()
            && segment.timestamps.is_some_and(|clock| self.receiver.is_outdated(now, clock.value))
    }

    /// A SYN from the same ports may open another connection: this one is not in TIME-WAIT, or the SYN
    /// is not a delayed one of it (RFC 9293, section 3.6.1; RFC 6191, section 2).
    pub(crate) fn gives_way_to(&self, now: Instant, syn: &Segment<P>) -> bool {
        if !matches!(self.state, State::TimeWait { .. }) {
            return true;
        }
        let is_beyond = syn.seq.wrapping_sub(self.ack_number()) as i32 >= 0;
        let has_newer_clock = self.uses_timestamps()
            && syn.timestamps.is_some_and(|clock| self.receiver.is_clock_newer(clock.value));
        (is_beyond || has_newer_clock) && !self.fails_paws(now, syn)
    }

    /// Handles the congestion marks of both directions (RFC 3168, sections 6.1.2 and 6.1.3). `ack`
    /// is the offset that the segment acknowledges.
    #[inline(never)]
    pub(crate) fn process_ecn(&mut self, now: Instant, ack: u64, segment: &Segment<P>) {
        self.receiver.on_ecn(segment.flags.has(Flags::CWR), segment.ecn == Ecn::Ce);
        if segment.flags.has(Flags::ECE) {
            self.sender.on_ece(now, ack);
        }
    }

    /// Updates the receiver's estimate of the round-trip time from the echoed timestamp. Returns
    /// the sample, if the segment gives one.
    pub(crate) fn sample_receiver_rtt(&mut self, now: Instant, segment: &Segment<P>) -> Option<Duration> {
        let clock = segment.timestamps.filter(|_| self.uses_timestamps())?;
        self.receiver.sample_rtt(clock_at(now), clock.echo, !segment.payload.is_empty())
    }

    /// Round-trip time of received data: measured by the receiver, or without timestamps by the sender.
    pub(crate) fn data_rtt(&self) -> Option<Duration> {
        if self.uses_timestamps() { self.receiver.rtt() } else { self.sender.measured_rtt() }
    }
}

/// Timers, FIN and reset.
impl<P: Payload> Subflow<P> {
    /// A handshake segment, a reset or a signal may have to be sent.
    #[inline]
    pub(crate) fn has_control(&self) -> bool {
        self.handshake.has_pending() || self.reset.is_pending() || !self.signals.is_empty()
    }

    /// Earliest timer of the subflow; [`Instant::MAX`] if none runs.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        match self.state {
            State::TimeWait { until } => return until,
            State::Closed => return Instant::MAX,
            _ => {}
        }
        let first = self.receiver.delayed_ack_at().min(self.liveness.timer());
        first.min(self.sender.next_timeout())
    }

    /// Leaves TIME-WAIT once that has lasted long enough. Returns false in any other state.
    pub(crate) fn expire_time_wait(&mut self, now: Instant) -> bool {
        let State::TimeWait { until } = self.state else { return false };
        if until <= now {
            self.state = State::Closed;
        }
        true
    }

    /// Sends a FIN after the data that is queued; `data_end` is the end of the data stream. Returns
    /// false if one was queued before, or the subflow is not established.
    pub(crate) fn queue_fin(&mut self, data_end: u64) -> bool {
        if !self.is_established() || !self.fin.queue() {
            return false;
        }
        self.sender.enqueue(Chunk { data: data_end, payload: P::empty(), fin: true, cut: Cut::default() });
        true
    }
    pub(crate) fn fin_queued(&self) -> bool {
        self.fin.is_queued()
    }
    pub(crate) fn on_fin_sent(&mut self, offset: u64) {
        self.fin.on_sent(offset);
    }
    /// Both FINs were sent and received, and this end's was acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_established() && self.fin.is_acked(self.sender.una()) && self.receiver.fin_reached()
    }
    /// The peer's FIN is next in order.
    pub(crate) fn on_peer_fin(&mut self) {
        self.fin.on_peer_fin();
    }
    /// Ends the subflow in order. The end that closed first waits in TIME-WAIT; the FIN of the
    /// other was acknowledged, so it has nothing left to answer (RFC 9293, section 3.6).
    pub(crate) fn finish(&mut self, now: Instant) {
        self.state = if self.fin.peer_was_first() {
            State::Closed
        } else {
            State::TimeWait { until: now + TIME_WAIT }
        };
        debug!(parent: &self.log, state = ?self.state, "closed in order");
        self.sender.stop_timers();
        self.receiver.stop_delayed_ack();
    }

    /// Closes the subflow at once. Undelivered data stays in the [`Sender`] for reinjection, until
    /// [`Sender::discard_data`].
    pub(crate) fn close(&mut self) {
        self.state = State::Closed;
        self.stale = false;
        self.sender.stop_timers();
        self.receiver.cancel_ack();
        self.handshake.cancel_syn();
        self.handshake.cancel_ack();
        self.signals.clear();
        self.mappings.clear();
        self.out_of_order.clear();
    }

    /// A reset of this subflow at its present sequence numbers.
    pub(crate) fn make_reset(&self, signal: Option<MptcpSignal>) -> Reset {
        Reset {
            source: self.local_port(),
            destination: self.remote_port(),
            seq: self.seq_at(self.sender.next_offset()),
            ack: Some(self.ack_number()),
            signal,
        }
    }
    /// Sends `reset`, which may answer a segment of another subflow.
    pub(crate) fn queue_reset(&mut self, reset: Reset) {
        self.reset.queue(reset);
    }
    /// Sends the reset that ended this subflow, and keeps its signal for later segments of the
    /// peer.
    pub(crate) fn queue_own_reset(&mut self, reset: Reset) {
        debug!(parent: &self.log, signal = ?reset.signal, "reset sent");
        self.reset.queue_own(reset);
    }
    pub(crate) fn reset_pending(&self) -> bool {
        self.reset.is_pending()
    }
    pub(crate) fn take_reset(&mut self) -> Option<Box<Reset>> {
        self.reset.take()
    }
    /// Signal of the reset that ended this subflow.
    pub(crate) fn own_reset_signal(&self) -> Option<MptcpSignal> {
        self.reset.own_signal()
    }
    /// The path must not be opened again: another attempt would fail in the same way.
    pub(crate) fn is_permanently_refused(&self) -> bool {
        self.reset.is_permanent()
    }
    pub(crate) fn set_permanently_refused(&mut self, refused: bool) {
        self.reset.set_permanent(refused);
    }

    /// Checks the invariants of the parts; for tests.
    pub(crate) fn check_invariants(&self) -> Result<(), &'static str> {
        self.sender.check_invariants()?;
        if self.is_established() && self.sender.flight() > 0 && !self.sender.has_retransmission_timer() {
            return Err("data in flight without a retransmission timer");
        }
        Ok(())
    }
}

/// The timestamp clock of this end: milliseconds (RFC 7323, section 5.4).
pub(crate) fn clock_at(now: Instant) -> u32 {
    (now.as_millis() as u32).wrapping_add(1)
}
