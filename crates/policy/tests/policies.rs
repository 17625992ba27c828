//! Tests of all policies: the actions that each takes on a sequence of device states.

use tandem_policy::InterfaceKind::{Bluetooth, Ethernet, FiveG, Lte, Satellite, ThreeG, Wifi};
use tandem_policy::{
    Action, Actuator, DeviceState, Emtcp, InterfaceKind, PathState, Policy, PolicyConfig, PolicyFactory,
    REGISTRY,
};
use units::Instant;

/// Device that carries out [`Action::SetBackup`]; the other actions do not change its state.
struct Device {
    policy: Box<dyn Policy>,
    now: Instant,
    state: DeviceState,
}

impl Device {
    fn new(policy: &str, kinds: &[InterfaceKind]) -> Self {
        let config: PolicyConfig = policy.parse().expect("a registered policy");
        let paths = kinds.iter().map(|&kind| PathState::new(kind)).collect();
        Self { policy: config.build(kinds), now: Instant::ZERO, state: DeviceState::new(paths) }
    }

    /// Observes once, carries out the actions, and advances by the policy's interval or 1 s.
    fn observe(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        self.policy.observe(self.now, &self.state, &mut actions);
        for action in &actions {
            if let Action::SetBackup { path, backup } = *action {
                self.state.paths[path].backup = backup;
            }
        }
        self.now += self.policy.interval().unwrap_or(units::Duration::from_secs(1));
        actions
    }

    /// Observes three times and returns the last actions.
    fn settle(&mut self) -> Vec<Action> {
        let mut all = Vec::new();
        for _ in 0..3 {
            all = self.observe();
        }
        all
    }
}

fn close(path: usize) -> Action {
    Action::Close { path }
}
fn backup(path: usize, backup: bool) -> Action {
    Action::SetBackup { path, backup }
}
fn share(path_shares: &[f64]) -> Action {
    Action::Share { path_shares: path_shares.to_vec() }
}

fn offload(costly: &[bool], share: f64) -> Action {
    Action::Offload { costly: costly.to_vec(), share }
}

#[test]
fn first_observation_gives_the_expected_actions() {
    let cases: [(&str, &[InterfaceKind], Vec<Action>); 22] = [
        ("none", &[Wifi, Lte], vec![]),
        ("wifi-only", &[Wifi, Lte], vec![close(1)]),
        ("wifi-only", &[ThreeG, Wifi, Lte], vec![close(0), close(2)]),
        ("lte-only", &[Wifi, Lte], vec![close(0)]),
        ("lte-only", &[Wifi, ThreeG], vec![]),
        ("wifi-only", &[Bluetooth, Lte], vec![]),
        ("wifi-first", &[Wifi, Lte], vec![backup(1, true)]),
        ("wifi-first", &[ThreeG, Bluetooth, Lte], vec![backup(0, true), backup(2, true)]),
        ("wifi-first", &[ThreeG, Lte], vec![]),
        ("wifi-first", &[Ethernet, FiveG, Satellite], vec![backup(1, true), backup(2, true)]),
        ("wifi-first", &[FiveG, Satellite], vec![]),
        ("when-needed", &[Wifi, Lte], vec![backup(1, true)]),
        ("when-needed", &[ThreeG, Bluetooth, Lte], vec![backup(0, true), backup(2, true)]),
        ("when-needed", &[ThreeG, Lte], vec![]),
        ("allowance", &[Wifi, Lte], vec![]),
        ("emtcp", &[Wifi, Lte], vec![share(&[0.62, 0.38])]),
        ("emtcp:0", &[Wifi, Lte], vec![share(&[0.5, 0.5])]),
        ("emtcp:1", &[Lte, Wifi], vec![share(&[0.0, 1.0])]),
        ("emtcp:table1", &[Wifi, Lte], vec![offload(&[false, true], 0.24)]),
        ("emtcp:table1:0.5", &[Lte, Wifi, ThreeG], vec![offload(&[true, false, true], 0.5)]),
        ("emtcp:mp-prio", &[Wifi, Lte], vec![]),
        ("emtcp:mp-prio:1", &[Wifi, Lte], vec![backup(1, true)]),
    ];
    for (policy, kinds, wanted) in cases {
        assert_eq!(Device::new(policy, kinds).observe(), wanted, "{policy} on {kinds:?}");
    }
}

#[test]
fn no_policy_repeats_actions_while_nothing_changes() {
    for name in REGISTRY.iter().map(|entry| entry.name) {
        let mut device = Device::new(name, &[Wifi, Lte]);
        device.observe();
        if device.policy.interval().is_some() {
            assert_eq!(device.settle(), [], "{name}");
        }
    }
}

#[test]
fn every_policy_accepts_any_number_of_paths() {
    let variants = ["emtcp:mp-prio", "emtcp:table1"];
    for name in REGISTRY.iter().map(|entry| entry.name).chain(variants) {
        let mut device = Device::new(name, &[]);
        assert_eq!(device.observe(), [], "{name}");
        device.state.paths = vec![PathState::new(Wifi), PathState::new(Lte)];
        device.observe();
        device.state.paths.clear();
        assert_eq!(device.observe(), [], "{name}");
    }
}

#[test]
fn wifi_first_makes_lte_regular_while_wifi_is_down() {
    let mut device = Device::new("wifi-first", &[Wifi, Lte]);
    device.observe();
    device.state.paths[0].up = false;
    assert_eq!(device.observe(), [backup(1, false)]);
    assert_eq!(device.observe(), []);
    device.state.paths[0].up = true;
    assert_eq!(device.observe(), [backup(1, true)]);
}

#[test]
fn ideal_shares_follow_the_paths_that_are_up() {
    let mut device = Device::new("emtcp", &[Wifi, Lte]);
    device.observe();
    device.state.paths[0].up = false;
    assert_eq!(device.observe(), [share(&[0.0, 1.0])]);
    device.state.paths[1].up = false;
    assert_eq!(device.observe(), []);
    device.state.paths = vec![PathState::new(Wifi), PathState::new(Lte)];
    assert_eq!(device.observe(), [share(&[0.62, 0.38])]);
}

#[test]
fn wifi_data_never_moves_to_lte_whatever_a_megabit_costs_now() {
    for actuator in ["ideal", "table1", "mp-prio"] {
        let mut device = Device::new(&format!("emtcp:{actuator}"), &[Wifi, Lte]);
        device.observe();
        // A fast LTE needs less energy for a megabit than a Wi-Fi that is held back.
        device.state.paths[0].energy_per_mbit = Some(0.9);
        device.state.paths[1].energy_per_mbit = Some(0.3);
        let orders: Vec<_> = (0..200).flat_map(|_| device.observe()).collect();
        assert_eq!(orders, [], "{actuator}");
    }
}

#[test]
fn table_one_is_ordered_once() {
    let mut device = Device::new("emtcp:table1", &[Wifi, Lte]);
    assert_eq!(device.observe(), [offload(&[false, true], 0.24)]);
    device.state.paths[0].up = false;
    assert_eq!(device.settle(), [], "without Wi-Fi no segment has another path");
    device.state.paths[0].up = true;
    assert_eq!(device.settle(), []);
}

#[test]
fn mp_prio_makes_lte_regular_at_once_when_wifi_goes_down() {
    let mut device = Device::new("emtcp:mp-prio:1", &[Wifi, Lte]);
    assert_eq!(device.observe(), [backup(1, true)]);
    device.state.paths[0].up = false;
    assert_eq!(device.observe(), [backup(1, false)]);
    device.state.paths[0].up = true;
    assert_eq!(device.observe(), [backup(1, true)]);
}

#[test]
fn mp_prio_with_a_share_of_zero_keeps_a_backup_set_by_the_user() {
    let mut device = Device::new("emtcp:mp-prio:0", &[Wifi, Lte]);
    device.state.paths[1].backup = true;
    assert_eq!(device.settle(), []);
}

#[test]
fn share_out_of_range_is_clamped() {
    for (wrong, near) in [(1.4, 1.0), (-2.0, 0.0), (f64::NAN, 0.0), (f64::INFINITY, 1.0)] {
        let config = Emtcp { share: wrong, actuator: Actuator::Ideal };
        let mut actions = Vec::new();
        let paths = vec![PathState::new(Wifi), PathState::new(Lte)];
        config.build(&[Wifi, Lte]).observe(Instant::ZERO, &DeviceState::new(paths), &mut actions);
        assert_eq!(actions, [share(&[0.5 + near / 2.0, 0.5 - near / 2.0])]);
    }
}
