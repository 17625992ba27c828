//! Lowest round-trip time first: the default of the Linux MPTCP v0 tree and of most papers.

use super::{Candidate, Scheduler, Situation};

/// Fills the subflow with the lowest smoothed round-trip time, then the next.
#[derive(Debug, Clone)]
pub(crate) struct MinRtt;

impl Scheduler for MinRtt {
    fn pick(&mut self, candidates: &[Candidate], situation: &Situation) -> Option<usize> {
        let with_room = candidates.iter().enumerate().filter(|(_, c)| c.room >= situation.len);
        with_room.min_by_key(|(_, c)| c.srtt).map(|(i, _)| i)
    }
}
