//! What a radio interface draws: state machines, profiles, meter, battery.
//!
//! A [`Profile`] is a power model as data: what the interface draws while it transfers, on the way up
//! (promotion), on the way down (tail) and at rest (paging). [`profiles`] lists those that are built
//! in, each with its source; [`Profile::from_toml`] reads a user's own. A [`Meter`] is told of every
//! packet and says, exactly, how much energy the interface has drawn by then.

mod battery;
pub mod builtin;
mod meter;
mod profile;
mod profile_toml;
mod together;

pub use battery::Battery;
pub use builtin::profiles;
pub use meter::{Breakdown, Direction, Meter, State};
pub use profile::{Idle, InterfaceKind, Origin, Origins, Profile, Pulse, Stage, UnknownName};
pub use profile_toml::{PROFILE, PROFILE_SHAPE, ProfileValue};
pub use together::Together;
