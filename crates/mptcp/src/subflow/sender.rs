//! The sending half of a subflow: the queue of what is in flight, the scoreboard over it, loss
//! detection and recovery.
//!
//! With selective acknowledgements this is RFC 6675; without, NewReno (RFC 6582), for which each
//! duplicate acknowledgement stands for one segment that has left the network. The retransmission
//! timer is RFC 6298's. Counters keep `pipe` current, so that no event walks the whole queue.

use super::rtt::Rtt;
use crate::Config;
use crate::congestion::{Algorithm, CongestionControl, Coupling, View, Window};
use std::collections::VecDeque;
use units::{Duration, Time};
use wire::{Payload, SackBlocks};

/// Duplicate acknowledgements that mean loss (RFC 5681, section 3.2; RFC 6675, section 2).
const DUP_THRESH: u32 = 3;

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// Sent again, and neither acknowledged nor given up since.
const IN_RETRANSMISSION: u8 = 4;
/// Was ever sent again: no round-trip sample from it (Karn).
const REPEATED: u8 = 8;
/// Another subflow has it too, and answers for it.
const GIVEN: u8 = 16;

/// Data on its way, or waiting to be sent, with its place in the connection's data stream.
#[derive(Debug, Clone)]
pub(crate) struct Chunk<P> {
    /// Data offset of the first byte.
    pub(crate) data: u64,
    pub(crate) payload: P,
    /// A FIN of the subflow takes the place of data.
    pub(crate) fin: bool,
}

impl<P: Payload> Chunk<P> {
    /// Data offset after the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.data + self.payload.len() as u64
    }
}

#[derive(Debug, Clone)]
struct Sent<P> {
    offset: u64,
    len: u32,
    flags: u8,
    at: Time,
    chunk: Chunk<P>,
}

impl<P> Sent<P> {
    fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
    fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    /// After duplicate acknowledgements; ends when `point` is acknowledged.
    Fast { point: u64 },
    /// After a timeout.
    Timeout { point: u64 },
}

/// What an acknowledgement did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acked {
    /// Bytes newly acknowledged in order, the FIN not counted.
    pub(crate) bytes: u64,
    /// Segments that they filled, wholly or in part.
    segments: u32,
    /// The acknowledgement moved forward.
    pub(crate) advanced: bool,
}

/// Send state of one subflow in subflow offsets (see [`crate::seq`]).
#[derive(Debug, Clone)]
pub(crate) struct Sender<P> {
    /// First offset not acknowledged.
    pub(crate) una: u64,
    /// Next offset to be sent.
    pub(crate) next: u64,
    /// Dealt to this subflow, not yet sent.
    queue: VecDeque<Chunk<P>>,
    queued: u64,
    sent: VecDeque<Sent<P>>,
    sacked: u64,
    lost: u64,
    retransmitting: u64,
    highest_sacked: u64,
    /// Everything below was looked at for loss.
    judged: u64,
    /// Nothing below waits for retransmission.
    retransmit_from: u64,
    dup_acks: u32,
    recovery: Option<Recovery>,
    /// The first retransmission of a recovery goes out whatever the pipe (RFC 6675, section 5, 4.3).
    force: bool,
    rescued: bool,
    previous_sack: SackBlocks,
    window: Window,
    algorithm: Algorithm,
    mss: u64,
    /// The window held data back up to this offset: growth is earned (RFC 9438, section 5.8 and
    /// RFC 7661: a window that is not used says nothing about the path).
    limited_until: u64,
    sack: bool,
    pub(crate) rtt: Rtt,
    pub(crate) timer: Option<Time>,
    /// Timeouts in a row.
    pub(crate) timeouts: u32,
    last_sent: Time,
    initial_window: u64,
    /// Segments sent again, ever.
    pub(crate) retransmissions: u64,
}

impl<P: Payload> Sender<P> {
    pub(crate) fn new(config: &Config, mss: u64) -> Self {
        let initial_window = u64::from(config.initial_window) * mss;
        Self {
            una: 0,
            next: 0,
            queue: VecDeque::new(),
            queued: 0,
            sent: VecDeque::new(),
            sacked: 0,
            lost: 0,
            retransmitting: 0,
            highest_sacked: 0,
            judged: 0,
            retransmit_from: 0,
            dup_acks: 0,
            recovery: None,
            force: false,
            rescued: false,
            previous_sack: SackBlocks::default(),
            window: Window { cwnd: initial_window, ssthresh: u64::MAX },
            algorithm: Algorithm::new(config.congestion),
            mss,
            limited_until: 0,
            sack: config.sack,
            rtt: Rtt::new(config),
            timer: None,
            timeouts: 0,
            last_sent: Time::ZERO,
            initial_window,
            retransmissions: 0,
        }
    }

    /// The handshake settled these.
    pub(crate) fn negotiated(&mut self, mss: u64, sack: bool) {
        self.window.cwnd = self.window.cwnd / self.mss * mss;
        self.initial_window = self.initial_window / self.mss * mss;
        self.mss = mss;
        self.sack = sack;
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }
    /// An acknowledgement up to `ack` makes the algorithm look at the other subflows.
    pub(crate) fn asks_for_coupling(&self, ack: u64) -> bool {
        let acked = ack.saturating_sub(self.una);
        self.algorithm.is_coupled() && acked > 0 && self.window.cwnd + acked > self.window.ssthresh
    }
    /// The window that coupled increases count: `ssthresh` during recovery (RFC 6356, section 3).
    pub(crate) fn coupled_window(&self) -> u64 {
        if self.recovery.is_some() { self.window.ssthresh } else { self.window.cwnd }
    }
    /// Bytes sent and not acknowledged.
    pub(crate) fn flight(&self) -> u64 {
        self.next - self.una
    }
    /// Bytes believed to be in the network (RFC 6675, section 4).
    pub(crate) fn pipe(&self) -> u64 {
        let gone = self.sacked + self.lost;
        (self.flight() + self.retransmitting).saturating_sub(gone).saturating_sub(self.left_the_network())
    }
    /// Without SACK, what duplicate acknowledgements say has arrived (RFC 5681, section 3.2).
    fn left_the_network(&self) -> u64 {
        if self.sack { 0 } else { u64::from(self.dup_acks) * self.mss }
    }
    /// Bytes dealt and not sent.
    pub(crate) fn queued(&self) -> u64 {
        self.queued
    }
    /// Bytes of window that neither the network nor the queue holds.
    pub(crate) fn room(&self) -> u64 {
        self.window.cwnd.saturating_sub(self.pipe() + self.queued)
    }
    pub(crate) fn has_unsent_or_unacked(&self) -> bool {
        !self.queue.is_empty() || !self.sent.is_empty()
    }

    pub(crate) fn deal(&mut self, chunk: Chunk<P>) {
        self.queued += chunk.payload.len() as u64;
        self.queue.push_back(chunk);
    }

    /// Deals data that does not follow on what was dealt before: before all that comes later in the
    /// stream, for the receiver waits for it first.
    pub(crate) fn deal_in_order(&mut self, chunk: Chunk<P>) {
        self.queued += chunk.payload.len() as u64;
        let before = self.queue.partition_point(|waiting| waiting.data <= chunk.data && !waiting.fin);
        self.queue.insert(before, chunk);
    }

    /// The window has room for `len` more bytes now. A lone segment goes whatever the window, or a
    /// window below it would stop the subflow.
    pub(crate) fn fits(&self, len: u64) -> bool {
        let pipe = self.pipe();
        pipe == 0 || pipe + len <= self.window.cwnd
    }

    /// RFC 5681, section 3.1, with RFC 6298's allowance for a SYN that was late and not lost (as
    /// Linux): the network has shown what it is like before the first window.
    pub(crate) fn start_with_one_segment(&mut self) {
        self.window.cwnd = self.mss;
    }

    /// What could not be sent for want of window: growth of the window is earned from here on.
    pub(crate) fn note_limited(&mut self) {
        self.limited_until = self.next;
    }

    /// The next chunk to send for the first time, if the window has room for it.
    pub(crate) fn send_new(&mut self, now: Time, acked_data: u64) -> Option<(u64, Chunk<P>)> {
        // What another subflow has delivered meanwhile need not be sent here at all.
        while let Some(front) = self.queue.front() {
            let len = front.payload.len() as u64;
            if front.fin || front.data + len > acked_data {
                break;
            }
            self.queued -= len;
            self.queue.pop_front();
        }
        let front = self.queue.front()?;
        let len = if front.fin { 1 } else { front.payload.len() as u64 };
        if self.flight() == 0 && now.since(self.last_sent) > self.rtt.rto() {
            // RFC 5681, section 4.1: the acknowledgement clock has stopped.
            self.window.cwnd = self.window.cwnd.min(self.initial_window);
        }
        if !front.fin && !self.fits(len) {
            self.note_limited();
            return None;
        }
        let chunk = self.queue.pop_front()?;
        self.queued -= chunk.payload.len() as u64;
        let offset = self.next;
        self.sent.push_back(Sent { offset, len: len as u32, flags: 0, at: now, chunk: chunk.clone() });
        self.next += len;
        self.last_sent = now;
        if self.sent.len() == 1 || self.timer.is_none() {
            self.timer = Some(now + self.rtt.rto());
        }
        Some((offset, chunk))
    }

    /// The next chunk to send again, if loss and window ask for one.
    pub(crate) fn retransmit(&mut self, now: Time) -> Option<(u64, Chunk<P>)> {
        if self.lost <= self.retransmitting && !self.force {
            return None;
        }
        let from = self.index_of(self.retransmit_from);
        let found = (from..self.sent.len())
            .take_while(|&i| self.sent[i].offset < self.judged)
            .find(|&i| self.sent[i].flags & (LOST | IN_RETRANSMISSION) == LOST);
        let Some(i) = found else {
            self.retransmit_from = self.judged;
            self.force = false;
            return None;
        };
        self.retransmit_from = self.sent[i].offset;
        if !self.force && self.pipe() > 0 && self.pipe() + u64::from(self.sent[i].len) > self.window.cwnd {
            return None;
        }
        self.force = false;
        Some(self.send_again(now, i))
    }

    /// Where nothing else can be sent in recovery: a hole that is not yet judged lost, or once a
    /// recovery the last segment, to bring more acknowledgements (RFC 6675, section 4, NextSeg 3, 4).
    pub(crate) fn rescue(&mut self, now: Time) -> Option<(u64, Chunk<P>)> {
        let Some(Recovery::Fast { point }) = self.recovery else { return None };
        if !self.sack || self.rescued || self.pipe() + self.mss > self.window.cwnd {
            return None;
        }
        let unsacked = |s: &Sent<P>| s.flags & (SACKED | IN_RETRANSMISSION | LOST) == 0;
        let hole = self.sent.iter().position(|s| unsacked(s) && s.end() <= self.highest_sacked);
        let i = hole.or_else(|| {
            self.rescued = true;
            self.sent.iter().rposition(|s| unsacked(s) && s.end() <= point)
        })?;
        // Taken for lost, so that one copy of it counts as in the network.
        self.sent[i].flags |= LOST;
        self.lost += u64::from(self.sent[i].len);
        Some(self.send_again(now, i))
    }

    fn send_again(&mut self, now: Time, i: usize) -> (u64, Chunk<P>) {
        let sent = &mut self.sent[i];
        sent.flags |= IN_RETRANSMISSION | REPEATED;
        sent.at = now;
        self.retransmitting += u64::from(sent.len);
        self.retransmissions += 1;
        self.last_sent = now;
        let answer = (sent.offset, sent.chunk.clone());
        // RFC 6298, section 5.1 and RFC 6675, section 5, 6: a retransmission of the first hole restarts it.
        if i == 0 || self.timer.is_none() {
            self.timer = Some(now + self.rtt.rto());
        }
        answer
    }

    /// An acknowledgement up to `ack` with these blocks (already turned into offsets). `pure` is one
    /// without data that changes no window: only such a one counts as duplicate (RFC 5681, section 2).
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        ack: u64,
        blocks: &[(u64, u64)],
        pure: bool,
        clock_sample: Option<Duration>,
        coupling: &Coupling,
    ) -> Acked {
        if ack > self.next {
            return Acked::default();
        }
        let flight = self.flight();
        let mut outcome = Acked::default();
        if ack > self.una {
            outcome = self.advance(now, ack, clock_sample);
        }
        if self.sack {
            self.mark_sacked(blocks);
            self.judge_by_sack();
        } else if outcome.advanced {
            self.partial_without_sack(ack, outcome.segments);
        } else if pure && ack == self.una && self.counts_duplicates() {
            self.dup_acks += 1;
            if self.dup_acks == DUP_THRESH && self.recovery.is_none() {
                self.mark_lost_at(0);
            }
        }
        let view = self.view(now, flight);
        match self.recovery {
            Some(Recovery::Fast { point }) if self.una >= point => {
                // RFC 6675, section 5: at the end of recovery the window is ssthresh.
                self.window.cwnd = self.window.ssthresh.max(2 * self.mss);
                self.recovery = None;
            }
            Some(Recovery::Timeout { point }) if self.una >= point => self.recovery = None,
            _ => {}
        }
        let fast = matches!(self.recovery, Some(Recovery::Fast { .. }));
        if outcome.advanced && !fast && self.growth_is_earned(flight) {
            self.algorithm.on_ack(outcome.bytes, &view, coupling, &mut self.window);
        }
        if self.recovery.is_none() && self.lost > 0 {
            self.recovery = Some(Recovery::Fast { point: self.next });
            self.force = true;
            self.rescued = false;
            self.algorithm.on_loss(&view, &mut self.window);
            self.window.cwnd = self.window.ssthresh;
        }
        outcome
    }

    fn view(&self, now: Time, in_flight: u64) -> View {
        let srtt = self.rtt.srtt();
        View { now, mss: self.mss, srtt, in_flight, rtt: None, min_rtt: Duration::MAX }
    }

    /// After a timeout duplicates come of what was sent twice, and say nothing (RFC 6582, section 4).
    fn counts_duplicates(&self) -> bool {
        !self.sent.is_empty() && !matches!(self.recovery, Some(Recovery::Timeout { .. }))
    }

    /// Slow start grows while half the window is used, congestion avoidance while it holds data back.
    fn growth_is_earned(&self, flight: u64) -> bool {
        if self.window.in_slow_start() && 2 * flight >= self.window.cwnd {
            return true;
        }
        self.una <= self.limited_until
    }

    fn advance(&mut self, now: Time, ack: u64, clock_sample: Option<Duration>) -> Acked {
        let mut acked = ack - self.una;
        let mut segments = 0;
        let mut sample = None;
        while let Some(front) = self.sent.front_mut() {
            if front.offset >= ack {
                break;
            }
            segments += 1;
            let whole = front.end() <= ack;
            let len = if whole { u64::from(front.len) } else { ack - front.offset };
            if front.is(SACKED) {
                self.sacked -= len;
            }
            if front.is(LOST) {
                self.lost -= len;
            }
            if front.is(IN_RETRANSMISSION) {
                self.retransmitting -= len;
            }
            if whole {
                if !front.is(REPEATED) && !front.is(SACKED) {
                    sample = Some(now.since(front.at));
                }
                if front.chunk.fin {
                    acked -= 1;
                }
                self.sent.pop_front();
            } else {
                let rest = front.chunk.payload.slice(len as usize, front.len as usize);
                front.chunk.payload = rest;
                front.chunk.data += len;
                front.offset = ack;
                front.len -= len as u32;
                break;
            }
        }
        if self.una == 0 {
            // The SYN: not data, and its round trip is sampled by the handshake.
            acked -= 1;
        }
        self.una = ack;
        self.judged = self.judged.max(ack);
        self.retransmit_from = self.retransmit_from.max(ack);
        if let Some(rtt) = sample.or(clock_sample) {
            self.rtt.sample(rtt);
        }
        self.timeouts = 0;
        // RFC 6298, sections 5.2 and 5.3.
        self.timer = (!self.sent.is_empty()).then(|| now + self.rtt.rto());
        Acked { bytes: acked, segments, advanced: true }
    }

    fn mark_sacked(&mut self, blocks: &[(u64, u64)]) {
        let previous = self.previous_sack;
        let mut remembered = SackBlocks::default();
        for &(left, right) in blocks {
            if right > self.next || left >= right || right <= self.una {
                continue;
            }
            remembered.push(left as u32, right as u32);
            // A block mostly repeats one of the acknowledgement before, grown at its right.
            let known = previous.as_slice().iter().find(|&&(l, r)| l == left as u32 && r <= right as u32);
            let from = known.map_or(left, |&(l, r)| left + u64::from(r.wrapping_sub(l)));
            self.mark_range(left, from.max(self.una), right);
        }
        self.previous_sack = remembered;
    }

    /// Marks what lies whole within `[left, right)`; up to `from` it has been done before.
    fn mark_range(&mut self, left: u64, from: u64, right: u64) {
        let from = self.sent.partition_point(|s| s.end() <= from);
        for sent in self.sent.range_mut(from..) {
            if sent.end() > right {
                break;
            }
            if sent.offset < left || sent.is(SACKED) {
                continue;
            }
            let len = u64::from(sent.len);
            if sent.is(LOST) {
                self.lost -= len;
            }
            if sent.is(IN_RETRANSMISSION) {
                self.retransmitting -= len;
            }
            sent.flags = (sent.flags & (REPEATED | GIVEN)) | SACKED;
            self.sacked += len;
            self.highest_sacked = self.highest_sacked.max(sent.end());
        }
    }

    /// IsLost of RFC 6675, section 4: three segments, or more than two full ones in bytes, were
    /// selectively acknowledged above.
    fn judge_by_sack(&mut self) {
        if self.sacked == 0 || self.highest_sacked <= self.judged {
            return;
        }
        let mut i = self.index_of(self.highest_sacked);
        let (mut segments, mut bytes) = (0, 0);
        while i > 0 {
            i -= 1;
            let sent = &self.sent[i];
            if sent.end() <= self.judged {
                return;
            }
            if sent.is(SACKED) {
                segments += 1;
                bytes += u64::from(sent.len);
            } else if segments >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * self.mss {
                break;
            }
            if i == 0 {
                return;
            }
        }
        let edge = self.sent[i].end();
        let first = self.index_of(self.judged);
        for at in first..=i {
            self.mark_lost_at(at);
        }
        self.judged = self.judged.max(edge);
    }

    fn mark_lost_at(&mut self, i: usize) {
        let Some(sent) = self.sent.get_mut(i) else { return };
        if sent.flags & (SACKED | LOST) == 0 {
            let len = u64::from(sent.len);
            sent.flags |= LOST;
            self.lost += len;
        }
        self.judged = self.judged.max(sent.end());
    }

    /// NewReno, RFC 6582, section 3.2, step 3: a partial acknowledgement means that the next segment
    /// is lost too. Of the `segments` acknowledged all but the retransmitted one had been counted as
    /// duplicates when they arrived.
    fn partial_without_sack(&mut self, ack: u64, segments: u32) {
        match self.recovery {
            Some(Recovery::Fast { point }) if ack < point => {
                self.dup_acks = self.dup_acks.saturating_sub(segments.saturating_sub(1));
                self.mark_lost_at(0);
            }
            _ => self.dup_acks = 0,
        }
    }

    /// The retransmission timer expired: everything in flight counts as lost (RFC 6298, section 5.4
    /// to 5.6; RFC 5681, Eq. 4 and section 3.1).
    pub(crate) fn on_timeout(&mut self, now: Time) {
        let view = self.view(now, self.flight());
        if !matches!(self.recovery, Some(Recovery::Timeout { .. })) {
            self.algorithm.on_timeout(&view, &mut self.window);
        }
        self.window.cwnd = self.mss;
        self.timeouts += 1;
        self.rtt.back_off();
        self.recovery = Some(Recovery::Timeout { point: self.next });
        self.dup_acks = 0;
        // Had the first hole arrived, it would have been acknowledged: the receiver has thrown away
        // what it said to have (RFC 2018, section 8).
        let reneged = self.sent.front().is_some_and(|first| first.is(SACKED));
        if reneged {
            self.sacked = 0;
            self.previous_sack = SackBlocks::default();
        }
        self.lost = 0;
        self.retransmitting = 0;
        for sent in &mut self.sent {
            if reneged || !sent.is(SACKED) {
                sent.flags = (sent.flags & (REPEATED | GIVEN)) | LOST;
                self.lost += u64::from(sent.len);
            }
        }
        self.judged = self.next;
        self.retransmit_from = self.una;
        self.force = true;
        self.timer = (!self.sent.is_empty()).then(|| now + self.rtt.rto());
    }

    fn index_of(&self, offset: u64) -> usize {
        self.sent.partition_point(|s| s.offset < offset)
    }

    /// Gives what was not delivered, of the data from `from` on, to others: what is in flight, of which
    /// a copy stays here, and is given once; and what waits to be sent, which leaves.
    pub(crate) fn give_away(&mut self, from: u64) -> (Vec<Chunk<P>>, Vec<Chunk<P>>) {
        let mut given = Vec::new();
        for sent in &mut self.sent {
            if !sent.chunk.fin && !sent.is(SACKED | GIVEN) && sent.chunk.end() > from {
                sent.flags |= GIVEN;
                given.push(sent.chunk.clone());
            }
        }
        // The FIN is this subflow's own, and the last.
        let data = self.queue.len() - usize::from(self.queue.back().is_some_and(|last| last.fin));
        let unsent = self.queue.drain(..data).filter(|chunk| chunk.end() > from).collect();
        self.queued = 0;
        (given, unsent)
    }

    /// Nobody else has what was given away after all.
    pub(crate) fn take_back(&mut self) {
        for sent in &mut self.sent {
            sent.flags &= !GIVEN;
        }
    }

    /// What must hold at any time: the counters are those of the queue.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let held = |condition: bool, what| if condition { Ok(()) } else { Err(what) };
        let sum = |flag| self.sent.iter().filter(|s| s.is(flag)).map(|s| u64::from(s.len)).sum::<u64>();
        held(self.sacked == sum(SACKED), "sacked bytes miscounted")?;
        held(self.lost == sum(LOST), "lost bytes miscounted")?;
        held(self.retransmitting == sum(IN_RETRANSMISSION), "retransmitted bytes miscounted")?;
        held(self.queued == self.queue.iter().map(|c| c.payload.len() as u64).sum(), "queue miscounted")?;
        let mut at = self.una;
        for sent in &self.sent {
            held(sent.offset == at && sent.len > 0, "a hole in what is in flight")?;
            let len = if sent.chunk.fin { 1 } else { sent.chunk.payload.len() as u64 };
            held(len == u64::from(sent.len), "a segment is not as long as its payload")?;
            held(!(sent.is(SACKED) && sent.is(LOST)), "delivered and lost")?;
            held(!sent.is(IN_RETRANSMISSION) || sent.is(LOST), "sent again and not lost")?;
            at = sent.end();
        }
        // The SYN is not kept here.
        held(at == self.next || self.sent.is_empty() && self.next == 1, "flight does not end at next")?;
        held(self.sacked + self.lost <= self.flight(), "more gone than there was")
    }
}

#[cfg(test)]
mod tests;
