//! A sans-IO Multipath TCP v1 endpoint (RFC 8684).
//!
//! Two types matter: [`Endpoint`], one end of one connection with all its subflows, and [`Config`].
//! The endpoint does no I/O and reads no clock. It is told what happened and when, and is asked what
//! to do and when to be asked again:
//!
//! 1. call [`handle_segment`](Endpoint::handle_segment), [`handle_timeout`](Endpoint::handle_timeout),
//!    [`write`](Endpoint::write), [`read`](Endpoint::read), [`close`](Endpoint::close) or one of the
//!    path calls;
//! 2. drain [`poll_transmit`](Endpoint::poll_transmit) until it gives `None`;
//! 3. arm a timer for [`poll_timeout`](Endpoint::poll_timeout).
//!
//! Plain TCP is the same endpoint with [`Config::mptcp`] off, or after a fallback.
//!
//! What lives where: `subflow/` is TCP over one path (the scoreboard and recovery in `sender`,
//! acknowledgements in `receiver`, RFC 6298 in `rtt`); `endpoint/` is the connection above them;
//! `scheduler/` and `congestion/` hold one algorithm a file; `rec/` is MPTCP-rec, where the receiver sets the
//! pace.

pub mod congestion;
pub mod rec;
pub mod scheduler;

mod config;
mod crypto;
mod endpoint;
mod seq;
mod subflow;

pub use config::{Config, EcnMode, Keepalive, receive_buffer};
pub use congestion::CongestionKind;
pub use endpoint::{Endpoint, Event, Failure, Mode, RecInfo, ResetReason, SubflowInfo};
pub use rec::Rec;
pub use scheduler::SchedulerKind;

/// Which of the ways between the two hosts: the index of a local interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u8);

impl PathId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
