//! Data that goes over more than one subflow on purpose: copies for the redundant scheduler,
//! opportunistic retransmission, and the penalty of who made it necessary.

use super::{Endpoint, Mode};
use crate::scheduler::{Candidate, Scheduler};
use crate::subflow::Chunk;
use units::Instant;
use wire::Payload;

impl<P: Payload> Endpoint<P> {
    /// Deals to a subflow with room the next piece that others have been dealt before it.
    pub(super) fn deal_copy(&mut self, list: &[Candidate]) -> Option<usize> {
        let next = list.iter().enumerate().find_map(|(place, candidate)| {
            let i = candidate.path.index();
            let len = self.behind(i).min(candidate.mss);
            let fits = len > 0 && candidate.room >= len;
            (fits && !self.scheduler.exceeds_bound(list, place, len)).then_some(i)
        })?;
        self.catch_up(next)
    }

    /// How much of what was dealt to others subflow `i` is still to get. What the peer has is not worth
    /// a copy: a subflow that is behind skips it.
    pub(super) fn behind(&self, i: usize) -> u64 {
        self.data_next.saturating_sub(self.subflows[i].copied_until().max(self.data_una))
    }

    /// Deals to subflow `i` the next piece of that.
    pub(super) fn catch_up(&mut self, i: usize) -> Option<usize> {
        let subflow = &mut self.subflows[i];
        let from = subflow.copied_until().max(self.data_una);
        let len = subflow.max_payload().min(self.data_next.saturating_sub(from));
        let Some(payload) = self.buffer.slice(from, len) else {
            // The peer has it, out of order and for good: as good as acknowledged.
            let held = self.held_there(from)?;
            self.subflows[i].set_copied_until(held);
            return self.catch_up(i);
        };
        let dealt = payload.len() as u64;
        subflow.set_copied_until(from + dealt);
        self.scheduler.dealt(subflow.path(), dealt);
        subflow.sender_mut().enqueue(Chunk { data: from, payload, fin: false });
        self.repeated_bytes += dealt;
        Some(i)
    }

    /// The connection is stopped by the peer's window or its own buffer, and a subflow has room: what
    /// the peer waits for is on its way over a slower one, and goes over this one too (Raiciu et al.,
    /// "How Hard Can It Be? Designing and Implementing a Deployable Multipath TCP", NSDI 2012, section
    /// 4.2). Each piece once, in the order of the stream.
    pub(super) fn seize(&mut self, now: Instant, list: &[Candidate]) -> Option<usize> {
        if !(self.config.opportunistic || self.config.penalise)
            || self.mode != Mode::Mptcp
            || self.scheduler.repeats()
        {
            return None;
        }
        let from = self.seized.max(self.data_una);
        if from >= self.data_next {
            return None;
        }
        // For a full segment, whatever the piece may be.
        let taker = list.iter().filter(|c| c.room >= c.mss).min_by_key(|c| c.srtt)?;
        let slower = |i: &usize| {
            let subflow = &self.subflows[*i];
            subflow.is_established() && subflow.sender().srtt() > taker.srtt
        };
        let (at, holder) = (0..self.subflows.len())
            .filter(slower)
            .filter_map(|i| Some((self.subflows[i].sender().first_unreinjected(from)?, i)))
            .min()?;
        if self.config.penalise && at == self.data_una {
            self.subflows[holder].sender_mut().penalise(now);
        }
        if !self.config.opportunistic {
            return None;
        }
        let chunk = self.subflows[holder].sender_mut().reinject_copy(at, taker.mss)?;
        self.seized = chunk.end();
        self.repeated_bytes += chunk.payload.len() as u64;
        let i = taker.path.index();
        self.subflows[i].sender_mut().enqueue_in_order(chunk);
        Some(i)
    }
}
