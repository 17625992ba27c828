//! A model of a sender with two paths, driven by the policy.

use tandem_policy::InterfaceKind::{Lte, Wifi};
use tandem_policy::{Action, DeviceState, PathState, Policy, PolicyConfig};
use units::{Duration, Instant};

/// Intervals of 50 ms in a second.
pub(crate) const STEPS_PER_SECOND: f64 = 20.0;
/// Bytes per interval at 1 Mbit/s.
pub(crate) const MBPS: f64 = 125_000.0 / STEPS_PER_SECOND;

/// A sender with a send buffer, in intervals of 50 ms: Wi-Fi first, the rest over LTE while it is
/// regular. A closed subflow over Wi-Fi is set up again once Wi-Fi has capacity.
pub(crate) struct Model {
    policy: Box<dyn Policy>,
    pub(crate) state: DeviceState,
    now: Instant,
    pub(crate) backlog: f64,
    /// A subflow over Wi-Fi exists.
    joined: bool,
    /// Times at which Wi-Fi was reset.
    pub(crate) resets: Vec<f64>,
    /// Times at which LTE became regular (true) or backup.
    pub(crate) switches: Vec<(f64, bool)>,
    pub(crate) lte: f64,
    pub(crate) max_lateness: f64,
}

impl Model {
    pub(crate) fn new(text: &str) -> Self {
        Self::with(text.parse::<PolicyConfig>().expect("a policy"))
    }

    pub(crate) fn with(config: impl Into<PolicyConfig>) -> Self {
        let mut paths = vec![PathState::new(Wifi), PathState::new(Lte)];
        paths[1].backup = true;
        Self {
            policy: config.into().build(&[Wifi, Lte]),
            state: DeviceState::new(paths),
            now: Instant::ZERO,
            backlog: 0.0,
            joined: true,
            resets: Vec::new(),
            switches: Vec::new(),
            lte: 0.0,
            max_lateness: 0.0,
        }
    }

    /// One observation, then 50 ms in which the application writes `demand` and the paths carry up
    /// to `wifi` and `lte`, all in Mbit/s.
    fn step(&mut self, demand: f64, wifi: f64, lte: f64) {
        let mut actions = Vec::new();
        self.policy.observe(self.now, &self.state, &mut actions);
        for action in actions {
            match action {
                Action::SetBackup { path: 1, backup } => {
                    self.state.paths[1].backup = backup;
                    self.switches.push((self.now.as_secs_f64(), !backup));
                }
                Action::Close { path: 0 } => {
                    assert!(self.state.paths[0].up, "Wi-Fi is open");
                    (self.state.paths[0].up, self.joined) = (false, false);
                    self.resets.push(self.now.as_secs_f64());
                }
                Action::Open { path: 0 } => self.state.paths[0].up = true,
                _ => panic!("{action:?}"),
            }
        }
        self.backlog += demand * MBPS;
        self.joined = self.state.paths[0].up && (self.joined || wifi > 0.0);
        let over_wifi = if self.joined { self.backlog.min(wifi * MBPS) } else { 0.0 };
        let regular = !self.state.paths[1].backup || !self.joined;
        let over_lte = if regular { (self.backlog - over_wifi).min(lte * MBPS) } else { 0.0 };
        self.backlog -= over_wifi + over_lte;
        self.lte += over_lte;
        self.state.paths[0].bytes_down += over_wifi as u64;
        self.state.paths[1].bytes_down += over_lte as u64;
        if demand > 0.0 {
            self.max_lateness = self.max_lateness.max(self.backlog / (demand * MBPS * STEPS_PER_SECOND));
        }
        self.now += Duration::from_millis(50);
    }

    pub(crate) fn run(&mut self, seconds: f64, demand: f64, wifi: f64, lte: f64) {
        for _ in 0..(seconds * STEPS_PER_SECOND).round() as u64 {
            self.step(demand, wifi, lte);
        }
    }
}
