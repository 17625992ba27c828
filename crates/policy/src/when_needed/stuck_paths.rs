//! Preferred paths on which data is stuck: their subflows are closed and opened again.

use crate::Action;
use tracing::debug;
use units::{Duration, Instant};

/// Resets the subflows of preferred paths, and waits for them to carry data again.
///
/// A sender recovers data from a silent path only by that path's own timeouts, and all later data
/// waits for it. When the device closes the subflow, its peer reinjects the missing data on the
/// other paths at once. The new subflow completes its handshake once the path carries packets.
#[derive(Debug, Clone, Default)]
pub(super) struct StuckPaths {
    silent_for: Duration,
    last_reset: Option<Reset>,
    /// Indices of the paths that are closed and not yet opened again.
    closed: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Reset {
    at: Instant,
    /// When the preferred paths first carried data afterwards.
    carried_again: Option<Instant>,
}

impl StuckPaths {
    /// Interval between resets while nothing arrives: a lost SYN is repeated after 1 s and 3 s (RFC
    /// 6298), and later repetitions come too rarely.
    const RETRY_INTERVAL: Duration = Duration::from_secs(4);

    /// Records whether the preferred paths carried data in the last `span`.
    pub(super) fn record(&mut self, now: Instant, carried: bool, span: Duration) {
        self.silent_for = if carried { Duration::ZERO } else { self.silent_for + span };
        if let Some(reset) = &mut self.last_reset
            && carried
        {
            reset.carried_again.get_or_insert(now);
        }
    }

    /// Time for which the preferred paths have carried nothing.
    pub(super) fn silent_for(&self) -> Duration {
        self.silent_for
    }

    /// True while the paths are silent after a reset: the peer uses the other paths on its own.
    pub(super) fn are_reset(&self) -> bool {
        self.last_reset.is_some_and(|reset| reset.carried_again.is_none())
    }

    /// True while data may arrive that the peer has sent on other paths too: after a reset, until
    /// the path has carried data for `settling`.
    pub(super) fn duplicates_expected(&self, now: Instant, settling: Duration) -> bool {
        self.last_reset.is_some_and(|reset| reset.carried_again.is_none_or(|at| now.since(at) < settling))
    }

    /// Opens the closed paths. A peer that learned of the end and of a new subflow at the same time
    /// might take them for one, so they were closed at the last observation.
    pub(super) fn open(&mut self, actions: &mut Vec<Action>) {
        actions.extend(self.closed.drain(..).map(|path| Action::Open { path }));
    }

    /// Closes the paths `up`, unless they have not carried data since a recent reset. Returns
    /// whether it did.
    pub(super) fn reset(
        &mut self,
        now: Instant,
        up: impl Iterator<Item = usize>,
        actions: &mut Vec<Action>,
    ) -> bool {
        if self.are_reset() && self.last_reset.is_some_and(|reset| now.since(reset.at) < Self::RETRY_INTERVAL)
        {
            return false;
        }
        self.closed.extend(up);
        debug!(paths = ?self.closed, silent_for = %self.silent_for, "stuck paths are reset");
        actions.extend(self.closed.iter().map(|&path| Action::Close { path }));
        if !self.closed.is_empty() {
            self.last_reset = Some(Reset { at: now, carried_again: None });
        }
        !self.closed.is_empty()
    }
}
