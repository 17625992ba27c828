//! A scenario's links in real time: what the simulator pushes through them in virtual time, this crate
//! does with the packets of a real kernel.
//!
//! - [`Network`] is the sans-IO half: the same media, losses, middleboxes and background as in simulation,
//!   the radios' meters and the capture, for packets that are bytes. Time is an argument.
//! - [`Driver`] is the other half: it reads TUN devices, pushes the network by the clock and writes what
//!   arrives.
//! - [`Lateness`] is how far behind the model packets were written.
//!
//! ```text
//!  device's kernel ── wifi (TUN) ──┐                        ┌── wifi (TUN) ── server's kernel
//!                                  ├── Driver ⇄ Network ────┤
//!                  ── lte  (TUN) ──┘   links, boxes, meters └── lte  (TUN) ──
//! ```

mod driver;
mod lateness;
mod network;
mod offload;
mod packet;

pub use driver::{Driver, Running, Shared};
pub use lateness::Lateness;
pub use network::{Delivery, FollowedPriority, Network, PathCounts, Transit};
