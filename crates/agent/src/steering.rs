//! What a policy is shown, and what it asks for.

use policy::{Action, AppState, Channel, DeviceState, InterfaceKind, PathState, Policy, PolicyConfig};
use units::{Bytes, Duration, Instant};

/// One interface, as its counters say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InterfaceSample {
    /// It has a link, and the policy has not closed it.
    pub up: bool,
    /// Received since the beginning, in bytes.
    pub bytes_down: u64,
    /// Sent since the beginning, in bytes.
    pub bytes_up: u64,
    /// Smoothed round-trip time of a subflow over it.
    pub srtt: Option<Duration>,
    /// Congestion windows of its subflows, in bytes, where they are known.
    pub cwnd: Option<u64>,
    /// Bytes under way to the device, where that is known; else 0.
    pub queued: u64,
    /// The radio is out of its idle state.
    pub awake: bool,
    /// What a megabit costs at the present rate, in joules.
    pub energy_per_mbit: Option<f64>,
    /// What is left of its data allowance.
    pub allowance_left: Option<Bytes>,
    /// When the allowance is renewed.
    pub allowance_until: Option<Instant>,
}

/// A policy at work.
#[derive(Debug)]
pub struct Steering {
    config: PolicyConfig,
    policy: Box<dyn Policy>,
    state: DeviceState,
    last: Option<Instant>,
    /// What the counters showed last, down and up.
    seen: Vec<(u64, u64)>,
    /// What the policy wants open.
    wanted: Vec<bool>,
    changes: u64,
}

impl Steering {
    /// The policy for a device with interfaces of these `kinds`, of which those where `backups` is true
    /// begin as backups.
    pub fn new(config: &PolicyConfig, kinds: &[InterfaceKind], backups: &[bool]) -> Self {
        let mut paths: Vec<_> = kinds.iter().map(|&kind| PathState::new(kind)).collect();
        for (path, backup) in paths.iter_mut().zip(backups) {
            path.backup = *backup;
        }
        Self {
            config: config.clone(),
            policy: config.build(kinds),
            state: DeviceState { paths, app: None },
            last: None,
            seen: vec![(0, 0); kinds.len()],
            wanted: vec![true; kinds.len()],
            changes: 0,
        }
    }

    /// Shows the policy the device at `now`, one look for each interface, and says what it asks for. What
    /// it asks for is taken as done.
    pub fn observe(&mut self, now: Instant, looks: &[InterfaceSample]) -> Vec<Action> {
        let span = self.last.map_or(Duration::ZERO, |last| now.since(last));
        self.last = Some(now);
        // A counter that began anew, as with an interface that came back, has carried what it shows.
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
            path.allowance_left = look.allowance_left;
            path.allowance_until = look.allowance_until;
        }
        let mut actions = Vec::new();
        self.policy.observe(now, &self.state, &mut actions);
        for action in &actions {
            match action {
                Action::SetBackup { path, backup } => {
                    self.changes += u64::from(self.state.paths[*path].backup != *backup);
                    self.state.paths[*path].backup = *backup;
                }
                Action::Open { path } => self.wanted[*path] = true,
                Action::Close { path } => self.wanted[*path] = false,
                Action::Share { .. } => {}
            }
        }
        actions
    }

    /// What an application tells of itself, for the next look.
    pub fn set_app_state(&mut self, app: Option<AppState>) {
        self.state.app = app;
    }

    /// How often the policy wants to look.
    pub fn interval(&self) -> Option<Duration> {
        self.policy.interval()
    }

    /// The policy's name.
    pub fn policy_name(&self) -> &str {
        self.config.name()
    }

    /// What it was shown last.
    pub fn state(&self) -> &DeviceState {
        &self.state
    }

    /// Whether the policy wants a path open.
    pub fn wants(&self, path: usize) -> bool {
        self.wanted[path]
    }

    /// How often it changed a priority.
    pub const fn priority_changes(&self) -> u64 {
        self.changes
    }
}
