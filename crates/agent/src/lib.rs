//! A policy that steers a device, the same that ran in simulation.
//!
//! - [`Steering`] shows a policy what the device's counters say and remembers what it asked for. It
//!   does no I/O.
//! - [`Hands`] do it: endpoints, priorities, by netlink.

mod hands;
mod steering;

pub use hands::{Hands, Interface};
pub use steering::{Look, Steering};
