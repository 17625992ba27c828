//! Costly paths that have carried too much, and how they are kept from carrying more.

use super::Action;
use units::{Duration, Instant};

/// Closes the subflows of costly paths that have carried too much and are not needed, and opens them when they are.
///
/// A backup is at the sender's service: Linux puts all that is not acknowledged on one where the other subflows have
/// been silent for some 0.8 s, whatever reason the device has to wait. Over a subflow that is not there it sends nothing.
/// The price is a handshake when the path is needed, and that there is nothing to fall back on without the policy.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Standby {
    /// They have been idle for so long, in seconds, and have carried too much.
    idle: f64,
    closed: bool,
    /// When they were last opened.
    opened: Option<Instant>,
}

impl Standby {
    /// After so long a subflow that was opened is there.
    const HANDSHAKE: Duration = Duration::from_millis(200);

    /// Whether the costly paths are closed.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether their subflows are there.
    pub(super) fn is_set_up(&self, now: Instant) -> bool {
        !self.closed && self.opened.is_none_or(|opened| now.since(opened) >= Self::HANDSHAKE)
    }

    /// Accounts for a look of `seconds`: `idle` says that costly paths have carried too much, are backups now and carried
    /// next to nothing, and will not soon be needed.
    pub(super) fn account(&mut self, idle: bool, seconds: f64) {
        self.idle = if idle { self.idle + seconds } else { 0.0 };
    }

    /// What is to be done about the costly `paths`, which are regular if `on`; `most` is how long they stand by.
    pub(super) fn act(
        &mut self,
        now: Instant,
        on: bool,
        most: Duration,
        paths: impl Iterator<Item = usize>,
        actions: &mut Vec<Action>,
    ) {
        let close = !on && (self.closed || self.idle >= most.as_secs_f64());
        if close != self.closed {
            let act = |path| if close { Action::Close { path } } else { Action::Open { path } };
            actions.extend(paths.map(act));
        }
        if self.closed && !close {
            self.opened = Some(now);
        }
        self.closed = close;
    }
}
