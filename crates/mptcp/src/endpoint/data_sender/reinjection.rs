//! Data sent over more than one subflow: reinjection of undelivered data, opportunistic
//! retransmission, and the copies of the redundant scheduler.

use super::DataSender;
use super::scheduling::preferred_subflows;
use crate::scheduler::Candidate;
use crate::subflow::{Chunk, Subflow};
use crate::{Config, PathId};
use tracing::debug;
use units::Instant;
use wire::Payload;

/// Data to be sent over another subflow.
#[derive(Debug, Clone)]
pub(in crate::endpoint) struct Reinjection<P> {
    chunk: Chunk<P>,
    /// The path that still tries to deliver the data.
    tried: Option<PathId>,
}

/// Ranges of data offsets, which may overlap, for questions at ascending offsets.
#[derive(Debug)]
pub(super) struct CarriedData {
    /// By start.
    ranges: Vec<(u64, u64)>,
    /// Index of the first range that begins after the last offset asked for.
    following: usize,
    /// Furthest end of the ranges before it.
    end: u64,
}

impl CarriedData {
    fn new(mut ranges: Vec<(u64, u64)>) -> Self {
        ranges.sort_unstable();
        Self { ranges, following: 0, end: 0 }
    }

    /// A range contains `offset`, which is not below that of the call before. All calls together
    /// visit each range once.
    pub(super) fn contains(&mut self, offset: u64) -> bool {
        while let Some(&(start, end)) = self.ranges.get(self.following)
            && start <= offset
        {
            self.end = self.end.max(end);
            self.following += 1;
        }
        offset < self.end
    }
}

impl<P: Payload> DataSender<P> {
    /// Assigns the oldest reinjected chunk to a subflow and returns the subflow.
    #[inline(never)]
    pub(in crate::endpoint) fn schedule_reinjection(&mut self, subflows: &mut [Subflow<P>]) -> Option<usize> {
        while let Some(front) = self.reinjections.front() {
            let (start, len) = (front.chunk.data, front.chunk.payload.len() as u64);
            let acked = self.freed_end(start).unwrap_or(self.una).max(self.una);
            if start + len <= acked {
                self.reinjections.pop_front();
                continue;
            }
            let tried = front.tried;
            if !has_usable(subflows, tried) {
                // Only the subflow that already carries the data is left, and keeps trying.
                if let Some(path) = tried
                    && has_usable(subflows, None)
                {
                    subflows[path.index()].sender_mut().cancel_reinjection();
                    self.reinjections.pop_front();
                    continue;
                }
                return None;
            }
            let fits = |s: &&Subflow<P>| s.sender().has_window_for(len.min(s.max_payload()));
            let candidates = preferred_subflows(subflows, tried).filter(fits);
            let path = candidates.min_by_key(|s| s.sender().srtt())?.path();
            let subflow = &mut subflows[path.index()];
            let chunk = self.take_reinjection(subflow.max_payload())?;
            let sender = subflow.sender_mut();
            if tried.is_some() && sender.has_data_at(chunk.data) && sender.has_data_at(chunk.end() - 1) {
                // This subflow carries the data as well: two stale subflows must not exchange
                // chunks.
                continue;
            }
            let len = chunk.payload.len();
            self.reinjected_bytes += len as u64;
            let data = chunk.data;
            sender.enqueue_in_order(chunk);
            debug!(parent: subflow.log(), data, len, "reinjection");
            return Some(path.index());
        }
        None
    }

    /// Takes up to `limit` bytes of the first reinjection.
    fn take_reinjection(&mut self, limit: u64) -> Option<Chunk<P>> {
        let Reinjection { mut chunk, tried } = self.reinjections.pop_front()?;
        let len = chunk.payload.len();
        let limit = limit as usize;
        if len > limit {
            let payload = chunk.payload.slice(limit, len);
            let rest = Chunk::new(chunk.data + limit as u64, payload);
            self.reinjections.push_front(Reinjection { chunk: rest, tried });
            chunk.payload = chunk.payload.slice(0, limit);
        }
        Some(chunk)
    }

    /// Queues the undelivered data of subflow `i` for the other subflows. With `keeps_trying` the
    /// subflow goes on retransmitting: each chunk is queued once, and only if another subflow can
    /// carry it. Returns true if there may be something to send.
    pub(in crate::endpoint) fn reinject(
        &mut self,
        subflows: &mut [Subflow<P>],
        i: usize,
        keeps_trying: bool,
    ) -> bool {
        let path = subflows[i].path();
        if keeps_trying && !has_usable(subflows, Some(path)) {
            return false;
        }
        if self.scheduler.is_redundant() {
            // The other subflows have the data, or get it as their copy.
            return true;
        }
        if !keeps_trying {
            for reinjection in self.reinjections.iter_mut().filter(|r| r.tried == Some(path)) {
                reinjection.tried = None;
            }
        }
        let tried = keeps_trying.then_some(path);
        let (in_flight, unsent) = subflows[i].sender_mut().reinject(self.una);
        debug!(
            parent: subflows[i].log(),
            in_flight = in_flight.len(),
            unsent = unsent.len(),
            keeps_trying,
            "chunks queued for reinjection over other subflows"
        );
        self.reinjections.extend(in_flight.into_iter().map(|chunk| Reinjection { chunk, tried }));
        let unsent = unsent.into_iter().map(|chunk| Reinjection { chunk, tried: None });
        self.reinjections.extend(unsent);
        // The receiver waits for the oldest data.
        self.reinjections.make_contiguous().sort_by_key(|r| r.chunk.data);
        true
    }

    /// Queues all data that is not acknowledged at data level, also what other subflows have carried
    /// (Linux `__mptcp_retransmit_pending_data`). Returns true if there may be something to send.
    pub(in crate::endpoint) fn reinject_all(&mut self) -> bool {
        if self.scheduler.is_redundant() {
            return true;
        }
        self.reinjections.clear();
        let mut at = self.una;
        while at < self.next {
            let Some(payload) = self.buffer.slice(at, self.next - at) else {
                // The peer holds it for good.
                let Some(end) = self.freed_end(at) else { break };
                at = end;
                continue;
            };
            let chunk = Chunk::new(at, payload);
            at = chunk.end();
            self.reinjections.push_back(Reinjection { chunk, tried: None });
        }
        true
    }

    /// All data that waits for reinjection or is carried by an open subflow.
    pub(super) fn carried(&self, subflows: &[Subflow<P>]) -> CarriedData {
        let queued = self.reinjections.iter().map(|r| (r.chunk.data, r.chunk.end()));
        let open = subflows.iter().filter(|s| s.is_open());
        CarriedData::new(queued.chain(open.flat_map(|s| s.sender().data_ranges())).collect())
    }

    /// The byte at `offset` waits for reinjection, or an open subflow carries it.
    pub(super) fn is_carried(&self, offset: u64, subflows: &[Subflow<P>]) -> bool {
        let queued = |r: &Reinjection<P>| r.chunk.data <= offset && offset < r.chunk.end();
        let carries = |s: &Subflow<P>| s.is_open() && s.sender().has_data_at(offset);
        self.reinjections.iter().any(queued) || subflows.iter().any(carries)
    }

    /// Assigns the next copy of the redundant scheduler to a subflow with room.
    pub(super) fn schedule_copy(&mut self, subflows: &mut [Subflow<P>], list: &[Candidate]) -> Option<usize> {
        for (place, candidate) in list.iter().enumerate() {
            let subflow = &mut subflows[candidate.path.index()];
            let len = self.copy_backlog(subflow).min(candidate.mss);
            if candidate.room < len {
                subflow.sender_mut().set_cwnd_limited();
            } else if len > 0 && !self.scheduler.exceeds_bound(list, place, len) {
                return self.catch_up(subflow);
            }
        }
        None
    }

    /// Bytes assigned to other subflows that this one has no copy of. Acknowledged data needs none.
    pub(super) fn copy_backlog(&self, subflow: &Subflow<P>) -> u64 {
        self.next.saturating_sub(subflow.copied_until().max(self.una))
    }

    /// Assigns the next chunk of its [`copy_backlog`](Self::copy_backlog) to the subflow.
    pub(super) fn catch_up(&mut self, subflow: &mut Subflow<P>) -> Option<usize> {
        loop {
            let from = subflow.copied_until().max(self.una);
            let len = subflow.max_payload().min(self.next.saturating_sub(from));
            let Some(payload) = self.buffer.slice(from, len) else {
                // Freed data: the peer holds it for good, so no copy is needed.
                let freed = self.freed_end(from)?;
                subflow.set_copied_until(freed);
                continue;
            };
            let len = payload.len() as u64;
            subflow.set_copied_until(from + len);
            self.scheduler.on_scheduled(subflow.path(), len);
            subflow.sender_mut().enqueue(Chunk::new(from, payload));
            self.reinjected_bytes += len;
            return Some(subflow.path().index());
        }
    }

    /// Retransmits data of a slower subflow over a faster one that has room, while the peer's
    /// window or the send buffer is full (Raiciu et al., "How Hard Can It Be? Designing and
    /// Implementing a Deployable Multipath TCP", NSDI 2012, section 4.2). Each byte once, in stream
    /// order.
    pub(super) fn opportunistic_retransmit(
        &mut self,
        now: Instant,
        subflows: &mut [Subflow<P>],
        config: &Config,
        list: &[Candidate],
    ) -> Option<usize> {
        if !(config.opportunistic || config.penalise) || self.scheduler.is_redundant() {
            return None;
        }
        let from = self.opportunistic_next.max(self.una);
        if from >= self.next {
            return None;
        }
        let taker = list.iter().filter(|c| c.room >= c.mss).min_by_key(|c| c.srtt)?;
        let is_slower =
            |subflow: &Subflow<P>| subflow.is_established() && subflow.sender().srtt() > taker.srtt;
        let slower = subflows.iter().enumerate().filter(|(_, s)| is_slower(s));
        let (at, holder) =
            slower.filter_map(|(i, s)| Some((s.sender().first_unreinjected(from)?, i))).min()?;
        if config.penalise && at == self.una {
            subflows[holder].sender_mut().penalise(now);
        }
        if !config.opportunistic {
            return None;
        }
        let chunk = subflows[holder].sender_mut().reinject_copy(at, taker.mss)?;
        self.opportunistic_next = chunk.end();
        self.reinjected_bytes += chunk.payload.len() as u64;
        let i = taker.path.index();
        let len = chunk.payload.len();
        debug!(parent: subflows[i].log(), data = at, len, from = holder, "opportunistic retransmission");
        subflows[i].sender_mut().enqueue_in_order(chunk);
        Some(i)
    }
}

/// Returns true if a subflow other than `except` may carry data.
fn has_usable<P: Payload>(subflows: &[Subflow<P>], except: Option<PathId>) -> bool {
    preferred_subflows(subflows, except).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    #[test]
    fn carried_data_equals_a_search_of_all_ranges() {
        let mut rng = Seed::new(1).rng("ranges");
        for _ in 0..1000 {
            let mut below = |n: u64| (rng.unit() * n as f64) as u64;
            let ranges: Vec<(u64, u64)> = (0..below(12))
                .map(|_| {
                    let start = below(100);
                    (start, start + below(15))
                })
                .collect();
            let mut carried = CarriedData::new(ranges.clone());
            let mut offset = 0;
            while offset < 120 {
                let found = ranges.iter().any(|&(start, end)| start <= offset && offset < end);
                assert_eq!(carried.contains(offset), found, "{offset} in {ranges:?}");
                offset += below(4);
            }
        }
    }
}
