//! All data over all subflows: Frömmgen et al., "`ReMP` TCP: Low latency multipath TCP", ICC 2016.

use super::{Candidate, MinRtt, Scheduler, SchedulerContext};

/// Sends new data over the fastest subflow that has room, and then a copy over each other one.
///
/// The endpoint schedules the copies, because it knows how far in the stream each subflow is. A
/// subflow that falls behind continues at the peer's DATA_ACK: acknowledged data needs no copy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redundant;

impl Scheduler for Redundant {
    fn pick(&mut self, candidates: &[Candidate], context: &SchedulerContext) -> Option<usize> {
        MinRtt.pick(candidates, context)
    }

    fn is_redundant(&self) -> bool {
        true
    }
}
