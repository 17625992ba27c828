//! Feeds interface counters to a policy and tracks its decisions; without I/O.

use policy::{Action, AppState, Channel, DeviceState, InterfaceKind, PathState, Policy, PolicyConfig};
use units::{Bytes, Duration, Energy, Instant};

/// One reading of an interface.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InterfaceSample {
    /// It has a link, and no allowance has closed it.
    pub up: bool,
    /// Bytes received since the start.
    pub bytes_down: u64,
    /// Bytes sent since the start.
    pub bytes_up: u64,
    /// Smoothed round-trip time of a subflow over it.
    pub srtt: Option<Duration>,
    /// Sum of its subflows' congestion windows in bytes, if known.
    pub cwnd: Option<u64>,
    /// Bytes queued towards the device, if known; else 0.
    pub queued: u64,
    /// The radio is not idle.
    pub awake: bool,
    /// Energy per megabit at the current rate, in joules.
    pub energy_per_mbit: Option<f64>,
    /// Energy of the radio since the start; `None` without a power profile.
    pub energy: Option<Energy>,
    /// Remaining data allowance.
    pub allowance_left: Option<Bytes>,
    /// End of the allowance period.
    pub allowance_until: Option<Instant>,
}

/// A running policy and the device state it observes.
#[derive(Debug)]
pub struct Steering {
    config: PolicyConfig,
    policy: Box<dyn Policy>,
    state: DeviceState,
    last: Option<Instant>,
    /// Last counters: bytes received and sent.
    seen: Vec<(u64, u64)>,
    /// Whether the policy wants each interface open.
    wanted: Vec<bool>,
    /// Shares of the last [`Action::Share`].
    shares: Option<Vec<f64>>,
    changes: u64,
}

impl Steering {
    /// Builds the policy for interfaces of these `kinds`; `backups` gives their initial backup
    /// flags.
    pub fn new(config: &PolicyConfig, kinds: &[InterfaceKind], backups: &[bool]) -> Self {
        let mut paths: Vec<_> = kinds.iter().map(|&kind| PathState::new(kind)).collect();
        for (path, backup) in paths.iter_mut().zip(backups) {
            path.backup = *backup;
        }
        Self {
            config: config.clone(),
            policy: config.build(kinds),
            state: DeviceState::new(paths),
            last: None,
            seen: vec![(0, 0); kinds.len()],
            wanted: vec![true; kinds.len()],
            shares: None,
            changes: 0,
        }
    }

    /// Shows the policy one sample per interface and returns its actions. The actions count as
    /// applied.
    pub fn observe(&mut self, now: Instant, looks: &[InterfaceSample]) -> Vec<Action> {
        let span = self.last.map_or(Duration::ZERO, |last| now.since(last));
        self.last = Some(now);
        // A counter below its last value was reset; its whole value is new traffic.
        let since = |now: u64, before: u64| if now < before { now } else { now - before };
        let paths = self.state.paths.iter_mut().zip(&mut self.seen).zip(&self.wanted);
        for (look, ((path, seen), wanted)) in looks.iter().zip(paths) {
            let (down, up) = (since(look.bytes_down, seen.0), since(look.bytes_up, seen.1));
            *seen = (look.bytes_down, look.bytes_up);
            path.up = look.up && *wanted;
            path.rate_down = Bytes::new(down).per(span);
            path.rate_up = Bytes::new(up).per(span);
            path.bytes_down += down;
            path.bytes_up += up;
            path.channel = if down > 0 { Channel::Rx } else { Channel::Idle };
            path.srtt = look.srtt;
            path.cwnd = look.cwnd;
            path.queued = look.queued;
            path.awake = look.awake;
            path.energy_per_mbit = look.energy_per_mbit;
            path.energy = look.energy;
            path.allowance_left = look.allowance_left;
            path.allowance_until = look.allowance_until;
        }
        self.state.energy = self.state.paths.iter().map(|path| path.energy).sum();
        let mut actions = Vec::new();
        self.policy.observe(now, &self.state, &mut actions);
        for action in &actions {
            self.record(action);
        }
        actions
    }

    /// Records an action as applied.
    fn record(&mut self, action: &Action) {
        match action {
            Action::SetBackup { path, backup } => {
                self.changes += u64::from(self.state.paths[*path].backup != *backup);
                self.state.paths[*path].backup = *backup;
            }
            Action::Open { path } => self.wanted[*path] = true,
            Action::Close { path } => self.wanted[*path] = false,
            Action::Share { path_shares } => {
                self.changes += u64::from(self.shares.as_ref() != Some(path_shares));
                self.shares = Some(path_shares.clone());
            }
            Action::Offload { .. } => self.changes += 1,
        }
    }

    /// Sets the application state for the next observation.
    pub fn set_app_state(&mut self, app: Option<AppState>) {
        self.state.app = app;
    }

    /// Sets the data that applications have read so far, if known, for the next observation.
    pub fn set_delivered(&mut self, delivered: Option<Bytes>) {
        self.state.delivered = delivered;
    }

    /// Interval at which the policy should run.
    pub fn interval(&self) -> Option<Duration> {
        self.policy.interval()
    }

    /// Name of the policy.
    pub fn policy_name(&self) -> &str {
        self.config.name()
    }

    /// Device state at the last observation.
    pub fn state(&self) -> &DeviceState {
        &self.state
    }

    /// True when the policy wants the interface open.
    pub fn wants(&self, path: usize) -> bool {
        self.wanted[path]
    }

    /// Number of actions that changed a priority, the shares or the rule of offloading.
    pub const fn policy_changes(&self) -> u64 {
        self.changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_of_the_device_is_known_with_that_of_all_radios() {
        let kinds = [InterfaceKind::Wifi, InterfaceKind::Lte];
        let mut steering = Steering::new(&PolicyConfig::default(), &kinds, &[false; 2]);
        let sample = |joules: Option<f64>| InterfaceSample {
            energy: joules.map(Energy::from_joules),
            ..InterfaceSample::default()
        };
        steering.observe(Instant::ZERO, &[sample(Some(1.5)), sample(None)]);
        assert_eq!((steering.state().energy, steering.state().delivered), (None, None));
        steering.set_delivered(Some(Bytes::new(7)));
        steering.observe(Instant::from_secs(1), &[sample(Some(2.0)), sample(Some(3.0))]);
        assert_eq!(steering.state().energy, Some(Energy::from_joules(5.0)));
        assert_eq!(steering.state().paths[1].energy, Some(Energy::from_joules(3.0)));
        assert_eq!(steering.state().delivered, Some(Bytes::new(7)));
    }

    #[test]
    fn shares_and_offloading_count_as_changes() {
        for (actuator, changes) in [("ideal", [1, 1, 2]), ("table1", [1, 1, 1])] {
            let config = format!("emtcp:{actuator}:0.5").parse().expect("the policy is valid");
            let mut steering =
                Steering::new(&config, &[InterfaceKind::Wifi, InterfaceKind::Lte], &[false; 2]);
            let sample = |up| InterfaceSample { up, ..InterfaceSample::default() };
            let counts = [true, true, false].map(|lte| {
                steering.observe(Instant::ZERO, &[sample(true), sample(lte)]);
                steering.policy_changes()
            });
            assert_eq!(counts, changes, "{actuator}");
        }
    }
}
