//! Sub-flow Interface State Detector (Chen et al. 2013, section III).
//!
//! The paper's detector "continuously observes the channel state" of the interfaces: receiving (RX)
//! or idle. A device has byte counters: an interface receives if its counter grew within the quiet
//! time.

use crate::{Channel, DeviceState};
use units::{Duration, Instant};

/// Detects for each interface whether it receives, and whether it is about to.
#[derive(Debug, Clone)]
pub struct Detector {
    quiet: Duration,
    interfaces: Vec<Interface>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Interface {
    /// Counter at the last observation; `None` before the first.
    bytes_down: Option<u64>,
    /// Last observation at which the counter had grown.
    received: Option<Instant>,
    channel: Channel,
    /// `T_RX` at the last observation.
    about_to_receive: bool,
}

impl Detector {
    /// Time without data after which an interface is idle: two observations, since one without a
    /// packet is chance.
    pub const QUIET: Duration = Duration::from_millis(200);

    /// A detector of idle `interfaces` with the quiet time [`QUIET`](Self::QUIET).
    pub fn new(interfaces: usize) -> Self {
        Self { quiet: Self::QUIET, interfaces: vec![Interface::default(); interfaces] }
    }

    /// Replaces the quiet time.
    #[must_use]
    pub fn with_quiet(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }

    /// Reads the counters. The first observation only records them.
    pub fn observe(&mut self, now: Instant, state: &DeviceState) {
        self.interfaces.resize(state.paths.len(), Interface::default());
        for (interface, path) in self.interfaces.iter_mut().zip(&state.paths) {
            let grown = interface.bytes_down.is_some_and(|before| path.bytes_down > before);
            interface.bytes_down = Some(path.bytes_down);
            if grown || path.channel == Channel::Rx {
                interface.received = Some(now);
            }
            let receives = interface.received.is_some_and(|at| now == at || now.since(at) < self.quiet);
            interface.channel = if receives { Channel::Rx } else { Channel::Idle };
            // Data that just arrived shows that data was expected; queued data will arrive.
            interface.about_to_receive = path.up && (interface.received == Some(now) || path.queued > 0);
        }
    }

    /// Channel state of an interface at the last observation; idle for an unknown interface.
    pub fn channel(&self, interface: usize) -> Channel {
        self.interfaces.get(interface).map_or(Channel::Idle, |i| i.channel)
    }

    /// True if [`channel`](Self::channel) is idle.
    pub fn is_idle(&self, interface: usize) -> bool {
        self.channel(interface) == Channel::Idle
    }

    /// `T_RX` of Table I: data arrived over this interface since the observation before, or is
    /// queued.
    pub fn about_to_receive(&self, interface: usize) -> bool {
        self.interfaces.get(interface).is_some_and(|i| i.about_to_receive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InterfaceKind, PathState};
    use Channel::{Idle, Rx};

    /// One observation: milliseconds, counter, queued bytes; then the expected channel and `T_RX`.
    type Observation = (u64, u64, u64, Channel, bool);

    fn check(observations: &[Observation]) {
        let mut detector = Detector::new(1);
        for &(millis, bytes_down, queued, channel, t_rx) in observations {
            let path = PathState { bytes_down, queued, ..PathState::new(InterfaceKind::Lte) };
            detector.observe(Instant::from_millis(millis), &DeviceState { paths: vec![path], app: None });
            assert_eq!(
                (detector.channel(0), detector.about_to_receive(0)),
                (channel, t_rx),
                "at {millis} ms"
            );
        }
    }

    #[test]
    fn interface_receives_while_its_counter_grows_until_the_quiet_time_is_over() {
        check(&[
            (0, 0, 0, Idle, false),
            (100, 1500, 0, Rx, true),
            (200, 3000, 0, Rx, true),
            (300, 3000, 0, Rx, false),
            (399, 3000, 0, Rx, false),
            (400, 3000, 0, Idle, false),
            (500, 3001, 0, Rx, true),
        ]);
    }

    #[test]
    fn queued_data_is_about_to_arrive() {
        check(&[(0, 0, 1, Idle, true), (100, 0, 0, Idle, false), (200, 0, 9000, Idle, true)]);
    }

    #[test]
    fn first_observation_does_not_count_as_received_data() {
        check(&[
            (0, 1_000_000, 0, Idle, false),
            (100, 1_000_000, 0, Idle, false),
            (200, 1_000_001, 0, Rx, true),
        ]);
    }

    #[test]
    fn reset_of_a_counter_is_not_growth() {
        check(&[(0, 5000, 0, Idle, false), (100, 0, 0, Idle, false), (200, 100, 0, Rx, true)]);
    }

    #[test]
    fn channel_of_the_driver_overrides_the_counters() {
        let mut detector = Detector::new(1).with_quiet(Duration::ZERO);
        let mut path = PathState { channel: Rx, ..PathState::new(InterfaceKind::Wifi) };
        detector.observe(Instant::ZERO, &DeviceState { paths: vec![path.clone()], app: None });
        assert_eq!(detector.channel(0), Rx);
        path.channel = Idle;
        detector.observe(Instant::from_millis(1), &DeviceState { paths: vec![path], app: None });
        assert_eq!(detector.channel(0), Idle);
    }

    #[test]
    fn path_that_is_down_is_not_about_to_receive() {
        let mut detector = Detector::new(1);
        let path = PathState { up: false, queued: 1, ..PathState::new(InterfaceKind::Lte) };
        detector.observe(Instant::ZERO, &DeviceState { paths: vec![path], app: None });
        assert!(!detector.about_to_receive(0));
        assert_eq!(detector.channel(7), Idle);
    }
}
