//! Each subflow in turn.

use super::{Candidate, Scheduler, SchedulerContext};
use crate::PathId;

/// Picks the next subflow with room after the last one used; never waits for a full subflow.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoundRobin {
    last: Option<PathId>,
}

impl Scheduler for RoundRobin {
    fn pick(&mut self, candidates: &[Candidate], context: &SchedulerContext) -> Option<usize> {
        let start = candidates.iter().position(|c| Some(c.path) > self.last).unwrap_or(0);
        let n = candidates.len();
        (0..n).map(|step| (start + step) % n).find(|&i| candidates[i].room >= context.len)
    }

    fn on_scheduled(&mut self, path: PathId, _len: u64) {
        self.last = Some(path);
    }
}
