//! The sending half of a subflow: the queue of what is in flight, the scoreboard over it, loss
//! detection and recovery.
//!
//! With selective acknowledgements this is RFC 6675; without, NewReno (RFC 6582), for which each
//! duplicate acknowledgement stands for one segment that has left the network. The retransmission
//! timer is RFC 6298's. Counters keep `pipe` current, so that no event walks the whole queue.
//!
//! `ack` takes acknowledgements in, `scoreboard` knows each segment in flight, `recovery` sends again,
//! `check` holds the books together. Each of the rest is a switch of [`Config`]: `rack` judges by time
//! instead, `prr` reduces the window bit by bit, `undo` takes a reduction back, `hystart` leaves slow
//! start, `mark` heeds marks, `pace` spaces segments, and `rate` samples for algorithms that ask.

mod ack;
mod check;
mod hystart;
mod loan;
mod mark;
mod pace;
mod prr;
mod rack;
mod rate;
mod recovery;
mod scoreboard;
#[cfg(test)]
mod tests;
mod undo;

use super::rtt::Rtt;
use crate::Config;
use crate::congestion::{Algorithm, CongestionControl, Needs, Window};
use hystart::HyStart;
use pace::Pace;
use prr::Prr;
use rack::{Early, Rack};
use rate::Sampler;
use recovery::Recovery;
use scoreboard::{GIVEN, SACKED, Sent};
use std::collections::VecDeque;
use undo::{Frto, Undo};
use units::{Duration, Instant};
use wire::{Payload, SackBlocks};

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

/// What an acknowledgement did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Acked {
    /// Bytes newly acknowledged in order, the FIN not counted.
    pub(crate) bytes: u64,
    /// Segments that they filled, wholly or in part.
    segments: u32,
    /// The acknowledgement moved forward.
    pub(crate) advanced: bool,
    /// The round trip that it measured.
    rtt: Option<Duration>,
}

/// What else is at work on a subflow: a switch of [`Config`], or what its algorithm asks for.
#[derive(Debug, Clone, Copy)]
struct Uses {
    rack: bool,
    prr: bool,
    pacing: bool,
    samples: bool,
    /// Reductions may be taken back.
    undo: bool,
    /// The window grows by what is newly known to have arrived, and not by all that is acknowledged.
    delivered: bool,
}

/// Send state of one subflow in subflow offsets (see [`crate::seq`]).
#[derive(Debug, Clone)]
pub(crate) struct Sender<P> {
    /// First offset not acknowledged.
    una: u64,
    /// Next offset to be sent.
    next: u64,
    timer: Option<Instant>,
    /// What RACK does before the retransmission timer.
    early: Option<(Instant, Early)>,
    /// Pacing lets nothing go out before.
    release: Option<Instant>,
    uses: Uses,
    sack: bool,
    /// A tail loss probe is to go out now, whatever the window.
    probe_due: bool,
    /// The first retransmission of a recovery goes out whatever the pipe (RFC 6675, section 5, 4.3).
    force: bool,
    rescued: bool,
    repeated_last: bool,
    tells_reduced: bool,
    /// There is a `previous_sack`.
    remembers_sack: bool,
    frto: Frto,
    dup_acks: u32,
    /// Timeouts in a row.
    timeouts: u32,
    recovery: Option<Recovery>,
    sent: VecDeque<Sent<P>>,
    /// Dealt to this subflow, not yet sent.
    queue: VecDeque<Chunk<P>>,
    queued: u64,
    sacked: u64,
    lost: u64,
    retransmitting: u64,
    lost_ever: u64,
    window: Window,
    mss: u64,
    /// The window held data back up to this offset: growth is earned (RFC 9438, section 5.8 and
    /// RFC 7661: a window that is not used says nothing about the path).
    limited_until: u64,
    last_sent: Instant,
    /// Everything below was looked at for loss.
    judged: u64,
    /// Nothing below waits for retransmission.
    retransmit_from: u64,
    rtt: Rtt,
    algorithm: Algorithm,

    highest_sacked: u64,
    previous_sack: SackBlocks,
    initial_window: u64,
    /// When the window was last halved for holding up the connection.
    penalised: Option<Instant>,
    /// Segments sent again, ever.
    retransmissions: u64,
    /// Marks echoed by acknowledgements up to here have been heeded.
    marked_until: u64,
    prr: Prr,
    hystart: HyStart,
    undo: Option<Undo>,
    /// Take back what timestamps and duplicate SACK show to be wrong.
    undoes: bool,
    asks_frto: bool,
    asks_rack: bool,
    /// Pace although the algorithm does not ask for it.
    asks_pacing: bool,
    rack: Rack,
    pace: Pace,
    sampler: Sampler,
}

impl<P: Payload> Sender<P> {
    pub(crate) fn new(config: &Config, mss: u64) -> Self {
        let initial_window = u64::from(config.initial_window) * mss;
        let algorithm = Algorithm::new(config.congestion, config.linux_counting);
        let samples = algorithm.wants_samples();
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
            algorithm,
            mss,
            limited_until: 0,
            sack: config.sack,
            rtt: Rtt::new(config),
            timer: None,
            timeouts: 0,
            last_sent: Instant::ZERO,
            initial_window,
            penalised: None,
            retransmissions: 0,
            lost_ever: 0,
            early: None,
            release: None,
            uses: Uses {
                rack: false,
                prr: config.prr && !samples,
                pacing: config.pacing || samples,
                samples,
                undo: config.undo || config.frto,
                delivered: config.linux_counting,
            },
            probe_due: false,
            remembers_sack: false,
            rack: Rack::new(),
            asks_rack: config.rack,
            prr: Prr::default(),
            hystart: HyStart::new(config.hystart && !samples),
            undo: None,
            undoes: config.undo,
            asks_frto: config.frto,
            frto: Frto::Off,
            marked_until: 0,
            tells_reduced: false,
            repeated_last: false,
            pace: Pace::default(),
            asks_pacing: config.pacing,
            sampler: Sampler::new(),
        }
    }

    /// The handshake settled these.
    pub(crate) fn negotiated(&mut self, mss: u64, sack: bool) {
        self.window.cwnd = self.window.cwnd / self.mss * mss;
        self.initial_window = self.initial_window / self.mss * mss;
        self.mss = mss;
        self.sack = sack;
        self.uses.rack = self.asks_rack && sack;
        self.uses.prr &= sack;
    }

    /// The handshake begins: the SYN takes offset 0.
    pub(crate) fn start(&mut self) {
        self.next = 1;
    }
    /// The SYN was acknowledged.
    pub(crate) fn on_syn_acked(&mut self) {
        self.una = 1;
        self.stop_handshake_timer();
    }
    /// First offset not acknowledged (SND.UNA).
    #[inline]
    pub(crate) fn una(&self) -> u64 {
        self.una
    }
    /// Next offset to be sent (SND.NXT).
    #[inline]
    pub(crate) fn next_offset(&self) -> u64 {
        self.next
    }
    /// Smoothed round-trip time; the initial timeout before the first sample.
    #[inline]
    pub(crate) fn srtt(&self) -> Duration {
        self.rtt.srtt()
    }
    /// Smoothed round-trip time, once measured.
    #[inline]
    pub(crate) fn measured_rtt(&self) -> Option<Duration> {
        self.rtt.measured()
    }
    /// RTTVAR of RFC 6298.
    #[inline]
    pub(crate) fn rtt_variation(&self) -> Duration {
        self.rtt.variation()
    }
    /// Retransmission timeout, with back-off.
    #[inline]
    pub(crate) fn rto(&self) -> Duration {
        self.rtt.rto()
    }
    pub(crate) fn sample_rtt(&mut self, rtt: Duration) {
        self.rtt.sample(rtt);
    }
    /// Doubles the retransmission timeout.
    pub(crate) fn back_off(&mut self) {
        self.rtt.back_off();
    }
    /// Timeouts in a row.
    pub(crate) fn timeouts(&self) -> u32 {
        self.timeouts
    }
    /// Counts a timeout of the handshake. Returns how many came in a row.
    pub(crate) fn count_timeout(&mut self) -> u32 {
        self.timeouts += 1;
        self.timeouts
    }
    pub(crate) fn reset_timeouts(&mut self) {
        self.timeouts = 0;
    }
    /// Segments sent again, ever.
    pub(crate) fn retransmissions(&self) -> u64 {
        self.retransmissions
    }
    /// Starts the retransmission timer.
    pub(crate) fn arm_retransmission_timer(&mut self, now: Instant) {
        self.timer = Some(now + self.rtt.rto());
    }
    pub(crate) fn set_retransmission_timer(&mut self, at: Instant) {
        self.timer = Some(at);
    }
    pub(crate) fn stop_retransmission_timer(&mut self) {
        self.timer = None;
    }
    pub(crate) fn has_retransmission_timer(&self) -> bool {
        self.timer.is_some()
    }
    /// The retransmission timer has expired.
    #[inline]
    pub(crate) fn retransmission_due(&self, now: Instant) -> bool {
        self.timer.is_some_and(|at| at <= now)
    }
    /// The handshake is complete: stops its timer and forgets its timeouts.
    pub(crate) fn stop_handshake_timer(&mut self) {
        self.timer = None;
        self.timeouts = 0;
    }
    pub(crate) fn window(&self) -> Window {
        self.window
    }
    /// An acknowledgement up to `ack` makes the algorithm look at the other subflows.
    pub(crate) fn needs_coupling(&self, ack: u64) -> bool {
        let acked = ack.saturating_sub(self.una);
        acked > 0
            && self.algorithm.needs() != Needs::Nothing
            && self.window.cwnd + acked > self.window.ssthresh
    }
    /// What the algorithm looks at of the other subflows.
    pub(crate) fn coupling_inputs(&self) -> Needs {
        self.algorithm.needs()
    }
    /// Bytes that came through from one loss to the next (see `congestion/olia.rs`).
    pub(crate) fn bytes_between_losses(&self) -> u64 {
        self.algorithm.between_losses(self.una)
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
    pub(crate) fn available_window(&self) -> u64 {
        if self.release.is_some() {
            return 0;
        }
        let room = self.window.cwnd.saturating_sub(self.pipe() + self.queued);
        if self.probe_due { room.max(self.mss.saturating_sub(self.queued)) } else { room }
    }
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        !self.queue.is_empty()
    }
    /// The byte at this data offset is in flight here, or waits to be.
    pub(crate) fn has_data_at(&self, data: u64) -> bool {
        let has = |chunk: &Chunk<P>| chunk.data <= data && data < chunk.end();
        self.sent.iter().any(|sent| has(&sent.chunk)) || self.queue.iter().any(has)
    }
    #[inline]
    pub(crate) fn has_unsent_or_unacked(&self) -> bool {
        !self.queue.is_empty() || !self.sent.is_empty()
    }

    pub(crate) fn enqueue(&mut self, chunk: Chunk<P>) {
        self.queued += chunk.payload.len() as u64;
        self.queue.push_back(chunk);
    }

    /// Deals data that does not follow on what was dealt before: before all that comes later in the
    /// stream, for the receiver waits for it first.
    pub(crate) fn enqueue_in_order(&mut self, chunk: Chunk<P>) {
        self.queued += chunk.payload.len() as u64;
        let before = self.queue.partition_point(|waiting| waiting.data <= chunk.data && !waiting.fin);
        self.queue.insert(before, chunk);
    }

    /// The window has room for `len` more bytes now. A lone segment goes whatever the window, or a
    /// window below it would stop the subflow.
    pub(crate) fn has_window_for(&self, len: u64) -> bool {
        let pipe = self.pipe();
        if self.release.is_some() {
            return false;
        }
        pipe == 0 || pipe + len <= self.window.cwnd || self.probe_due
    }

    /// RFC 5681, section 3.1, with RFC 6298's allowance for a SYN that was late and not lost (as
    /// Linux): the network has shown what it is like before the first window.
    pub(crate) fn start_with_one_segment(&mut self) {
        self.window.cwnd = self.mss;
    }

    /// What could not be sent for want of window: growth of the window is earned from here on.
    pub(crate) fn set_cwnd_limited(&mut self) {
        if self.release.is_none() {
            self.limited_until = self.next;
        }
    }

    /// The next chunk to send for the first time, if the window has room for it.
    pub(crate) fn send_new(&mut self, now: Instant, acked_data: u64) -> Option<(u64, Chunk<P>)> {
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
        if self.pacing_holds(now) {
            return None;
        }
        let len = if front.fin { 1 } else { front.payload.len() as u64 };
        if self.was_idle(now) && !self.uses.samples {
            // RFC 5681, section 4.1: the acknowledgement clock has stopped. A model has its own.
            self.window.cwnd = self.window.cwnd.min(self.initial_window);
        }
        if !front.fin && !self.has_window_for(len) {
            self.set_cwnd_limited();
            return None;
        }
        let chunk = self.queue.pop_front()?;
        self.queued -= chunk.payload.len() as u64;
        Some((self.put_in_flight(now, len, &chunk), chunk))
    }

    /// Nothing waits to be sent for the first time, and no window has lost its worth for want of use: new
    /// data that has [room](Self::available_window) would go out at once.
    #[inline]
    pub(crate) fn can_send_directly(&self, now: Instant) -> bool {
        self.queue.is_empty() && !self.was_idle(now)
    }

    /// Nothing is in flight, and nothing was sent for a retransmission timeout.
    #[inline]
    fn was_idle(&self, now: Instant) -> bool {
        self.una == self.next && now.since(self.last_sent) > self.rtt.rto()
    }

    /// Sends `chunk`, data for which there is room, past the queue, where the sender
    /// [is flowing](Self::can_send_directly). Gives its offset.
    #[inline]
    pub(crate) fn send_directly(&mut self, now: Instant, chunk: &Chunk<P>) -> u64 {
        self.put_in_flight(now, chunk.payload.len() as u64, chunk)
    }

    /// `chunk`, which takes `len` numbers, goes out for the first time, at the offset that this gives.
    #[inline]
    fn put_in_flight(&mut self, now: Instant, len: u64, chunk: &Chunk<P>) -> u64 {
        let offset = self.next;
        self.sent.push_back(Sent { offset, len: len as u32, flags: 0, at: now, chunk: chunk.clone() });
        self.next += len;
        self.last_sent = now;
        if self.sent.len() == 1 || self.timer.is_none() {
            self.timer = Some(now + self.rtt.rto());
        }
        if self.uses.rack {
            if self.probe_due {
                self.probed_with_new();
            }
            self.arm_probe(now);
        }
        if self.uses.prr {
            self.prr.sent(len);
        }
        self.repeated_last = false;
        if self.uses.pacing {
            self.release = self.pace.sent(now, len, self.mss).or(self.release);
        }
        if self.uses.samples {
            self.sampler.sent(now, self.sent.len() == 1);
        }
        offset
    }

    #[inline]
    fn pacing_holds(&self, now: Instant) -> bool {
        self.release.is_some_and(|at| at > now)
    }

    /// Gives what was not delivered, of the data from `from` on, to others: what is in flight, of which
    /// a copy stays here, and is given once; and what waits to be sent, which leaves.
    pub(crate) fn reinject(&mut self, from: u64) -> (Vec<Chunk<P>>, Vec<Chunk<P>>) {
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
    pub(crate) fn cancel_reinjection(&mut self) {
        for sent in &mut self.sent {
            sent.flags &= !GIVEN;
        }
    }
}
