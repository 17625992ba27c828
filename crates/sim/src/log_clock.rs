//! Simulated time of the log entries.
//!
//! Endpoints, links and policies log by `tracing`, whose entries have no simulated time. While
//! logging is on, the event loop stores the time of the present event here, and a subscriber
//! reads it. No other part of a run depends on it.

use std::cell::Cell;
use tracing::{Level, level_enabled};
use units::Instant;

thread_local! {
    static NOW: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Returns the simulated time of the run on this thread; `None` outside its event loop. For the log
/// entries of a `tracing` subscriber.
pub fn simulated_time() -> Option<Instant> {
    NOW.get()
}

/// Returns true if a subscriber takes log entries.
#[inline]
pub(crate) fn is_on() -> bool {
    level_enabled!(Level::INFO)
}

pub(crate) fn set(now: Option<Instant>) {
    NOW.set(now);
}
