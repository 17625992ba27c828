//! Energy model of radio interfaces: state machines, profiles, meter and battery.
//!
//! A [`Profile`] is a power model as data: the power during transfers, promotion, tail and idle
//! time (paging). [`profiles`] lists the built-in profiles with their sources;
//! [`Profile::from_toml`] reads a user's own. A [`Meter`] takes every packet and computes the exact
//! energy that the interface has drawn.

mod battery;
pub mod builtin;
mod joint;
mod meter;
mod profile;
mod profile_toml;

pub use battery::Battery;
pub use builtin::profiles;
pub use joint::JointActivity;
pub use meter::{Breakdown, Direction, Meter, State};
pub use profile::{Idle, InterfaceKind, Origin, Origins, Profile, Pulse, Stage, UnknownName};
pub use profile_toml::{KINDS, PROFILE, PROFILE_SHAPE, ProfileValue};
