//! An exact share of the data to each path: the ideal actuator of the eMTCP paper.

use super::{Candidate, Scheduler, Situation};
use crate::PathId;

/// Gives each piece to the path that is furthest behind its share, whether it has room or not.
///
/// Data so dealt waits in that path's own queue ("the data queued for LTE"); the send buffer bounds
/// how far that goes, so that in the long run the slowest path relative to its share sets the pace.
/// A path that is away has its share divided over the others in proportion.
#[derive(Debug, Clone, Default)]
pub(crate) struct Share {
    /// Weight by path; equal while nothing is set.
    shares: Vec<f64>,
    /// Bytes dealt by path since the shares were set.
    dealt: Vec<u64>,
}

impl Share {
    pub(crate) fn set(&mut self, shares: &[f64]) {
        let usable = |&share: &f64| if share.is_finite() { share.max(0.0) } else { 0.0 };
        if !self.shares.iter().copied().eq(shares.iter().map(usable)) {
            self.shares = shares.iter().map(usable).collect();
            self.dealt.clear();
        }
    }

    fn weight(&self, path: PathId) -> f64 {
        if self.shares.is_empty() { 1.0 } else { self.shares.get(path.index()).copied().unwrap_or(0.0) }
    }

    fn dealt_to(&self, path: PathId) -> u64 {
        self.dealt.get(path.index()).copied().unwrap_or(0)
    }

    /// True if `len` more bytes would take the candidate beyond a share that is below an equal part.
    pub(crate) fn exceeded(&self, candidates: &[Candidate], pick: usize, len: u64) -> bool {
        let weights: f64 = candidates.iter().map(|c| self.weight(c.path)).sum();
        let share = self.weight(candidates[pick].path) / weights;
        let total: u64 = candidates.iter().map(|c| self.dealt_to(c.path)).sum::<u64>() + len;
        let bounded = share < 1.0 / candidates.len() as f64 - 1e-9;
        bounded && (self.dealt_to(candidates[pick].path) + len) as f64 > share * total as f64
    }

    /// Whose turn it is: the path that is furthest behind its share.
    pub(crate) fn turn(&self, candidates: &[Candidate], len: u64) -> Option<usize> {
        let weights: f64 = candidates.iter().map(|c| self.weight(c.path)).sum();
        if weights <= 0.0 {
            // Every path with a share is away: what is left carries the data rather than nobody.
            return candidates.iter().enumerate().max_by_key(|(_, c)| c.room).map(|(i, _)| i);
        }
        let total: u64 = candidates.iter().map(|c| self.dealt_to(c.path)).sum::<u64>() + len;
        let behind =
            |c: &Candidate| self.weight(c.path) / weights * total as f64 - self.dealt_to(c.path) as f64;
        let eligible = candidates.iter().enumerate().filter(|(_, c)| self.weight(c.path) > 0.0);
        // The first of equals, so that the order is that of the paths.
        eligible
            .fold(None, |best: Option<(usize, f64)>, (i, c)| match best {
                Some((_, most)) if most >= behind(c) => best,
                _ => Some((i, behind(c))),
            })
            .map(|(i, _)| i)
    }
}

impl Scheduler for Share {
    fn pick(&mut self, candidates: &[Candidate], situation: &Situation) -> Option<usize> {
        self.turn(candidates, situation.len)
    }

    fn dealt(&mut self, path: PathId, len: u64) {
        if self.dealt.len() <= path.index() {
            self.dealt.resize(path.index() + 1, 0);
        }
        self.dealt[path.index()] += len;
    }
}
