//! Costly paths that carried too much are closed while they are not needed.

use crate::Action;
use tracing::debug;
use units::{Duration, Instant};

/// Closes idle costly paths that carried too much, and opens them when they are needed.
///
/// A sender may use a backup on its own account: Linux puts all unacknowledged data on one after
/// the other subflows have been silent for about 0.8 s. A closed subflow prevents that. The price
/// is a handshake when the path is needed, and no fallback without the policy.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Standby {
    idle_s: f64,
    closed: bool,
    last_opened: Option<Instant>,
}

impl Standby {
    /// Time that the handshake of an opened subflow takes.
    const HANDSHAKE: Duration = Duration::from_millis(200);

    /// True while the costly paths are closed.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// True if the costly paths are open and their handshakes are complete.
    pub(super) fn is_ready(&self, now: Instant) -> bool {
        !self.closed && self.last_opened.is_none_or(|opened| now.since(opened) >= Self::HANDSHAKE)
    }

    /// Records an observation of `seconds`. `idle`: the costly paths carried too much before, are
    /// backup and almost unused, and will not soon be needed.
    pub(super) fn record(&mut self, idle: bool, seconds: f64) {
        self.idle_s = if idle { self.idle_s + seconds } else { 0.0 };
    }

    /// Closes the costly `paths` after they were idle for `max_idle`, and opens them once they are
    /// `regular`.
    pub(super) fn act(
        &mut self,
        now: Instant,
        regular: bool,
        max_idle: Duration,
        paths: impl Iterator<Item = usize>,
        actions: &mut Vec<Action>,
    ) {
        let close = !regular && (self.closed || self.idle_s >= max_idle.as_secs_f64());
        if close != self.closed {
            debug!(close, idle_s = self.idle_s, "standby of costly paths changes");
            let action = |path| if close { Action::Close { path } } else { Action::Open { path } };
            actions.extend(paths.map(action));
        }
        if self.closed && !close {
            self.last_opened = Some(now);
        }
        self.closed = close;
    }
}
