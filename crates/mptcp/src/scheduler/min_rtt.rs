//! Lowest round-trip time first: the default of the Linux MPTCP v0 tree and of most papers.

use super::{Candidate, Scheduler, SchedulerContext};

/// Fills the subflow with the lowest smoothed round-trip time, then the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct MinRtt;

impl Scheduler for MinRtt {
    fn pick(&mut self, candidates: &[Candidate], context: &SchedulerContext) -> Option<usize> {
        let with_room = candidates.iter().enumerate().filter(|(_, c)| c.room >= context.len);
        with_room.min_by_key(|(_, c)| c.srtt).map(|(i, _)| i)
    }

    fn is_lowest_rtt_first(&self) -> bool {
        true
    }
}
