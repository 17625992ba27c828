//! The Desired Sending Rate estimator of one path (DSRor): it plays TCP at the receiver.
//!
//! Packets are counted in rounds: one opens with the first new packet after the round before, closes when as
//! many have come as the window held at its start, and is as long as it takes until the first packet of the
//! next. Each gives a rate (see [`RateRule`]), which is smoothed twice: with the one before, and over the last
//! few.

use super::smoothing::History;
use super::state::{Event, State};
use super::{RateRule, Rec, RoundTrip};
use crate::Config;
use crate::subflow::Rtt;
use units::{Duration, Instant};

/// The least window and threshold after a loss, in packets (RFC 5681, Eq. 4).
const LEAST: f64 = 2.0;
/// Packets beyond a missing one that make it lost, the first included (RFC 5681: three duplicates).
const BEYOND: u32 = 3;

/// What came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    /// Bytes of its payload.
    pub(crate) bytes: u64,
    /// None of it was there before.
    pub(crate) new: bool,
    /// Something before what has come is missing, now that it is here.
    pub(crate) missing: bool,
}

/// Packets from the first that came after the round before.
#[derive(Debug, Clone, Copy)]
struct Round {
    opened: Instant,
    /// Packets that close it.
    needs: u32,
    packets: u32,
    bytes: u64,
    /// The window when it opened, in packets.
    window: f64,
}

/// What the receiver knows of one path.
#[derive(Debug, Clone)]
pub(crate) struct Estimator {
    settings: Rec,
    state: State,
    /// When the present state ends by itself.
    ends: Option<Instant>,
    /// In packets.
    window: f64,
    threshold: f64,
    round: Option<Round>,
    /// Packets beyond the first that is missing.
    beyond: u32,
    round_trip: Rtt,
    /// Bytes per second after the last round; 0 before the first.
    rate: f64,
    history: History,
    /// What was told last, in bytes per second.
    told: u32,
    feedback: Option<Instant>,
    /// A report is to go out now.
    due: bool,
    /// Transitions so far.
    entered: [u32; 7],
    /// From where to where.
    #[cfg(test)]
    steps: Vec<(State, State)>,
}

impl Estimator {
    /// With what the handshake measured as the first round trip, where it did.
    pub(crate) fn new(settings: Rec, config: &Config, handshake: Option<Duration>) -> Self {
        let mut round_trip = Rtt::new(config);
        if let Some(measured) = handshake {
            round_trip.sample(measured);
        }
        Self {
            settings,
            state: State::default(),
            ends: None,
            window: f64::from(config.initial_window.max(1)),
            threshold: f64::INFINITY,
            round: None,
            beyond: 0,
            round_trip,
            rate: 0.0,
            history: History::default(),
            told: 0,
            feedback: None,
            due: false,
            entered: [0; 7],
            #[cfg(test)]
            steps: Vec::new(),
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }
    /// How often each state was entered, in the order of [`State::ALL`].
    pub(crate) fn entered(&self) -> [u32; 7] {
        self.entered
    }
    /// When [`expire`](Self::expire) is due.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.ends.into_iter().chain(self.feedback).min()
    }
    /// A report is to go out now.
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// The rate to be told, in bytes per second, as a report goes out; 0 for none yet.
    pub(crate) fn tell(&mut self) -> u32 {
        self.due = false;
        self.told = self.wanted();
        self.told
    }

    fn wanted(&self) -> u32 {
        // Below one a rate would mean that there is none.
        if self.rate > 0.0 { self.history.smoothed(self.settings.sigma).max(1.0) as u32 } else { 0 }
    }

    /// Data came on this path. `echoed` is the round trip that it shows, if it does.
    pub(crate) fn arrived(&mut self, now: Instant, packet: Packet, echoed: Option<Duration>) {
        self.expire(now);
        if self.settings.round_trip == RoundTrip::Echo
            && let Some(sample) = echoed
        {
            self.round_trip.sample(sample);
        }
        self.step(now, Event::Packet);
        if !packet.new {
            return;
        }
        if packet.missing {
            self.beyond += 1;
            self.step(now, Event::Hole);
            if self.beyond >= BEYOND {
                self.step(now, Event::Loss);
            }
            return;
        }
        self.beyond = 0;
        self.step(now, Event::Closed { below: self.window < self.threshold });
        self.step(now, Event::InOrder);
        self.count(now, packet.bytes);
    }

    /// Time has passed.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.ends.is_some_and(|at| at <= now) {
            self.ends = None;
            let event = if self.state == State::Gap { Event::Silence } else { Event::RoundTrip };
            self.step(now, event);
        }
        if self.feedback.is_some_and(|at| at <= now) {
            self.feedback = None;
            self.due = true;
        }
    }

    /// Follows a transition, if `event` makes one, and does what entering the state means.
    fn step(&mut self, now: Instant, event: Event) {
        let Some(state) = self.state.after(event) else { return };
        #[cfg(test)]
        self.steps.push((self.state, state));
        self.state = state;
        self.entered[State::ALL.iter().position(|&s| s == state).unwrap_or(0)] += 1;
        self.ends = None;
        if !state.grows() {
            // What a round that was cut short would say is not how fast packets come.
            self.round = None;
        }
        match state {
            State::Gap => self.ends = Some(now + self.round_trip.rto()),
            State::FastRecovery => {
                self.window = (self.window / 2.0).max(LEAST);
                self.threshold = self.window;
                self.ends = Some(now + self.round_trip.srtt());
            }
            State::Timeout => {
                self.threshold = (self.window / 2.0).max(LEAST);
                self.window = 1.0;
                self.restart();
            }
            _ => {}
        }
    }

    /// After a timeout what was is no measure: a packet each round trip.
    fn restart(&mut self) {
        if self.rate > 0.0 {
            // Of a window, which was twice the threshold, one packet.
            self.rate = (self.rate / (2.0 * self.threshold)).max(1.0);
            self.history.clear();
            self.history.push(self.rate);
            self.due = true;
        }
    }

    fn seconds(&self) -> f64 {
        self.round_trip.srtt().as_secs_f64().max(1e-6)
    }

    /// A new packet in order, while nothing is missing.
    fn count(&mut self, now: Instant, bytes: u64) {
        if !self.state.grows() {
            return;
        }
        if let Some(round) = self.round.take_if(|round| round.packets >= round.needs) {
            self.close(now, round);
        }
        let window = self.window;
        let round = self.round.get_or_insert_with(|| Round {
            opened: now,
            needs: window.max(1.0) as u32,
            packets: 0,
            bytes: 0,
            window,
        });
        if round.packets == 0 {
            self.feedback = Some(now + self.round_trip.srtt());
        }
        round.packets += 1;
        round.bytes += bytes;
        self.window += if self.state == State::SlowStart { 1.0 } else { 1.0 / round.window };
        if self.state == State::SlowStart && self.window >= self.threshold {
            self.window = self.threshold.max(LEAST);
            self.step(now, Event::Threshold);
        }
    }

    /// A round has come to its end with the packet that opens the next.
    fn close(&mut self, now: Instant, round: Round) {
        let lasted = now.since(round.opened);
        if self.settings.round_trip == RoundTrip::Rounds {
            self.round_trip.sample(lasted);
        }
        let bytes = round.bytes as f64;
        let packet = bytes / f64::from(round.packets.max(1));
        let amount = match self.settings.rate {
            RateRule::Rounds => bytes,
            RateRule::Window => packet * (round.window + self.window) / 2.0,
        };
        let fresh = amount / self.seconds();
        self.rate = if self.rate > 0.0 {
            self.settings.phi * self.rate + (1.0 - self.settings.phi) * fresh
        } else {
            fresh
        };
        self.history.push(self.rate);
        let used = bytes / lasted.as_secs_f64().max(1e-6);
        let told = f64::from(self.told);
        self.due |= self.told == 0 || (used - told).abs() > self.settings.tolerance * told;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RTT: Duration = Duration::from_millis(100);

    fn estimator(settings: Rec) -> Estimator {
        Estimator::new(settings, &Config { initial_window: 2, ..Config::default() }, Some(RTT))
    }

    fn packet(missing: bool) -> Packet {
        Packet { bytes: 1000, new: true, missing }
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn rounds_double_in_slow_start_and_their_rate_is_what_came_over_the_round_trip() {
        let mut e = estimator(Rec::default());
        // A packet each 10 ms: rounds of 2, 4 and 8 packets; each is known when the next begins.
        let mut closed = Vec::new();
        for n in 0..15 {
            let before = e.rate;
            e.arrived(at(10 * n), packet(false), None);
            if e.rate > before {
                closed.push((n, e.rate));
            }
        }
        // 2000 B in 100 ms; half of that and half of 40,000 B/s; half and half of 80,000.
        assert_eq!(closed, [(2, 20_000.0), (6, 30_000.0), (14, 55_000.0)]);
        assert_eq!(e.state(), State::SlowStart);
        // Told: the mean of the three, since fewer than four have all the same weight.
        assert!(e.is_due());
        assert_eq!(e.tell(), 35_000);
        assert!(!e.is_due());
    }

    #[test]
    fn a_report_is_due_a_round_trip_after_a_round_began() {
        let mut e = estimator(Rec { tolerance: 1e6, ..Rec::default() });
        e.arrived(at(0), packet(false), None);
        e.tell();
        assert_eq!(e.next_timeout(), Some(at(100)));
        e.expire(at(99));
        assert!(!e.is_due());
        e.expire(at(100));
        assert!(e.is_due());
        assert_eq!(e.next_timeout(), None);
    }

    /// In congestion avoidance with a window of 8 packets.
    fn avoiding() -> Estimator {
        let mut e = estimator(Rec::default());
        e.threshold = 8.0;
        for n in 0..6 {
            e.arrived(at(n), packet(false), None);
        }
        assert_eq!((e.state(), e.window), (State::Avoidance, 8.0));
        e
    }

    #[test]
    fn avoidance_grows_by_one_a_round() {
        let mut e = avoiding();
        e.round = None;
        for n in 0..8 {
            e.arrived(at(10 + n), packet(false), None);
        }
        assert!((e.window - 9.0).abs() < 1e-9);
    }

    #[test]
    fn a_loss_halves_once_for_a_round_trip() {
        let mut e = avoiding();
        e.arrived(at(20), packet(true), None);
        assert_eq!(e.state(), State::Gap);
        e.arrived(at(21), packet(true), None);
        e.arrived(at(22), packet(true), None);
        assert_eq!((e.state(), e.window, e.threshold), (State::FastRecovery, 4.0, 4.0));
        // Further losses of the same window count no more.
        (0..9).for_each(|n| e.arrived(at(30 + n), packet(true), None));
        assert_eq!((e.state(), e.window), (State::FastRecovery, 4.0));
        e.expire(at(122));
        assert_eq!(e.state(), State::AvoidanceReady);
        e.arrived(at(130), packet(true), None);
        assert_eq!(e.state(), State::AvoidanceReady);
        e.arrived(at(131), packet(false), None);
        assert_eq!((e.state(), e.window), (State::Avoidance, 4.25));
    }

    #[test]
    fn what_was_late_costs_nothing_and_silence_costs_all() {
        let mut e = avoiding();
        e.arrived(at(20), packet(true), None);
        e.arrived(at(21), packet(false), None);
        assert_eq!(e.state(), State::Avoidance);
        e.arrived(at(22), packet(true), None);
        // The round trip and four times half of it (RFC 6298).
        e.expire(at(22 + 299));
        assert_eq!(e.state(), State::Gap);
        e.expire(at(22 + 300));
        assert_eq!(e.state(), State::Timeout);
        assert!((e.window - 1.0).abs() < 1e-9 && e.threshold > 4.0);
        // Sent twice, and the first sign of life.
        e.arrived(at(400), Packet { new: false, ..packet(false) }, None);
        assert_eq!(e.state(), State::SlowStartReady);
        e.arrived(at(401), packet(false), None);
        assert_eq!(e.state(), State::SlowStart);
    }

    #[test]
    fn a_gap_in_slow_start_that_closes_goes_back_there() {
        let mut e = estimator(Rec::default());
        e.arrived(at(0), packet(false), None);
        e.arrived(at(1), packet(true), None);
        e.arrived(at(2), packet(false), None);
        assert_eq!(e.state(), State::SlowStart);
    }

    /// What leads where, from docs/background/mptcp-rec.md and not from `State::after`.
    const DIAGRAM: [(&str, &str); 11] = [
        ("SR", "SS"),
        ("SS", "CA"),
        ("SS", "GAP"),
        ("CA", "GAP"),
        ("GAP", "SS"),
        ("GAP", "CA"),
        ("GAP", "FR"),
        ("GAP", "TO"),
        ("FR", "CR"),
        ("CR", "CA"),
        ("TO", "SR"),
    ];

    #[test]
    fn every_transition_is_reached_by_packets_and_time_alone() {
        let mut reached: Vec<(&str, &str)> = Vec::new();
        let mut rng = units::Seed::new(1).rng("packets");
        let mut e = estimator(Rec::default());
        let mut now = Instant::ZERO;
        for n in 0..20_000_u32 {
            // Long in order, then gaps of every kind.
            let rough = n % 200 > 150;
            now += Duration::from_millis(if rough { rng.below(400) } else { 5 });
            e.expire(now);
            e.arrived(now, packet(rough && rng.below(3) > 0), None);
            if n % 1000 == 0 {
                // A threshold that a window from 1 can come to before the next gap.
                e.threshold = e.threshold.min(30.0);
            }
            for (from, to) in e.steps.drain(..) {
                let step = (from.short(), to.short());
                if !reached.contains(&step) {
                    reached.push(step);
                }
            }
        }
        for step in DIAGRAM {
            assert!(reached.contains(&step), "{} to {} was never taken", step.0, step.1);
        }
        assert_eq!(reached.len(), DIAGRAM.len());
    }

    proptest! {
        /// Whatever comes, the states follow the diagram, and numbers stay numbers.
        #[test]
        fn no_state_is_entered_but_by_its_transitions(
            steps in prop::collection::vec((0_u64..400, 0_u8..6, 1_u64..1500), 1..300),
            rounds in any::<bool>(),
            window in any::<bool>(),
            sigma in 1_u8..=16,
        ) {
            let settings = Rec {
                sigma,
                round_trip: if rounds { RoundTrip::Rounds } else { RoundTrip::Echo },
                rate: if window { RateRule::Window } else { RateRule::Rounds },
                ..Rec::default()
            };
            let mut e = estimator(settings);
            let mut now = Instant::ZERO;
            for (wait, what, bytes) in steps {
                now += Duration::from_millis(wait);
                let before = e.state();
                e.expire(now);
                let packet = Packet { bytes, new: what > 0, missing: what > 3 };
                e.arrived(now, packet, (what == 2).then_some(Duration::from_millis(wait.max(1))));
                // Each step is one of the table, and begins where the one before ended.
                let mut at = before;
                for (from, to) in e.steps.drain(..) {
                    prop_assert_eq!(at, from);
                    prop_assert!(DIAGRAM.contains(&(from.short(), to.short())), "{from:?} to {to:?}");
                    at = to;
                }
                prop_assert_eq!(at, e.state());
                prop_assert!(e.window >= 1.0 && e.window.is_finite());
                prop_assert!(e.threshold >= LEAST);
                prop_assert!(e.rate >= 0.0 && e.rate.is_finite());
                prop_assert_eq!(e.tell() == 0, e.rate <= 0.0);
                if let Some(at) = e.next_timeout() {
                    prop_assert!(at > now || e.is_due(), "a timer that is due and does nothing");
                }
            }
        }
    }
}
