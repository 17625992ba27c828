//! Energy of the radios, and the balance of switching them.

use radio::{Direction, Meter, Profile, State};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Bitrate, Bytes, Duration, Energy, Instant};

/// Averaging window of the switching balance.
const WINDOW: Duration = Duration::from_secs(60);
/// Number of parts of the window.
const WINDOW_PARTS: u64 = 12;

/// Power model of one interface, fed by its counters.
#[derive(Debug)]
pub struct Radio {
    meter: Meter,
    ledger: SwitchingLedger,
}

/// The order of quantities that have one value for each direction.
pub const DIRECTIONS: [Direction; 2] = [Direction::Down, Direction::Up];

/// Traffic of one interface since the previous sample, in [`DIRECTIONS`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Carried {
    /// Bytes of the interface.
    pub bytes: [u64; 2],
    /// Bytes of all interfaces.
    pub total: [u64; 2],
    /// Number of interfaces that are up.
    pub paths: u64,
    /// The interface is marked as backup.
    pub backup: bool,
}

/// Estimated benefit of marking an interface as backup.
///
/// A backup interface leaves its equal share of the traffic to the others. That saves the base
/// power of an active radio and the marginal energy of the moved bytes. It costs the energy still
/// drawn (mainly the tail) and the marginal energy of the bytes elsewhere:
///
/// saved = t * (b + a * rate moved) - (drawn in t) - moved * a elsewhere,
///
/// t is the time as backup with traffic on the device, b the active power of the profile, a its
/// marginal energy in the direction of the bytes. A radio that never returns to idle saves little
/// and may lose.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Balance {
    /// Number of switches to backup.
    pub switches: u64,
    /// Energy of promotions and tails, in joules.
    pub tail_j: f64,
    /// Saved energy in joules; negative when switching costs more.
    pub saved_j: f64,
}

#[derive(Debug, Default)]
struct SwitchingLedger {
    backup: bool,
    parts: VecDeque<(Instant, Balance)>,
    /// Cumulated energy at the last sample: promotions and tails; all states except idle.
    before: [f64; 2],
}

impl Radio {
    /// Radio that is idle since time 0.
    pub fn new(profile: Arc<Profile>) -> Self {
        Self { meter: Meter::new(profile), ledger: SwitchingLedger::default() }
    }

    /// Adds the traffic up to `now`. `elsewhere` is the marginal energy of the cheapest other
    /// interface in [`DIRECTIONS`], in joules per megabit.
    pub fn update(&mut self, now: Instant, carried: &Carried, elsewhere: [f64; 2]) {
        for (direction, mut bytes) in DIRECTIONS.into_iter().zip(carried.bytes) {
            while bytes > 0 {
                let part = u32::try_from(bytes).unwrap_or(u32::MAX);
                self.meter.on_packet(now, direction, part);
                bytes -= u64::from(part);
            }
        }
        let last = self.meter.now();
        self.meter.advance(now);
        // Activity spans are not used here and would grow for months.
        self.meter.discard_active_spans();
        let span = now.since(self.ledger.last_sample().unwrap_or(last));
        self.ledger.record(now, span, carried, &self.meter, elsewhere);
    }

    /// Energy drawn so far.
    pub fn energy(&self) -> Energy {
        self.meter.energy()
    }

    /// Energy drawn so far, in joules.
    pub fn joules(&self) -> f64 {
        self.energy().as_joules()
    }

    /// Name of the power state in the profile.
    pub fn state(&self) -> &str {
        self.meter.state_name()
    }

    /// True unless the radio is idle.
    pub fn is_awake(&self) -> bool {
        self.meter.state() != State::Idle
    }

    /// Energy per megabit at these rates, in joules; `None` without traffic.
    pub fn per_mbit(&self, up: Bitrate, down: Bitrate) -> Option<f64> {
        self.meter.profile().energy_per_mbit_carried(up, down)
    }

    /// Marginal energy of one more megabit while active in [`DIRECTIONS`], in joules.
    pub fn marginal(&self) -> [f64; 2] {
        DIRECTIONS.map(|direction| self.meter.profile().marginal(direction).as_watts())
    }

    /// Switching balance of the last minute.
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

impl SwitchingLedger {
    fn last_sample(&self) -> Option<Instant> {
        self.parts.back().map(|(at, _)| *at)
    }

    fn record(
        &mut self,
        now: Instant,
        span: Duration,
        carried: &Carried,
        meter: &Meter,
        elsewhere: [f64; 2],
    ) {
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
            // The tail counts even without traffic on the device.
            part.saved_j -= awake - awake_before;
            if carried.total != [0; 2] {
                let profile = meter.profile();
                part.saved_j += profile.active.as_watts() * span.as_secs_f64();
                for (nth, direction) in DIRECTIONS.into_iter().enumerate() {
                    let share = carried.total[nth] / carried.paths.max(1);
                    let moved = Bytes::new(share.saturating_sub(carried.bytes[nth])).as_mbit();
                    part.saved_j += moved * (profile.marginal(direction).as_watts() - elsewhere[nth]);
                }
            }
        }
        let length = WINDOW.as_nanos() / WINDOW_PARTS;
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
