//! What the radios draw, and what it costs to switch them.

use radio::{Direction, Meter, Profile, State};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Bitrate, Bytes, Duration, Instant};

/// Over so long it is looked whether switching is worth its tails.
const WINDOW: Duration = Duration::from_secs(60);
/// Into so many parts the window is cut.
const PARTS: u64 = 12;

/// The power model of one interface, told of what its counters show.
#[derive(Debug)]
pub struct Radio {
    meter: Meter,
    ledger: Ledger,
}

/// What is to be known of a path since the last look.
#[derive(Debug, Clone, Copy, Default)]
pub struct Carried {
    /// Bytes received.
    pub down: u64,
    /// Bytes sent.
    pub up: u64,
    /// Bytes that all interfaces received and sent.
    pub total: u64,
    /// How many interfaces could have carried them.
    pub paths: u64,
    /// It was marked as a backup.
    pub backup: bool,
}

/// Whether marking a path as backup and back is worth it, by estimate.
///
/// While a path is a backup, others carry what would have been its equal part. It saves the base power of a
/// radio that would have been active, less what it draws itself meanwhile (its tail above all), less what the
/// data cost elsewhere:
///
/// saved = t * (b + a * rate moved) - (drawn in t) - moved * a elsewhere,
///
/// with t the time as a backup in which the device carried something, b the profile's active power and a its
/// marginal energy. A radio that never comes to rest before it is wanted again saves little, and may cost more.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Balance {
    /// How often the path became a backup.
    pub switches: u64,
    /// What promotions and tails drew, in joules.
    pub tail_j: f64,
    /// What was saved, in joules; negative where switching costs more than it saves.
    pub saved_j: f64,
}

#[derive(Debug, Default)]
struct Ledger {
    backup: bool,
    parts: VecDeque<(Instant, Balance)>,
    /// Promotions and tails, and all but idle, drawn at the last look.
    before: [f64; 2],
}

impl Radio {
    /// A radio at rest since time 0.
    pub fn new(profile: Arc<Profile>) -> Self {
        Self { meter: Meter::new(profile), ledger: Ledger::default() }
    }

    /// What was carried up to `now`. `elsewhere` is what a megabit costs on the cheapest of the other
    /// interfaces, in joules.
    pub fn look(&mut self, now: Instant, carried: &Carried, elsewhere: f64) {
        for (direction, mut bytes) in [(Direction::Down, carried.down), (Direction::Up, carried.up)] {
            while bytes > 0 {
                let part = u32::try_from(bytes).unwrap_or(u32::MAX);
                self.meter.on_packet(now, direction, part);
                bytes -= u64::from(part);
            }
        }
        let last = self.meter.now();
        self.meter.advance(now);
        // An agent runs for months, and nobody asks when a radio was active.
        self.meter.forget_spans();
        let span = now.since(self.ledger.looked().unwrap_or(last));
        self.ledger.look(now, span, carried, &self.meter, elsewhere);
    }

    /// What was drawn so far, in joules.
    pub fn joules(&self) -> f64 {
        self.meter.energy().as_joules()
    }

    /// What its profile calls the state that it is in.
    pub fn state(&self) -> &str {
        self.meter.state_name()
    }

    /// It is out of its idle state.
    pub fn is_awake(&self) -> bool {
        self.meter.state() != State::Idle
    }

    /// What a megabit costs at a rate, in joules; `None` where nothing is received.
    pub fn per_mbit(&self, rate: Bitrate) -> Option<f64> {
        (rate.as_bps() > 0).then(|| self.meter.profile().energy_per_mbit(rate))
    }

    /// What one more megabit costs while it is active anyway, in joules.
    pub fn marginal(&self) -> f64 {
        self.meter.profile().marginal(Direction::Down).as_watts()
    }

    /// What switching cost and saved in the last minute.
    pub fn balance(&self) -> Balance {
        let sum = |mut sum: Balance, (_, part): &(Instant, Balance)| {
            sum.switches += part.switches;
            sum.tail_j += part.tail_j;
            sum.saved_j += part.saved_j;
            sum
        };
        self.ledger.parts.iter().fold(Balance::default(), sum)
    }
}

impl Ledger {
    fn looked(&self) -> Option<Instant> {
        self.parts.back().map(|(at, _)| *at)
    }

    fn look(&mut self, now: Instant, span: Duration, carried: &Carried, meter: &Meter, elsewhere: f64) {
        let drawn = meter.breakdown();
        let tail = (drawn.promotion + drawn.tail).as_joules();
        let awake = drawn.total().as_joules() - drawn.idle.as_joules();
        let [tail_before, awake_before] = std::mem::replace(&mut self.before, [tail, awake]);
        let mut part = Balance {
            switches: u64::from(carried.backup && !self.backup),
            tail_j: tail - tail_before,
            saved_j: 0.0,
        };
        self.backup = carried.backup;
        if carried.backup {
            // Its tail is drawn whether the device carries something or not.
            part.saved_j -= awake - awake_before;
            let moved = (carried.total / carried.paths.max(1)).saturating_sub(carried.down + carried.up);
            if carried.total > 0 {
                let moved = Bytes::new(moved).as_mbit();
                let profile = meter.profile();
                part.saved_j += profile.active.as_watts() * span.as_secs_f64();
                part.saved_j += moved * (profile.marginal(Direction::Down).as_watts() - elsewhere);
            }
        }
        let length = WINDOW.as_nanos() / PARTS;
        match self.parts.back_mut() {
            Some((at, last)) if at.as_nanos() / length == now.as_nanos() / length => {
                *at = now;
                last.switches += part.switches;
                last.tail_j += part.tail_j;
                last.saved_j += part.saved_j;
            }
            _ => self.parts.push_back((now, part)),
        }
        while self.parts.front().is_some_and(|(at, _)| now.since(*at) > WINDOW) {
            self.parts.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
