//! Segments out: new data, retransmissions, tail loss probes, and data given to other subflows.

use super::recovery::Phase;
use super::tail_probe::TailProbe;
use super::timers::Timer;
use super::{Chunk, Sender};
use tracing::{debug, trace};
use units::Instant;
use wire::Payload;

/// New data.
impl<P: Payload> Sender<P> {
    /// Queues data that follows the data queued before.
    pub(crate) fn enqueue(&mut self, chunk: Chunk<P>) {
        self.queue.push(chunk);
    }

    /// Queues data before all data that comes later in the stream: the receiver waits for it first.
    pub(crate) fn enqueue_in_order(&mut self, chunk: Chunk<P>) {
        self.queue.insert_in_order(chunk);
    }

    /// Bytes of window that are neither in flight nor queued. Data assigned in a pacing gap waits in
    /// the queue if the window sets the rate. A rate of BBR or of the receiver is the limit itself.
    #[inline]
    pub(crate) fn available_window(&self) -> u64 {
        if self.timers.is_running(Timer::Pacing) && (self.sampler.is_some() || self.is_receiver_driven()) {
            return 0;
        }
        let room = self.cwnd.cwnd().saturating_sub(self.pipe() + self.queued());
        if self.tail_probe.is_due() { room.max(self.mss.saturating_sub(self.queued())) } else { room }
    }

    /// The window has room for `len` more bytes, outside a pacing gap. With nothing in flight it always has: a window
    /// below one segment would stop the subflow.
    pub(crate) fn has_window_for(&self, len: u64) -> bool {
        if self.timers.is_running(Timer::Pacing) {
            return false;
        }
        let pipe = self.pipe();
        pipe == 0 || pipe + len <= self.cwnd.cwnd() || self.tail_probe.is_due()
    }

    /// The window limits sending, so that it may grow. Has no effect while the pacer does.
    pub(crate) fn set_cwnd_limited(&mut self) {
        if !self.timers.is_running(Timer::Pacing) {
            self.cwnd.set_limited(self.scoreboard.next());
        }
    }

    /// Returns the next queued chunk and its offset, if the window has room. Drops chunks that end
    /// at or before the data offset `acked_data`: another subflow has delivered them.
    pub(crate) fn send_new(&mut self, now: Instant, acked_data: u64) -> Option<(u64, Chunk<P>)> {
        self.queue.drop_acknowledged(acked_data);
        let front = self.queue.front()?;
        let (len, fin) = (front.seq_len(), front.fin);
        if self.is_paced_out(now) {
            return None;
        }
        // A congestion control with a model of the path handles idle times itself.
        if self.is_idle(now) && self.sampler.is_none() {
            self.cwnd.restart_after_idle(now.since(self.last_sent), self.rtt.rto());
        }
        if !fin && !self.has_window_for(len) {
            self.set_cwnd_limited();
            return None;
        }
        let chunk = self.queue.pop()?;
        Some((self.put_in_flight(now, &chunk), chunk))
    }

    /// New data that fits [`available_window`](Self::available_window) would be sent at once: the
    /// queue is empty, there is no pacing gap, and the window needs no restart after an idle time.
    #[inline]
    pub(crate) fn can_send_directly(&self, now: Instant) -> bool {
        self.queue.is_empty() && !self.timers.is_running(Timer::Pacing) && !self.is_idle(now)
    }

    /// Sends `chunk` past the queue. Requires [`can_send_directly`](Self::can_send_directly) and
    /// room in the window. Returns its offset.
    #[inline]
    pub(crate) fn send_directly(&mut self, now: Instant, chunk: &Chunk<P>) -> u64 {
        self.put_in_flight(now, chunk)
    }

    /// No data is in flight, and none was sent for a retransmission timeout.
    #[inline]
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        self.scoreboard.flight() == 0 && now.since(self.last_sent) > self.rtt.rto()
    }

    #[inline]
    fn is_paced_out(&self, now: Instant) -> bool {
        self.timers.is_running(Timer::Pacing) && !self.timers.is_due(Timer::Pacing, now)
    }

    /// Sends `chunk` for the first time. Returns its offset.
    #[inline]
    fn put_in_flight(&mut self, now: Instant, chunk: &Chunk<P>) -> u64 {
        let len = chunk.seq_len();
        let offset = self.scoreboard.push(now, chunk);
        trace!(parent: &self.log, offset, len, data = chunk.data, "segment sent");
        let first = self.scoreboard.len() == 1;
        self.last_sent = now;
        if first || !self.timers.is_running(Timer::Retransmission) {
            self.arm_retransmission_timer(now);
        }
        if self.rack.is_some() {
            if self.tail_probe.is_due() {
                self.tail_probe.on_sent(self.scoreboard.next(), false);
            }
            self.arm_tail_probe(now);
        }
        if self.features.prr {
            self.prr.on_sent(len);
        }
        self.last_was_retransmission = false;
        if let Some(sampler) = &mut self.sampler {
            sampler.on_sent(now, first);
            if first {
                self.cwnd.on_restart();
                self.update_pacing_rate();
            }
        }
        self.pace(now, len);
        offset
    }

    #[inline]
    fn pace(&mut self, now: Instant, len: u64) {
        let Some(pacer) = self.pacer.as_mut().filter(|_| self.features.pacing) else { return };
        // The delay has ended before its timer was handled.
        if self.timers.is_running(Timer::Pacing) {
            pacer.on_expired(now.since(self.timers.expiry(Timer::Pacing)));
        }
        if let Some(at) = pacer.on_sent(now, len, self.mss) {
            self.timers.start(Timer::Pacing, at);
        }
    }
}

/// Retransmissions.
impl<P: Payload> Sender<P> {
    /// Lost data waits to be sent again.
    #[inline]
    pub(crate) fn has_retransmission(&self) -> bool {
        self.scoreboard.has_unrepaired() || self.recovery.must_retransmit()
    }

    /// [`rescue`](Self::rescue) may have a segment to send.
    #[inline]
    pub(crate) fn may_need_rescue(&self) -> bool {
        self.recovery.is_active() || self.tail_probe.is_due() || self.sampler.is_some()
    }

    /// Returns the next lost chunk and its offset, if the window has room.
    #[inline(never)]
    pub(crate) fn retransmit(&mut self, now: Instant) -> Option<(u64, Chunk<P>)> {
        if !self.has_retransmission() || self.undo.frto_holds() || self.is_paced_out(now) {
            return None;
        }
        let lost = self.scoreboard.next_lost();
        let Some((i, sent)) = lost.and_then(|i| Some((i, self.scoreboard.get(i)?))) else {
            self.recovery.retransmitted();
            return None;
        };
        let (pipe, len) = (self.pipe(), u64::from(sent.len));
        if !self.recovery.must_retransmit() && pipe > 0 && pipe + len > self.cwnd.cwnd() {
            return None;
        }
        self.recovery.retransmitted();
        Some(self.send_again(now, i))
    }

    /// Returns a segment to send although none is known to be lost and no new data can be sent: a
    /// tail loss probe, or in fast recovery a hole not judged lost yet, or once the last segment,
    /// for more acknowledgements (RFC 6675, section 4, NextSeg 3 and 4).
    #[inline(never)]
    pub(crate) fn rescue(&mut self, now: Instant) -> Option<(u64, Chunk<P>)> {
        if self.is_paced_out(now) {
            return None;
        }
        self.note_app_limited();
        if self.tail_probe.is_due() {
            return self.probe_tail(now);
        }
        if self.undo.frto_holds() {
            return if self.give_up_frto() { self.retransmit(now) } else { None };
        }
        // RACK repairs tails by its own probe.
        let Some(Phase::Fast { point }) = self.recovery.phase().filter(|_| self.rack.is_none()) else {
            return None;
        };
        let has_room = self.pipe() + self.mss <= self.cwnd.cwnd();
        if !self.features.sack || self.recovery.is_rescued() || !has_room {
            return None;
        }
        let i = self.scoreboard.first_hole().or_else(|| {
            self.recovery.set_rescued();
            self.scoreboard.last_plain_before(point)
        })?;
        self.scoreboard.mark_rescued(i);
        Some(self.send_again(now, i))
    }

    /// Tells the rate sampler if the window has room for a segment and no data is left.
    fn note_app_limited(&mut self) {
        let pipe = self.pipe();
        if let Some(sampler) = &mut self.sampler
            && self.queue.is_empty()
            && !self.scoreboard.has_unrepaired()
            && pipe + self.mss <= self.cwnd.cwnd()
        {
            sampler.set_app_limited(pipe);
        }
    }

    /// F-RTO has no new data to test with: the timeout counts as genuine. Returns true if so.
    fn give_up_frto(&mut self) -> bool {
        let given_up = matches!(self.recovery.phase(), Some(Phase::Timeout { point })
            if self.undo.frto_holds() && self.scoreboard.next() == point);
        if given_up {
            self.undo.stop_frto();
        }
        given_up
    }

    fn send_again(&mut self, now: Instant, i: usize) -> (u64, Chunk<P>) {
        let sent = self.scoreboard.mark_retransmitted(now, i);
        let (len, answer) = (u64::from(sent.len), (sent.offset, sent.chunk.clone()));
        if self.features.prr {
            self.prr.on_sent(len);
        }
        self.undo.on_retransmission(now, len);
        self.on_sent_again(now, i, answer.0, len);
        // A retransmission of the first hole restarts the timer (RFC 6298, section 5.1; RFC 6675,
        // section 5, 6).
        if i == 0 || !self.timers.is_running(Timer::Retransmission) {
            self.arm_retransmission_timer(now);
        }
        answer
    }

    /// Sends the last segment again as a probe, for want of new data.
    fn probe_tail(&mut self, now: Instant) -> Option<(u64, Chunk<P>)> {
        debug!(parent: &self.log, "tail loss probe");
        self.tail_probe.on_sent(self.scoreboard.next(), true);
        let tail = self.scoreboard.mark_probed(now)?;
        let (len, answer) = (u64::from(tail.len), (tail.offset, tail.chunk.clone()));
        self.on_sent_again(now, self.scoreboard.len() - 1, answer.0, len);
        Some(answer)
    }

    /// Segment `i` is sent again, as a retransmission or a probe.
    fn on_sent_again(&mut self, now: Instant, i: usize, offset: u64, len: u64) {
        self.retransmissions += 1;
        debug!(parent: &self.log, offset, len, "retransmission");
        self.last_sent = now;
        self.last_was_retransmission = true;
        if let Some(rack) = &mut self.rack {
            rack.on_retransmission(now, offset);
        }
        self.pace(now, len);
        if let Some(sampler) = &mut self.sampler {
            sampler.on_retransmission(now, i);
        }
    }

    /// Starts or stops the timer of the tail loss probe (RFC 8985, section 7.2).
    pub(super) fn arm_tail_probe(&mut self, now: Instant) {
        if self.timers.is_running(Timer::Reordering) {
            return;
        }
        let board = &self.scoreboard;
        let wanted = !self.recovery.is_active()
            && board.sacked() == 0
            && !self.tail_probe.is_outstanding()
            && board.una() > 0
            && !board.is_empty();
        if !wanted {
            self.timers.stop(Timer::TailProbe);
            return;
        }
        let at = now + TailProbe::timeout(self.rtt.measured(), board.len());
        self.timers.start(Timer::TailProbe, at.min(self.timers.expiry(Timer::Retransmission)));
    }
}

/// Reinjection: data that another subflow sends instead of this one.
impl<P: Payload> Sender<P> {
    /// Returns the data after `from` that is not delivered, for other subflows: copies of the data
    /// in flight, each at most once, and the queued data, which leaves this subflow.
    pub(crate) fn reinject(&mut self, from: u64) -> (Vec<Chunk<P>>, Vec<Chunk<P>>) {
        (self.scoreboard.reinject(from), self.queue.take_data(from))
    }

    /// No other subflow takes the reinjected data: this one is responsible for it again.
    pub(crate) fn cancel_reinjection(&mut self) {
        self.scoreboard.cancel_reinjection();
    }

    /// Data offset of the first data at or after `data` that is in flight here and was not
    /// reinjected.
    pub(crate) fn first_unreinjected(&self, data: u64) -> Option<u64> {
        self.scoreboard.first_unreinjected(data)
    }

    /// Returns a copy of up to `max` bytes of the first such data, for another subflow. If that
    /// ends the segment, the other subflow is responsible for it.
    pub(crate) fn reinject_copy(&mut self, data: u64, max: u64) -> Option<Chunk<P>> {
        self.scoreboard.reinject_copy(data, max)
    }
}
