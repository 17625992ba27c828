//! `wifi-only` and `lte-only`: close every path that is not of one kind. They have no parameters.

use crate::{Action, DeviceState, InterfaceKind, Policy, PolicyEntry, PolicyError, PolicyFactory};
use units::{Duration, Instant};

pub(crate) const WIFI_ONLY: PolicyEntry =
    PolicyEntry::plain("wifi-only", "closes every path that is not Wi-Fi", |_| SinglePath::WIFI.into());
pub(crate) const LTE_ONLY: PolicyEntry =
    PolicyEntry::plain("lte-only", "closes every path that is not LTE", |_| SinglePath::LTE.into());

/// Keeps the paths of one kind and closes all others. On a device without a path of that kind it
/// closes none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinglePath {
    name: &'static str,
    kind: InterfaceKind,
    kind_name: &'static str,
}

impl SinglePath {
    /// The policy `wifi-only`.
    pub const WIFI: Self = Self { name: "wifi-only", kind: InterfaceKind::Wifi, kind_name: "Wi-Fi" };
    /// The policy `lte-only`.
    pub const LTE: Self = Self { name: "lte-only", kind: InterfaceKind::Lte, kind_name: "LTE" };
}

impl PolicyFactory for SinglePath {
    fn name(&self) -> &str {
        self.name
    }
    fn check(&self, kinds: &[InterfaceKind]) -> Result<(), PolicyError> {
        if kinds.contains(&self.kind) {
            return Ok(());
        }
        Err(PolicyError::MissingInterface { policy: self.name.to_owned(), interface: self.kind_name })
    }
    fn build(&self, kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        Box::new(SinglePathPolicy { kept: kinds.contains(&self.kind).then_some(self.kind) })
    }
}

#[derive(Debug)]
struct SinglePathPolicy {
    /// The kind of path to keep; `None` keeps all.
    kept: Option<InterfaceKind>,
}

impl Policy for SinglePathPolicy {
    fn observe(&mut self, _now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        if let Some(kind) = self.kept {
            let others = state.paths.iter().enumerate().filter(|(_, path)| path.kind != kind);
            actions.extend(others.map(|(path, _)| Action::Close { path }));
        }
    }
    fn interval(&self) -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use InterfaceKind::{Bluetooth, Lte, ThreeG, Wifi};

    #[test]
    fn device_without_the_interface_is_refused() {
        assert_eq!(SinglePath::WIFI.check(&[Wifi, Lte]), Ok(()));
        assert_eq!(
            SinglePath::LTE.check(&[Wifi, ThreeG]).unwrap_err().to_string(),
            "`lte-only` needs a path over LTE, and the device has none"
        );
        assert!(SinglePath::WIFI.check(&[Bluetooth, ThreeG]).is_err());
    }
}
