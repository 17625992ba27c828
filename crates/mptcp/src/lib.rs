//! A sans-IO Multipath TCP v1 endpoint (RFC 8684).
//!
//! [`Endpoint`] is one end of a connection with all its subflows, configured by [`Config`]. It does
//! no I/O and reads no clock. A driver loop has three steps:
//!
//! 1. Call a method that changes state, such as [`handle_segment`](Endpoint::handle_segment).
//! 2. Send the segments of [`poll_transmit`](Endpoint::poll_transmit) until it returns `None`.
//! 3. Set a timer for [`poll_timeout`](Endpoint::poll_timeout).
//!
//! Plain TCP is the same endpoint with [`Config::mptcp`] off, or after a fallback.

pub mod congestion;
pub mod rec;
pub mod scheduler;

mod config;
mod crypto;
mod endpoint;
mod log;
mod randomness;
mod registry;
mod seq;
mod subflow;

pub use config::{Config, EcnMode, HyStartMode, Keepalive, receive_buffer};
pub use congestion::{CongestionChoice, CongestionKind};
pub use endpoint::{Endpoint, Event, Failure, Mode, RecInfo, ResetReason, SubflowEnds, SubflowInfo};
pub use randomness::Randomness;
pub use rec::Rec;
pub use registry::UnknownName;
pub use scheduler::{SchedulerChoice, SchedulerKind};

/// A path between the two hosts: the index of a local interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u8);

impl PathId {
    /// The path as an index into a slice.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
