//! Sending half of the data level: send buffer, scheduling, reinjection and the DATA_FIN.
//!
//! Positions are data offsets: the first byte of the stream is 1. The subflows carry the data;
//! their retransmissions and windows are not this module's concern.

mod active_scheduler;
mod buffer;
mod reinjection;
mod repair;
mod scheduling;

use reinjection::Reinjection;
pub(super) use repair::RepairState;
pub(super) use scheduling::FastPath;

use super::timers::{Timer, TimerTable};
use crate::rec::Observed;
use crate::rec::collector::Collector;
use crate::scheduler::{Candidate, Offload};
use crate::subflow::Subflow;
use crate::{Config, PathId};
use active_scheduler::ActiveScheduler;
use buffer::SendBuffer;
use intervals::IntervalSet;
use repair::Repair;
use std::collections::VecDeque;
use units::{Duration, Instant};
use wire::Payload;

/// Largest exponent of the backoff of a DATA_FIN.
const MAX_DATA_FIN_BACKOFF: u32 = 6;
/// Largest exponent of the backoff of a window probe.
const MAX_PROBE_BACKOFF: u32 = 10;
/// Window probes before a probe counts as unanswered: while the window stays closed, an answer
/// changes nothing.
const PROBES_BEFORE_SWITCH: u32 = 4;

/// Data beyond the DATA_ACK that the peer holds (MPTCP-rec).
#[derive(Debug, Clone, Default)]
struct PeerHeld {
    ranges: IntervalSet,
    /// The peer keeps it for good, so the send buffer frees it (non-renegable SACK).
    frees: bool,
}

/// Data that was written and not acknowledged at data level, and its assignment to subflows.
#[derive(Debug, Clone)]
pub(super) struct DataSender<P> {
    /// First data offset not acknowledged.
    una: u64,
    /// First data offset not assigned to a subflow.
    next: u64,
    /// The peer accepts data before this offset.
    window_end: u64,
    buffer: SendBuffer<P>,
    scheduler: ActiveScheduler,
    /// Kept between calls so that scheduling does not allocate.
    candidates: Vec<Candidate>,
    reinjections: VecDeque<Reinjection<P>>,
    /// Everything before this offset was considered for opportunistic retransmission.
    opportunistic_next: u64,
    /// Payload bytes assigned to a second subflow.
    reinjected_bytes: u64,
    /// Data beyond the DATA_ACK that the peer holds, with MPTCP-rec.
    peer_held: Option<Box<PeerHeld>>,
    /// The application has closed the stream.
    closed: bool,
    /// Data offset of the DATA_FIN, once assigned.
    data_fin: Option<u64>,
    data_fin_pending: bool,
    data_fin_tries: u32,
    probe_pending: bool,
    probe_tries: u32,
    repair: Repair,
}

impl<P: Payload> DataSender<P> {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            una: 1,
            next: 1,
            window_end: 1,
            buffer: SendBuffer::new(),
            scheduler: ActiveScheduler::new(&config.scheduler),
            candidates: Vec::new(),
            reinjections: VecDeque::new(),
            opportunistic_next: 1,
            reinjected_bytes: 0,
            peer_held: None,
            closed: false,
            data_fin: None,
            data_fin_pending: false,
            data_fin_tries: 0,
            probe_pending: false,
            probe_tries: 0,
            repair: Repair::default(),
        }
    }

    /// Appends up to `space` bytes of `data`; returns how many.
    pub(super) fn write(&mut self, data: &P, space: u64) -> usize {
        let taken = (data.len() as u64).min(space) as usize;
        if taken > 0 {
            self.buffer.push(if taken == data.len() { data.clone() } else { data.slice(0, taken) });
        }
        taken
    }

    /// Free space in the send buffer of at most `config.send_buffer` bytes, and in the subflow's own buffer
    /// if the scheduler assigns data by shares.
    pub(super) fn write_space(&self, subflows: &[Subflow<P>], config: &Config) -> u64 {
        // The acknowledgement of a DATA_FIN lies one beyond the data.
        let unacked = self.buffer.end().saturating_sub(self.una).saturating_sub(self.freed_bytes());
        let limit = self.scheduler.write_limit().map_or(config.send_buffer, |l| l.min(config.send_buffer));
        let space = limit.saturating_sub(unacked);
        match self.next_path_by_share(subflows, config) {
            Some(path) => {
                let sender = subflows[path.index()].sender();
                let unscheduled = self.buffer.end() - self.next;
                let used = sender.flight() + sender.queued() + unscheduled;
                space.min(config.subflow_buffer.saturating_sub(used))
            }
            None => space,
        }
    }

    /// First data offset not acknowledged.
    #[inline]
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    /// First data offset not assigned to a subflow.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Offset after the last byte written.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.buffer.end()
    }

    /// First data offset not sent or assigned to a subflow; a DATA_FIN counts as one.
    #[inline]
    pub(super) fn sent_end(&self) -> u64 {
        self.next + u64::from(self.data_fin.is_some())
    }

    /// Data was assigned to subflows and not acknowledged at data level.
    #[inline]
    pub(super) fn has_outstanding(&self) -> bool {
        self.una < self.next
    }

    /// Data was written and not acknowledged, or waits for reinjection.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.closed || self.una < self.buffer.end() || !self.reinjections.is_empty()
    }

    /// Payload bytes assigned to a second subflow.
    pub(super) fn reinjected_bytes(&self) -> u64 {
        self.reinjected_bytes
    }

    /// The peer accepts data before this offset.
    #[inline]
    pub(super) fn window_end(&self) -> u64 {
        self.window_end
    }

    /// Advances the first unacknowledged offset. Returns true if it moved.
    #[inline]
    pub(super) fn acknowledge(&mut self, ack: u64) -> bool {
        if ack <= self.una {
            return false;
        }
        self.una = ack;
        self.buffer.release(ack.min(self.buffer.end()));
        if let Some(held) = &mut self.peer_held {
            held.ranges.remove_below(ack);
        }
        self.probe_tries = 0;
        true
    }

    /// Moves the right edge of the send window to `end`. It never moves back (RFC 8684, section
    /// 3.3.1). Returns true if it moved.
    #[inline]
    pub(super) fn widen_window(&mut self, end: u64, timers: &mut TimerTable) -> bool {
        if end <= self.window_end {
            return false;
        }
        self.window_end = end;
        timers.stop(Timer::WindowProbe);
        self.probe_tries = 0;
        true
    }

    /// The subflow over `path` has ended.
    pub(super) fn on_subflow_ended(&mut self, path: PathId) {
        self.scheduler.on_subflow_ended(path);
    }

    /// Sets the target shares of the paths.
    pub(super) fn set_shares(&mut self, shares: &[f64]) {
        self.scheduler.set_shares(shares);
    }

    /// Sets or removes the rule that moves data off costly paths.
    pub(super) fn set_offload(&mut self, rule: Option<Offload>) {
        self.scheduler.set_offload(rule);
    }

    pub(super) fn check(&self) -> Result<(), &'static str> {
        let ensure = |holds: bool, message| if holds { Ok(()) } else { Err(message) };
        ensure(self.una <= self.sent_end(), "acknowledged more than was sent")?;
        ensure(self.next <= self.buffer.end(), "scheduled more than was written")?;
        ensure(self.next <= self.window_end.max(1), "scheduled beyond the peer's window")
    }
}

/// DATA_FIN and window probes.
impl<P: Payload> DataSender<P> {
    /// Ends the stream after the data written so far.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// The application has closed the stream.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The stream is closed and all of it was assigned to subflows.
    pub(super) fn is_finished(&self) -> bool {
        self.closed && self.next == self.buffer.end() && self.reinjections.is_empty()
    }

    /// Assigns the DATA_FIN its offset. Returns false if it had one.
    pub(super) fn assign_data_fin(&mut self) -> bool {
        let first = self.data_fin.is_none();
        self.data_fin.get_or_insert(self.buffer.end());
        first
    }

    /// Data offset of the DATA_FIN, once assigned.
    #[inline]
    pub(super) fn data_fin(&self) -> Option<u64> {
        self.data_fin
    }

    /// The peer has acknowledged the DATA_FIN.
    #[inline]
    pub(super) fn data_fin_acked(&self) -> bool {
        self.data_fin.is_some_and(|fin| self.una > fin)
    }

    /// The DATA_FIN was assigned and not acknowledged.
    pub(super) fn data_fin_outstanding(&self) -> bool {
        self.data_fin.is_some_and(|fin| self.una <= fin)
    }

    pub(super) fn data_fin_tries(&self) -> u32 {
        self.data_fin_tries
    }

    pub(super) fn probe_tries(&self) -> u32 {
        self.probe_tries
    }

    /// Sends the DATA_FIN at the next opportunity, and starts its retransmission timer.
    pub(super) fn request_data_fin(
        &mut self,
        now: Instant,
        subflows: &[Subflow<P>],
        config: &Config,
        timers: &mut TimerTable,
    ) {
        self.data_fin_pending = true;
        // A silent subflow has backed off, while another may answer at once.
        let longest = |silent: bool| {
            let waited_for = subflows.iter().filter(|s| s.is_open() && (silent || !is_silent(s)));
            waited_for.map(|s| s.sender().rto()).max()
        };
        let rto = longest(false).or_else(|| longest(true));
        let backoff = self.data_fin_tries.min(MAX_DATA_FIN_BACKOFF);
        let wait = rto.unwrap_or(config.initial_rto) * (1 << backoff);
        timers.set(Timer::DataFin, now + wait.min(config.max_rto));
        self.data_fin_tries += 1;
    }

    /// Sends no DATA_FIN from here on, as in plain TCP.
    pub(super) fn cancel_data_fin(&mut self, timers: &mut TimerTable) {
        timers.stop(Timer::DataFin);
        self.data_fin_pending = false;
    }

    /// Sends a window probe at the next opportunity.
    pub(super) fn request_probe(&mut self) {
        self.probe_pending = true;
    }

    /// Starts the timer of the next window probe if the peer's window is closed (RFC 9293, section
    /// 3.8.6.1).
    pub(super) fn arm_probe(
        &mut self,
        now: Instant,
        subflows: &[Subflow<P>],
        config: &Config,
        timers: &mut TimerTable,
    ) {
        if timers.is_set(Timer::WindowProbe) || self.window_end > self.next {
            return;
        }
        let established = subflows.iter().filter(|s| s.is_established());
        let rto: Option<Duration> = established.map(|s| s.sender().rto()).min();
        let backoff = self.probe_tries.min(MAX_PROBE_BACKOFF);
        let wait = rto.unwrap_or(config.initial_rto) * (1 << backoff);
        self.probe_tries += 1;
        timers.set(Timer::WindowProbe, now + wait.min(config.max_rto));
    }

    /// A DATA_FIN or a window probe waits to be sent.
    #[inline]
    pub(super) fn has_pending_control(&self) -> bool {
        self.data_fin_pending || self.probe_pending
    }

    /// Chooses the subflow for a pending DATA_FIN or window probe: the best one first, then the
    /// next best after each unanswered attempt. An idle path may be dead without anyone noticing.
    pub(super) fn pending_control_subflow(&self, subflows: &[Subflow<P>]) -> Option<usize> {
        let unanswered = match (self.data_fin_pending, self.probe_pending) {
            (true, _) => self.data_fin_tries.saturating_sub(1),
            (false, true) => self.probe_tries.saturating_sub(PROBES_BEFORE_SWITCH),
            (false, false) => return None,
        };
        let usable = || (0..subflows.len()).filter(|&i| subflows[i].is_established());
        let preference = |i: usize| {
            let subflow = &subflows[i];
            (is_silent(subflow), subflow.is_backup(), subflow.sender().srtt(), i)
        };
        let place = (unanswered as usize).checked_rem(usable().count())?;
        usable().find(|&i| usable().filter(|&j| preference(j) < preference(i)).count() == place)
    }

    /// Takes the pending DATA_FIN, or else the pending window probe. Returns true for a DATA_FIN.
    pub(super) fn take_pending_data_fin(&mut self) -> bool {
        if self.data_fin_pending {
            self.data_fin_pending = false;
            true
        } else {
            self.probe_pending = false;
            false
        }
    }

    /// Sends nothing more: the connection has ended.
    pub(super) fn stop(&mut self) {
        self.data_fin_pending = false;
        self.probe_pending = false;
        self.reinjections.clear();
    }
}

/// Data that the peer holds beyond its DATA_ACK (MPTCP-rec).
impl<P: Payload> DataSender<P> {
    /// Frees data that the peer reports as held for good, if `enabled`.
    pub(super) fn set_frees_peer_held(&mut self, enabled: bool) {
        self.peer_held.get_or_insert_default().frees = enabled;
    }

    /// Records that the peer holds `len` bytes, `ahead` bytes after its DATA_ACK `base`. Returns
    /// true if that freed part of the send buffer.
    pub(super) fn record_peer_held(&mut self, base: u64, ahead: u32, len: u32) -> bool {
        let from = base + u64::from(ahead);
        let to = from + u64::from(len);
        // A range at the DATA_ACK itself would have been acknowledged.
        if ahead == 0 || to > self.next || from <= self.una {
            return false;
        }
        let held = self.peer_held.get_or_insert_default();
        let frees = held.ranges.insert(from, to) && held.frees;
        if frees {
            self.buffer.release_within(from, to);
        }
        frees
    }

    /// Drops the part of the ranges held by the peer that the DATA_ACK covers.
    pub(super) fn trim_peer_held(&mut self) {
        if let Some(held) = &mut self.peer_held {
            held.ranges.remove_below(self.una);
        }
    }

    /// Forgets all ranges that the peer holds.
    pub(super) fn clear_peer_held(&mut self) {
        self.peer_held = None;
    }

    /// Bytes beyond the DATA_ACK that the peer holds.
    pub(super) fn peer_held_bytes(&self) -> u64 {
        self.peer_held.as_ref().map_or(0, |held| held.ranges.len())
    }

    /// Bytes beyond the DATA_ACK that were freed.
    fn freed_bytes(&self) -> u64 {
        self.peer_held.as_ref().filter(|held| held.frees).map_or(0, |held| held.ranges.len())
    }

    /// End of the freed range that contains `offset`, if there is one.
    fn freed_end(&self, offset: u64) -> Option<u64> {
        self.peer_held.as_ref().filter(|held| held.frees)?.ranges.end_of(offset)
    }

    /// Lets MPTCP-rec choose the paths.
    pub(super) fn use_collector(&mut self, collector: Collector) {
        self.scheduler.use_collector(collector);
    }

    /// Returns to the configured scheduler if MPTCP-rec chose the paths.
    pub(super) fn stop_collector(&mut self, config: &Config) {
        if self.scheduler.collector().is_some() {
            self.scheduler.restore(&config.scheduler);
        }
    }

    /// MPTCP-rec's scheduler, if it chooses the paths.
    pub(super) fn collector(&mut self) -> Option<&mut Collector> {
        self.scheduler.collector()
    }

    /// Send window in bytes from the DATA_ACK.
    pub(super) fn window(&self) -> u64 {
        self.window_end.saturating_sub(self.una)
    }

    /// Gives MPTCP-rec's scheduler an observation of the peer's receive buffer, of which `total`
    /// bytes is the largest window seen. Returns false without that scheduler.
    pub(super) fn observe_peer_buffer(&mut self, now: Instant, total: u64, subflows: &[Subflow<P>]) -> bool {
        let (window, held) = (self.window(), self.peer_held_bytes());
        let Some(collector) = self.scheduler.collector() else { return false };
        let free = match collector.observed() {
            Observed::Free => window.saturating_sub(held),
            Observed::Advertised => window,
        };
        scheduling::list_candidates(subflows, &mut self.candidates);
        collector.observe(now, free, total, &self.candidates);
        true
    }
}

/// The subflow is stale, or its last segments were not answered in time.
fn is_silent<P: Payload>(subflow: &Subflow<P>) -> bool {
    subflow.is_stale() || subflow.sender().timeouts() > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Span;

    fn sender(config: &Config, written: u32) -> DataSender<Span> {
        let mut sender = DataSender::new(config);
        sender.write(&Span::new(0, written), u64::MAX);
        sender
    }

    #[test]
    fn acknowledged_data_frees_write_space() {
        let config = Config { send_buffer: 1000, ..Config::default() };
        let mut sender = sender(&config, 800);
        assert_eq!(sender.write_space(&[], &config), 200);
        assert!(sender.acknowledge(301));
        assert!(!sender.acknowledge(301));
        assert_eq!(sender.write_space(&[], &config), 500);
    }

    #[test]
    fn full_send_buffer_blocks_as_the_window_does() {
        let kind = crate::SchedulerKind::Blest;
        let config = Config { scheduler: kind.into(), send_buffer: 800, mss: 500, ..Config::default() };
        let is_blocked = |written: u32| {
            let mut sender = sender(&config, written);
            sender.next = sender.buffer.end();
            let none = sender.schedule_new(Instant::ZERO, &mut [], &config, &mut TimerTable::new());
            assert_eq!(none, None);
            format!("{:?}", sender.scheduler).contains("blocked: true")
        };
        assert!(is_blocked(800) && !is_blocked(200));
    }

    #[test]
    fn send_window_never_moves_back_and_reopening_stops_the_probe() {
        let config = Config::default();
        let mut timers = TimerTable::new();
        let mut sender = sender(&config, 800);
        sender.arm_probe(Instant::ZERO, &[], &config, &mut timers);
        assert!(timers.is_set(Timer::WindowProbe));
        assert!(sender.widen_window(501, &mut timers));
        assert!(!timers.is_set(Timer::WindowProbe));
        assert!(!sender.widen_window(401, &mut timers));
        assert_eq!(sender.window_end(), 501);
    }

    #[test]
    fn data_fin_follows_the_data_and_is_repeated_with_backoff() {
        let config = Config::default();
        let mut timers = TimerTable::new();
        let mut sender = sender(&config, 800);
        sender.close();
        assert!(!sender.is_finished(), "data is not scheduled yet");
        assert!(sender.assign_data_fin() && !sender.assign_data_fin());
        assert_eq!(sender.data_fin(), Some(801));
        sender.request_data_fin(Instant::ZERO, &[], &config, &mut timers);
        assert_eq!(timers.earliest(), Instant::from_secs(1));
        sender.request_data_fin(Instant::ZERO, &[], &config, &mut timers);
        assert_eq!(timers.earliest(), Instant::from_secs(2));
        sender.acknowledge(802);
        assert!(sender.data_fin_acked() && !sender.data_fin_outstanding());
    }
}
