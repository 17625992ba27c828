//! `wifi-first`: costly paths (cellular, satellite) are backup while another path is up, and regular otherwise.
//!
//! A backup takes over by itself when the last regular subflow dies, but a sender notices a silent
//! failure only after several retransmission timeouts. The device sees its own link go down at once
//! and makes the costly paths regular. The policy has no parameters.

use crate::state::{is_preferred, undivided};
use crate::{Action, DeviceState, InterfaceKind, Policy, PolicyEntry, PolicyFactory};
use units::{Duration, Instant};

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::plain(
    "wifi-first",
    "keeps cellular and satellite paths as backups while another path is up",
    |_| WifiFirst.into(),
);

/// Time between observations of the paths.
const INTERVAL: Duration = Duration::from_millis(100);

/// The policy `wifi-first`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WifiFirst;

impl PolicyFactory for WifiFirst {
    fn name(&self) -> &str {
        ENTRY.name
    }
    fn idle_reason(&self, kinds: &[InterfaceKind]) -> Option<String> {
        undivided(kinds)
    }
    fn build(&self, kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        Box::new(WifiFirstPolicy { has_preferred: kinds.iter().any(|&kind| is_preferred(kind)) })
    }
}

#[derive(Debug)]
struct WifiFirstPolicy {
    /// Some path is not costly; otherwise no path could relieve the costly ones.
    has_preferred: bool,
}

impl Policy for WifiFirstPolicy {
    fn observe(&mut self, _now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        if self.has_preferred {
            let backup = state.preferred_up();
            state.mark_costly(backup, actions);
        }
    }
    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }
}
