//! Policies: how a device uses its network paths.
//!
//! A [`Policy`] observes a [`DeviceState`] and returns [`Action`]s that a device can carry out by
//! itself: mark a path as backup, open or close it. A driver (the simulator, or the agent) calls
//! [`Policy::observe`] at the start, then every [`Policy::interval`], and whenever a path comes up or
//! goes down. A [`PolicyConfig`] holds the parameters of a registered policy ([`REGISTRY`], one file
//! each) or of any [`PolicyFactory`] from another crate, and builds it.
//!
//! Policies divide paths by kind: cellular and satellite networks are costly
//! ([`InterfaceKind::is_costly`]), Wi-Fi, Ethernet and all others are preferred.

mod allowance;
mod best_known;
mod config;
mod data_plan;
mod emtcp;
mod error;
mod none;
mod qoe;
mod registry;
mod round_trip;
mod single_path;
mod state;
mod text;
mod when_needed;
mod wifi_first;

pub use allowance::{Allowance, CapAction};
pub use best_known::{BestKnown, Demand, DemandMeter, MAP, Map, MapCase};
pub use config::{PolicyConfig, PolicyFactory};
pub use data_plan::{DataPlan, Ledger};
pub use emtcp::{Actuator, Emtcp, shares};
pub use error::PolicyError;
pub use none::NoPolicy;
pub use qoe::Qoe;
pub use radio::InterfaceKind;
pub use registry::PolicyEntry;
pub use round_trip::PathRoundTrip;
pub use single_path::SinglePath;
pub use state::{Action, AppState, Channel, DeviceState, PathState};
pub use when_needed::WhenNeeded;
pub use wifi_first::WifiFirst;

use units::{Duration, Instant};

/// Every registered policy, in the order in which documentation lists them.
///
/// To add one, write its file, its `mod` line above and its entry here. Parsing, error hints,
/// scenario keys, the JSON Schema, the generated documentation and the tests that run every policy
/// read this table.
pub const REGISTRY: &[PolicyEntry] = &[
    none::ENTRY,
    single_path::WIFI_ONLY,
    single_path::LTE_ONLY,
    wifi_first::ENTRY,
    when_needed::ENTRY,
    qoe::ENTRY,
    allowance::ENTRY,
    emtcp::ENTRY,
    best_known::ENTRY,
];

/// A running policy: decides which paths of a device are open, regular or backup.
///
/// It takes time as an argument and does no I/O, so the same code steers a simulated device and a
/// real one.
pub trait Policy: core::fmt::Debug + Send {
    /// Reads the state of the device at `now` and appends the actions to take.
    ///
    /// A path keeps its index from call to call. Actions are idempotent, and a policy appends none
    /// while the device already is as it should be.
    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>);

    /// Time between observations; `None` observes only at the start and when a path comes or goes.
    fn interval(&self) -> Option<Duration>;
}
