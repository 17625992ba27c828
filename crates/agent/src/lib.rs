//! Steers the Multipath TCP of a Linux device by the policies that also run in simulation.
//!
//! The test bed shares [`Steering`] (feeds counters to a policy, without I/O) and
//! [`EndpointController`] (applies actions by netlink). The other modules form `tandem agent`:
//! [`daemon`] is its event loop, [`config`] and [`status`] its interface to users, and [`journal`]
//! records the changes to undo.

pub mod allowance;
pub mod check;
pub mod config;
pub mod connections;
pub mod daemon;
mod endpoint_controller;
pub mod endpoints;
pub mod energy;
mod error;
pub mod host;
pub mod journal;
pub mod players;
pub mod sampling;
pub mod status;
mod steering;
mod store;
mod undo;

pub use endpoint_controller::{EndpointController, Interface};
pub use error::Error;
pub use steering::{InterfaceSample, Steering};
pub use undo::undo;
