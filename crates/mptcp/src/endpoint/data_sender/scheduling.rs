//! Assignment of new data to subflows.

use super::DataSender;
use crate::endpoint::timers::TimerTable;
use crate::scheduler::{Candidate, SchedulerContext};
use crate::subflow::{Chunk, Subflow};
use crate::{Config, PathId};
use tracing::trace;
use units::{Duration, Instant};
use wire::Payload;

/// Target of the log entries on the scheduler's decisions.
const LOG_TARGET: &str = "tandem_mptcp::scheduler";
/// Most subflows considered by [`DataSender::next_path_by_share`], which must not allocate.
const MAX_SHARE_CANDIDATES: usize = 16;
const NO_CANDIDATE: Candidate = Candidate {
    path: PathId(0),
    srtt: Duration::ZERO,
    rtt_variation: Duration::ZERO,
    mss: 0,
    cwnd: 0,
    ssthresh: 0,
    in_flight: 0,
    queued: 0,
    room: 0,
};

/// Outcome of the fast send path.
pub(in crate::endpoint) enum FastPath<P> {
    /// The chunk was sent by this subflow at this subflow offset. More chunks of this many bytes
    /// may follow.
    Sent(usize, u64, Chunk<P>, u64),
    /// The fast path applies, and no congestion window has room.
    NoRoom,
    /// The fast path does not apply; no data was assigned.
    NotApplicable,
}

impl<P: Payload> DataSender<P> {
    /// Sends new data over the subflow with the lowest round-trip time that has room, if nothing
    /// else waits. The outcome equals that of [`schedule_new`](Self::schedule_new) followed by
    /// sending.
    #[inline]
    pub(in crate::endpoint) fn schedule_fast(
        &mut self,
        now: Instant,
        subflows: &mut [Subflow<P>],
    ) -> FastPath<P> {
        let available = self.buffer.end() - self.next;
        if available == 0 || !self.reinjections.is_empty() || !self.scheduler.is_lowest_rtt_first() {
            return FastPath::NotApplicable;
        }
        let mut len = available;
        for subflow in &*subflows {
            if priority_class(subflow) > 0 || !subflow.sender().can_send_directly(now) {
                return FastPath::NotApplicable;
            }
            if subflow.carries_data() {
                len = len.min(subflow.max_payload());
            }
        }
        if self.window_end < self.next + len {
            return FastPath::NotApplicable;
        }
        let mut fastest = (Duration::MAX, usize::MAX);
        for (i, subflow) in subflows.iter_mut().enumerate().filter(|(_, s)| s.carries_data()) {
            let sender = subflow.sender_mut();
            if sender.available_window() < len {
                sender.set_cwnd_limited();
            } else if sender.srtt() < fastest.0 {
                fastest = (sender.srtt(), i);
            }
        }
        let Some(subflow) = subflows.get_mut(fastest.1) else { return FastPath::NoRoom };
        match self.send_directly(now, len, subflow) {
            Some((offset, chunk)) => FastPath::Sent(fastest.1, offset, chunk, len),
            None => FastPath::NotApplicable,
        }
    }

    /// Data of the stream waits for a subflow, for the first time or again.
    #[inline]
    pub(in crate::endpoint) fn has_data_to_assign(&self) -> bool {
        self.next < self.buffer.end() || !self.reinjections.is_empty()
    }

    /// `len` more bytes were written, and the peer's window has room for them.
    #[inline]
    pub(in crate::endpoint) fn may_send(&self, len: u64) -> bool {
        self.next + len <= self.buffer.end().min(self.window_end)
    }

    /// Sends the next `len` bytes after those of [`schedule_fast`](Self::schedule_fast), over the
    /// same subflow, if it would choose that again.
    #[inline]
    pub(in crate::endpoint) fn extend_burst(
        &mut self,
        now: Instant,
        len: u64,
        subflow: &mut Subflow<P>,
    ) -> Option<(u64, Chunk<P>)> {
        let sender = subflow.sender();
        let fits = self.may_send(len) && sender.can_send_directly(now) && sender.available_window() >= len;
        if fits { self.send_directly(now, len, subflow) } else { None }
    }

    /// Sends up to `len` bytes past the queue of `subflow`. Returns their offset in the subflow.
    #[inline]
    fn send_directly(&mut self, now: Instant, len: u64, subflow: &mut Subflow<P>) -> Option<(u64, Chunk<P>)> {
        let payload = self.buffer.slice(self.next, len)?;
        let chunk = Chunk::new(self.next, payload);
        self.next = chunk.end();
        subflow.set_copied_until(self.next);
        trace!(target: LOG_TARGET, parent: subflow.log(), data = chunk.data, len, "chosen");
        let offset = subflow.sender_mut().send_directly(now, &chunk);
        Some((offset, chunk))
    }

    /// Assigns one chunk to a subflow and returns the subflow. `None` without data to send or a
    /// subflow to carry it.
    pub(in crate::endpoint) fn schedule_new(
        &mut self,
        now: Instant,
        subflows: &mut [Subflow<P>],
        config: &Config,
        timers: &mut TimerTable,
    ) -> Option<usize> {
        let available = self.buffer.end() - self.next;
        if available == 0 {
            let is_limited = self.is_limited_by_buffer(config);
            if is_limited {
                self.scheduler.on_window_blocked();
            }
            let retransmits = is_limited && (config.opportunistic || config.penalise);
            if !retransmits && !self.scheduler.is_redundant() {
                return None;
            }
        }
        let mut list = core::mem::take(&mut self.candidates);
        list_candidates(subflows, &mut list);
        let scheduled = self.schedule_among(now, subflows, config, timers, &list);
        self.candidates = list;
        scheduled
    }

    /// Assigns one chunk to one of `list`: a copy for the redundant scheduler, or else new data if
    /// the peer's window allows, or else an opportunistic retransmission.
    fn schedule_among(
        &mut self,
        now: Instant,
        subflows: &mut [Subflow<P>],
        config: &Config,
        timers: &mut TimerTable,
        list: &[Candidate],
    ) -> Option<usize> {
        if self.scheduler.is_redundant()
            && let Some(copied) = self.schedule_copy(subflows, list)
        {
            return Some(copied);
        }
        let len = self.next_chunk_len(list, config.avoid_silly_window)?;
        if len == 0 {
            if self.next < self.buffer.end() {
                self.arm_probe(now, subflows, config, timers);
            }
            self.scheduler.on_window_blocked();
            return self.opportunistic_retransmit(now, subflows, config, list);
        }
        let path = self.pick(now, len, subflows, config, list)?;
        let subflow = &mut subflows[path.index()];
        if self.scheduler.is_redundant() && self.copy_backlog(subflow) > 0 {
            // The redundant scheduler keeps each subflow's copy of the stream contiguous.
            return self.catch_up(subflow);
        }
        let payload = self.buffer.slice(self.next, len.min(self.scheduler.chunk_limit().max(1)))?;
        let len = payload.len() as u64;
        let chunk = Chunk::new(self.next, payload);
        self.next += len;
        self.scheduler.on_scheduled(path, len);
        trace!(target: LOG_TARGET, parent: subflow.log(), data = chunk.data, len, "chosen");
        subflow.set_copied_until(self.next);
        subflow.sender_mut().enqueue(chunk);
        Some(path.index())
    }

    /// All data is assigned, and the full send buffer keeps the application from writing more.
    fn is_limited_by_buffer(&self, config: &Config) -> bool {
        let unacked = self.buffer.end().saturating_sub(self.una);
        unacked + u64::from(config.mss) > config.send_buffer
    }

    /// Length of the next chunk: 0 if there is no data, or if the peer's window does not allow any
    /// now. `None` without a candidate.
    fn next_chunk_len(&self, list: &[Candidate], avoid_silly: bool) -> Option<u64> {
        let available = self.buffer.end() - self.next;
        let len = available.min(list.iter().map(|c| c.mss).min()?);
        let window = self.window_end.saturating_sub(self.next);
        if window >= len {
            return Some(len);
        }
        // Silly window avoidance (RFC 9293, section 3.8.6.2.1): wait for the window of a full
        // segment while an acknowledgement is due that may open it.
        Some(if self.una < self.next && avoid_silly { 0 } else { window })
    }

    /// Lets the scheduler choose one of `list` for the next `len` bytes. The windows that lack room
    /// limit sending, also if another subflow takes the data.
    fn pick(
        &mut self,
        now: Instant,
        len: u64,
        subflows: &mut [Subflow<P>],
        config: &Config,
        list: &[Candidate],
    ) -> Option<PathId> {
        let unsent = self.buffer.end() - self.next;
        let window = config.send_buffer.min(self.window());
        let sendable = self.window_end.saturating_sub(self.next);
        let context = SchedulerContext { now, len, unsent, sendable, window };
        let pick = self.scheduler.pick(list, &context);
        for candidate in list {
            let subflow = &mut subflows[candidate.path.index()];
            if candidate.room < len {
                subflow.sender_mut().set_cwnd_limited();
            } else if pick.is_none() {
                // The scheduler holds it back, not its window.
                trace!(target: LOG_TARGET, parent: subflow.log(), len, "has room and is not chosen");
            }
        }
        Some(list[pick?].path)
    }

    /// The path that the share scheduler assigns data to next, if subflows have send buffers of
    /// their own.
    #[inline]
    pub(in crate::endpoint) fn next_path_by_share(
        &self,
        subflows: &[Subflow<P>],
        config: &Config,
    ) -> Option<PathId> {
        if config.subflow_buffer == u64::MAX { None } else { self.find_path_by_share(subflows, config) }
    }

    fn find_path_by_share(&self, subflows: &[Subflow<P>], config: &Config) -> Option<PathId> {
        let mut list = [NO_CANDIDATE; MAX_SHARE_CANDIDATES];
        let mut count = 0;
        for (entry, subflow) in list.iter_mut().zip(preferred_subflows(subflows, None)) {
            *entry = candidate(subflow);
            count += 1;
        }
        let next = self.scheduler.assigned_path(&list[..count], u64::from(config.mss))?;
        Some(list[next].path)
    }

    /// Counts `len` bytes that the application dropped for lack of space as assigned to the path
    /// that was next by its share.
    pub(in crate::endpoint) fn record_dropped(&mut self, len: u64, subflows: &[Subflow<P>], config: &Config) {
        if let Some(path) = self.next_path_by_share(subflows, config) {
            self.scheduler.on_scheduled(path, len);
        }
    }
}

/// Preference class of a subflow, lower first: responsive before stale, then regular before backup.
#[inline]
pub(in crate::endpoint) fn priority_class<P: Payload>(subflow: &Subflow<P>) -> u8 {
    u8::from(subflow.is_stale()) * 2 + u8::from(subflow.is_backup())
}

/// The subflows other than `except` that may carry data, of the best class only (RFC 8684, section
/// 3.3.8).
pub(super) fn preferred_subflows<P: Payload>(
    subflows: &[Subflow<P>],
    except: Option<PathId>,
) -> impl Iterator<Item = &Subflow<P>> {
    let usable = move |s: &&Subflow<P>| s.carries_data() && Some(s.path()) != except;
    let best = subflows.iter().filter(usable).map(priority_class).min();
    subflows.iter().filter(usable).filter(move |s| Some(priority_class(s)) == best)
}

/// Fills `list` with the [`preferred_subflows`] in one pass.
pub(super) fn list_candidates<P: Payload>(subflows: &[Subflow<P>], list: &mut Vec<Candidate>) {
    list.clear();
    let mut best = u8::MAX;
    for subflow in subflows.iter().filter(|s| s.carries_data()) {
        let class = priority_class(subflow);
        if class < best {
            best = class;
            list.clear();
        }
        if class == best {
            list.push(candidate(subflow));
        }
    }
}

#[inline]
fn candidate<P: Payload>(subflow: &Subflow<P>) -> Candidate {
    let sender = subflow.sender();
    let window = sender.window();
    Candidate {
        path: subflow.path(),
        srtt: sender.srtt(),
        rtt_variation: sender.rtt_variation(),
        mss: subflow.max_payload(),
        cwnd: window.cwnd,
        ssthresh: window.ssthresh,
        in_flight: sender.flight(),
        queued: sender.flight() + sender.queued(),
        room: sender.available_window(),
    }
}
