//! The meter: packets and time in, energy out.

use crate::{Profile, Pulse};
use std::sync::Arc;
use units::{Duration, Energy, Instant, Power};

/// Which way a packet goes, seen from the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// The device sends.
    Up,
    /// The device receives.
    Down,
}

/// Where an interface is in its state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// At rest.
    Idle,
    /// On the way from idle to active.
    Promotion,
    /// Transferring, or it was within the inactivity time.
    Active,
    /// In the stage of the tail with this index.
    Tail(usize),
}

/// The energy of an interface, by what it was drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Breakdown {
    /// At rest, paging and beacons included.
    pub idle: Energy,
    /// Getting from idle to active.
    pub promotion: Energy,
    /// The base power while active.
    pub active: Energy,
    /// Getting back to idle.
    pub tail: Energy,
    /// The part that depends on how much was carried.
    pub data: Energy,
}

impl Breakdown {
    /// All of it.
    pub fn total(&self) -> Energy {
        self.idle + self.promotion + self.active + self.tail + self.data
    }
}

/// Measures what one interface draws, exactly.
///
/// Nothing is sampled. The meter counts bytes in each direction and whole nanoseconds in each state,
/// inside and outside its pulses; energy is the sum of those counts times their powers:
///
/// E = a_u * Mbit sent + a_d * Mbit received + sum over states of power * time.
///
/// So the energy at a time does not depend on how often [`advance`](Self::advance) was called before,
/// not even in the last digit. Times must not go back; one that does counts as the latest so far.
///
/// A packet is charged when it is told. One that comes during the promotion does not begin it anew;
/// the inactivity time runs from the last packet or from the end of the promotion, whichever is later.
#[derive(Debug, Clone)]
pub struct Meter {
    profile: Arc<Profile>,
    inactivity: Duration,
    now: Instant,
    state: State,
    /// When the state was entered, which is also where its pulses begin.
    since: Instant,
    /// When the state ends by itself; [`Instant::MAX`] for never.
    until: Instant,
    bytes_up: u64,
    bytes_down: u64,
    /// What each state draws, and how long it lasted in the visits that have ended: idle, promotion,
    /// active, then the stages of the tail.
    draws: Vec<Draw>,
    active_spans: Vec<(Instant, Instant)>,
    timeline: Option<Vec<(Instant, State)>>,
}

impl Meter {
    /// An interface that is idle at time 0.
    pub fn new(profile: impl Into<Arc<Profile>>) -> Self {
        let profile = profile.into();
        let mut draws = vec![Draw::new(profile.idle.power, profile.idle.pulse)];
        draws.push(profile.promotion.as_ref().map_or(Draw::default(), |s| Draw::new(s.power, s.pulse)));
        draws.push(Draw::new(profile.active, None));
        draws.extend(profile.tail.iter().map(|stage| Draw::new(stage.power, stage.pulse)));
        Self {
            inactivity: profile.inactivity,
            profile,
            now: Instant::ZERO,
            state: State::Idle,
            since: Instant::ZERO,
            until: Instant::MAX,
            bytes_up: 0,
            bytes_down: 0,
            draws,
            active_spans: Vec::new(),
            timeline: None,
        }
    }

    /// The same, keeping a [`timeline`](Self::timeline) from here on.
    pub fn with_timeline(mut self) -> Self {
        self.timeline = Some(vec![(self.now, self.state)]);
        self
    }

    /// The power model.
    pub fn profile(&self) -> &Arc<Profile> {
        &self.profile
    }

    /// A packet of `bytes` on the wire passes the interface.
    #[inline]
    pub fn on_packet(&mut self, now: Instant, direction: Direction, bytes: u32) {
        match direction {
            Direction::Up => self.bytes_up = self.bytes_up.saturating_add(bytes as u64),
            Direction::Down => self.bytes_down = self.bytes_down.saturating_add(bytes as u64),
        }
        // Nearly every packet ends here: the interface is active and stays so. The time is added up
        // when the state ends.
        if self.state == State::Active && self.now <= now && now <= self.until {
            self.now = now;
            self.until = now + self.inactivity;
            return;
        }
        self.wake(now);
    }

    /// Time passes up to `now`.
    pub fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        // A state that ends at `Time::MAX` never does.
        while self.until <= self.now && self.until != Instant::MAX {
            let at = self.until;
            match self.state {
                State::Idle => self.enter(State::Idle, at, Instant::MAX),
                State::Promotion => self.enter(State::Active, at, at + self.inactivity),
                State::Active => self.enter_tail(0, at),
                State::Tail(index) => self.enter_tail(index + 1, at),
            }
        }
    }

    /// Energy drawn from time 0 to [`now`](Self::now).
    pub fn energy(&self) -> Energy {
        self.breakdown().total()
    }

    /// The same, by what it was drawn for.
    pub fn breakdown(&self) -> Breakdown {
        let mut parts = Breakdown {
            data: data_energy(self.profile.up_per_mbps, self.bytes_up)
                + data_energy(self.profile.down_per_mbps, self.bytes_down),
            ..Breakdown::default()
        };
        for (index, draw) in self.draws.iter().enumerate() {
            let open = if index == slot(self.state) { self.now - self.since } else { Duration::ZERO };
            let energy = draw.energy(open);
            match index {
                0 => parts.idle = energy,
                1 => parts.promotion = energy,
                2 => parts.active = energy,
                _ => parts.tail += energy,
            }
        }
        parts
    }

    /// What the state draws at this instant, pulses included; without the rate-dependent part, for
    /// which [`Profile::active_power`] wants the rates.
    pub fn power(&self) -> Power {
        let draw = &self.draws[slot(self.state)];
        if draw.in_pulse(self.now - self.since) { draw.pulse_power } else { draw.power }
    }

    /// The state at [`now`](Self::now).
    pub fn state(&self) -> State {
        self.state
    }

    /// What the profile calls the state.
    pub fn state_name(&self) -> &str {
        self.profile.state_name(self.state)
    }

    /// The latest time that the meter was told of.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// When the state changes by itself if nothing passes; `None` for never.
    pub fn next_change(&self) -> Option<Instant> {
        (self.until != Instant::MAX).then_some(self.until)
    }

    /// Bytes on the wire so far.
    pub fn bytes(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Up => self.bytes_up,
            Direction::Down => self.bytes_down,
        }
    }

    /// How long it has been in `state`, all visits together; nothing for a stage that is not there.
    pub fn time_in(&self, state: State) -> Duration {
        let Some(draw) = self.draws.get(slot(state)) else { return Duration::ZERO };
        let open = if state == self.state { self.now - self.since } else { Duration::ZERO };
        draw.outside + draw.inside + open
    }

    /// Every change of state with its time, the first at the time of [`with_timeline`](Self::with_timeline);
    /// empty without it. Neighbours differ, and a state that lasted no time is left out.
    pub fn timeline(&self) -> &[(Instant, State)] {
        self.timeline.as_deref().unwrap_or(&[])
    }

    /// From when to when the interface was active, in order, up to [`now`](Self::now).
    pub fn active_spans(&self) -> impl DoubleEndedIterator<Item = (Instant, Instant)> + '_ {
        self.active_spans_from(0)
    }

    /// Forgets the spans of activity that have ended; energy stays as it is. For whoever meters for months
    /// and asks neither for [`active_spans`](Self::active_spans) nor for [`Together`](crate::Together).
    pub fn forget_spans(&mut self) {
        self.active_spans.clear();
    }

    pub(crate) fn active_spans_from(
        &self,
        first: usize,
    ) -> impl DoubleEndedIterator<Item = (Instant, Instant)> + '_ {
        let open = (self.state == State::Active && self.since < self.now).then_some((self.since, self.now));
        self.active_spans.get(first..).unwrap_or(&[]).iter().copied().chain(open)
    }

    /// How many spans of activity have ended.
    pub(crate) fn closed_spans(&self) -> usize {
        self.active_spans.len()
    }

    #[cold]
    fn wake(&mut self, now: Instant) {
        self.advance(now);
        let now = self.now;
        match self.state {
            State::Promotion => {}
            State::Active => self.until = now + self.inactivity,
            State::Tail(_) => self.enter(State::Active, now, now + self.inactivity),
            State::Idle => match &self.profile.promotion {
                Some(stage) if !stage.duration.is_zero() => {
                    let until = now + stage.duration;
                    self.enter(State::Promotion, now, until);
                }
                _ => self.enter(State::Active, now, now + self.inactivity),
            },
        }
    }

    /// Enters the stage of the tail with this index, or idle where there is none.
    fn enter_tail(&mut self, index: usize, at: Instant) {
        match self.profile.tail.get(index) {
            Some(stage) => {
                let until = at + stage.duration;
                self.enter(State::Tail(index), at, until);
            }
            None => self.enter(State::Idle, at, Instant::MAX),
        }
    }

    /// Ends the state at `at`, books its time, and begins another.
    fn enter(&mut self, state: State, at: Instant, until: Instant) {
        self.draws[slot(self.state)].book(at - self.since);
        if self.state == State::Active && self.since < at {
            match self.active_spans.last_mut() {
                Some(last) if last.1 == self.since => last.1 = at,
                _ => self.active_spans.push((self.since, at)),
            }
        }
        self.state = state;
        self.since = at;
        self.until = until;
        if let Some(timeline) = &mut self.timeline {
            if timeline.last().is_some_and(|last| last.0 == at) {
                timeline.pop();
            }
            if timeline.last().is_none_or(|last| last.1 != state) {
                timeline.push((at, state));
            }
        }
    }
}

/// What a state draws, and how long it has.
#[derive(Debug, Clone, Copy, Default)]
struct Draw {
    power: Power,
    pulse_power: Power,
    width: u64,
    /// Zero where there are no pulses.
    period: u64,
    /// In the visits that have ended.
    outside: Duration,
    inside: Duration,
}

impl Draw {
    fn new(power: Power, pulse: Option<Pulse>) -> Self {
        let mut draw = Self { power, pulse_power: power, ..Self::default() };
        if let Some(pulse) = pulse.filter(|pulse| !pulse.period.is_zero()) {
            draw.pulse_power = pulse.power;
            draw.width = pulse.width.min(pulse.period).as_nanos();
            draw.period = pulse.period.as_nanos();
        }
        draw
    }

    /// How much of a visit that has lasted `visit` was inside pulses.
    fn pulsed(&self, visit: Duration) -> Duration {
        let nanos = visit.as_nanos();
        match (nanos.checked_div(self.period), nanos.checked_rem(self.period)) {
            // At most `nanos`, as the width is at most the period.
            (Some(whole), Some(rest)) => Duration::from_nanos(whole * self.width + rest.min(self.width)),
            _ => Duration::ZERO,
        }
    }

    fn in_pulse(&self, visit: Duration) -> bool {
        visit.as_nanos().checked_rem(self.period).is_some_and(|phase| phase < self.width)
    }

    fn book(&mut self, visit: Duration) {
        let pulsed = self.pulsed(visit);
        self.inside += pulsed;
        self.outside += visit - pulsed;
    }

    /// Of the visits that have ended and one that has lasted `open` so far.
    fn energy(&self, open: Duration) -> Energy {
        let pulsed = self.pulsed(open);
        self.power * (self.outside + (open - pulsed)) + self.pulse_power * (self.inside + pulsed)
    }
}

fn slot(state: State) -> usize {
    match state {
        State::Idle => 0,
        State::Promotion => 1,
        State::Active => 2,
        State::Tail(index) => index.saturating_add(3),
    }
}

fn data_energy(per_mbps: Power, bytes: u64) -> Energy {
    Energy::from_joules(per_mbps.as_watts() * (bytes as f64 * 8.0 / 1e6))
}
