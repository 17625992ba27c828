//! The policy `rate-floor`: cellular paths help while Wi-Fi receives less than a minimum rate.

use policy::{Action, DeviceState, InterfaceKind, PathState, Policy, PolicyError, PolicyFactory};
use units::{Bitrate, Duration, Instant};

/// The parameters. `RateFloor { floor }.into()` is a [`policy::PolicyConfig`] and goes wherever a
/// built-in policy goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateFloor {
    /// Wi-Fi receive rate below which cellular paths become regular.
    pub(crate) floor: Bitrate,
}

impl PolicyFactory for RateFloor {
    /// The name in results.
    fn name(&self) -> &'static str {
        "rate-floor"
    }

    /// The name with the parameters: two floors are two policies in a comparison.
    fn text(&self) -> String {
        format!("rate-floor:floor={}", self.floor)
    }

    /// Refuses a device on which the policy makes no sense.
    fn check(&self, kinds: &[InterfaceKind]) -> Result<(), PolicyError> {
        if kinds.contains(&InterfaceKind::Wifi) {
            return Ok(());
        }
        Err(PolicyError::MissingInterface { policy: self.text(), interface: "Wi-Fi" })
    }

    /// Builds the running policy. One of the same configuration may run in many threads, so state
    /// belongs into the policy and not here.
    fn build(&self, _kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        Box::new(RateFloorPolicy { floor: self.floor, weak_since: None })
    }
}

/// The running policy.
#[derive(Debug)]
struct RateFloorPolicy {
    floor: Bitrate,
    /// When Wi-Fi was first seen below the floor.
    weak_since: Option<Instant>,
}

impl RateFloorPolicy {
    /// Time below the floor before cellular paths help: a single interval without a packet is
    /// chance.
    const PATIENCE: Duration = Duration::from_millis(300);
}

impl Policy for RateFloorPolicy {
    /// The driver calls this every [`interval`](Self::interval), in simulated or in real time. The
    /// state and the actions are those of a real device.
    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        let is_wifi = |path: &PathState| path.kind == InterfaceKind::Wifi;
        let rate: u64 = state
            .paths
            .iter()
            .filter(|path| path.up && is_wifi(path))
            .map(|path| path.rate_down.as_bps())
            .sum();
        self.weak_since = if rate < self.floor.as_bps() { self.weak_since.or(Some(now)) } else { None };
        let weak = self.weak_since.is_some_and(|since| now.since(since) >= Self::PATIENCE);
        for (path, one) in state.paths.iter().enumerate().filter(|(_, path)| !is_wifi(path)) {
            // Appends an action only if something is to change.
            if one.backup == weak {
                actions.push(Action::SetBackup { path, backup: !weak });
            }
        }
    }

    fn interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(100))
    }
}
