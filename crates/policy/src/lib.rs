//! What a device does with its paths.
//!
//! A [`Policy`] is shown a [`DeviceState`] and answers with [`Action`]s, all of them things that a
//! device can do by itself: mark a path as backup, open or close one; and, for the paper's ideal
//! model alone, give the sender exact shares. [`PolicyConfig`] names the policies and builds them.
//!
//! | Policy | Does |
//! |---|---|
//! | `none` | nothing: plain MPTCP |
//! | `wifi-only`, `lte-only` | closes every other path |
//! | `wifi-first` | cellular paths are backup while another path is up |
//! | `when-needed` | cellular paths only while the others fall short of the demand seen |
//! | `allowance` | uses paths with a data allowance no faster than what is left lasts |
//! | `qoe` | cellular paths only when the others would miss what a player needs next |
//! | `emtcp` | moves a share of the costly paths' data to the cheap ones (Chen et al. 2013) |
//!
//! A driver (the simulator, or an agent on a device) calls [`Policy::observe`] once at the start,
//! then every [`Policy::interval`], and whenever a path comes up or goes away. Actions are
//! idempotent: doing one twice does nothing more.

mod allowance;
mod config;
mod data_plan;
mod emtcp;
mod nearest;
mod none;
mod only;
mod qoe;
mod state;
mod when_needed;
mod wifi_first;

pub use allowance::{Allowance, AtCap};
pub use config::{Actuator, PolicyConfig, PolicyError};
pub use data_plan::{DataPlan, Ledger};
pub use emtcp::{Detector, Emtcp, MpPrioParameters, Verdict, shares, table_one};
pub use none::None;
pub use only::Only;
pub use qoe::Qoe;
pub use radio::InterfaceKind;
pub use state::{Action, AppState, Channel, DeviceState, PathState};
pub use when_needed::{WhenNeeded, WhenNeededParameters};
pub use wifi_first::WifiFirst;

use units::{Duration, Instant};

/// Decides what a device does with its paths.
///
/// Takes time as an argument and does no I/O, so that the same code steers a simulated device and
/// a real one.
pub trait Policy: core::fmt::Debug + Send {
    /// Its name, as [`PolicyConfig`] reads it.
    fn name(&self) -> &str;

    /// Looks at the device at `now` and appends what is to be done to `actions`.
    ///
    /// Paths keep their index from call to call. Appends nothing where all is as it should be.
    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>);

    /// How often it wants to be asked; `None`: at the start, and when a path comes or goes.
    fn interval(&self) -> Option<Duration>;
}
