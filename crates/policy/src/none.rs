//! `none`: plain MPTCP.

use crate::{Action, DeviceState, Policy};
use units::{Duration, Instant};

/// Leaves everything to the scheduler.
#[derive(Debug, Clone, Copy, Default)]
pub struct None;

impl Policy for None {
    fn name(&self) -> &'static str {
        "none"
    }
    fn observe(&mut self, _now: Instant, _state: &DeviceState, _actions: &mut Vec<Action>) {}
    fn interval(&self) -> Option<Duration> {
        Option::None
    }
}
