//! Transmitted segments: which one is next. `segment` builds them.

use super::Endpoint;
use super::burst::Burst;
use super::data_sender::FastPath;
use super::event::Mode;
use crate::PathId;
use crate::subflow::{Chunk, State, Subflow};
use units::Instant;
use wire::{Flags, Payload, Segment};

/// The next transmission. A segment is large, so it is built in place once all is decided.
enum Transmission<P> {
    /// A chunk at a subflow offset.
    Data(u64, Chunk<P>),
    /// The same by the fast path; more chunks of this many bytes may follow.
    Burst(u64, Chunk<P>, u64),
    /// A reset, a SYN, the handshake's ACK or an MPTCP signal.
    Control,
    /// A DATA_FIN or a window probe.
    DataLevel,
    Acknowledgement,
}

impl<P: Payload> Endpoint<P> {
    /// Returns the next segment to send and its path; `None` if there is nothing to send now.
    ///
    /// Call it after every other call until it returns `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(PathId, Segment<P>)> {
        let mut segment = Segment::new((0, 0), 0, 0, Flags::default(), 0);
        self.transmit_into(now, &mut segment).map(|path| (path, segment))
    }

    /// Like [`poll_transmit`](Self::poll_transmit), but writes into an existing segment, whose
    /// content is overwritten. It saves the copy of a segment for callers that send many.
    #[inline]
    pub fn transmit_into(&mut self, now: Instant, segment: &mut Segment<P>) -> Option<PathId> {
        self.transmit(now, segment).map(|(path, _)| path)
    }

    /// There may be a segment to send.
    #[inline]
    pub fn has_transmit(&self) -> bool {
        self.transmit_pending
    }

    /// Writes the next segment. Returns its path, and the burst that it begins.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        segment: &mut Segment<P>,
    ) -> Option<(PathId, Option<Burst>)> {
        if !self.transmit_pending {
            return None;
        }
        if self.last_failure.is_some() {
            self.await_subflow(now);
        }
        let (i, transmission) = self.next_transmission(now)?;
        let subflow = &mut self.subflows[i];
        if !matches!(transmission, Transmission::Acknowledgement) || subflow.keepalive_probe_pending() {
            // The peer may answer this segment with an acknowledgement.
            subflow.reset_idle_acks();
        }
        let mut burst = None;
        match transmission {
            Transmission::Data(offset, chunk) => {
                self.arm_data_retransmission(now);
                self.build_data(now, i, offset, chunk, segment);
            }
            Transmission::Burst(offset, chunk, len) => {
                burst = Some(Burst { subflow: i, len });
                self.arm_data_retransmission(now);
                self.build_data(now, i, offset, chunk, segment);
            }
            Transmission::Control => *segment = self.build_control(now, i),
            Transmission::DataLevel => *segment = self.build_data_level(now, i),
            Transmission::Acknowledgement => self.build_due_acknowledgement(now, i, segment),
        }
        Some((self.subflows[i].path(), burst))
    }

    /// Chooses the next transmission and its subflow. Acknowledgements come last, because every
    /// segment with data acknowledges as well.
    fn next_transmission(&mut self, now: Instant) -> Option<(usize, Transmission<P>)> {
        for i in 0..self.subflows.len() {
            if self.subflows[i].has_control() && self.has_control_to_send(i) {
                return Some((i, Transmission::Control));
            }
            let subflow = &mut self.subflows[i];
            if subflow.sender().has_retransmission()
                && subflow.is_established()
                && let Some((offset, chunk)) = subflow.sender_mut().retransmit(now)
            {
                return Some((i, Transmission::Data(offset, chunk)));
            }
        }
        if self.may_have_data()
            && let Some(next) = self.next_of_stream(now)
        {
            return Some(next);
        }
        if let Some(i) = self.data_sender.pending_control_subflow(&self.subflows) {
            return Some((i, Transmission::DataLevel));
        }
        let due =
            |s: &Subflow<P>| s.receiver().ack_due() && !matches!(s.state(), State::Closed | State::SynSent);
        let mut waiting = self.subflows.iter().enumerate().filter(|(_, s)| due(s)).map(|(i, _)| i);
        let next = waiting.next();
        // After the last acknowledgement everything was sent.
        self.transmit_pending = waiting.next().is_some();
        next.map(|i| (i, Transmission::Acknowledgement))
    }

    /// Returns false for an end that only receives: no data is unacknowledged or in flight.
    #[inline]
    fn may_have_data(&self) -> bool {
        self.data_sender.has_work()
            || self.subflow_fins
            || self.subflows.iter().any(|s| s.sender().has_unsent_or_unacked())
    }

    /// Chooses the next chunk of the stream, or a FIN.
    fn next_of_stream(&mut self, now: Instant) -> Option<(usize, Transmission<P>)> {
        if self.data_sender.has_data_to_assign() {
            self.set_data_retransmission_interval(now);
        }
        match self.data_sender.schedule_fast(now, &mut self.subflows) {
            FastPath::Sent(i, offset, chunk, len) => {
                return Some((i, Transmission::Burst(offset, chunk, len)));
            }
            FastPath::NoRoom => {}
            FastPath::NotApplicable => {
                if let Some(next) = self.next_scheduled(now) {
                    return Some(next);
                }
            }
        }
        self.advance_close(now);
        // Closing may have queued a FIN.
        if self.subflow_fins
            && let Some(next) = self.next_queued(now)
        {
            return Some(next);
        }
        for (i, subflow) in self.subflows.iter_mut().enumerate() {
            if subflow.sender().may_need_rescue()
                && subflow.is_established()
                && let Some((offset, chunk)) = subflow.sender_mut().rescue(now)
            {
                return Some((i, Transmission::Data(offset, chunk)));
            }
        }
        None
    }

    /// Schedules data until a subflow can send some: reinjections first, which are oldest, then
    /// data assigned before, then new data.
    fn next_scheduled(&mut self, now: Instant) -> Option<(usize, Transmission<P>)> {
        while let Some(i) = self.data_sender.schedule_reinjection(&mut self.subflows) {
            if let Some(next) = self.send_queued(now, i) {
                return Some((i, next));
            }
        }
        if let Some(next) = self.next_queued(now) {
            return Some(next);
        }
        while let Some(i) = self.schedule_new(now) {
            if let Some(next) = self.send_queued(now, i) {
                return Some((i, next));
            }
        }
        None
    }

    fn schedule_new(&mut self, now: Instant) -> Option<usize> {
        let Self { data_sender, subflows, config, timers, .. } = self;
        data_sender.schedule_new(now, subflows, config, timers)
    }

    /// Chooses a chunk from the subflows' queues that a window has room for.
    fn next_queued(&mut self, now: Instant) -> Option<(usize, Transmission<P>)> {
        for i in 0..self.subflows.len() {
            if self.subflows[i].sender().has_unsent()
                && let Some(next) = self.send_queued(now, i)
            {
                return Some((i, next));
            }
        }
        None
    }

    /// Takes the next chunk from the queue of subflow `i` if its window has room.
    fn send_queued(&mut self, now: Instant, i: usize) -> Option<Transmission<P>> {
        let acked = if self.handshake.is_mptcp() { self.data_sender.una() } else { 0 };
        let subflow = &mut self.subflows[i];
        if !subflow.is_established() {
            return None;
        }
        let (offset, chunk) = subflow.sender_mut().send_new(now, acked)?;
        if chunk.fin {
            subflow.on_fin_sent(offset);
        } else {
            self.fallback.on_data_sent(chunk.data, offset);
        }
        Some(Transmission::Data(offset, chunk))
    }

    /// Returns true if [`build_control`](Self::build_control) has a segment to build.
    #[cold]
    fn has_control_to_send(&mut self, i: usize) -> bool {
        let subflow = &self.subflows[i];
        let handshake_ack = subflow.handshake_ack_pending()
            && subflow.is_open()
            && !subflow.reset_pending()
            && !subflow.syn_pending();
        if handshake_ack {
            if self.handshake_signal(i).is_some() {
                return true;
            }
            // The handshake is complete: a plain acknowledgement is enough.
            let subflow = &mut self.subflows[i];
            subflow.cancel_handshake_ack();
            subflow.receiver_mut().request_ack();
            return false;
        }
        // The peer cannot interpret signals before it has both keys.
        let signals = subflow.is_established() && self.handshake.is_confirmed() && subflow.has_signals();
        subflow.reset_pending() || subflow.syn_pending() || signals
    }

    /// Puts the undelivered data of subflow `i` on the others. With `keeps_trying` the subflow goes
    /// on retransmitting it.
    pub(super) fn reinject(&mut self, i: usize, keeps_trying: bool) {
        if self.handshake.mode() == Mode::Tcp || self.ended {
            return;
        }
        let queued = if self.config.data_retransmission {
            // The only subflow has delivered all: the timer of the missing DATA_ACK runs.
            let is_shared = self.fallback.has_multipath_data();
            if !is_shared && !self.subflows[i].sender().has_unsent_or_unacked() {
                return;
            }
            self.data_sender.reinject_all()
        } else {
            self.data_sender.reinject(&mut self.subflows, i, keeps_trying)
        };
        self.transmit_pending |= queued;
    }

    /// Puts the data of stale subflows on a subflow that can carry data now.
    #[cold]
    pub(super) fn reinject_stale(&mut self) {
        for i in 0..self.subflows.len() {
            if self.subflows[i].is_established() && self.subflows[i].is_stale() {
                self.reinject(i, true);
            }
        }
    }

    /// Handles an acknowledgement of all data before an offset.
    #[inline]
    pub(super) fn acknowledge_data(&mut self, ack: u64) {
        self.transmit_pending |= self.data_sender.acknowledge(ack);
    }

    /// The peer accepts data before `end`.
    #[inline]
    pub(super) fn widen_window(&mut self, end: u64) {
        if self.data_sender.widen_window(end, &mut self.timers) {
            self.transmit_pending = true;
            self.outdate_data_retransmission();
        }
    }
}
