//! The running policy: two phases, backup and regular, and the conditions to change between them.

use super::WhenNeeded;
use super::balance::Balance;
use super::demand::{Demand, Limits, Rise};
use super::queue::QueueDetector;
use super::silent_paths::SilentPaths;
use super::standby::Standby;
use crate::state::is_preferred;
use crate::{Action, DeviceState, InterfaceKind, Policy};
use tracing::debug;
use units::{Duration, Instant};

/// Time between observations of the counters.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);
/// A probe has failed if costly paths become regular again within this time, or within two holds.
const PROBATION: Duration = Duration::from_secs(2);
/// Time constant of the mean rates while costly paths are regular, in seconds.
const MEAN_TIME_CONSTANT_S: f64 = 0.3;
/// Gain in rate that shows a real shortage, as a part of the demand or of the rate before.
const MIN_GAIN: f64 = 0.03;
/// Time with costly paths after which the total rate shows the demand.
const DEMAND_MEASURED_AFTER: Duration = Duration::from_secs(1);
/// Consecutive false alarms, each of which doubles the lateness of the next alarm, that count.
const MAX_FALSE_ALARMS: u32 = 3;
/// Time within which data queued in a shortage arrives after it.
const SETTLING: Duration = Duration::from_secs(2);
/// Factor on the time for which a queue may stand while counters show a shortage too: they measure
/// the lateness better.
const QUEUE_PATIENCE_WITH_BACKLOG: f64 = 1.5;
/// Early ends of a hold that may follow on one another.
const MAX_EARLY_ENDS: f64 = 2.0;
/// Holds per further early end: with the alarm before it, fewer than one change in half a second.
const HOLDS_PER_EARLY_END: f64 = 2.1;

#[derive(Debug)]
pub(super) struct WhenNeededPolicy {
    parameters: WhenNeeded,
    /// Some path is not cellular; otherwise no path could relieve the cellular ones.
    has_preferred: bool,
    /// Time of the last observation, and the bytes carried by preferred and costly paths.
    previous: Option<(Instant, [u64; 2])>,
    demand: Demand,
    balance: Balance,
    queue: QueueDetector,
    silent_paths: SilentPaths,
    standby: Standby,
    phase: Phase,
    /// Time for which costly paths stay regular this time.
    hold: Duration,
    /// Consecutive false alarms.
    false_alarms: u32,
    /// Token bucket: times that costly paths may become backup before the end of their hold.
    early_ends: f64,
}

/// State of the costly paths.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Backup {
        /// `None` if they were never regular.
        since: Option<Instant>,
        shortage: Shortage,
    },
    Regular(Regular),
}

/// Bytes and seconds since a backlog or a queue began.
#[derive(Debug, Clone, Copy, Default)]
struct Shortage {
    bytes: f64,
    seconds: f64,
}

/// A time in which costly paths are regular. Rates are in bytes per second.
#[derive(Debug, Clone, Copy)]
struct Regular {
    since: Instant,
    /// Total rate in the shortage before.
    rate_before: f64,
    /// Moving average over the preferred paths.
    preferred_mean: f64,
    /// Moving average over all paths.
    total_mean: f64,
    /// Highest rate of the preferred paths since.
    preferred_peak: f64,
    /// It began with a backlog on paths that were up, so the policy can see when it is paid off.
    began_with_backlog: bool,
}

/// Rates between two observations, in bytes per second.
#[derive(Debug, Clone, Copy)]
struct Rates {
    span: Duration,
    preferred: f64,
    costly: f64,
}

impl Rates {
    fn seconds(&self) -> f64 {
        self.span.as_secs_f64()
    }
    fn total(&self) -> f64 {
        self.preferred + self.costly
    }
}

/// Thresholds of the alarm that makes costly paths regular.
#[derive(Debug, Clone, Copy)]
struct Alarm {
    lateness_s: f64,
    /// Backlog that is necessary in addition, in bytes.
    min_backlog: f64,
}

impl WhenNeededPolicy {
    pub(super) fn new(parameters: WhenNeeded, kinds: &[InterfaceKind]) -> Self {
        let WhenNeeded { late, hold, standby, .. } = parameters;
        let parameters = WhenNeeded {
            late: late.max(INTERVAL),
            hold: hold.max(INTERVAL),
            standby: standby.max(INTERVAL),
            ..parameters
        };
        Self {
            parameters,
            has_preferred: kinds.iter().any(|&kind| is_preferred(kind)),
            previous: None,
            demand: Demand::default(),
            balance: Balance::default(),
            queue: QueueDetector::default(),
            silent_paths: SilentPaths::default(),
            standby: Standby::default(),
            phase: Phase::Backup { since: None, shortage: Shortage::default() },
            hold: parameters.hold,
            false_alarms: 0,
            early_ends: MAX_EARLY_ENDS,
        }
    }

    /// Reads the counters; `None` for an extra observation that is too short for a rate.
    fn measure(&mut self, now: Instant, state: &DeviceState) -> Option<Rates> {
        let mut counters = [0_u64; 2];
        for path in &state.paths {
            let counter = &mut counters[usize::from(!is_preferred(path.kind))];
            *counter = counter.saturating_add(path.bytes());
        }
        let (then, before) = *self.previous.get_or_insert((now, counters));
        let span = now.since(then);
        if span < INTERVAL.mul_f64(0.5) {
            return None;
        }
        self.previous = Some((now, counters));
        let rate = |i: usize| counters[i].saturating_sub(before[i]) as f64 / span.as_secs_f64();
        Some(Rates { span, preferred: rate(0), costly: rate(1) })
    }

    /// Updates demand, balance, silence, standby and queue with the rates of one observation.
    fn update_estimates(
        &mut self,
        now: Instant,
        state: &DeviceState,
        rates: &Rates,
        alarm: &Alarm,
        preferred_up: bool,
    ) {
        let seconds = rates.seconds();
        let max_rate = self.parameters.enough.map_or(f64::INFINITY, |rate| rate.as_bps() as f64 / 8.0);
        // A backlog beyond twice the alarm would only delay the end of the shortage.
        let max_backlog = 2.0 * alarm.lateness_s * self.demand.rate() + alarm.min_backlog;
        let limits = Limits { memory: self.parameters.memory, max_rate, max_backlog };
        let rise = self.rise(now);
        self.demand.record(rates.total(), rates.span, rise, &limits);
        let demand = self.demand.rate();
        let silent_span = if preferred_up { seconds } else { 0.0 };
        self.silent_paths.record(now, rates.preferred, demand, silent_span);
        let duplicates = self.silent_paths.duplicates_expected(now);
        self.balance.charge(rates.costly * seconds, self.demand.threshold(), duplicates);
        let backup = matches!(self.phase, Phase::Backup { .. });
        let idle = rates.costly <= demand * SilentPaths::MIN_DEMAND_PART
            && self.demand.lateness_s() < alarm.lateness_s / 2.0;
        let overdrawn = self.balance.overdraft() > self.reserve();
        self.standby.record(backup && preferred_up && idle && overdrawn, seconds);
        // A path that carries almost nothing has no queue of present data.
        let carries = !self.silent_paths.is_silent() && rates.preferred > 0.0 && rates.preferred < max_rate;
        let preferred = state.paths.iter().filter(|path| path.up && is_preferred(path.kind) && carries);
        let round_trip = preferred.filter_map(|path| path.srtt).min();
        self.queue.record(round_trip, seconds, self.parameters.queueing);
        let early_end_interval = HOLDS_PER_EARLY_END * self.parameters.hold.as_secs_f64();
        self.early_ends = (self.early_ends + seconds / early_end_interval).min(MAX_EARLY_ENDS);
    }

    /// Changes the phase if the rates call for it.
    fn update_phase(&mut self, now: Instant, rates: &Rates, alarm: &Alarm, preferred_up: bool) {
        match &mut self.phase {
            Phase::Backup { since, shortage } => {
                let (backlog, standing) = (self.demand.backlog(), self.queue.standing_s());
                if backlog > 0.0 || standing > 0.0 {
                    shortage.bytes += rates.total() * rates.seconds();
                    shortage.seconds += rates.seconds();
                } else {
                    *shortage = Shortage::default();
                }
                // Right after a failed probe the queue has not drained yet.
                let settled = since.is_none_or(|since| now.since(since) >= self.parameters.hold);
                let patience = if backlog > 0.0 { QUEUE_PATIENCE_WITH_BACKLOG } else { 1.0 };
                let late = self.demand.lateness_s() >= alarm.lateness_s;
                let queued = settled && standing >= patience * alarm.lateness_s;
                // Where counters show no shortage, the queue alone has to.
                let due = backlog >= alarm.min_backlog || (backlog == 0.0 && queued);
                if (late || queued) && due {
                    debug!(
                        late,
                        queued,
                        backlog,
                        demand = self.demand.rate(),
                        "preferred paths do not suffice"
                    );
                    self.make_regular(now, !preferred_up);
                }
            }
            Phase::Regular(regular) => {
                if !preferred_up {
                    // The hold begins once a preferred path could take over.
                    regular.since = now;
                }
                let part = (rates.seconds() / MEAN_TIME_CONSTANT_S).min(1.0);
                regular.preferred_mean += (rates.preferred - regular.preferred_mean) * part;
                regular.total_mean += (rates.total() - regular.total_mean) * part;
                regular.preferred_peak = regular.preferred_peak.max(rates.preferred);
                // Within the tolerance the shortage is unknown: data on costly paths counts as
                // missed.
                let certain = self.demand.threshold() - rates.preferred;
                let possible = certain.max(self.demand.rate() - rates.preferred);
                let missed = rates.costly.clamp(certain, possible);
                self.balance.credit(missed * rates.seconds(), self.demand.threshold());
                self.consider_backup(now, rates.total());
            }
        }
    }

    /// How a rate above the demand changes it at present.
    fn rise(&self, now: Instant) -> Rise {
        match self.phase {
            _ if self.silent_paths.was_reset(now) => Rise::Frozen,
            Phase::Backup { since: Some(since), .. } if now.since(since) < SETTLING => Rise::Cautious,
            _ => Rise::Normal,
        }
    }

    /// Balance to keep in bytes, about the waste of one subflow reset.
    fn reserve(&self) -> f64 {
        self.parameters.late.as_secs_f64() * self.demand.rate()
    }

    fn alarm(&self) -> Alarm {
        let factor = f64::from(1_u32 << self.false_alarms.min(MAX_FALSE_ALARMS));
        // Opening a closed path makes senders repeat data that is stuck elsewhere, so closed paths
        // wait for a longer shortage. Shortages that pass without them reduce the overdraft.
        let min_backlog = if self.standby.is_closed() {
            Balance::LIMIT_S * self.demand.rate()
        } else {
            self.balance.overdraft()
        };
        Alarm { lateness_s: self.parameters.late.as_secs_f64() * factor, min_backlog }
    }

    /// Makes costly paths regular. `preferred_down`: no preferred path is up.
    fn make_regular(&mut self, now: Instant, preferred_down: bool) {
        let Phase::Backup { since, shortage } = self.phase else { return };
        let probation = PROBATION.max(self.hold * 2);
        let probe_failed = since.is_some_and(|since| now.since(since) < probation);
        let rate_before =
            if shortage.seconds > 0.0 && !preferred_down { shortage.bytes / shortage.seconds } else { 0.0 };
        let WhenNeeded { hold, longest_hold, .. } = self.parameters;
        self.hold = if probe_failed { (self.hold * 2).min(longest_hold) } else { hold };
        debug!(hold = %self.hold, preferred_down, probe_failed, "costly paths become regular");
        self.balance.credit(self.demand.backlog(), self.demand.threshold());
        self.phase = Phase::Regular(Regular {
            since: now,
            rate_before,
            preferred_mean: rate_before,
            total_mean: rate_before,
            preferred_peak: 0.0,
            began_with_backlog: self.demand.backlog() > 0.0 && !preferred_down,
        });
    }

    /// The longest hold while preferred paths carry `rate` bytes per second: the less they carry,
    /// the less is lost by using them less.
    fn longest_hold(&self, rate: f64) -> Duration {
        let WhenNeeded { hold, longest_hold, .. } = self.parameters;
        let missing = (1.0 - rate / self.demand.rate().max(rate)).clamp(0.0, 1.0);
        hold + longest_hold.saturating_sub(hold).mul_f64(missing * missing * missing * missing)
    }

    /// Makes costly paths backup if their hold is over, or if its early end is justified.
    fn consider_backup(&mut self, now: Instant, total_rate: f64) {
        let Phase::Regular(regular) = self.phase else { return };
        let elapsed = now.since(regular.since);
        let gain = regular.total_mean - regular.rate_before;
        let costly_mean = regular.total_mean - regular.preferred_mean;
        let gained = gain.min(costly_mean) > regular.rate_before.max(self.demand.rate()) * MIN_GAIN;
        if gained {
            self.false_alarms = 0;
        }
        // A backlog that remains while the demand is met is stuck on a path; no other path can
        // help.
        let demand_met = self.demand.backlog() == 0.0 || regular.total_mean >= self.demand.threshold();
        let carried = if regular.began_with_backlog {
            regular.preferred_peak.max(regular.rate_before)
        } else {
            regular.rate_before
        };
        if elapsed < self.hold.min(self.longest_hold(carried)) {
            let preferred_suffice = demand_met && self.preferred_suffice(&regular, elapsed);
            if !self.take_early_end(&regular, elapsed, total_rate) && !preferred_suffice {
                return;
            }
        } else if !gained {
            self.false_alarms += 1;
            self.silent_paths.on_false_alarm();
            if !demand_met {
                self.demand.reset_to(regular.total_mean);
            }
        } else if elapsed >= DEMAND_MEASURED_AFTER {
            self.demand.reset_to(regular.total_mean.min(self.demand.rate()));
        }
        debug!(gained, demand_met, demand = self.demand.rate(), "costly paths become backup");
        self.demand.end_shortage();
        self.queue.reset();
        self.phase = Phase::Backup { since: Some(now), shortage: Shortage::default() };
    }

    /// True if the preferred paths carry the demand although the costly ones could help, for half a
    /// hold.
    fn preferred_suffice(&self, regular: &Regular, elapsed: Duration) -> bool {
        let needed = self.demand.threshold().max((1.0 - Demand::TOLERANCE) * regular.total_mean);
        regular.preferred_mean >= needed && elapsed >= self.parameters.hold.max(self.hold / 2)
    }

    /// Ends the hold early if the backlog is paid off and the preferred paths carry data again.
    /// Takes one of the permitted early ends.
    fn take_early_end(&mut self, regular: &Regular, elapsed: Duration, total_rate: f64) -> bool {
        let threshold = self.demand.threshold();
        // Payment in half an interval: the end is seen half an interval late in the mean.
        let paid_soon = (total_rate - threshold).max(0.0) * INTERVAL.as_secs_f64() / 2.0;
        let backlog = self.demand.backlog();
        let unpaid = paid_soon + self.balance.unpaid_for_reserve(backlog, self.reserve());
        let paid = regular.began_with_backlog && backlog <= unpaid && regular.total_mean >= threshold;
        let preferred_carry = regular.preferred_mean >= self.demand.rate() * SilentPaths::MIN_DEMAND_PART;
        let early = paid && preferred_carry && self.early_ends >= 1.0 && elapsed >= INTERVAL * 2;
        if early {
            self.early_ends -= 1.0;
        }
        early
    }
}

impl Policy for WhenNeededPolicy {
    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        if !self.has_preferred {
            return;
        }
        let preferred_up = state.paths.iter().any(|path| path.up && is_preferred(path.kind));
        if let Some(rates) = self.measure(now, state) {
            let alarm = self.alarm();
            self.update_estimates(now, state, &rates, &alarm, preferred_up);
            self.update_phase(now, &rates, &alarm, preferred_up);
        }
        if !preferred_up {
            self.make_regular(now, true);
        }
        let regular = matches!(self.phase, Phase::Regular(_));
        let paths = || state.paths.iter().enumerate();
        let preferred = paths().filter(|(_, path)| path.up && is_preferred(path.kind)).map(|(path, _)| path);
        let others_ready = regular && self.standby.is_ready(now);
        self.silent_paths.act(now, others_ready, self.parameters.silent, preferred, actions);
        state.mark_costly(!regular, actions);
        let costly = paths().filter(|(_, path)| !is_preferred(path.kind)).map(|(path, _)| path);
        self.standby.act(now, regular, self.parameters.standby, costly, actions);
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }
}
