//! Send half of a subflow: the segments in flight, loss detection and recovery.
//!
//! [`Sender`] combines parts with private state. [`Scoreboard`] holds the segments in flight,
//! `SendQueue` the data before them, `CongestionWindow` the window and its algorithm. Loss is
//! found by SACK (RFC 6675), by RACK-TLP (RFC 8985), or without SACK as in NewReno (RFC 6582).
//! `transmit` sends, `ack` handles acknowledgements, `recovery` handles timers and the phases of
//! recovery.

mod ack;
mod cwnd;
mod ecn;
mod hystart;
mod hystart_original;
mod pacer;
mod prr;
mod queue;
mod rack;
mod rate;
mod rate_control;
mod recovery;
mod scoreboard;
mod tail_probe;
#[cfg(test)]
mod tests;
mod timers;
mod transmit;
mod undo;

pub(crate) use ack::Acknowledgement;
pub(crate) use queue::{Chunk, Cut};

use super::rtt::Rtt;
use crate::Config;
use crate::congestion::{SubflowView, Window};
use crate::log::Log;
use cwnd::CongestionWindow;
use ecn::EcnState;
use pacer::Pacer;
use prr::Prr;
use queue::SendQueue;
use rack::Rack;
use rate::RateSampler;
use recovery::{Phase, Recovery};
use scoreboard::Scoreboard;
use tail_probe::TailProbe;
use timers::{Timer, TimerTable};
use undo::Undo;
use units::{Duration, Instant};
use wire::Payload;

/// Mechanisms in use: switches of [`Config`], and requirements of the congestion control.
#[derive(Debug, Clone, Copy)]
struct Features {
    sack: bool,
    prr: bool,
    pacing: bool,
    /// Reductions may be undone.
    undo: bool,
    /// The window grows by bytes newly delivered, not by all bytes acknowledged.
    count_delivered: bool,
}

/// Send state of one subflow, in subflow offsets (see [`crate::seq`]).
#[derive(Debug, Clone)]
pub(crate) struct Sender<P> {
    features: Features,
    mss: u64,
    scoreboard: Scoreboard<P>,
    queue: SendQueue<P>,
    timers: TimerTable,
    cwnd: CongestionWindow,
    rtt: Rtt,
    recovery: Recovery,
    /// Loss detection by time, if it is on.
    rack: Option<Box<Rack>>,
    tail_probe: TailProbe,
    prr: Prr,
    undo: Undo,
    ecn: EcnState,
    /// Spacing of segments, if it has ever been on.
    pacer: Option<Box<Pacer>>,
    /// Delivery rate samples, if the congestion control takes them.
    sampler: Option<Box<RateSampler>>,
    last_sent: Instant,
    last_was_retransmission: bool,
    /// Segments sent again, ever.
    retransmissions: u64,
    /// Span of the log entries.
    log: Log,
}

/// Construction and the handshake.
impl<P: Payload> Sender<P> {
    pub(crate) fn new(config: &Config, mss: u64, log: Log) -> Self {
        let cwnd = CongestionWindow::new(config, mss);
        let rate_samples = cwnd.uses_rate_samples();
        Self {
            features: Features {
                sack: config.sack,
                prr: config.prr && !rate_samples,
                pacing: config.pacing || rate_samples,
                undo: config.undo || config.frto,
                count_delivered: config.linux_counting,
            },
            mss,
            scoreboard: Scoreboard::new(),
            queue: SendQueue::new(),
            timers: TimerTable::new(),
            cwnd,
            rtt: Rtt::new(config),
            recovery: Recovery::default(),
            rack: config.rack.then(|| Box::new(Rack::new())),
            tail_probe: TailProbe::default(),
            prr: Prr::default(),
            undo: Undo::new(config),
            ecn: EcnState::default(),
            pacer: (config.pacing || rate_samples).then(|| Box::new(Pacer::new(config.pacing))),
            sampler: rate_samples.then(|| Box::new(RateSampler::new())),
            last_sent: Instant::ZERO,
            last_was_retransmission: false,
            retransmissions: 0,
            log,
        }
    }

    /// Applies the options that the handshake has negotiated.
    pub(crate) fn negotiated(&mut self, mss: u64, sack: bool) {
        self.cwnd.rescale(self.mss, mss);
        self.mss = mss;
        self.features.sack = sack;
        self.features.prr &= sack;
        self.rack = self.rack.take().filter(|_| sack);
    }

    /// The handshake begins: the SYN takes offset 0.
    pub(crate) fn start(&mut self) {
        self.scoreboard.on_syn_sent();
    }
    /// The SYN was acknowledged.
    pub(crate) fn on_syn_acked(&mut self) {
        self.scoreboard.on_syn_acked();
        self.stop_handshake_timer();
    }
    /// The handshake is complete: stops its timer and forgets its timeouts.
    pub(crate) fn stop_handshake_timer(&mut self) {
        self.timers.stop(Timer::Retransmission);
        self.reset_timeouts();
    }
    /// The SYN was lost: the initial window is one segment (RFC 5681, section 3.1). A SYN that was
    /// only late is allowed for, as in RFC 6298 and Linux.
    pub(crate) fn start_with_one_segment(&mut self) {
        self.cwnd.set_cwnd(self.mss);
    }
    /// The subflow has ended: drops its data and the state of each segment.
    pub(crate) fn discard_data(&mut self) {
        self.scoreboard.discard();
        self.queue = SendQueue::new();
        self.rack = None;
        self.sampler = None;
    }
}

/// State.
impl<P: Payload> Sender<P> {
    /// First offset not acknowledged (SND.UNA).
    #[inline]
    pub(crate) fn una(&self) -> u64 {
        self.scoreboard.una()
    }
    /// Next offset to be sent (SND.NXT).
    #[inline]
    pub(crate) fn next_offset(&self) -> u64 {
        self.scoreboard.next()
    }
    /// Bytes sent and not acknowledged.
    #[inline]
    pub(crate) fn flight(&self) -> u64 {
        self.scoreboard.flight()
    }
    /// Bytes believed to be in the network (RFC 6675, section 4). Without SACK each duplicate
    /// acknowledgement stands for a segment that has left it (RFC 5681, section 3.2).
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        let left = if self.features.sack { 0 } else { self.recovery.duplicates() * self.mss };
        self.scoreboard.pipe().saturating_sub(left)
    }
    /// Bytes assigned to the subflow and not sent.
    #[inline]
    pub(crate) fn queued(&self) -> u64 {
        self.queue.bytes()
    }
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        !self.queue.is_empty()
    }
    #[inline]
    pub(crate) fn has_unsent_or_unacked(&self) -> bool {
        !self.queue.is_empty() || !self.scoreboard.is_empty()
    }
    /// The byte at this data offset is in flight or queued here.
    pub(crate) fn has_data_at(&self, data: u64) -> bool {
        self.scoreboard.contains(data) || self.queue.contains(data)
    }
    /// Ranges of data offsets that are in flight or queued here.
    pub(crate) fn data_ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let in_flight = self.scoreboard.iter().map(|sent| &sent.chunk);
        in_flight.chain(self.queue.iter()).map(|chunk| (chunk.data, chunk.end()))
    }
    #[inline]
    pub(crate) fn window(&self) -> Window {
        self.cwnd.window()
    }
    /// The last segment sent was a retransmission: it must not be ECN-capable (RFC 3168, section
    /// 6.1.5).
    pub(crate) fn last_was_retransmission(&self) -> bool {
        self.last_was_retransmission
    }
    /// Segments sent again, ever.
    pub(crate) fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// Smoothed round-trip time; the timeout before the first sample.
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
    /// Sets the retransmission timeout of the first data after a repeated SYN.
    pub(crate) fn reset_rto_after_lost_syn(&mut self) {
        self.rtt.reset_after_lost_syn();
    }

    /// An acknowledgement up to `ack` will grow the window by a coupled increase.
    pub(crate) fn needs_coupling(&self, ack: u64) -> bool {
        self.cwnd.needs_coupling(ack.saturating_sub(self.una()))
    }
    /// Value that the algorithm shares with those of the other subflows.
    pub(crate) fn shared_value(&self) -> u64 {
        self.cwnd.shared_value(self.una())
    }
    /// The window for coupled increases: `ssthresh` during fast recovery (RFC 6356, section 3). After
    /// a timeout the window itself counts, which is small while the path is silent.
    pub(crate) fn coupled_window(&self) -> u64 {
        if self.recovery.is_fast() { self.cwnd.ssthresh() } else { self.cwnd.cwnd() }
    }
    /// The window at the end of the present recovery.
    pub(crate) fn window_after_recovery(&self) -> u64 {
        if self.recovery.is_active() { self.cwnd.ssthresh() } else { self.cwnd.cwnd() }
    }

    fn view(&self, now: Instant, in_flight: u64, rtt: Option<Duration>) -> SubflowView {
        SubflowView {
            now,
            mss: self.mss,
            srtt: self.rtt.srtt(),
            in_flight,
            rtt,
            min_rtt: self.rtt.min(),
            una: self.una(),
            recovering: self.recovery.is_active(),
        }
    }

    /// Checks the invariants of the parts; for tests.
    pub(crate) fn check_invariants(&self) -> Result<(), &'static str> {
        let ensure = |condition: bool, error| if condition { Ok(()) } else { Err(error) };
        self.scoreboard.check_invariants()?;
        self.queue.check_invariants()?;
        let [reordering, probe, retransmission] =
            [Timer::Reordering, Timer::TailProbe, Timer::Retransmission].map(|t| self.timers.expiry(t));
        if let Some(rack) = &self.rack {
            rack.check_invariants(&self.scoreboard)?;
        } else {
            let idle = reordering == Instant::MAX && probe == Instant::MAX;
            ensure(idle, "RACK is disabled but active")?;
        }
        if probe != Instant::MAX {
            ensure(reordering == Instant::MAX, "tail probe and reordering timer run together")?;
            let running = retransmission != Instant::MAX;
            ensure(running && probe <= retransmission, "tail probe after the retransmission timer")?;
            ensure(!self.recovery.is_fast(), "tail probe in fast recovery")?;
        }
        let stamped = self.sampler.as_ref().is_none_or(|sampler| sampler.len() == self.scoreboard.len());
        ensure(stamped, "a segment without a rate sample stamp")?;
        let in_timeout = matches!(self.recovery.phase(), Some(Phase::Timeout { .. }));
        ensure(in_timeout || self.undo.frto_is_off(), "F-RTO runs outside timeout recovery")
    }
}
