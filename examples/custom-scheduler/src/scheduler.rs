//! A scheduler that keeps data off the costly path until too much data waits.

use mptcp::scheduler::{Candidate, Scheduler, SchedulerContext, SchedulerFactory};

/// Uses the first path of the scenario, and the others only while more than `threshold` bytes wait.
///
/// A scheduler needs `Clone` and `Debug`, and one method. State of its own goes into further
/// fields: each connection has its own scheduler, and `pick` takes `&mut self`.
#[derive(Debug, Clone)]
pub struct Overflow {
    threshold: u64,
}

impl Scheduler for Overflow {
    /// Called once for each piece of new data. The candidates are the subflows that may carry data,
    /// in the order of the scenario's paths.
    fn pick(&mut self, candidates: &[Candidate], context: &SchedulerContext) -> Option<usize> {
        // `room` is the part of the congestion window that is free now. To pick a subflow without
        // room is allowed: the piece then waits in that subflow's queue.
        let has_room = |i: &usize| candidates[*i].room >= context.len;
        // `unsent` counts the bytes that the application has written and no subflow has taken yet.
        let usable = if context.unsent > self.threshold { candidates.len() } else { 1 };
        // `None` waits: the endpoint asks again at the next acknowledgement.
        (0..usable.min(candidates.len())).find(has_room)
    }

    // All other methods have defaults. `on_scheduled` tells which subflow got how many bytes,
    // `on_window_blocked` that the receive window or the send buffer is full.
}

/// Builds an [`Overflow`] for each connection of a simulation.
#[derive(Debug)]
pub struct OverflowFactory {
    /// Bytes that may wait for the first path.
    pub threshold: u64,
}

impl SchedulerFactory for OverflowFactory {
    /// The name that tables and reports show.
    fn name(&self) -> &'static str {
        "overflow"
    }

    fn build(&self) -> Box<dyn Scheduler> {
        Box::new(Overflow { threshold: self.threshold })
    }
}
