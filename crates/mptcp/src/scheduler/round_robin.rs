//! Each subflow in turn.

use super::{Candidate, Scheduler, Situation};
use crate::PathId;

/// The next subflow after the last one that has room; it never waits for a full one.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoundRobin {
    last: Option<PathId>,
}

impl Scheduler for RoundRobin {
    fn pick(&mut self, candidates: &[Candidate], situation: &Situation) -> Option<usize> {
        let start = candidates.iter().position(|c| Some(c.path) > self.last).unwrap_or(0);
        let n = candidates.len();
        (0..n).map(|step| (start + step) % n).find(|&i| candidates[i].room >= situation.len)
    }

    fn dealt(&mut self, path: PathId, _len: u64) {
        self.last = Some(path);
    }
}
