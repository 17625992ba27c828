//! The Path Collector and Data Scheduler (PCDer): at the sender, which paths carry data and in
//! which order.

use super::blocking::BlockingIndicator;
use super::{Observed, Rec, Removal};
use crate::PathId;
use crate::scheduler::{Candidate, Scheduler, SchedulerContext};
use units::{Duration, Instant};

/// Upper bound of the estimated time to send a path's queue, in seconds.
const MAX_QUEUE_SECS: f64 = 3600.0;

/// State of a path at the sender.
#[derive(Debug, Clone, Copy, Default)]
struct PathState {
    /// Rate of the receiver's last report, in bytes per second; 0 before the first.
    rate: u32,
    /// The path is left out: UNUSED in the paper.
    unused: bool,
}

/// The list of paths, and the observations of the receive buffer.
#[derive(Debug, Clone)]
pub(crate) struct Collector {
    settings: Rec,
    paths: Vec<PathState>,
    indicator: BlockingIndicator,
    observed_at: Option<Instant>,
    /// Observations without a sign of blocking, in a row.
    calm_observations: u16,
    /// Paths left out so far.
    removals: u64,
}

impl Collector {
    pub(crate) fn new(settings: Rec) -> Self {
        Self {
            settings,
            paths: Vec::new(),
            indicator: BlockingIndicator::new(settings.observations),
            observed_at: None,
            calm_observations: 0,
            removals: 0,
        }
    }

    fn state_mut(&mut self, path: PathId) -> &mut PathState {
        if self.paths.len() <= path.index() {
            self.paths.resize(path.index() + 1, PathState::default());
        }
        &mut self.paths[path.index()]
    }

    /// Takes the rate that the receiver reports for `path`, in bytes per second.
    pub(crate) fn set_rate(&mut self, path: PathId, rate: u32) {
        self.state_mut(path).rate = rate;
    }

    /// Returns the observed quantity of the receive buffer.
    pub(crate) fn observed(&self) -> Observed {
        self.settings.observed
    }

    /// Resets `path` for a new subflow.
    pub(crate) fn reset(&mut self, path: PathId) {
        *self.state_mut(path) = PathState::default();
    }

    /// Returns true if the path is left out.
    pub(crate) fn is_unused(&self, path: PathId) -> bool {
        self.paths.get(path.index()).is_some_and(|state| state.unused)
    }

    /// Returns the number of paths left out so far.
    pub(crate) fn removals(&self) -> u64 {
        self.removals
    }

    /// The path's rate in bytes per second: the reported one, or cwnd / srtt before the first
    /// report.
    fn rate(&self, candidate: &Candidate) -> f64 {
        match self.paths.get(candidate.path.index()) {
            Some(state) if state.rate > 0 => f64::from(state.rate),
            _ => candidate.cwnd as f64 / candidate.srtt.as_secs_f64().max(1e-6),
        }
    }

    /// Observes the receive buffer once per round trip of the fastest path, and adds or removes
    /// paths.
    ///
    /// `free` bytes of the receiver's `capacity` are free; `paths` may carry data.
    pub(crate) fn observe(&mut self, now: Instant, free: u64, capacity: u64, paths: &[Candidate]) {
        let Some(fastest) = paths.iter().map(|path| path.srtt).min() else { return };
        if self.observed_at.is_some_and(|last| now.since(last) < fastest) {
            return;
        }
        self.observed_at = Some(now);
        if self.indicator.observe(free) {
            self.calm_observations = 0;
            self.leave_one_out(capacity, paths);
            return;
        }
        self.calm_observations = self.calm_observations.saturating_add(1);
        if self.calm_observations >= self.settings.hold {
            // Full-MPTCP mode.
            self.paths.iter_mut().for_each(|state| state.unused = false);
        }
    }

    fn leave_one_out(&mut self, capacity: u64, paths: &[Candidate]) {
        let used: Vec<&Candidate> = paths.iter().filter(|path| !self.is_unused(path.path)).collect();
        if used.len() < 2 {
            return;
        }
        let worst = match self.settings.removal {
            Removal::Worst => used.iter().min_by(|a, b| self.rate(a).total_cmp(&self.rate(b))),
            Removal::Weighed => self.blocking_path(&used, capacity),
        };
        if let Some(path) = worst.map(|worst| worst.path) {
            self.state_mut(path).unused = true;
            self.removals += 1;
        }
    }

    /// Returns the slowest path if the others would bring more than the buffer holds while a
    /// segment is in flight on it.
    fn blocking_path<'a, 'b>(&self, used: &'a [&'b Candidate], capacity: u64) -> Option<&'a &'b Candidate> {
        let time = |path: &Candidate| transfer_time(path, self.rate(path));
        let slowest = used.iter().max_by_key(|path| time(path))?;
        let others = used.iter().filter(|path| path.path != slowest.path);
        let secs = time(slowest).as_secs_f64();
        let bytes_meanwhile: f64 = others.map(|path| self.rate(path) * secs).sum();
        (bytes_meanwhile > capacity as f64).then_some(slowest)
    }
}

/// Returns the time that a segment scheduled to `path` now takes: its queue first, then a round
/// trip.
fn transfer_time(path: &Candidate, rate: f64) -> Duration {
    path.srtt + Duration::from_secs_f64((path.queued as f64 / rate.max(1.0)).min(MAX_QUEUE_SECS))
}

impl Scheduler for Collector {
    /// Picks the path with the highest rate among those in use that have room.
    fn pick(&mut self, candidates: &[Candidate], context: &SchedulerContext) -> Option<usize> {
        let has_room = |c: &Candidate| c.room >= context.len;
        let is_used = |c: &Candidate| !self.is_unused(c.path);
        // If every candidate is left out, use them all the same.
        let none_used = !candidates.iter().any(is_used);
        let able = candidates.iter().enumerate().filter(|(_, c)| has_room(c) && (none_used || is_used(c)));
        // Ties go to the first.
        able.max_by(|(i, a), (j, b)| self.rate(a).total_cmp(&self.rate(b)).then(j.cmp(i)))
            .map(|(place, _)| place)
    }
}
