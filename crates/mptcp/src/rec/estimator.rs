//! The Desired Sending Rate estimator of one path (DSRor): TCP's rate control at the receiver.
//!
//! Packets are counted in rounds: one opens with the first new packet after the round before,
//! closes when as many have come as the window held at its start, and is as long as it takes until
//! the first packet of the next. Each gives a rate (see [`RateRule`]), which is smoothed twice:
//! with the one before, and over the last few.

use super::smoothing::History;
use super::state::{Event, State};
use super::{RateRule, Rec, RoundTrip};
use crate::Config;
use crate::subflow::Rtt;
use units::{Duration, Instant};

/// Lower bound of window and threshold after a loss (RFC 5681, Eq. 4).
const MIN_WINDOW_PACKETS: f64 = 2.0;
/// Packets received beyond a missing one that make it lost (RFC 5681: three duplicates).
const LOSS_THRESHOLD_PACKETS: u32 = 3;

/// A received data packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    /// Bytes of its payload.
    pub(crate) bytes: u64,
    /// None of its bytes was received before.
    pub(crate) new: bool,
    /// Data before it is still missing.
    pub(crate) missing: bool,
}

/// A round: the packets from its first one until the window is full.
#[derive(Debug, Clone, Copy)]
struct Round {
    opened: Instant,
    /// Packets that complete it.
    size: u32,
    packets: u32,
    bytes: u64,
    /// Window at its start, in packets.
    window: f64,
}

/// Rate control of one path at the receiver.
#[derive(Debug, Clone)]
pub(crate) struct Estimator {
    settings: Rec,
    state: State,
    /// Timer of the present state.
    state_ends: Option<Instant>,
    /// In packets.
    window: f64,
    threshold: f64,
    round: Option<Round>,
    /// Packets received beyond the first missing one.
    beyond: u32,
    round_trip: Rtt,
    /// Rate after the last round, in bytes per second; 0 before the first.
    rate: f64,
    history: History,
    /// Rate of the last report, in bytes per second.
    reported: u32,
    feedback: Option<Instant>,
    /// A report must be sent now.
    due: bool,
    /// Number of entries into each state.
    entered: [u32; 7],
    /// Transitions as (from, to).
    #[cfg(test)]
    steps: Vec<(State, State)>,
}

impl Estimator {
    /// `handshake` is the round trip measured by the handshake, if any.
    pub(crate) fn new(settings: Rec, config: &Config, handshake: Option<Duration>) -> Self {
        let mut round_trip = Rtt::new(config);
        if let Some(measured) = handshake {
            round_trip.sample(measured);
        }
        Self {
            settings,
            state: State::default(),
            state_ends: None,
            window: f64::from(config.initial_window.max(1)),
            threshold: f64::INFINITY,
            round: None,
            beyond: 0,
            round_trip,
            rate: 0.0,
            history: History::default(),
            reported: 0,
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
    /// Returns the number of entries into each state, in the order of [`State::ALL`].
    pub(crate) fn entered(&self) -> [u32; 7] {
        self.entered
    }
    /// Returns the time of the next [`expire`](Self::expire).
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.state_ends.into_iter().chain(self.feedback).min()
    }
    /// Returns true if a report must be sent now.
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// Returns the rate for a report that is being sent, in bytes per second; 0 before the first
    /// rate.
    pub(crate) fn report(&mut self) -> u32 {
        self.due = false;
        self.reported = self.smoothed_rate();
        self.reported
    }

    fn smoothed_rate(&self) -> u32 {
        // A report of 0 means that there is no rate.
        if self.rate > 0.0 { self.history.smoothed(self.settings.sigma).max(1.0) as u32 } else { 0 }
    }

    /// Handles a data packet. `echoed` is the round-trip sample of its timestamp, if any.
    pub(crate) fn on_packet(&mut self, now: Instant, packet: Packet, echoed: Option<Duration>) {
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
            if self.beyond >= LOSS_THRESHOLD_PACKETS {
                self.step(now, Event::Loss);
            }
            return;
        }
        self.beyond = 0;
        self.step(now, Event::Closed { below: self.window < self.threshold });
        self.step(now, Event::InOrder);
        self.count_packet(now, packet.bytes);
    }

    /// Handles the timers that are due at `now`.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.state_ends.is_some_and(|at| at <= now) {
            self.state_ends = None;
            let event = if self.state == State::Gap { Event::Timeout } else { Event::RoundTrip };
            self.step(now, event);
        }
        if self.feedback.is_some_and(|at| at <= now) {
            self.feedback = None;
            self.due = true;
        }
    }

    /// Makes the transition for `event`, if there is one, and performs the actions of the new
    /// state.
    fn step(&mut self, now: Instant, event: Event) {
        let Some(state) = self.state.after(event) else { return };
        #[cfg(test)]
        self.steps.push((self.state, state));
        self.state = state;
        self.entered[State::ALL.iter().position(|&s| s == state).unwrap_or(0)] += 1;
        self.state_ends = None;
        if !state.grows() {
            // An interrupted round says nothing about the rate.
            self.round = None;
        }
        match state {
            State::Gap => self.state_ends = Some(now + self.round_trip.rto()),
            State::FastRecovery => {
                self.window = (self.window / 2.0).max(MIN_WINDOW_PACKETS);
                self.threshold = self.window;
                self.state_ends = Some(now + self.round_trip.srtt());
            }
            State::Timeout => {
                self.threshold = (self.window / 2.0).max(MIN_WINDOW_PACKETS);
                self.window = 1.0;
                self.restart();
            }
            _ => {}
        }
    }

    /// Restarts with a packet per round trip after a timeout.
    fn restart(&mut self) {
        if self.rate > 0.0 {
            // The window was twice the threshold; one packet of it is left.
            self.rate = (self.rate / (2.0 * self.threshold)).max(1.0);
            self.history.clear();
            self.history.push(self.rate);
            self.due = true;
        }
    }

    fn srtt_secs(&self) -> f64 {
        self.round_trip.srtt().as_secs_f64().max(1e-6)
    }

    /// Counts a new in-order packet in the round, and grows the window.
    fn count_packet(&mut self, now: Instant, bytes: u64) {
        if !self.state.grows() {
            return;
        }
        if let Some(round) = self.round.take_if(|round| round.packets >= round.size) {
            self.close_round(now, round);
        }
        let window = self.window;
        let round = self.round.get_or_insert_with(|| Round {
            opened: now,
            size: window.max(1.0) as u32,
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
            self.window = self.threshold.max(MIN_WINDOW_PACKETS);
            self.step(now, Event::Threshold);
        }
    }

    /// Ends a round, at the packet that opens the next, and updates the rate.
    fn close_round(&mut self, now: Instant, round: Round) {
        let duration = now.since(round.opened);
        if self.settings.round_trip == RoundTrip::Rounds {
            self.round_trip.sample(duration);
        }
        let bytes = round.bytes as f64;
        let packet = bytes / f64::from(round.packets.max(1));
        let amount = match self.settings.rate {
            RateRule::Rounds => bytes,
            RateRule::Window => packet * (round.window + self.window) / 2.0,
        };
        let fresh = amount / self.srtt_secs();
        self.rate = if self.rate > 0.0 {
            self.settings.phi * self.rate + (1.0 - self.settings.phi) * fresh
        } else {
            fresh
        };
        self.history.push(self.rate);
        let used = bytes / duration.as_secs_f64().max(1e-6);
        let reported = f64::from(self.reported);
        self.due |= self.reported == 0 || (used - reported).abs() > self.settings.tolerance * reported;
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
    fn slow_start_doubles_rounds_and_rate_is_bytes_over_rtt() {
        let mut e = estimator(Rec::default());
        // A packet every 10 ms: rounds of 2, 4 and 8 packets. A round's rate follows when the next
        // begins.
        let mut closed = Vec::new();
        for n in 0..15 {
            let before = e.rate;
            e.on_packet(at(10 * n), packet(false), None);
            if e.rate > before {
                closed.push((n, e.rate));
            }
        }
        // 2000 B in 100 ms; then the mean with 40,000 B/s; then the mean with 80,000 B/s.
        assert_eq!(closed, [(2, 20_000.0), (6, 30_000.0), (14, 55_000.0)]);
        assert_eq!(e.state(), State::SlowStart);
        // The report is the mean of the three: fewer than four values have equal weights.
        assert!(e.is_due());
        assert_eq!(e.report(), 35_000);
        assert!(!e.is_due());
    }

    #[test]
    fn report_is_due_a_round_trip_after_the_start_of_a_round() {
        let mut e = estimator(Rec { tolerance: 1e6, ..Rec::default() });
        e.on_packet(at(0), packet(false), None);
        e.report();
        assert_eq!(e.next_timeout(), Some(at(100)));
        e.expire(at(99));
        assert!(!e.is_due());
        e.expire(at(100));
        assert!(e.is_due());
        assert_eq!(e.next_timeout(), None);
    }

    /// An estimator in congestion avoidance with a window of 8 packets.
    fn avoiding() -> Estimator {
        let mut e = estimator(Rec::default());
        e.threshold = 8.0;
        for n in 0..6 {
            e.on_packet(at(n), packet(false), None);
        }
        assert_eq!((e.state(), e.window), (State::Avoidance, 8.0));
        e
    }

    #[test]
    fn avoidance_grows_by_one_packet_per_round() {
        let mut e = avoiding();
        e.round = None;
        for n in 0..8 {
            e.on_packet(at(10 + n), packet(false), None);
        }
        assert!((e.window - 9.0).abs() < 1e-9);
    }

    #[test]
    fn loss_halves_the_window_once_per_round_trip() {
        let mut e = avoiding();
        e.on_packet(at(20), packet(true), None);
        assert_eq!(e.state(), State::Gap);
        e.on_packet(at(21), packet(true), None);
        e.on_packet(at(22), packet(true), None);
        assert_eq!((e.state(), e.window, e.threshold), (State::FastRecovery, 4.0, 4.0));
        // Further losses in the same round trip have no effect.
        (0..9).for_each(|n| e.on_packet(at(30 + n), packet(true), None));
        assert_eq!((e.state(), e.window), (State::FastRecovery, 4.0));
        e.expire(at(122));
        assert_eq!(e.state(), State::AvoidanceReady);
        e.on_packet(at(130), packet(true), None);
        assert_eq!(e.state(), State::AvoidanceReady);
        e.on_packet(at(131), packet(false), None);
        assert_eq!((e.state(), e.window), (State::Avoidance, 4.25));
    }

    #[test]
    fn reordering_keeps_the_window_and_a_timeout_resets_it() {
        let mut e = avoiding();
        e.on_packet(at(20), packet(true), None);
        e.on_packet(at(21), packet(false), None);
        assert_eq!(e.state(), State::Avoidance);
        e.on_packet(at(22), packet(true), None);
        // Another packet beyond the missing one does not restart the timer.
        e.on_packet(at(200), packet(true), None);
        // RTO: the round trip and four times half of it (RFC 6298).
        e.expire(at(22 + 299));
        assert_eq!(e.state(), State::Gap);
        e.expire(at(22 + 300));
        assert_eq!(e.state(), State::Timeout);
        assert!((e.window - 1.0).abs() < 1e-9 && e.threshold > 4.0);
        // A duplicate ends the timeout state as well.
        e.on_packet(at(400), Packet { new: false, ..packet(false) }, None);
        assert_eq!(e.state(), State::SlowStartReady);
        e.on_packet(at(401), packet(false), None);
        assert_eq!(e.state(), State::SlowStart);
    }

    #[test]
    fn closed_gap_returns_to_slow_start() {
        let mut e = estimator(Rec::default());
        e.on_packet(at(0), packet(false), None);
        e.on_packet(at(1), packet(true), None);
        e.on_packet(at(2), packet(false), None);
        assert_eq!(e.state(), State::SlowStart);
    }

    /// The transitions of docs/background/mptcp-rec.md, independent of `State::after`.
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
    fn packets_and_time_reach_every_transition() {
        let mut reached: Vec<(&str, &str)> = Vec::new();
        let mut rng = units::Seed::new(1).rng("packets");
        let mut e = estimator(Rec::default());
        let mut now = Instant::ZERO;
        for n in 0..20_000_u32 {
            // 150 packets in order, then 50 with gaps.
            let has_gaps = n % 200 > 150;
            now += Duration::from_millis(if has_gaps { rng.below(400) } else { 5 });
            e.expire(now);
            e.on_packet(now, packet(has_gaps && rng.below(3) > 0), None);
            if n % 1000 == 0 {
                // A threshold that a window of 1 reaches before the next gap.
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
            assert!(reached.contains(&step), "{} to {} was not reached", step.0, step.1);
        }
        assert_eq!(reached.len(), DIAGRAM.len());
    }

    proptest! {
        /// For any packets, states follow the diagram and all figures stay finite.
        #[test]
        fn states_follow_the_diagram(
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
                e.on_packet(now, packet, (what == 2).then_some(Duration::from_millis(wait.max(1))));
                // Each step is in the diagram and starts at the end of the previous step.
                let mut at = before;
                for (from, to) in e.steps.drain(..) {
                    prop_assert_eq!(at, from);
                    prop_assert!(DIAGRAM.contains(&(from.short(), to.short())), "{from:?} to {to:?}");
                    at = to;
                }
                prop_assert_eq!(at, e.state());
                prop_assert!(e.window >= 1.0 && e.window.is_finite());
                prop_assert!(e.threshold >= MIN_WINDOW_PACKETS);
                prop_assert!(e.rate >= 0.0 && e.rate.is_finite());
                prop_assert_eq!(e.report() == 0, e.rate <= 0.0);
                if let Some(at) = e.next_timeout() {
                    prop_assert!(at > now || e.is_due(), "a timer is due without effect");
                }
            }
        }
    }
}
