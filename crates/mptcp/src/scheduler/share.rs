//! An exact share of the data to each path, as the actuator `ideal` of the policy `emtcp` sets it.

use super::{Candidate, Scheduler, SchedulerContext};
use crate::PathId;

/// Tolerance when a share is compared with an equal part, against rounding.
const EQUAL_PART_TOLERANCE: f64 = 1e-9;

/// Assigns each piece to the path that is furthest behind its share, whether it has room or not.
///
/// Assigned data waits in that path's own queue ("the data queued for LTE" in the paper). The send
/// buffer bounds the queue, so in the long run the path that is slowest relative to its share sets
/// the pace. The share of an unavailable path is divided over the others in proportion.
#[derive(Debug, Clone, Default)]
pub(crate) struct Share {
    /// Weight by path; equal weights if empty.
    shares: Vec<f64>,
    /// Bytes assigned by path since the shares were set.
    assigned: Vec<u64>,
}

impl Share {
    fn weight(&self, path: PathId) -> f64 {
        if self.shares.is_empty() { 1.0 } else { self.shares.get(path.index()).copied().unwrap_or(0.0) }
    }

    fn assigned_to(&self, path: PathId) -> u64 {
        self.assigned.get(path.index()).copied().unwrap_or(0)
    }

    /// Returns true if the candidate's share is below an equal part and `len` more bytes would
    /// exceed it.
    pub(crate) fn is_exceeded(&self, candidates: &[Candidate], pick: usize, len: u64) -> bool {
        let weights: f64 = candidates.iter().map(|c| self.weight(c.path)).sum();
        let share = self.weight(candidates[pick].path) / weights;
        let total: u64 = candidates.iter().map(|c| self.assigned_to(c.path)).sum::<u64>() + len;
        let is_bound = share < 1.0 / candidates.len() as f64 - EQUAL_PART_TOLERANCE;
        is_bound && (self.assigned_to(candidates[pick].path) + len) as f64 > share * total as f64
    }

    /// Returns the candidate that is furthest behind its share.
    pub(crate) fn furthest_behind(&self, candidates: &[Candidate], len: u64) -> Option<usize> {
        let weights: f64 = candidates.iter().map(|c| self.weight(c.path)).sum();
        if weights <= 0.0 {
            // No path with a share is available: use the others rather than stop.
            return candidates.iter().enumerate().max_by_key(|(_, c)| c.room).map(|(i, _)| i);
        }
        let total: u64 = candidates.iter().map(|c| self.assigned_to(c.path)).sum::<u64>() + len;
        let behind =
            |c: &Candidate| self.weight(c.path) / weights * total as f64 - self.assigned_to(c.path) as f64;
        let eligible = candidates.iter().enumerate().filter(|(_, c)| self.weight(c.path) > 0.0);
        // Ties go to the first path (`max_by` would take the last).
        eligible
            .fold(None, |best: Option<(usize, f64)>, (i, c)| match best {
                Some((_, most)) if most >= behind(c) => best,
                _ => Some((i, behind(c))),
            })
            .map(|(i, _)| i)
    }
}

impl Scheduler for Share {
    fn pick(&mut self, candidates: &[Candidate], context: &SchedulerContext) -> Option<usize> {
        self.furthest_behind(candidates, context.len)
    }

    fn on_scheduled(&mut self, path: PathId, len: u64) {
        if self.assigned.len() <= path.index() {
            self.assigned.resize(path.index() + 1, 0);
        }
        self.assigned[path.index()] += len;
    }

    fn assigned_path(&self, candidates: &[Candidate], len: u64) -> Option<usize> {
        self.furthest_behind(candidates, len)
    }

    fn set_shares(&mut self, shares: &[f64]) -> bool {
        let usable = |&share: &f64| if share.is_finite() { share.max(0.0) } else { 0.0 };
        if !self.shares.iter().copied().eq(shares.iter().map(usable)) {
            self.shares = shares.iter().map(usable).collect();
            self.assigned.clear();
        }
        true
    }
}
