//! `wifi-only` and `lte-only`: one kind of interface carries everything.

use crate::{Action, DeviceState, Policy};
use radio::InterfaceKind;
use units::{Duration, Instant};

/// Closes every path that is not of one kind.
#[derive(Debug, Clone)]
pub struct Only {
    name: &'static str,
    kind: InterfaceKind,
    /// Without a path of that kind, closing the others would leave none at all.
    possible: bool,
}

impl Only {
    /// Keeps the paths of `kind`, on a device with `kinds`; closes nothing where there is none.
    pub fn new(name: &'static str, kind: InterfaceKind, kinds: &[InterfaceKind]) -> Self {
        Self { name, kind, possible: kinds.contains(&kind) }
    }
}

impl Policy for Only {
    fn name(&self) -> &str {
        self.name
    }
    fn observe(&mut self, _now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        if self.possible {
            let others = state.paths.iter().enumerate().filter(|(_, path)| path.kind != self.kind);
            actions.extend(others.map(|(path, _)| Action::Close { path }));
        }
    }
    fn interval(&self) -> Option<Duration> {
        None
    }
}
