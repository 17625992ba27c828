//! The scheduler of one connection, with the bounds that a policy sets.

use crate::PathId;
use crate::rec::collector::Collector;
use crate::scheduler::{Candidate, Offload, Scheduler, SchedulerChoice, SchedulerContext, Share, TableOne};

/// The scheduler that is at work, and the shares that bound it.
#[derive(Debug, Clone)]
pub(super) struct ActiveScheduler {
    base: Base,
    /// Upper bounds by path, for a scheduler that does not take shares itself.
    bounds: Option<Box<Share>>,
    /// Rule that reconsiders each pick.
    table_one: Option<Box<TableOne>>,
    is_lowest_rtt_first: bool,
    is_redundant: bool,
}

#[derive(Debug, Clone)]
enum Base {
    /// The scheduler of [`Config::scheduler`](crate::Config::scheduler).
    Configured(Box<dyn Scheduler>),
    /// MPTCP-rec schedules by the receiver's rates.
    Collector(Box<Collector>),
}

impl Base {
    fn inner(&self) -> &dyn Scheduler {
        match self {
            Self::Configured(scheduler) => &**scheduler,
            Self::Collector(collector) => &**collector,
        }
    }

    fn inner_mut(&mut self) -> &mut dyn Scheduler {
        match self {
            Self::Configured(scheduler) => &mut **scheduler,
            Self::Collector(collector) => &mut **collector,
        }
    }
}

impl ActiveScheduler {
    pub(super) fn new(choice: &SchedulerChoice) -> Self {
        let base = Base::Configured(choice.build());
        let mut new =
            Self { base, bounds: None, table_one: None, is_lowest_rtt_first: false, is_redundant: false };
        new.read_properties();
        new
    }

    /// Replaces the scheduler by MPTCP-rec's.
    pub(super) fn use_collector(&mut self, collector: Collector) {
        self.base = Base::Collector(Box::new(collector));
        self.read_properties();
    }

    /// Replaces MPTCP-rec's scheduler by a new one of `choice`.
    pub(super) fn restore(&mut self, choice: &SchedulerChoice) {
        self.base = Base::Configured(choice.build());
        self.read_properties();
    }

    fn read_properties(&mut self) {
        let base = self.base.inner();
        let is_free = self.bounds.is_none() && self.table_one.is_none();
        self.is_lowest_rtt_first = base.is_lowest_rtt_first() && is_free;
        self.is_redundant = base.is_redundant();
    }

    /// Returns MPTCP-rec's scheduler while it is at work.
    pub(super) fn collector(&mut self) -> Option<&mut Collector> {
        if let Base::Collector(collector) = &mut self.base { Some(collector) } else { None }
    }

    /// See [`Scheduler::is_lowest_rtt_first`]; false while bounds or a rule are set.
    #[inline]
    pub(super) fn is_lowest_rtt_first(&self) -> bool {
        self.is_lowest_rtt_first
    }

    /// See [`Scheduler::is_redundant`].
    #[inline]
    pub(super) fn is_redundant(&self) -> bool {
        self.is_redundant
    }

    /// Returns true if `len` more bytes on candidate `pick` would exceed the bound on its path.
    pub(super) fn exceeds_bound(&self, candidates: &[Candidate], pick: usize, len: u64) -> bool {
        self.bounds.as_ref().is_some_and(|bounds| bounds.is_exceeded(candidates, pick, len))
    }

    /// Sets shares by path. A scheduler that ignores shares gets an upper bound on each path whose
    /// share is below an equal part: a policy that takes load off a path must not add load to
    /// another.
    pub(super) fn set_shares(&mut self, shares: &[f64]) {
        if !self.base.inner_mut().set_shares(shares) {
            self.bounds.get_or_insert_default().set_shares(shares);
            self.read_properties();
        }
    }

    /// Sets or removes the rule that moves data off costly paths.
    pub(super) fn set_offload(&mut self, rule: Option<Offload>) {
        match rule {
            Some(rule) => self.table_one.get_or_insert_default().set_rule(rule),
            None => self.table_one = None,
        }
        self.read_properties();
    }

    /// See [`Scheduler::assigned_path`].
    pub(super) fn assigned_path(&self, candidates: &[Candidate], len: u64) -> Option<usize> {
        self.base.inner().assigned_path(candidates, len)
    }

    /// Picks a candidate for the next piece, within the bounds and by the rule.
    pub(super) fn pick(&mut self, candidates: &[Candidate], context: &SchedulerContext) -> Option<usize> {
        let pick = self.base.inner_mut().pick(candidates, context)?;
        let pick = match &self.bounds {
            Some(bounds) if bounds.is_exceeded(candidates, pick, context.len) => {
                bounds.furthest_behind(candidates, context.len)?
            }
            _ => pick,
        };
        Some(match &mut self.table_one {
            Some(table_one) => table_one.redirect(pick, candidates, context),
            None => pick,
        })
    }

    /// See [`Scheduler::on_window_blocked`].
    pub(super) fn on_window_blocked(&mut self) {
        self.base.inner_mut().on_window_blocked();
    }

    /// See [`Scheduler::chunk_limit`].
    pub(super) fn chunk_limit(&self) -> u64 {
        self.base.inner().chunk_limit()
    }

    /// See [`Scheduler::write_limit`].
    pub(super) fn write_limit(&self) -> Option<u64> {
        self.base.inner().write_limit()
    }

    /// See [`Scheduler::on_subflow_ended`].
    pub(super) fn on_subflow_ended(&mut self, path: PathId) {
        self.base.inner_mut().on_subflow_ended(path);
    }

    /// See [`Scheduler::on_scheduled`].
    pub(super) fn on_scheduled(&mut self, path: PathId, len: u64) {
        let turn = self.table_one.as_mut().map_or(path, |table_one| table_one.on_scheduled(path, len));
        self.base.inner_mut().on_scheduled(turn, len);
        if let Some(bounds) = &mut self.bounds {
            bounds.on_scheduled(path, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SchedulerKind;
    use units::{Duration, Instant};

    const PIECE: u64 = 1000;

    fn candidate(path: u8, rtt_ms: u64, room: u64) -> Candidate {
        Candidate {
            path: PathId(path),
            srtt: Duration::from_millis(rtt_ms),
            rtt_variation: Duration::ZERO,
            mss: PIECE,
            cwnd: room,
            ssthresh: 0,
            in_flight: 0,
            queued: 0,
            room,
        }
    }

    /// Schedules ten pieces over a fast path with `fast_room` and a slow one; returns the bytes on
    /// each.
    fn schedule_ten(kind: SchedulerKind, fast_room: u64) -> Vec<u64> {
        let mut scheduler = ActiveScheduler::new(&kind.into());
        scheduler.set_shares(&[0.7, 0.3]);
        assert!(!scheduler.is_lowest_rtt_first(), "the bounds would be ignored");
        let mut candidates = [candidate(0, 10, fast_room), candidate(1, 100, 40_000)];
        for piece in 0..10 {
            let unsent = PIECE * (10 - piece);
            let context = SchedulerContext {
                now: Instant::ZERO,
                len: PIECE,
                unsent,
                sendable: u64::MAX,
                window: 80_000,
            };
            let Some(i) = scheduler.pick(&candidates, &context) else { break };
            scheduler.on_scheduled(candidates[i].path, PIECE);
            candidates[i].queued += PIECE;
            candidates[i].room = candidates[i].room.saturating_sub(PIECE);
        }
        candidates.iter().map(|c| c.queued).collect()
    }

    #[test]
    fn share_scheduler_holds_shares_even_without_room() {
        assert_eq!(schedule_ten(SchedulerKind::Share, 1000), [7000, 3000]);
    }

    #[test]
    fn small_share_is_an_upper_bound_for_other_schedulers() {
        // The fast path has room for all: the bound adds no load to the slow one.
        assert_eq!(schedule_ten(SchedulerKind::MinRtt, 40_000), [10_000, 0]);
        // Round robin would give the slow path half; the bound leaves it its share.
        assert_eq!(schedule_ten(SchedulerKind::RoundRobin, 40_000), [7000, 3000]);
    }

    #[test]
    fn only_min_rtt_without_bounds_takes_the_fast_path() {
        for kind in SchedulerKind::ALL {
            let scheduler = ActiveScheduler::new(&kind.into());
            assert_eq!(scheduler.is_lowest_rtt_first(), kind == SchedulerKind::MinRtt, "{kind}");
            assert_eq!(scheduler.is_redundant(), kind == SchedulerKind::Redundant, "{kind}");
        }
    }

    #[test]
    fn every_scheduler_keeps_its_turns_while_a_rule_moves_half_of_the_slow_path() {
        for kind in [SchedulerKind::RoundRobin, SchedulerKind::Share] {
            let mut scheduler = ActiveScheduler::new(&kind.into());
            scheduler.set_offload(Some(Offload { costly: vec![false, true], share: 0.5 }));
            let candidates = [candidate(0, 10, 80_000), candidate(1, 100, 80_000)];
            let mut bytes = [0; 2];
            for _ in 0..80 {
                let context = SchedulerContext {
                    now: Instant::ZERO,
                    len: PIECE,
                    unsent: PIECE,
                    sendable: u64::MAX,
                    window: 80_000,
                };
                let i = scheduler.pick(&candidates, &context).expect("both paths have room");
                scheduler.on_scheduled(candidates[i].path, PIECE);
                bytes[i] += PIECE;
            }
            assert_eq!(bytes, [60_000, 20_000], "{kind}");
        }
    }
}
