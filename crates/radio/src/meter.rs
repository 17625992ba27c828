//! Energy meter of one interface.

use crate::{Profile, Pulse};
use std::sync::Arc;
use units::{Duration, Energy, Instant, Power};

/// Direction of a packet, as seen from the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// The device sends.
    Up,
    /// The device receives.
    Down,
}

/// State of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// No transfer; only paging.
    Idle,
    /// Transition from idle to active.
    Promotion,
    /// A packet passed within the inactivity time.
    Active,
    /// Tail stage with this index.
    Tail(usize),
}

/// Energy of an interface by purpose.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Breakdown {
    /// Idle, with paging and beacons.
    pub idle: Energy,
    /// Promotions.
    pub promotion: Energy,
    /// Base power while active.
    pub active: Energy,
    /// Tails.
    pub tail: Energy,
    /// Energy of the bytes transferred.
    pub data: Energy,
}

impl Breakdown {
    /// Returns the total.
    pub fn total(&self) -> Energy {
        self.idle + self.promotion + self.active + self.tail + self.data
    }
}

/// Computes the exact energy of one interface from its packets.
///
/// The meter counts bytes in each direction and nanoseconds in each state, inside and outside
/// pulses. Energy is the sum of these counts times their powers:
///
/// E = a_u * Mbit sent + a_d * Mbit received + sum over states of power * time,
///
/// with a_u and a_d from [`Profile::up_per_mbps`] and [`Profile::down_per_mbps`]. So the energy at
/// a time is the same to the last digit however often [`advance`](Self::advance) was called.
/// Time does not go back: an argument before [`now`](Self::now) counts as [`now`](Self::now).
///
/// A packet during the promotion does not restart it. The inactivity time runs from the last packet
/// or from the end of the promotion, whichever is later.
#[derive(Debug, Clone)]
pub struct Meter {
    profile: Arc<Profile>,
    inactivity: Duration,
    now: Instant,
    state: State,
    /// Start of the state, and of its first pulse.
    since: Instant,
    /// End of the state without further packets; [`Instant::MAX`] for never.
    until: Instant,
    bytes_up: u64,
    bytes_down: u64,
    /// Power and completed time of each state: idle, promotion, active, then the tail stages.
    draws: Vec<Draw>,
    /// Start and end of each completed active time; adjacent ones are merged.
    active_spans: Vec<(Instant, Instant)>,
    timeline: Option<Vec<(Instant, State)>>,
}

impl Meter {
    /// Creates the meter of an interface that is idle at time 0.
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

    /// Records a [`timeline`](Self::timeline) from here on.
    pub fn with_timeline(mut self) -> Self {
        self.timeline = Some(vec![(self.now, self.state)]);
        self
    }

    /// Returns the power model.
    pub fn profile(&self) -> &Arc<Profile> {
        &self.profile
    }

    /// Counts a packet of `bytes` on the wire.
    #[inline]
    pub fn on_packet(&mut self, now: Instant, direction: Direction, bytes: u32) {
        match direction {
            Direction::Up => self.bytes_up = self.bytes_up.saturating_add(bytes as u64),
            Direction::Down => self.bytes_down = self.bytes_down.saturating_add(bytes as u64),
        }
        // Fast path: the interface stays active. The time is added when the state ends.
        if self.state == State::Active && self.now <= now && now < self.until {
            self.now = now;
            self.until = now + self.inactivity;
            return;
        }
        self.wake(now);
    }

    /// Advances the time to `now`.
    pub fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        // A state with the end `Instant::MAX` never ends.
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

    /// Returns the energy drawn from time 0 to [`now`](Self::now).
    pub fn energy(&self) -> Energy {
        self.breakdown().total()
    }

    /// Returns the energy drawn from time 0 to [`now`](Self::now), by purpose.
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

    /// Returns the present power of the state, pulses included, without the part that depends on
    /// the rate (see [`Profile::active_power`]).
    pub fn power(&self) -> Power {
        let draw = &self.draws[slot(self.state)];
        if draw.in_pulse(self.now - self.since) { draw.pulse_power } else { draw.power }
    }

    /// Returns the state at [`now`](Self::now).
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the profile's name of the state.
    pub fn state_name(&self) -> &str {
        self.profile.state_name(self.state)
    }

    /// Returns the latest time seen.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the end of the state without further packets; `None` for never.
    pub fn next_change(&self) -> Option<Instant> {
        (self.until != Instant::MAX).then_some(self.until)
    }

    /// Returns the bytes on the wire so far.
    pub fn bytes(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Up => self.bytes_up,
            Direction::Down => self.bytes_down,
        }
    }

    /// Returns the total time in `state`; zero for a tail stage that the profile lacks.
    pub fn time_in(&self, state: State) -> Duration {
        let Some(draw) = self.draws.get(slot(state)) else { return Duration::ZERO };
        let open = if state == self.state { self.now - self.since } else { Duration::ZERO };
        draw.outside + draw.inside + open
    }

    /// Returns the changes of state with their times, from [`with_timeline`](Self::with_timeline)
    /// on; empty without it. Consecutive states differ, and states of zero duration are left out.
    pub fn timeline(&self) -> &[(Instant, State)] {
        self.timeline.as_deref().unwrap_or(&[])
    }

    /// Returns start and end of each active time, in order, up to [`now`](Self::now).
    pub fn active_spans(&self) -> impl DoubleEndedIterator<Item = (Instant, Instant)> + '_ {
        self.active_spans_from(0)
    }

    /// Discards the completed active times, to bound memory in long runs. The energy is unaffected;
    /// [`active_spans`](Self::active_spans) and [`JointActivity`](crate::JointActivity) lose them.
    pub fn discard_active_spans(&mut self) {
        self.active_spans.clear();
    }

    pub(crate) fn active_spans_from(
        &self,
        first: usize,
    ) -> impl DoubleEndedIterator<Item = (Instant, Instant)> + '_ {
        let open = (self.state == State::Active && self.since < self.now).then_some((self.since, self.now));
        self.active_spans.get(first..).unwrap_or(&[]).iter().copied().chain(open)
    }

    /// Returns the number of completed active times.
    pub(crate) fn closed_spans(&self) -> usize {
        self.active_spans.len()
    }

    /// Changes the state for a packet at `now`, after the changes that are due before it.
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

    /// Enters the tail stage with this index, or idle after the last.
    fn enter_tail(&mut self, index: usize, at: Instant) {
        match self.profile.tail.get(index) {
            Some(stage) => {
                let until = at + stage.duration;
                self.enter(State::Tail(index), at, until);
            }
            None => self.enter(State::Idle, at, Instant::MAX),
        }
    }

    /// Ends the present state at `at`, adds its time, and enters `state`.
    fn enter(&mut self, state: State, at: Instant, until: Instant) {
        self.draws[slot(self.state)].add_stay(at - self.since);
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

/// Power of a state, and its completed time.
#[derive(Debug, Clone, Copy, Default)]
struct Draw {
    power: Power,
    pulse_power: Power,
    /// Width of a pulse, in nanoseconds.
    width: u64,
    /// Time between starts of pulses, in nanoseconds; zero without pulses.
    period: u64,
    /// Completed time outside and inside pulses.
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

    /// Returns the time inside pulses during a stay of length `stay` in the state.
    fn pulsed(&self, stay: Duration) -> Duration {
        let nanos = stay.as_nanos();
        match (nanos.checked_div(self.period), nanos.checked_rem(self.period)) {
            // No overflow: the sum is at most `nanos`, as the width is at most the period.
            (Some(whole), Some(rest)) => Duration::from_nanos(whole * self.width + rest.min(self.width)),
            _ => Duration::ZERO,
        }
    }

    fn in_pulse(&self, stay: Duration) -> bool {
        stay.as_nanos().checked_rem(self.period).is_some_and(|phase| phase < self.width)
    }

    fn add_stay(&mut self, stay: Duration) {
        let pulsed = self.pulsed(stay);
        self.inside += pulsed;
        self.outside += stay - pulsed;
    }

    /// Returns the energy of the completed stays and of the present one, of length `open`.
    fn energy(&self, open: Duration) -> Energy {
        let pulsed = self.pulsed(open);
        self.power * (self.outside + (open - pulsed)) + self.pulse_power * (self.inside + pulsed)
    }
}

/// Returns the index of `state` in [`Meter::draws`].
fn slot(state: State) -> usize {
    match state {
        State::Idle => 0,
        State::Promotion => 1,
        State::Active => 2,
        State::Tail(index) => index.saturating_add(3),
    }
}

/// Returns the energy of `bytes` transferred. A power per Mbit/s is an energy per Mbit.
fn data_energy(per_mbps: Power, bytes: u64) -> Energy {
    Energy::from_joules(per_mbps.as_watts() * (bytes as f64 * 8.0 / 1e6))
}
