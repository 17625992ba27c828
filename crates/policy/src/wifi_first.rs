//! `wifi-first`: cellular paths only when they are needed.

use crate::{Action, DeviceState, Policy};
use radio::InterfaceKind;
use units::{Duration, Instant};

/// Marks cellular paths as backup while another path is up, and as regular while none is.
///
/// A backup takes over by itself when the last regular subflow dies, but a sender notices a silent
/// death only after some retransmission timeouts; the device, which sees its link go, says so first.
#[derive(Debug, Clone)]
pub struct WifiFirst {
    /// Without a path to prefer there is nothing to be backup for.
    possible: bool,
}

impl WifiFirst {
    /// How often the paths are looked at.
    pub const INTERVAL: Duration = Duration::from_millis(100);

    /// For a device with `kinds`.
    pub fn new(kinds: &[InterfaceKind]) -> Self {
        Self { possible: kinds.iter().any(|&kind| preferred(kind)) }
    }
}

impl Policy for WifiFirst {
    fn name(&self) -> &'static str {
        "wifi-first"
    }
    fn observe(&mut self, _now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        if !self.possible {
            return;
        }
        let backup = state.paths.iter().any(|path| path.up && preferred(path.kind));
        let wrong = state.paths.iter().enumerate().filter(|(_, p)| !preferred(p.kind) && p.backup != backup);
        actions.extend(wrong.map(|(path, _)| Action::SetBackup { path, backup }));
    }
    fn interval(&self) -> Option<Duration> {
        Some(Self::INTERVAL)
    }
}

/// Everything but the cellular kinds: those cost energy and allowance.
pub(crate) fn preferred(kind: InterfaceKind) -> bool {
    !matches!(kind, InterfaceKind::Lte | InterfaceKind::ThreeG | InterfaceKind::FiveG)
}
