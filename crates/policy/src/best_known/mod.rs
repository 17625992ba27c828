//! `best-known`: the policy that a [`Map`] of measured cases names for these radios and this demand.
//!
//! It looks first: every path is regular, as with plain Multipath TCP, while it measures the demand.
//! `look` after the first data it follows the policy of the nearest case. It looks again after a pause
//! as long as the meter's window, once the rate has halved or doubled, or when no path is up. Model:
//! `docs/design/best-known.md`.

mod demand;
mod map;

pub use demand::{Demand, DemandMeter};
pub use map::{MAP, Map, MapCase};

use crate::registry::parameters;
use crate::state::undivided;
use crate::{
    Action, DeviceState, InterfaceKind, Policy, PolicyConfig, PolicyEntry, PolicyError, PolicyFactory,
};
use core::fmt::Write as _;
use quantities::{POSITIVE_TIME, Quantities as _};
use schema::shape::{Key, Need, Shape};
use std::sync::Arc;
use tracing::debug;
use units::{Duration, Instant};

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "best-known",
    doc: "follows the policy that a map of measured cases names for these radios and this demand",
    parameters: parameters(
        "best-known",
        &[
            Key {
                name: "look",
                shape: POSITIVE_TIME,
                need: Need::Default("\"5s\""),
                doc: "For `best-known`: time since the first data after which the demand is known, at most 20 s.",
                example: "\"10s\"",
            },
            Key {
                name: "map",
                shape: Shape::File,
                need: Need::Absent("the map that is built in"),
                doc: "For `best-known`: a map that `tandem map` has written.",
                example: "\"map.toml\"",
            },
        ],
    ),
    positional: &[],
    configure: |fields| {
        let usual = BestKnown::default();
        PolicyConfig::from(BestKnown {
            look: fields.time("look").unwrap_or(usual.look),
            file: fields.text("map").map(str::to_owned),
            ..usual
        })
    },
};

/// The policy `best-known`.
#[derive(Debug, Clone)]
pub struct BestKnown {
    /// Time since the first data after which the demand is known; at most [`DemandMeter::WINDOW`].
    pub look: Duration,
    /// Name of the file of the map; `None` for the built-in map.
    pub file: Option<String>,
    /// Text of that file, once it is read.
    pub file_text: Option<Arc<str>>,
    /// The measured cases.
    pub map: Arc<Map>,
}

impl Default for BestKnown {
    fn default() -> Self {
        Self { look: Duration::from_secs(5), file: None, file_text: None, map: Map::built_in() }
    }
}

impl PolicyFactory for BestKnown {
    fn name(&self) -> &str {
        ENTRY.name
    }
    fn text(&self) -> String {
        let mut text = ENTRY.name.to_owned();
        if self.look != Self::default().look {
            let _ = write!(text, ":look={}", self.look);
        }
        if let Some(file) = &self.file {
            let _ = write!(text, ":map={file}");
        }
        text
    }
    fn check(&self, _kinds: &[InterfaceKind]) -> Result<(), PolicyError> {
        if self.look <= DemandMeter::WINDOW {
            return Ok(());
        }
        Err(PolicyError::InvalidQuantity {
            policy: ENTRY.name,
            parameter: "look",
            message: format!("{} is longer than {}", self.look, DemandMeter::WINDOW),
            hint: format!("the demand is that of the last {}", DemandMeter::WINDOW),
        })
    }
    fn idle_reason(&self, kinds: &[InterfaceKind]) -> Option<String> {
        let missing = || {
            let names: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
            format!("its map has no case for {}", names.join(" and "))
        };
        undivided(kinds).or_else(|| (!self.map.has_case(kinds)).then(missing))
    }
    fn build(&self, kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        Box::new(BestKnownPolicy {
            kinds: kinds.to_vec(),
            look: self.look,
            map: Arc::clone(&self.map),
            meter: DemandMeter::new(),
            followed: None,
        })
    }
    fn reads_round_trips(&self) -> bool {
        self.map.cases.iter().any(|case| case.policy.reads_round_trips())
    }
    fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }
    fn file_text(&self) -> Option<&str> {
        self.file_text.as_deref()
    }
    fn with_file(&self, name: &str, text: &str) -> Result<PolicyConfig, Vec<schema::Diagnostic>> {
        let map = Arc::new(Map::from_toml(name, text)?);
        Ok(PolicyConfig::from(Self { map, file_text: Some(text.into()), ..self.clone() }))
    }
}

#[derive(Debug)]
struct BestKnownPolicy {
    kinds: Vec<InterfaceKind>,
    look: Duration,
    map: Arc<Map>,
    meter: DemandMeter,
    /// The policy of the nearest case; `None` while it looks.
    followed: Option<Followed>,
}

#[derive(Debug)]
struct Followed {
    policy: Box<dyn Policy>,
    /// The demand for which it was chosen.
    demand: Demand,
}

impl Followed {
    /// Whether its demand has ended or changed, or no path is left.
    fn is_over(&self, demand: Option<Demand>, state: &DeviceState) -> bool {
        let factor = |now: Demand| now.rate.as_bps() as f64 / self.demand.rate.as_bps() as f64;
        let is_other = demand.is_none_or(|now| !(0.5..=2.0).contains(&factor(now)));
        is_other || !state.paths.iter().any(|path| path.up)
    }
}

impl BestKnownPolicy {
    fn look_again(&mut self, state: &DeviceState, actions: &mut Vec<Action>) {
        debug!("looking at the demand again");
        self.followed = None;
        self.meter = DemandMeter::new();
        // The policy may have closed paths, or marked them.
        actions.extend((0..state.paths.len()).map(|path| Action::Open { path }));
        state.mark_costly(false, actions);
    }

    /// Follows the policy of the nearest case once the demand is known.
    fn follow_nearest_case(&mut self, state: &DeviceState) {
        let up = state.paths.iter().filter(|path| path.up);
        let kinds_up: Vec<InterfaceKind> = up.map(|path| path.kind).collect();
        if !self.map.has_case(&kinds_up) {
            // The cases hold for two radios, and demand over one of them has another costly share.
            self.meter = DemandMeter::new();
        } else if self.meter.seen() >= self.look
            && let Some(demand) = self.meter.demand()
            && let Some(case) = self.map.nearest(&kinds_up, &demand)
        {
            debug!(?demand, policy = %case.policy, "the demand is known");
            self.followed = Some(Followed { policy: case.policy.build(&self.kinds), demand });
        }
    }
}

impl Policy for BestKnownPolicy {
    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        self.meter.sample(now, state);
        let demand = self.meter.demand();
        if self.followed.as_ref().is_some_and(|followed| followed.is_over(demand, state)) {
            self.look_again(state, actions);
        }
        if self.followed.is_none() {
            self.follow_nearest_case(state);
        }
        if let Some(followed) = &mut self.followed {
            followed.policy.observe(now, state, actions);
        }
    }
    fn interval(&self) -> Option<Duration> {
        Some(DemandMeter::INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathState;
    use InterfaceKind::{Lte, Wifi};
    use units::Bitrate;

    /// A device whose policy is observed ten times a second.
    struct Device {
        policy: Box<dyn Policy>,
        state: DeviceState,
        /// Paths with a link.
        present: [bool; 2],
        /// Paths that the policy has not closed.
        wanted: [bool; 2],
        now: Instant,
    }

    impl Device {
        /// A device that follows `slow_policy` near 1 Mbit/s, and `none` near 10 Mbit/s.
        fn new(slow_policy: &str) -> Self {
            let case = |mbps, policy: &str| MapCase {
                preferred: Wifi,
                costly: Lte,
                demand: Demand {
                    activity: 1.0,
                    rate: Bitrate::from_mbps(mbps),
                    costly_share: 0.0,
                    is_video: false,
                },
                policy: policy.parse().unwrap(),
            };
            let map = Arc::new(Map { cases: vec![case(1.0, slow_policy), case(10.0, "none")] });
            let policy = BestKnown { map, ..BestKnown::default() }.build(&[Wifi, Lte]);
            let paths = vec![PathState::new(Wifi), PathState::new(Lte)];
            let state = DeviceState::new(paths);
            Self { policy, state, present: [true; 2], wanted: [true; 2], now: Instant::ZERO }
        }

        /// Receives at a rate over Wi-Fi if it is up; returns the last action on LTE.
        fn receive(&mut self, mbps: f64, seconds: u64) -> Option<Action> {
            let mut last = None;
            for _ in 0..seconds * 10 {
                self.now += DemandMeter::INTERVAL;
                for (path, state) in self.state.paths.iter_mut().enumerate() {
                    state.up = self.present[path] && self.wanted[path];
                }
                let wifi = &mut self.state.paths[0];
                wifi.bytes_down += if wifi.up { (mbps * 12_500.0) as u64 } else { 0 };
                let mut actions = Vec::new();
                self.policy.observe(self.now, &self.state, &mut actions);
                for action in actions {
                    self.apply(&action);
                    last = Some(action);
                }
            }
            last
        }

        fn apply(&mut self, action: &Action) {
            match *action {
                Action::SetBackup { path, backup } => self.state.paths[path].backup = backup,
                Action::Open { path } => self.wanted[path] = true,
                Action::Close { path } => self.wanted[path] = false,
                _ => {}
            }
        }
    }

    #[test]
    fn it_looks_then_follows_the_nearest_case_until_the_demand_changes() {
        let mut device = Device::new("wifi-first");
        let backup = |backup| Some(Action::SetBackup { path: 1, backup });
        assert_eq!(device.receive(0.8, 4), None, "it looks");
        assert_eq!(device.receive(0.8, 4), backup(true), "the slow case");
        assert_eq!(device.receive(1.2, 30), None, "nearly the same");
        assert_eq!(device.receive(9.0, 30), backup(false), "it looks again, then the fast case");
        assert_eq!(device.receive(0.8, 60), backup(true), "and back");
    }

    #[test]
    fn pause_ends_what_was_known() {
        let mut device = Device::new("wifi-first");
        assert_eq!(device.receive(0.8, 6), Some(Action::SetBackup { path: 1, backup: true }));
        assert_eq!(device.receive(0.0, 25), Some(Action::SetBackup { path: 1, backup: false }));
    }

    #[test]
    fn changed_demand_reopens_closed_path() {
        let mut device = Device::new("wifi-only");
        device.receive(0.8, 6);
        assert_eq!(device.wanted, [true, false]);
        device.receive(9.0, 30);
        assert_eq!(device.wanted, [true, true]);
    }

    #[test]
    fn loss_of_the_last_path_reopens_closed_path_at_once() {
        let mut device = Device::new("wifi-only");
        device.receive(0.8, 6);
        device.present[0] = false;
        device.receive(0.8, 1);
        assert_eq!(device.wanted, [true, true]);
    }

    #[test]
    fn policy_for_two_radios_is_not_followed_over_one() {
        let mut device = Device::new("wifi-only");
        device.present = [true, false];
        assert_eq!(device.receive(0.8, 30), None);
        device.present = [true, true];
        assert_eq!(device.receive(0.8, 4), None, "it looks");
        assert_eq!(device.receive(0.8, 2), Some(Action::Close { path: 1 }));
    }

    #[test]
    fn look_beyond_the_window_of_the_meter_is_refused() {
        let check = |text: &str| text.parse::<PolicyConfig>().unwrap().check(&[Wifi, Lte]);
        assert_eq!(check("best-known:look=20s"), Ok(()));
        let error = check("best-known:look=21s").unwrap_err();
        assert_eq!(error.to_string(), "`look` of `best-known`: 21s is longer than 20s");
    }
}
