//! The running policy: costly paths are backup or regular, as the virtual queue requires.

use super::WhenNeeded;
use super::full_link::FullLink;
use super::stuck_paths::StuckPaths;
use super::virtual_queue::VirtualQueue;
use crate::state::is_preferred;
use crate::{Action, DeviceState, InterfaceKind, PathState, Policy};
use tracing::debug;
use units::{Duration, Instant};

/// Time between observations of the counters: two in a round trip of 100 ms.
const INTERVAL: Duration = Duration::from_millis(50);
/// Time until a change of priority shows in the counters: a round trip, and the wait for an
/// observation. The policy decides on the next change no sooner.
const REACTION: Duration = Duration::from_millis(150);
/// Maximum of the deadline after false alarms, in deadlines.
const MAX_PATIENCE: u64 = 8;

#[derive(Debug)]
pub(super) struct WhenNeededPolicy {
    parameters: WhenNeeded,
    /// Some path is not costly; otherwise no path could relieve the costly ones.
    has_preferred: bool,
    /// Time of the last observation, and the bytes carried by preferred and costly paths.
    previous: Option<(Instant, [u64; 2])>,
    queue: VirtualQueue,
    full_link: FullLink,
    stuck_paths: StuckPaths,
    /// Moving average over the preferred paths, in bytes per second.
    preferred_mean: f64,
    /// The deadline; a false alarm doubles it.
    patience: Duration,
    /// Time of the last change of priority.
    changed: Option<Instant>,
    /// The time in which costly paths are regular; `None` while they are backup.
    regular: Option<Regular>,
}

/// A time in which costly paths are regular.
#[derive(Debug, Clone, Copy)]
struct Regular {
    /// The alarm came from a full link, so the queue does not tell when it is over.
    is_probe: bool,
    since: Instant,
    /// Most bytes that the preferred paths can still hold.
    held: f64,
    /// Costly paths have helped in an earlier trial.
    helped: bool,
    trial: Trial,
}

/// A span of the length `hold`, after which costly paths have helped or not.
#[derive(Debug, Clone, Copy)]
struct Trial {
    since: Instant,
    /// Estimated demand at its start, in bytes per second.
    demand: f64,
    /// Longest queue, and bytes over costly and over all paths.
    peak_queue: f64,
    costly_bytes: f64,
    total_bytes: f64,
}

/// Rates between two observations, in bytes per second.
#[derive(Debug, Clone, Copy)]
struct Rates {
    span: Duration,
    preferred: f64,
    costly: f64,
}

impl Rates {
    fn total(&self) -> f64 {
        self.preferred + self.costly
    }
}

impl Trial {
    fn new(since: Instant, demand: f64) -> Self {
        Self { since, demand, peak_queue: 0.0, costly_bytes: 0.0, total_bytes: 0.0 }
    }
}

impl WhenNeededPolicy {
    pub(super) fn new(parameters: WhenNeeded, kinds: &[InterfaceKind]) -> Self {
        let WhenNeeded { deadline, hold, memory, .. } = parameters;
        let deadline = deadline.max(INTERVAL);
        let (hold, memory) = (hold.max(INTERVAL), memory.max(INTERVAL));
        Self {
            parameters: WhenNeeded { deadline, hold, memory, ..parameters },
            has_preferred: kinds.iter().any(|&kind| is_preferred(kind)),
            previous: None,
            queue: VirtualQueue::default(),
            full_link: FullLink::default(),
            stuck_paths: StuckPaths::default(),
            preferred_mean: 0.0,
            patience: deadline,
            changed: None,
            regular: None,
        }
    }

    /// Reads the counters; `None` for an extra observation that is too short for a rate.
    fn measure(&mut self, now: Instant, state: &DeviceState) -> Option<Rates> {
        let counters = state.sums(PathState::bytes);
        let (then, before) = *self.previous.get_or_insert((now, counters));
        let span = now.since(then);
        if span < INTERVAL / 2 {
            return None;
        }
        self.previous = Some((now, counters));
        let rate = |i: usize| counters[i].saturating_sub(before[i]) as f64 / span.as_secs_f64();
        Some(Rates { span, preferred: rate(0), costly: rate(1) })
    }

    fn update_estimates(&mut self, now: Instant, state: &DeviceState, rates: &Rates, preferred_up: bool) {
        let WhenNeeded { hold, queueing, slack, enough, .. } = self.parameters;
        let seconds = rates.span.as_secs_f64();
        let enough = enough.map_or(f64::INFINITY, |rate| rate.as_bps() as f64 / 8.0);
        // Repeated data is no demand.
        let max_demand = if self.stuck_paths.duplicates_expected(now, hold * 4) { 0.0 } else { enough };
        let is_shortage = self.regular.is_some();
        self.queue.advance(rates.total(), rates.span, &self.parameters, is_shortage, max_demand);
        self.preferred_mean +=
            (rates.preferred - self.preferred_mean) * (seconds / hold.as_secs_f64()).min(1.0);
        let carries = rates.preferred > slack * self.queue.demand();
        if preferred_up {
            self.stuck_paths.record(now, carries, rates.span);
        }
        // A path that carries almost nothing has no queue of present data. The virtual queue covers
        // the demand that it knows.
        let usable = carries && rates.preferred < enough && self.queue.bytes() == 0.0;
        let preferred = state.paths.iter().filter(|path| path.up && is_preferred(path.kind) && usable);
        self.full_link.record(preferred.filter_map(|path| path.srtt).min(), rates.span, queueing);
    }

    /// Bytes that the preferred paths carry in `span`.
    fn preferred_bytes(&self, span: Duration) -> f64 {
        self.preferred_mean.min(self.queue.demand()) * span.as_secs_f64()
    }

    /// True once the preferred paths need longer than the deadline for the queue, or have been full
    /// for as long.
    fn is_late(&self) -> bool {
        let late = self.queue.bytes() > 0.0 && self.queue.bytes() >= self.preferred_bytes(self.patience);
        late || self.full_link.full_for() >= self.patience
    }

    fn make_regular(&mut self, now: Instant) {
        let held = self.queue.bytes();
        self.changed = Some(now);
        debug!(queue = held, demand = self.queue.demand(), "costly paths become regular");
        self.regular = Some(Regular {
            is_probe: held == 0.0,
            since: now,
            held,
            helped: false,
            trial: Trial::new(now, self.queue.demand()),
        });
    }

    /// Makes costly paths backup once the preferred paths need half of the deadline for the queue, or
    /// if costly paths do not shorten it.
    fn consider_backup(&mut self, now: Instant, mut regular: Regular, rates: &Rates) {
        let WhenNeeded { deadline, hold, memory, slack, .. } = self.parameters;
        let Trial { since, demand, peak_queue, costly_bytes, total_bytes } = regular.trial;
        let trial_s = now.since(since).as_secs_f64();
        let is_over = now.since(since) >= hold;
        let tolerance = slack * self.queue.demand() * trial_s;
        let used = costly_bytes > tolerance;
        let paid_soon = (rates.total() - self.queue.demand()).max(0.0) * REACTION.as_secs_f64();
        let left = self.preferred_bytes(deadline / 2);
        let is_expired = regular.is_probe && now.since(regular.since) >= memory;
        // A reset will tell a silent path from a silent application. A probe ends all the same: its
        // sender may leave the preferred paths unused.
        if !is_expired && rates.preferred == 0.0 && !self.stuck_paths.are_reset() {
            return;
        }
        // A probe lasts as long as it raises the demand.
        if is_over && regular.is_probe && self.queue.demand() > (1.0 + slack) * demand {
            regular.trial = Trial::new(now, self.queue.demand());
            self.regular = Some(regular);
            return;
        }
        if self.queue.bytes() <= paid_soon + left && (is_over || !regular.is_probe) {
            // A queue that the preferred paths have emptied themselves was a shortage too.
            self.make_backup(now, used || !regular.is_probe, regular.is_probe);
            return;
        }
        if !is_over && !is_expired {
            return;
        }
        let demand_met = total_bytes >= self.queue.served_rate(slack) * trial_s;
        let stands = self.queue.bytes() > peak_queue - tolerance;
        if (stands && (demand_met || !used)) || now.since(regular.since) >= memory {
            // The trial may include the backlog, so that its rate exceeds the demand.
            self.queue.reset(self.queue.demand().min(total_bytes / trial_s));
            self.make_backup(now, used || regular.helped, regular.is_probe);
            return;
        }
        regular.helped |= used;
        regular.trial = Trial::new(now, self.queue.demand());
        self.regular = Some(regular);
    }

    fn make_backup(&mut self, now: Instant, helped: bool, is_probe: bool) {
        self.changed = Some(now);
        debug!(helped, demand = self.queue.demand(), "costly paths become backup");
        let deadline = self.parameters.deadline;
        self.patience = if helped { deadline } else { (self.patience * 2).min(deadline * MAX_PATIENCE) };
        self.full_link.restart(is_probe && !helped);
        self.regular = None;
    }

    /// Applies one observation.
    fn update(&mut self, now: Instant, rates: &Rates, preferred_up: bool) {
        let queue = self.queue.bytes();
        let shows = self.changed.is_none_or(|at| now.since(at) >= REACTION);
        let Some(regular) = &mut self.regular else {
            if shows && self.is_late() {
                self.make_regular(now);
            }
            return;
        };
        let seconds = rates.span.as_secs_f64();
        regular.held -= rates.preferred * seconds;
        regular.trial.peak_queue = regular.trial.peak_queue.max(queue);
        regular.trial.costly_bytes += rates.costly * seconds;
        regular.trial.total_bytes += rates.total() * seconds;
        if !preferred_up {
            // The trial begins once a preferred path could take over.
            regular.trial = Trial::new(now, self.queue.demand());
        } else if shows {
            let regular = *regular;
            self.consider_backup(now, regular, rates);
        }
    }

    /// True if data waits on preferred paths that deliver it too late.
    fn is_stuck(&self) -> bool {
        let WhenNeeded { deadline, hold, .. } = self.parameters;
        self.regular.is_some_and(|regular| {
            self.stuck_paths.silent_for() >= deadline
                || regular.held > self.preferred_mean * hold.as_secs_f64()
        })
    }
}

impl Policy for WhenNeededPolicy {
    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        if !self.has_preferred {
            return;
        }
        let preferred_up = state.preferred_up();
        if let Some(rates) = self.measure(now, state) {
            self.stuck_paths.open(actions);
            self.update_estimates(now, state, &rates, preferred_up);
            self.update(now, &rates, preferred_up);
        }
        if !preferred_up && self.regular.is_none() {
            self.make_regular(now);
        }
        if self.is_stuck() {
            let paths = state.paths.iter().enumerate();
            let up = paths.filter(|(_, path)| path.up && is_preferred(path.kind)).map(|(path, _)| path);
            let was_reset = self.stuck_paths.reset(now, up, actions);
            if let Some(regular) = self.regular.as_mut().filter(|_| was_reset) {
                regular.held = 0.0;
            }
        }
        state.mark_costly(self.regular.is_none(), actions);
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }
}
