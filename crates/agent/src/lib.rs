//! A policy that steers a real device, the same that ran in simulation.
//!
//! Two parts are shared with the test bed:
//!
//! - [`Steering`] shows a policy what the device's counters say and remembers what it asked for. It
//!   does no I/O.
//! - [`EndpointController`] do it, on a device whose interfaces nobody else touches: endpoints, priorities, by netlink.
//!
//! The others are `tandem agent`, for a device that somebody lives with:
//!
//! | Module | What it is |
//! |---|---|
//! | [`config`] | the agent's file, pure |
//! | [`daemon`] | the agent at work: one thread, one `poll` |
//! | [`host`] | which interfaces there are, and from which address of each subflows begin, pure |
//! | [`sampling`] | how often the counters are read, pure |
//! | [`connections`] | connections that have rules of their own, subflow by subflow |
//! | [`energy`] | what the radios draw, and what it costs to switch them, pure |
//! | [`allowance`] | how much interfaces may carry in a period, and how much they have |
//! | [`players`] | players that tell how they stand, and what a policy is told of them, pure |
//! | [`journal`] | what was changed, and what puts it back, pure |
//! | [`endpoints`] | the kernel's endpoints, held as they are wanted, and put back |
//! | [`status`] | how things stand: JSON, metrics, tables, and the socket where to ask |

pub mod allowance;
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
mod systemd_unit;

pub use endpoint_controller::{EndpointController, Interface};
pub use error::Error;
pub use steering::{InterfaceSample, Steering};
pub use systemd_unit::systemd_unit;
