//! `none`: leaves all paths to the scheduler (plain Multipath TCP). It has no parameters.

use crate::{Action, DeviceState, InterfaceKind, Policy, PolicyEntry, PolicyFactory};
use units::{Duration, Instant};

pub(crate) const ENTRY: PolicyEntry =
    PolicyEntry::plain(NoPolicy::NAME, "leaves every path to the scheduler: plain Multipath TCP", |_| {
        NoPolicy.into()
    });

/// The policy `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoPolicy;

impl NoPolicy {
    /// Its name.
    pub const NAME: &'static str = "none";
}

impl PolicyFactory for NoPolicy {
    fn name(&self) -> &str {
        Self::NAME
    }
    fn build(&self, _kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        Box::new(*self)
    }
}

impl Policy for NoPolicy {
    fn observe(&mut self, _now: Instant, _state: &DeviceState, _actions: &mut Vec<Action>) {}
    fn interval(&self) -> Option<Duration> {
        None
    }
}
