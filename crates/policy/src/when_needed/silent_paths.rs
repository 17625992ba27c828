//! Preferred paths that have failed silently: their subflows are closed and opened again.

use crate::Action;
use tracing::debug;
use units::{Duration, Instant};

/// Detects silent preferred paths and resets their subflows.
///
/// A sender recovers data from a silent path only by that path's own timeouts; until then all data
/// on other paths waits behind the gap, and some senders repeat it. When the device closes the
/// subflow, its peer reinjects the missing data on the other paths at once. The new subflow
/// completes its handshake once the path carries packets again.
#[derive(Debug, Clone, Default)]
pub(super) struct SilentPaths {
    silent_s: f64,
    last_reset: Option<Reset>,
    /// Indices of the paths that are closed and not yet opened again.
    closed: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Reset {
    at: Instant,
    /// When the preferred paths first carried data afterwards.
    carried_again: Option<Instant>,
    /// Data may have been stuck on the path, and may be sent twice. False after a false alarm.
    data_stuck: bool,
}

impl SilentPaths {
    /// Paths that carry less than this part of the demand are silent: data on them would take more
    /// than ten times as long as the demand allows.
    pub(super) const MIN_DEMAND_PART: f64 = 0.1;
    /// Time between resets while nothing arrives. A new subflow would wait ever longer after each
    /// lost handshake (RFC 6298).
    const RETRY_INTERVAL: Duration = Duration::from_secs(4);
    /// Time within which data that was sent twice has arrived.
    const DUPLICATES_WINDOW: Duration = Duration::from_secs(2);
    /// Time for which a path stays closed: a peer that learns of the end and of a new subflow at
    /// the same time might take them for one.
    const CLOSED_TIME: Duration = Duration::from_millis(100);

    /// Records that the preferred paths carried `rate` of `demand`, in bytes per second, for
    /// `seconds`.
    pub(super) fn record(&mut self, now: Instant, rate: f64, demand: f64, seconds: f64) {
        let carries = rate >= Self::MIN_DEMAND_PART * demand;
        self.silent_s = if carries { 0.0 } else { self.silent_s + seconds };
        if let Some(last) = &mut self.last_reset
            && carries
        {
            last.carried_again.get_or_insert(now);
        }
    }

    /// True if the preferred paths were silent at the last observation.
    pub(super) fn is_silent(&self) -> bool {
        self.silent_s > 0.0
    }

    /// True while data that was sent twice may arrive, on account of silent paths.
    pub(super) fn duplicates_expected(&self, now: Instant) -> bool {
        self.is_silent() || self.was_reset(now)
    }

    /// True shortly after a reset, when reinjected data arrives on other paths, and shortly after
    /// the paths carry again, when the stuck data arrives.
    pub(super) fn was_reset(&self, now: Instant) -> bool {
        let recent = |at| now.since(at) < Self::DUPLICATES_WINDOW;
        self.last_reset.is_some_and(|last| {
            last.data_stuck && (recent(last.at) || last.carried_again.is_some_and(recent))
        })
    }

    /// The application was silent, not the paths.
    pub(super) fn on_false_alarm(&mut self) {
        if let Some(last) = &mut self.last_reset {
            last.data_stuck = false;
        }
    }

    /// Opens the closed paths, or closes the preferred paths `up` after `max_silence`.
    /// `others_ready` tells whether costly paths can carry their data.
    pub(super) fn act(
        &mut self,
        now: Instant,
        others_ready: bool,
        max_silence: Duration,
        up: impl Iterator<Item = usize>,
        actions: &mut Vec<Action>,
    ) {
        if let Some(last) = self.last_reset
            && !self.closed.is_empty()
            && now.since(last.at) >= Self::CLOSED_TIME
        {
            // The silence of the new subflow is measured anew.
            self.silent_s = 0.0;
            actions.extend(self.closed.drain(..).map(|path| Action::Open { path }));
        }
        let due = self
            .last_reset
            .is_none_or(|last| last.carried_again.is_some() || now.since(last.at) >= Self::RETRY_INTERVAL);
        if others_ready && due && self.silent_s >= max_silence.as_secs_f64() {
            self.closed.extend(up);
            if !self.closed.is_empty() {
                debug!(paths = ?self.closed, silent_s = self.silent_s, "silent paths are reset");
                self.last_reset = Some(Reset { at: now, carried_again: None, data_stuck: true });
                actions.extend(self.closed.iter().map(|&path| Action::Close { path }));
            }
        }
    }
}
