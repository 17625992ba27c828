//! The Path Collector and Data Scheduler (PCDer): at the sender, which paths carry data, and which first.

use super::Rec;
use super::blocking::Blocking;
use crate::PathId;
use crate::scheduler::{Candidate, Scheduler, Situation};
use units::{Duration, Instant};

/// Which path is left out where blocking is coming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Removal {
    /// The one with the lowest rate: the paper's.
    #[default]
    Worst,
    /// The one whose data is waited for longest, and only where the others would fill the buffer meanwhile:
    /// Tandem's own.
    Weighed,
}

/// What the sender knows of a path.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// As the receiver told last, in bytes per second; 0 before.
    rate: u32,
    /// Out of the list: UNUSED, as the paper calls it.
    unused: bool,
}

/// The list of paths, and what the receive buffer looked like.
#[derive(Debug, Clone)]
pub(crate) struct Collector {
    settings: Rec,
    known: Vec<Known>,
    blocking: Blocking,
    observed: Option<Instant>,
    /// Observations without a sign of blocking, in a row.
    calm: u16,
    /// Paths taken out so far.
    removals: u64,
}

impl Collector {
    pub(crate) fn new(settings: Rec) -> Self {
        Self {
            settings,
            known: Vec::new(),
            blocking: Blocking::new(settings.observations),
            observed: None,
            calm: 0,
            removals: 0,
        }
    }

    fn of(&mut self, path: PathId) -> &mut Known {
        if self.known.len() <= path.index() {
            self.known.resize(path.index() + 1, Known::default());
        }
        &mut self.known[path.index()]
    }

    /// The receiver wants `rate` bytes per second over `path`.
    pub(crate) fn told(&mut self, path: PathId, rate: u32) {
        self.of(path).rate = rate;
    }

    /// A new subflow takes the path.
    pub(crate) fn forget(&mut self, path: PathId) {
        *self.of(path) = Known::default();
    }

    /// The path is out of the list.
    pub(crate) fn is_unused(&self, path: PathId) -> bool {
        self.known.get(path.index()).is_some_and(|known| known.unused)
    }
    pub(crate) fn removals(&self) -> u64 {
        self.removals
    }

    fn rate(&self, candidate: &Candidate) -> f64 {
        match self.known.get(candidate.path.index()) {
            Some(known) if known.rate > 0 => f64::from(known.rate),
            // Not told yet: what its window makes.
            _ => candidate.cwnd as f64 / candidate.srtt.as_secs_f64().max(1e-6),
        }
    }

    /// The receiver has `free` bytes of buffer, of `all`; `paths` are those that may carry data. Looks once
    /// each round trip of the fastest.
    pub(crate) fn observe(&mut self, now: Instant, free: u64, all: u64, paths: &[Candidate]) {
        let Some(fastest) = paths.iter().map(|path| path.srtt).min() else { return };
        if self.observed.is_some_and(|last| now.since(last) < fastest) {
            return;
        }
        self.observed = Some(now);
        if !self.blocking.observe(free) {
            self.calm = self.calm.saturating_add(1);
            if self.calm >= self.settings.hold {
                // Full-MPTCP mode.
                self.known.iter_mut().for_each(|known| known.unused = false);
            }
            return;
        }
        self.calm = 0;
        let listed: Vec<&Candidate> = paths.iter().filter(|path| !self.is_unused(path.path)).collect();
        if listed.len() < 2 {
            return;
        }
        let worst = match self.settings.removal {
            Removal::Worst => listed.iter().min_by(|a, b| self.rate(a).total_cmp(&self.rate(b))),
            Removal::Weighed => self.blocker(&listed, all),
        };
        if let Some(path) = worst.map(|worst| worst.path) {
            self.of(path).unused = true;
            self.removals += 1;
        }
    }

    /// The slowest path, where it blocks: while a segment is under way on it, the others would bring more than the
    /// buffer holds.
    fn blocker<'a, 'b>(&self, listed: &'a [&'b Candidate], buffer: u64) -> Option<&'a &'b Candidate> {
        let time = |path: &Candidate| transfer_time(path, self.rate(path));
        let slowest = listed.iter().max_by_key(|path| time(path))?;
        let others = listed.iter().filter(|path| path.path != slowest.path);
        let meanwhile = time(slowest).as_secs_f64();
        let rest: f64 = others.map(|path| self.rate(path) * meanwhile).sum();
        (rest > buffer as f64).then_some(slowest)
    }
}

/// How long a segment takes that is dealt to `path` now: what is queued there first, and a round trip.
fn transfer_time(path: &Candidate, rate: f64) -> Duration {
    path.srtt + Duration::from_secs_f64((path.queued as f64 / rate.max(1.0)).min(3600.0))
}

impl Scheduler for Collector {
    /// The path of the list with the highest rate that has room.
    fn pick(&mut self, candidates: &[Candidate], situation: &Situation) -> Option<usize> {
        let room = |c: &Candidate| c.room >= situation.len;
        let listed = |c: &Candidate| !self.is_unused(c.path);
        // Where only such are left as were taken out, they must do.
        let anyone = !candidates.iter().any(listed);
        let able = candidates.iter().enumerate().filter(|(_, c)| room(c) && (anyone || listed(c)));
        // Of equal ones the first.
        able.max_by(|(i, a), (j, b)| self.rate(a).total_cmp(&self.rate(b)).then(j.cmp(i)))
            .map(|(place, _)| place)
    }
}
