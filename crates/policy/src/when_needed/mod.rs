//! `when-needed`: costly paths only while the preferred ones fall short of the demand.
//!
//! Costly paths (the cellular kinds) are backup. A backup carries nothing while a regular path lives,
//! however slow that is (RFC 8684, section 3.3.8), so somebody has to notice that it is too slow. A
//! receiver sees no queue of the sender's; what every device has is byte counters. From these:
//!
//! - The **demand** is what came before: the highest median of a second's looks, forgotten over
//!   [`memory`](WhenNeededParameters::memory) unless far less comes than that. What comes short of it, by more than a slack of 5 %, is
//!   **debt**: a sender keeps what it could not send, and a stream is late by its debt over its demand.
//! - Costly paths go **on** when the stream is [`late`](WhenNeededParameters::late). Silence
//!   adds debt fastest, so a path that has died without a word is given up within that time. Where no
//!   preferred path is up any more, they go on at once. And where the driver knows a round-trip time
//!   (`PathState::srtt`), one that has stood above its least for so long by
//!   [`queueing`](WhenNeededParameters::queueing) is a queue at a link that is full: that shows a demand
//!   that was never met, which no counter can. Where counters show a shortage too, they say how late the stream is,
//!   and the queue may stand half as long again.
//! - They go **off** again as soon as the debt is **paid**, or will be in half a look, if the preferred paths have
//!   carried a tenth of the demand meanwhile. What they had queued they have then delivered, or others for them, and what a scheduler gives
//!   the costly paths from there on, the preferred ones might carry: many a scheduler leaves a path idle whose last
//!   round trip was longer. So this is at the same time a probe of what they carry by themselves, with what it costs
//!   in lateness if they do not suffice. One such end comes a second (little more than twice the hold) in the mean, and
//!   at most two at once.
//! - What they have carried all the same, and what a sender sent twice, is kept in a **balance** with what the preferred
//!   paths missed: so much more these have to miss before costly ones go on again, and a debt is not paid to the end
//!   until [`late`](WhenNeededParameters::late) of the demand is saved up. What comes over a backup where the others are silent
//!   is not asked for, and counts as too much, up to a second of the demand: each silence has costly paths carry on for
//!   a while, since the new subflow waits behind what is stuck, and a later shortage that passes without them makes up for it.
//! - Costly paths that have carried too much by more than that are **closed** when they have stood by for
//!   [`standby`](WhenNeededParameters::standby): a backup is at the sender's service, which may put on it at once what a
//!   shortage of a second has kept back. They are opened again when a second of the demand is owed, or no preferred path is up.
//! - A preferred path that carries less than a tenth of the demand for [`silent`](WhenNeededParameters::silent) when
//!   they are on is **given up**: its subflows are closed, so that the peer puts what is stuck there on others at once,
//!   and made anew, which succeeds when the path carries again.
//! - Else they go off after a **hold**, as where the preferred paths are silent: then no counter tells whether they
//!   could carry again. Where the alarm comes back within the probation time, the probe has failed. Then the next
//!   hold is twice as long, up to a longest one, which depends on the part of the demand that the preferred paths
//!   missed by themselves, or since. With nothing over them it is [`longest_hold`](WhenNeededParameters::longest_hold).
//!   Where they carry half or more, it stays near [`hold`](WhenNeededParameters::hold): a long hold would leave
//!   them idle. (In between it grows with the fourth power of that part.)
//!   Where the preferred paths are seen to carry all that is asked for while the costly ones could help,
//!   half the hold is enough.
//! - An application that pauses looks like a path that fails. What tells them apart is the trial itself:
//!   if no more comes with the costly paths than did without, or not over them, it was a **false alarm**.
//!   Then the demand is what comes now, and the next alarm needs twice the lateness, up to eight times,
//!   until an alarm was right.
//!
//! **Bounds.** While it is on, a costly path carries the debt, and what a scheduler gives it of the rest. So each time
//! it goes on, it may carry more than what the preferred paths could not: at most the demand for a look and a round
//! trip, since a change of priority takes nothing back of what is under way; what is sent again over it because it is
//! stuck elsewhere, and arrives there after all (at most the preferred paths' windows); and what a peer sends again that
//! has arrived, as Linux does with all that is not yet acknowledged when a subflow ends. The balance makes up for all
//! of these the next time, and beforehand by what is saved up. There is no more than one change in half a second (`hold`) in the mean of a minute,
//! whatever comes, and one in one to four seconds while a path is silent. A change is one option in one
//! packet, but over the costly path, whose radio it wakes.
//!
//! **What it cannot see.** Without a round-trip time, a demand that the preferred paths never met; a shortage
//! of less than the slack; and in silence, which of application and path is silent, until it has tried: an application
//! that pauses has its subflows made anew once for each false alarm.

mod balance;
mod demand;
mod silence;
mod standby;

use crate::wifi_first::preferred;
use crate::{Action, DeviceState, InterfaceKind, Policy};
use balance::Balance;
use demand::{Bounds, Demand, Says};
use silence::Silence;
use standby::Standby;
use units::{Bitrate, Duration, Instant};

/// Parameters of the policy `when-needed`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WhenNeededParameters {
    /// How far behind the demand may what comes fall before costly paths help. Shorter, and a hiccup
    /// wakes them; longer, and buffers run empty. Less than a look counts as one, and two (200 ms) make sense.
    pub late: Duration,
    /// How long costly paths stay on at least. Sender and path take about two round trips to answer a
    /// change of priority, and a switch that is over before does nothing. Less than a look counts as one.
    pub hold: Duration,
    /// How long they stay on at most before a probe, after failed ones: so long they may carry what the
    /// preferred paths could again.
    pub longest_hold: Duration,
    /// Time constant with which a demand that is no longer seen is forgotten. It has to be longer than a
    /// link takes to fade, or the demand would fade with it.
    pub memory: Duration,
    /// How much longer than its least a round trip is that shows a full link.
    pub queueing: Duration,
    /// How long preferred paths may be silent when costly ones are on, until their subflows are given up and made
    /// anew. Less than a look counts as one.
    pub silent: Duration,
    /// How long costly paths that have carried too much stay backups while they are not needed, until their subflows
    /// are closed. Less than a look counts as one.
    pub standby: Duration,
    /// More than this is not asked for, whatever is seen; `None`: all is. A download takes what there
    /// is, and would else have costly paths on all the time.
    pub enough: Option<Bitrate>,
}

impl WhenNeededParameters {
    /// What is not said otherwise.
    pub const DEFAULT: Self = Self {
        late: Duration::from_millis(250),
        hold: Duration::from_millis(500),
        longest_hold: Duration::from_secs(4),
        memory: Duration::from_secs(10),
        queueing: Duration::from_millis(100),
        silent: Duration::from_millis(250),
        standby: Duration::from_secs(5),
        enough: None,
    };
}

impl Default for WhenNeededParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The policy `when-needed`.
#[derive(Debug, Clone)]
pub struct WhenNeeded {
    parameters: WhenNeededParameters,
    /// Without a path to prefer there is nothing to be backup for.
    possible: bool,
    /// When the counters were last looked at, and what those of preferred and costly paths showed.
    seen: Option<(Instant, [u64; 2])>,
    demand: Demand,
    balance: Balance,
    queue: Queue,
    silence: Silence,
    standby: Standby,
    phase: Phase,
    /// How long costly paths are to stay on this time.
    hold: Duration,
    /// So many alarms in a row were false.
    false_alarms: u32,
    /// So often costly paths may yet go off before their hold is over.
    early_ends: f64,
}

/// Whether costly paths are regular.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// They are backup.
    Off {
        /// `None` if they were never on.
        since: Option<Instant>,
        /// What came since things began to look short: bytes, seconds.
        short: (f64, f64),
    },
    /// They are regular.
    On {
        since: Instant,
        /// What came before, in bytes a second.
        before: f64,
        /// What comes over preferred paths and over all, in bytes a second, as a mean of the recent
        /// past.
        now: [f64; 2],
        /// The most that preferred paths have shown since, in bytes a second.
        shown: f64,
        /// Something was owed over paths that were up, so that it can be seen when it is paid.
        owed: bool,
    },
}

/// Whether the round trips of preferred paths show a queue.
#[derive(Debug, Clone, Copy, Default)]
struct Queue {
    /// The least round trip, in seconds.
    least: Option<f64>,
    /// The last, in seconds.
    last: Option<f64>,
    /// For so many seconds they have.
    standing: f64,
}

impl Queue {
    /// The least round trip is forgotten over this time: a route may become longer.
    const MEMORY: f64 = 100.0;

    /// `round_trip` is the shortest of the preferred paths that carried something.
    fn account(&mut self, round_trip: Option<Duration>, span: f64, queueing: Duration) {
        let Some(round_trip) = round_trip.map(Duration::as_secs_f64) else {
            self.standing = 0.0;
            return;
        };
        let least =
            self.least.map_or(round_trip, |least| (least * (1.0 + span / Self::MEMORY)).min(round_trip));
        self.least = Some(least);
        // One that is the same to the last digit was not measured again, as after a timeout.
        let measured = self.last.replace(round_trip) != Some(round_trip);
        let stands = measured && round_trip > least + queueing.as_secs_f64();
        self.standing = if stands { self.standing + span } else { 0.0 };
    }
}

impl WhenNeeded {
    /// How often the counters are looked at.
    pub const INTERVAL: Duration = Duration::from_millis(100);
    /// A probe has failed if costly paths are needed again so soon, or within twice the hold.
    const PROBATION: Duration = Duration::from_secs(2);
    /// The mean of what comes while costly paths are on forgets over this time, in seconds.
    const RECENT: f64 = 0.3;
    /// With costly paths, so much more has to come than without, and over them, or they do not help: as a
    /// part of what comes without or of the demand, whichever is more.
    const GAIN: f64 = 0.03;
    /// A preferred path that carries so much of the demand lives.
    const LIVES: f64 = Silence::CARRIES;
    /// All paths together have shown the demand after so long.
    const MEASURED: Duration = Duration::from_secs(1);
    /// After so many false alarms in a row the next needs no more than after this many.
    const MOST_FALSE_ALARMS: u32 = 3;
    /// What was stuck in a shortage comes within so long after it.
    const SETTLING: Duration = Duration::from_secs(2);
    /// So many times as long may a queue stand where counters show a shortage too.
    const SEEN_BY_COUNTERS: f64 = 1.5;
    /// So many ends before the hold is over may follow on one another.
    const MOST_EARLY_ENDS: f64 = 2.0;
    /// Else one comes in so many holds: with the alarm before it, that is less than one change in half a second.
    const EARLY_END_HOLDS: f64 = 2.1;

    /// For a device with `kinds`.
    pub fn new(parameters: WhenNeededParameters, kinds: &[InterfaceKind]) -> Self {
        let WhenNeededParameters { late, hold, standby, .. } = parameters;
        let parameters = WhenNeededParameters {
            late: late.max(Self::INTERVAL),
            hold: hold.max(Self::INTERVAL),
            standby: standby.max(Self::INTERVAL),
            ..parameters
        };
        Self {
            parameters,
            possible: kinds.iter().any(|&kind| preferred(kind)),
            seen: None,
            demand: Demand::default(),
            balance: Balance::default(),
            queue: Queue::default(),
            silence: Silence::default(),
            standby: Standby::default(),
            phase: Phase::Off { since: None, short: (0.0, 0.0) },
            hold: parameters.hold,
            false_alarms: 0,
            early_ends: Self::MOST_EARLY_ENDS,
        }
    }

    /// What the demand is taken for at present.
    pub fn demand(&self) -> Bitrate {
        Bitrate::from_mbps(self.demand.rate() * 8e-6)
    }

    /// Reads the counters, and decides if it is time to.
    /// `relieved` is true where a preferred path is up.
    fn look(&mut self, now: Instant, state: &DeviceState, relieved: bool) {
        let mut counters = [0_u64; 2];
        for path in &state.paths {
            let counter = &mut counters[usize::from(!preferred(path.kind))];
            *counter = counter.saturating_add(path.bytes_down).saturating_add(path.bytes_up);
        }
        let (last, before) = *self.seen.get_or_insert((now, counters));
        let span = now.since(last);
        // A path has come or gone between two looks: too soon for a rate.
        if span < Self::INTERVAL.mul_f64(0.5) {
            return;
        }
        self.seen = Some((now, counters));
        let seconds = span.as_secs_f64();
        let [preferred_rate, costly_rate] =
            [0, 1].map(|i| counters[i].saturating_sub(before[i]) as f64 / seconds);
        let total = preferred_rate + costly_rate;
        let enough = self.parameters.enough.map_or(f64::INFINITY, |rate| rate.as_bps() as f64 / 8.0);
        let says = self.says(now);
        // Twice what raises the alarm is enough to remember: what is due longer, nobody waits for.
        let alarm = self.alarm();
        let due = self.due();
        let most = 2.0 * alarm * self.demand.rate() + due;
        let bounds = Bounds { memory: self.parameters.memory, enough, most };
        self.demand.account(total, span, says, &bounds);
        let asked = self.demand.asked();
        self.silence.account(now, preferred_rate, self.demand.rate(), if relieved { seconds } else { 0.0 });
        self.balance.carried(costly_rate * seconds, asked, self.silence.was_there(now));
        let off = matches!(self.phase, Phase::Off { .. });
        let idle = costly_rate <= self.demand.rate() * Self::LIVES && self.demand.late() < alarm / 2.0;
        let too_much = self.balance.too_much() > self.reserve();
        self.standby.account(off && relieved && idle && too_much, seconds);
        // A path that carries next to nothing has no queue of what is asked for now.
        let carrying = !self.silence.is_there() && preferred_rate > 0.0 && preferred_rate < enough;
        let round_trips = state.paths.iter().filter(|path| path.up && preferred(path.kind) && carrying);
        self.queue.account(round_trips.filter_map(|path| path.srtt).min(), seconds, self.parameters.queueing);
        let between = Self::EARLY_END_HOLDS * self.parameters.hold.as_secs_f64();
        self.early_ends = (self.early_ends + seconds / between).min(Self::MOST_EARLY_ENDS);
        match &mut self.phase {
            Phase::Off { since, short } => {
                if self.demand.debt() > 0.0 || self.queue.standing > 0.0 {
                    *short = (short.0 + total * seconds, short.1 + seconds);
                } else {
                    *short = (0.0, 0.0);
                }
                // After a failed probe the queue is still there.
                let settled = since.is_none_or(|since| now.since(since) >= self.parameters.hold);
                let seen = if self.demand.debt() > 0.0 { Self::SEEN_BY_COUNTERS } else { 1.0 };
                let late = self.demand.late() >= alarm;
                let queued = settled && self.queue.standing >= seen * alarm;
                // Where counters show no shortage, a queue is all that shows it.
                let owed = self.demand.debt();
                let due = owed >= due || (owed == 0.0 && queued);
                if (late || queued) && due {
                    self.turn_on(now, !relieved);
                }
            }
            Phase::On { since, now: recent, shown, .. } => {
                if !relieved {
                    // Nothing could take over. The hold begins when something can.
                    *since = now;
                }
                let part = (seconds / Self::RECENT).min(1.0);
                recent[0] += (preferred_rate - recent[0]) * part;
                recent[1] += (total - recent[1]) * part;
                *shown = shown.max(preferred_rate);
                // Within the slack nobody knows: what costly paths carry of it is believed to be missed.
                let known = asked - preferred_rate;
                let missed = costly_rate.clamp(known, known.max(self.demand.rate() - preferred_rate));
                self.balance.missed(missed * seconds, asked);
                self.consider_off(now, total);
            }
        }
    }

    /// What a rate above the demand says of it now.
    fn says(&self, now: Instant) -> Says {
        match self.phase {
            _ if self.silence.was_given_up(now) => Says::NoMore,
            // Costly paths went off just now.
            Phase::Off { since: Some(since), .. } if now.since(since) < Self::SETTLING => Says::MoreSlowly,
            _ => Says::More,
        }
    }

    /// What is to be left over in the balance, in bytes: about what giving up a subflow wastes, which is what a sender
    /// put on it until then. So late a stream may be anyhow.
    fn reserve(&self) -> f64 {
        self.parameters.late.as_secs_f64() * self.demand.rate()
    }

    /// So many bytes are to be owed before costly paths go on, whatever else says so.
    fn due(&self) -> f64 {
        // A path that is opened carries all that is stuck on others, and what is wasted by that: it makes up for nothing.
        // That a shortage passes without it does.
        if self.standby.is_closed() { Balance::MOST * self.demand.rate() } else { self.balance.too_much() }
    }

    /// How late things may be, in seconds.
    fn alarm(&self) -> f64 {
        self.parameters.late.as_secs_f64()
            * f64::from(1_u32 << self.false_alarms.min(Self::MOST_FALSE_ALARMS))
    }

    /// `gone`: no preferred path is up.
    fn turn_on(&mut self, now: Instant, gone: bool) {
        let Phase::Off { since, short } = self.phase else { return };
        let probation = Self::PROBATION.max(self.hold * 2);
        let failed = since.is_some_and(|since| now.since(since) < probation);
        let before = if short.1 > 0.0 && !gone { short.0 / short.1 } else { 0.0 };
        let WhenNeededParameters { hold, longest_hold, .. } = self.parameters;
        self.hold = if failed { (self.hold * 2).min(longest_hold) } else { hold };
        let owed = self.demand.debt() > 0.0 && !gone;
        self.balance.missed(self.demand.debt(), self.demand.asked());
        self.phase = Phase::On { since: now, before, now: [before; 2], shown: 0.0, owed };
    }

    /// The longest hold where preferred paths carry `rate`, in bytes a second.
    fn longest(&self, rate: f64) -> Duration {
        let WhenNeededParameters { hold, longest_hold, .. } = self.parameters;
        // The less they carry, the less is lost by using them less.
        let missing = (1.0 - rate / self.demand.rate().max(rate)).clamp(0.0, 1.0);
        hold + longest_hold.saturating_sub(hold).mul_f64(missing * missing * missing * missing)
    }

    /// `rate` came at this look, in bytes a second.
    fn consider_off(&mut self, now: Instant, rate: f64) {
        let Phase::On { since, before, now: [over_preferred, total], shown, owed } = self.phase else {
            return;
        };
        let on = now.since(since);
        let (more, over_costly) = (total - before, total - over_preferred);
        let gained = more.min(over_costly) > before.max(self.demand.rate()) * Self::GAIN;
        if gained {
            self.false_alarms = 0;
        }
        let asked = self.demand.asked();
        // What is still owed then is stuck on a path, and no other can bring it sooner.
        let met = self.demand.debt() == 0.0 || total >= asked;
        let carried = if owed { shown.max(before) } else { before };
        if on < self.hold.min(self.longest(carried)) {
            // A scheduler that prefers them shows that they suffice.
            let alone = over_preferred >= asked.max((1.0 - Demand::SLACK) * total);
            let alone = met && alone && on >= self.parameters.hold.max(self.hold / 2);
            // What half a look pays: the end is seen half a look late in the mean.
            let soon = (rate - asked).max(0.0) * Self::INTERVAL.as_secs_f64() / 2.0;
            let debt = self.demand.debt();
            let left = soon + self.balance.lacks(debt, self.reserve());
            let paid = owed && debt <= left && total >= asked;
            let lives = over_preferred >= self.demand.rate() * Self::LIVES;
            let early = paid && lives && self.early_ends >= 1.0 && on >= Self::INTERVAL * 2;
            if early {
                self.early_ends -= 1.0;
            } else if !alone {
                return;
            }
        } else if !gained {
            self.false_alarms += 1;
            self.silence.nothing_was_stuck();
            if !met {
                self.demand.correct(total);
            }
        } else if on >= Self::MEASURED {
            self.demand.correct(total.min(self.demand.rate()));
        }
        self.demand.forgive();
        self.queue.standing = 0.0;
        self.phase = Phase::Off { since: Some(now), short: (0.0, 0.0) };
    }
}

impl Policy for WhenNeeded {
    fn name(&self) -> &'static str {
        "when-needed"
    }

    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        if !self.possible {
            return;
        }
        let relieved = state.paths.iter().any(|path| path.up && preferred(path.kind));
        self.look(now, state, relieved);
        if !relieved {
            self.turn_on(now, true);
        }
        let on = matches!(self.phase, Phase::On { .. });
        let up = state.paths.iter().enumerate().filter(|(_, path)| path.up && preferred(path.kind));
        self.silence.act(
            now,
            on && self.standby.is_set_up(now),
            self.parameters.silent,
            up.map(|(path, _)| path),
            actions,
        );
        let backup = matches!(self.phase, Phase::Off { .. });
        let wrong = state.paths.iter().enumerate().filter(|(_, p)| !preferred(p.kind) && p.backup != backup);
        actions.extend(wrong.map(|(path, _)| Action::SetBackup { path, backup }));
        let costly = state.paths.iter().enumerate().filter(|(_, path)| !preferred(path.kind));
        self.standby.act(now, on, self.parameters.standby, costly.map(|(path, _)| path), actions);
    }

    fn interval(&self) -> Option<Duration> {
        Some(Self::INTERVAL)
    }
}
