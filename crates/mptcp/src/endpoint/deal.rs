//! Dealing data to subflows, and taking acknowledgements at data level.

use super::{Endpoint, Mode, Reinjection};
use crate::PathId;
use crate::scheduler::{Candidate, Scheduler, Situation};
use crate::subflow::{Chunk, Subflow};
use units::Instant;
use wire::Payload;

/// The most subflows among which a turn is sought: a device has a handful of radios.
const MOST_LISTED: usize = 16;
const NOBODY: Candidate = Candidate {
    path: PathId(0),
    srtt: units::Duration::ZERO,
    rtt_variation: units::Duration::ZERO,
    mss: 0,
    cwnd: 0,
    slow_start: false,
    queued: 0,
    room: 0,
};

/// What came of the short way of dealing.
pub(super) enum Short<P> {
    /// This went out over a subflow, at an offset of it.
    Sent(usize, u64, Chunk<P>),
    /// The short way is the right one, and no window has room.
    NoRoom,
    /// The long way must be gone; nothing was done.
    Unusual,
}

impl<P: Payload> Endpoint<P> {
    /// Deals and sends in one what nearly all data is: new, for the subflow with the lowest round-trip time
    /// among those with room, where nothing else waits. What is done here [`deal`](Self::deal) and sending
    /// what was dealt would do too, and the same; what is not just so is left to them, untouched.
    #[inline]
    pub(super) fn deal_to_the_fastest(&mut self, now: Instant) -> Short<P> {
        let available = self.buffer.end - self.data_next;
        if available == 0 || !self.reinjections.is_empty() || !self.scheduler.takes_the_fastest() {
            return Short::Unusual;
        }
        let mut len = available;
        for subflow in &self.subflows {
            if rank(subflow) > 0 || !subflow.sender().can_send_directly(now) {
                return Short::Unusual;
            }
            if subflow.carries_data() {
                len = len.min(subflow.max_payload());
            }
        }
        if self.window_end < self.data_next + len {
            return Short::Unusual;
        }
        let mut fastest = (units::Duration::MAX, usize::MAX);
        for (i, subflow) in self.subflows.iter().enumerate() {
            let srtt = subflow.sender().srtt();
            if subflow.carries_data() && subflow.sender().available_window() >= len && srtt < fastest.0 {
                fastest = (srtt, i);
            }
        }
        let Some(subflow) = self.subflows.get_mut(fastest.1) else {
            let wait = self.subflows.iter_mut().filter(|s| s.carries_data());
            wait.for_each(|subflow| subflow.sender_mut().set_cwnd_limited());
            return Short::NoRoom;
        };
        let Some(payload) = self.buffer.slice(self.data_next, len) else { return Short::Unusual };
        let chunk = Chunk { data: self.data_next, payload, fin: false };
        self.data_next = chunk.end();
        subflow.set_copied_until(self.data_next);
        let offset = subflow.sender_mut().send_directly(now, &chunk);
        Short::Sent(fastest.1, offset, chunk)
    }

    /// Deals one piece of data to a subflow; `None` if there is nothing to deal or nobody to take it.
    pub(super) fn deal(&mut self, now: Instant) -> Option<usize> {
        let available = self.buffer.end - self.data_next;
        if available == 0 && !self.buffer_holds_up() && !self.scheduler.repeats() {
            return None;
        }
        let mut list = core::mem::take(&mut self.list);
        self.list_candidates(&mut list);
        let dealt = self.deal_among(now, available, &list);
        self.list = list;
        dealt
    }

    /// Deals one piece to one of `list`: a copy where there are to be any, else new data if the window
    /// takes it, else old data that holds it up.
    fn deal_among(&mut self, now: Instant, available: u64, list: &[Candidate]) -> Option<usize> {
        if self.scheduler.repeats()
            && let Some(copy) = self.deal_copy(list)
        {
            return Some(copy);
        }
        let len = self.piece(now, available, list)?;
        if len == 0 {
            self.scheduler.blocked();
            return self.seize(now, list);
        }
        let path = self.pick(now, available, len, list)?;
        if self.scheduler.repeats() && self.behind(path.index()) > 0 {
            // A subflow has the stream without a gap, or nobody could vouch for what it skipped.
            return self.catch_up(path.index());
        }
        let payload = self.buffer.slice(self.data_next, len)?;
        let dealt = payload.len() as u64;
        let chunk = Chunk { data: self.data_next, payload, fin: false };
        self.data_next += dealt;
        self.scheduler.dealt(path, dealt);
        let subflow = &mut self.subflows[path.index()];
        subflow.set_copied_until(self.data_next);
        subflow.sender_mut().enqueue(chunk);
        Some(path.index())
    }

    /// All that was written is dealt, and the application cannot write more before an acknowledgement.
    fn buffer_holds_up(&self) -> bool {
        let waiting = self.buffer.end.saturating_sub(self.data_una);
        (self.config.opportunistic || self.config.penalise)
            && waiting + u64::from(self.config.mss) > self.config.send_buffer
    }

    /// How much of the `available` bytes goes out next: 0 if something, and nothing of it before the
    /// peer's next word.
    fn piece(&mut self, now: Instant, available: u64, list: &[Candidate]) -> Option<u64> {
        let largest = list.iter().map(|c| c.mss).min()?;
        let len = available.min(largest);
        let window = self.window_end.saturating_sub(self.data_next);
        if window >= len {
            return Some(len);
        }
        // Sender's side of silly window avoidance (RFC 9293, section 3.8.6.2.1): wait for a full
        // segment's window while something is on its way that will bring news of it.
        if window == 0 || self.data_una < self.data_next {
            self.arm_probe(now);
            return Some(0);
        }
        Some(window)
    }

    /// Who of `list` carries the next `len` bytes.
    fn pick(&mut self, now: Instant, unsent: u64, len: u64, list: &[Candidate]) -> Option<PathId> {
        let window = self.config.send_buffer.min(self.window_end.saturating_sub(self.data_una));
        let situation = Situation { now, len, unsent, window };
        let Some(pick) = self.scheduler.pick(list, &situation) else {
            // Those that have room wait for a reason other than their window.
            for candidate in list.iter().filter(|c| c.room < len) {
                self.subflows[candidate.path.index()].sender_mut().set_cwnd_limited();
            }
            return None;
        };
        Some(list[pick].path)
    }

    /// The path whose turn it is by shares, where subflows have buffers of their own.
    #[inline]
    pub(super) fn turn(&self) -> Option<PathId> {
        if self.config.subflow_buffer == u64::MAX { None } else { self.turn_by_shares() }
    }

    fn turn_by_shares(&self) -> Option<PathId> {
        // The application asks for each write: on the stack, so that nothing is allocated.
        let mut list = [NOBODY; MOST_LISTED];
        let mut count = 0;
        for (place, subflow) in list.iter_mut().zip(self.candidates(None)) {
            *place = as_candidate(subflow);
            count += 1;
        }
        let turn = self.scheduler.turn(&list[..count], u64::from(self.config.mss))?;
        Some(list[turn].path)
    }

    /// Deals data again that another subflow failed to deliver.
    pub(super) fn deal_again(&mut self) -> Option<usize> {
        while let Some(front) = self.reinjections.front() {
            let len = front.chunk.payload.len() as u64;
            let there = self.held_there(front.chunk.data).unwrap_or(self.data_una);
            if front.chunk.data + len <= there.max(self.data_una) {
                self.reinjections.pop_front();
                continue;
            }
            if !self.anyone(front.tried) {
                // Only the subflow that has it already is left, and goes on trying.
                if let Some(path) = front.tried
                    && self.anyone(None)
                {
                    self.subflows[path.index()].sender_mut().cancel_reinjection();
                    self.reinjections.pop_front();
                    continue;
                }
                return None;
            }
            // One piece for each that goes out: those that are late in the stream may yet go elsewhere.
            let fits = |s: &&Subflow<P>| s.sender().has_window_for(len.min(s.max_payload()));
            let path = self.candidates(front.tried).filter(fits).min_by_key(|s| s.sender().srtt())?.path();
            let mut piece = self.reinjections.pop_front()?;
            let most = self.subflows[path.index()].max_payload() as usize;
            if piece.chunk.payload.len() > most {
                let rest = piece.chunk.payload.slice(most, len as usize);
                let chunk = Chunk { data: piece.chunk.data + most as u64, payload: rest, fin: false };
                self.reinjections.push_front(Reinjection { chunk, tried: piece.tried });
                piece.chunk.payload = piece.chunk.payload.slice(0, most);
            }
            let (sender, chunk) = (self.subflows[path.index()].sender(), &piece.chunk);
            if piece.tried.is_some() && sender.has_data_at(chunk.data) && sender.has_data_at(chunk.end() - 1)
            {
                // It has that already, and tries: two that are stale would fill one another up.
                continue;
            }
            self.repeated_bytes += piece.chunk.payload.len() as u64;
            self.subflows[path.index()].sender_mut().enqueue_in_order(piece.chunk);
            return Some(path.index());
        }
        None
    }

    /// The subflows that may carry data, the best kind that there is: fresh before stale, and regular
    /// before backup (RFC 8684, section 3.3.8).
    fn candidates(&self, except: Option<PathId>) -> impl Iterator<Item = &Subflow<P>> {
        let able = move |s: &&Subflow<P>| s.carries_data() && Some(s.path()) != except;
        let best = self.subflows.iter().filter(able).map(rank).min();
        self.subflows.iter().filter(able).filter(move |s| Some(rank(s)) == best)
    }

    /// Lists [`candidates`](Self::candidates) for the scheduler, in one walk.
    pub(super) fn list_candidates(&self, list: &mut Vec<Candidate>) {
        list.clear();
        let mut best = u8::MAX;
        for subflow in self.subflows.iter().filter(|s| s.carries_data()) {
            let rank = rank(subflow);
            if rank < best {
                best = rank;
                list.clear();
            }
            if rank == best {
                list.push(as_candidate(subflow));
            }
        }
    }

    /// Is there a subflow other than `except` that may carry data?
    fn anyone(&self, except: Option<PathId>) -> bool {
        self.candidates(except).next().is_some()
    }

    /// Gives what subflow `i` has not delivered to the others. `alive` if it goes on trying itself;
    /// then each piece is given once, and only where there is somebody to take it.
    pub(super) fn reinject(&mut self, i: usize, alive: bool) {
        let path = self.subflows[i].path();
        if self.mode == Mode::Tcp || self.ended || alive && !self.anyone(Some(path)) {
            return;
        }
        if self.scheduler.repeats() {
            // The others have it, or get it as their copy.
            self.work = true;
            return;
        }
        if !alive {
            for waiting in self.reinjections.iter_mut().filter(|r| r.tried == Some(path)) {
                waiting.tried = None;
            }
        }
        let tried = alive.then_some(path);
        let (in_flight, unsent) = self.subflows[i].sender_mut().reinject(self.data_una);
        self.reinjections.extend(in_flight.into_iter().map(|chunk| Reinjection { chunk, tried }));
        self.reinjections.extend(unsent.into_iter().map(|chunk| Reinjection { chunk, tried: None }));
        // The oldest data first: it is what the receiver waits for.
        self.reinjections.make_contiguous().sort_by_key(|r| r.chunk.data);
        self.work = true;
    }

    /// Somebody can take data: what stale subflows hold is given to it.
    pub(super) fn relieve(&mut self) {
        for i in 0..self.subflows.len() {
            if self.subflows[i].is_established() && self.subflows[i].is_stale() {
                self.reinject(i, true);
            }
        }
    }

    /// First data offset that was not sent, or dealt to be: a DATA_FIN counts.
    pub(super) fn data_sent(&self) -> u64 {
        self.data_next + u64::from(self.data_fin.is_some())
    }

    /// A DATA_ACK (RFC 8684, section 3.3.2).
    pub(super) fn on_data_ack(&mut self, now: Instant, ack: u64) {
        if ack <= self.data_una || ack > self.data_sent() {
            return;
        }
        self.data_acknowledged(ack);
        if self.data_fin.is_some_and(|fin| ack > fin) {
            self.fin_timer = None;
            self.advance_close(now);
        }
    }

    #[inline]
    pub(super) fn data_acknowledged(&mut self, ack: u64) {
        if ack > self.data_una {
            self.data_una = ack;
            self.buffer.release(ack.min(self.buffer.end));
            if self.driving.is_some() {
                self.trim_held();
            }
            self.probe_tries = 0;
            self.work = true;
        }
    }

    /// The peer takes data before `end`. The edge seen over any subflow counts, and never goes back
    /// (RFC 8684, section 3.3.1).
    pub(super) fn widen_window(&mut self, end: u64) {
        if end > self.window_end {
            self.window_end = end;
            self.probe_timer = None;
            self.probe_tries = 0;
            self.work = true;
        }
    }

    /// The right edge that the next acknowledgement may offer. It moves by a segment or half the buffer
    /// at least, or the sender would send tinier and tinier ones to a slow reader (RFC 9293, section
    /// 3.8.6.2.2).
    pub(super) fn window_to_offer(&self) -> u64 {
        let unread = self.reorder.unread();
        let edge = self.reorder.next + self.autotune.buffer.saturating_sub(unread);
        let worth = (self.autotune.buffer / 2).min(u64::from(self.config.mss));
        if unread > 0 && edge < self.advertised.saturating_add(worth) {
            return self.advertised;
        }
        edge.max(self.advertised)
    }

    /// From where the window told over subflow `i` counts. That is the DATA_ACK; but a peer that has fallen
    /// back counts from the subflow's acknowledgement (RFC 8684, section 3.7), and nobody may know yet that it
    /// has. What this end has acknowledged and cannot place lies in between, and takes its room.
    pub(super) fn window_base(&self, i: usize) -> u64 {
        let subflow = &self.subflows[i];
        if self.mode == Mode::Mptcp && !self.parted && !subflow.is_join() {
            self.reorder.next.max(subflow.receiver().next_offset())
        } else {
            self.reorder.next
        }
    }

    /// The application has read: tell the peer once it is worth a segment (RFC 9293, section 3.8.6.2.2).
    pub(super) fn offer_window(&mut self) {
        let gain = self.window_to_offer() - self.advertised;
        let worth = (self.autotune.buffer / 2).min(2 * u64::from(self.config.mss));
        let nearly_shut = self.advertised - self.reorder.next.min(self.advertised) < self.autotune.buffer / 2;
        if nearly_shut && gain >= worth.max(1) {
            for subflow in &mut self.subflows {
                if subflow.carries_data() || subflow.fin_queued() && subflow.is_open() {
                    subflow.receiver_mut().request_ack();
                    self.work = true;
                }
            }
        }
    }
}

/// Fresh before stale, and regular before backup.
#[inline]
pub(super) fn rank<P: Payload>(subflow: &Subflow<P>) -> u8 {
    u8::from(subflow.is_stale()) * 2 + u8::from(subflow.is_backup())
}

/// A subflow as schedulers see it.
#[inline]
fn as_candidate<P: Payload>(subflow: &Subflow<P>) -> Candidate {
    let sender = subflow.sender();
    let window = sender.window();
    Candidate {
        path: subflow.path(),
        srtt: sender.srtt(),
        rtt_variation: sender.rtt_variation(),
        mss: subflow.max_payload(),
        cwnd: window.cwnd,
        slow_start: window.in_slow_start(),
        queued: sender.flight() + sender.queued(),
        room: sender.available_window(),
    }
}
