//! Real-time emulation of a scenario's links for the packets of a real kernel.
//!
//! - [`Network`] is the sans-IO part: the media, losses, middleboxes and background traffic of the
//!   simulator, radio power meters and packet capture, for packets as bytes. Time is an argument.
//! - [`Driver`] does the I/O: it reads TUN devices, advances the network by the clock and writes
//!   packets on arrival.
//! - [`Lateness`] is the distribution of the delay between a packet's arrival time in the model
//!   and its delivery by the driver.

mod driver;
mod flow_numbers;
mod lateness;
mod network;
mod offload;
mod packet;

pub use driver::{Driver, FlowHook, RunningDriver, SharedNetwork};
pub use lateness::Lateness;
pub use network::{Delivery, FollowedPriority, Network, PathCounters, Transit};
pub use packet::FlowPacket;
