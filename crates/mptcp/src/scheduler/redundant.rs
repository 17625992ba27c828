//! All data over all subflows: Frömmgen et al., "`ReMP` TCP: Low latency multipath TCP", ICC 2016.

use super::{Candidate, MinRtt, Scheduler, Situation};

/// New data goes first to the fastest subflow that has room, and then to each other as it gets room.
///
/// The copies are dealt by the endpoint, which knows how far in the stream each subflow is. One that
/// is behind goes on where the peer's DATA_ACK is: what has arrived already is not worth a copy.
#[derive(Debug, Clone)]
pub(crate) struct Redundant;

impl Scheduler for Redundant {
    fn pick(&mut self, candidates: &[Candidate], situation: &Situation) -> Option<usize> {
        MinRtt.pick(candidates, situation)
    }
}
