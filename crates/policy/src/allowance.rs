//! `allowance`: a path with a data allowance is used no faster than its remaining allowance lasts.
//!
//! - The **pace** is the remaining allowance over the time until its renewal. Pace that the path
//!   does not use is saved; the path is regular while it has savings and **backup** otherwise.
//! - At the **cap** (allowance used up) the path is closed until the renewal, or stays a backup.
//!
//! Parameter: `at_cap` (`close` or `backup`), the action at the cap.
//! Model, margins and the bound on exceeding the cap: `docs/design/allowance.md`.

use crate::registry::parameters;
use crate::{
    Action, DeviceState, InterfaceKind, PathState, Policy, PolicyConfig, PolicyEntry, PolicyFactory,
};
use schema::shape::{Choice, Key, Need, Shape};
use tracing::debug;
use units::{Bytes, Duration, Instant};

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "allowance",
    doc: "uses a path with a data allowance no faster than its remaining allowance lasts",
    parameters: parameters(
        "allowance",
        &[Key {
            name: "at_cap",
            shape: Shape::Choice(&[
                Choice { name: "close", doc: "the path is closed until the allowance is renewed" },
                Choice { name: "backup", doc: "the path carries data where no other path can" },
            ]),
            need: Need::Default("\"close\""),
            doc: "For `allowance`: the state of a path after its allowance is used up.",
            example: "\"backup\"",
        }],
    ),
    positional: &["at_cap"],
    configure: |fields| {
        let at_cap =
            if fields.text("at_cap") == Some("backup") { CapAction::Backup } else { CapAction::Close };
        PolicyConfig::from(Allowance { at_cap })
    },
};

/// Time between observations of the paths.
const INTERVAL: Duration = Duration::from_millis(100);
/// Time between observations while a path could reach its cap within a second.
const INTERVAL_NEAR_CAP: Duration = Duration::from_millis(20);
/// Savings, in seconds of the pace, that a backup path needs to become regular.
const MIN_SAVINGS_S: f64 = 10.0;
/// Time constant with which a peak of the rate decays, in seconds.
const RATE_MEMORY_S: f64 = 2.0;
/// Assumed round-trip time of a path that has none measured, in seconds.
const DEFAULT_ROUND_TRIP_S: f64 = 0.2;

/// The policy `allowance`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowance {
    /// State of a path after its allowance is used up.
    pub at_cap: CapAction,
}

/// State of a path after its allowance is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CapAction {
    /// Closed until the allowance is renewed: no more bytes are charged.
    #[default]
    Close,
    /// Backup: it carries data where no other path can.
    Backup,
}

impl PolicyFactory for Allowance {
    fn name(&self) -> &str {
        ENTRY.name
    }
    fn text(&self) -> String {
        match self.at_cap {
            CapAction::Close => ENTRY.name.to_owned(),
            CapAction::Backup => format!("{}:backup", ENTRY.name),
        }
    }
    fn build(&self, _kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        Box::new(AllowancePolicy { at_cap: self.at_cap, paths: Vec::new(), near_cap: false })
    }
}

#[derive(Debug)]
struct AllowancePolicy {
    at_cap: CapAction,
    paths: Vec<LimitedPath>,
    /// Some path could reach its cap within a second.
    near_cap: bool,
}

/// Account of a path with an allowance.
#[derive(Debug, Clone, Copy, Default)]
struct LimitedPath {
    previous: Option<Observation>,
    /// Bytes of the pace that the path has not carried; negative if it carried more.
    savings: f64,
    /// Recent peak of the rate, in bytes per second.
    rate: f64,
    /// Highest rate ever observed, in bytes per second.
    peak_rate: f64,
    /// The path has saved enough to be regular.
    regular: bool,
    /// Remaining allowance when the path was closed; `None` while it is open.
    left_at_close: Option<u64>,
}

/// A path with an allowance at one moment.
#[derive(Debug, Clone, Copy)]
struct Observation {
    at: Instant,
    /// Remaining allowance, in bytes.
    left: u64,
    /// Time until its renewal.
    until_renewal: Option<Duration>,
    /// Bytes carried since the start.
    bytes: u64,
}

impl LimitedPath {
    /// Updates rate and savings from the byte counters.
    fn account(&mut self, now: Instant, path: &PathState, left: u64) {
        let until_renewal = path.allowance_until.map(|until| until.since(now));
        let current = Observation { at: now, left, until_renewal, bytes: path.bytes() };
        let before = self.previous.replace(current).unwrap_or(current);
        let span = now.since(before.at).as_secs_f64();
        let carried = current.bytes.saturating_sub(before.bytes) as f64;
        if left > before.left || until_renewal > before.until_renewal {
            // The allowance was renewed: savings and debts end with the period.
            self.savings = 0.0;
        } else {
            self.savings -= carried;
        }
        if span > 0.0 {
            self.rate = (carried / span).max(self.rate * (1.0 - (span / RATE_MEMORY_S).min(1.0)));
            self.peak_rate = self.peak_rate.max(self.rate);
        }
        let pace = self.pace(before.at, path, left);
        self.savings = (self.savings + pace * span).min(left as f64);
        if path.allowance_until.is_none_or(|until| until <= now) {
            // Without a time of renewal there is no pace: all of the allowance may be used at once.
            self.savings = left as f64;
        }
    }

    /// Rate at which the allowance lasts until its renewal, in bytes per second.
    fn pace(&self, now: Instant, path: &PathState, left: u64) -> f64 {
        let rest = path.allowance_until.map_or(0.0, |until| until.since(now).as_secs_f64());
        if rest > 0.0 { (left as f64 - self.savings).max(0.0) / rest } else { 0.0 }
    }

    /// Bytes that arrive before a change made at the next observation takes effect.
    fn bytes_ahead(&self, path: &PathState, interval: Duration) -> f64 {
        let round_trip = path.srtt.map_or(DEFAULT_ROUND_TRIP_S, Duration::as_secs_f64);
        self.rate * (interval.as_secs_f64() + round_trip) + path.queued as f64
    }

    /// Updates `regular`, with a hysteresis: a backup needs more savings than a regular path.
    fn update_regular(&mut self, now: Instant, path: &PathState, left: u64, ahead: f64, used_up: bool) {
        let savings_to_stay = ahead;
        let savings_to_begin = (self.pace(now, path, left) * MIN_SAVINGS_S).max(2.0 * ahead).max(1.0);
        let needed = if self.regular { savings_to_stay } else { savings_to_begin };
        self.regular = !used_up && self.savings >= needed.min(left as f64);
    }
}

impl AllowancePolicy {
    fn next_interval(&self) -> Duration {
        if self.near_cap { INTERVAL_NEAR_CAP } else { INTERVAL }
    }
}

impl Policy for AllowancePolicy {
    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        self.paths.resize(state.paths.len(), LimitedPath::default());
        let interval = self.next_interval();
        self.near_cap = false;
        for (i, (limited, path)) in self.paths.iter_mut().zip(&state.paths).enumerate() {
            let Some(left) = path.allowance_left.map(Bytes::get) else { continue };
            limited.account(now, path, left);
            let ahead = limited.bytes_ahead(path, interval);
            if let Some(left_at_close) = limited.left_at_close {
                if left <= left_at_close {
                    continue;
                }
                debug!(path = i, left, "allowance renewed");
                limited.left_at_close = None;
                limited.regular = false;
                actions.push(Action::Open { path: i });
            }
            let used_up = left == 0 || (left as f64) < ahead;
            if used_up && self.at_cap == CapAction::Close {
                debug!(path = i, left, ahead, "allowance used up");
                limited.left_at_close = Some(left);
                actions.push(Action::Close { path: i });
                continue;
            }
            self.near_cap |= path.up && (left as f64) < limited.peak_rate + ahead;
            limited.update_regular(now, path, left, ahead, used_up);
            let backup = !limited.regular;
            if path.backup != backup {
                debug!(path = i, left, savings = limited.savings, ahead, backup, "savings decide");
                actions.push(Action::SetBackup { path: i, backup });
            }
        }
    }

    fn interval(&self) -> Option<Duration> {
        Some(self.next_interval())
    }
}
