//! Schedulers: which subflow carries the next data. One algorithm per file, behind [`Scheduler`].
//!
//! To add one here, write its file and add its `mod` line and its row in `schedulers!` below. A
//! crate outside this one implements [`Scheduler`] and [`SchedulerFactory`] instead, and puts the
//! factory into [`Config::scheduler`](crate::Config::scheduler); see `examples/custom-scheduler`.
//!
//! A scheduler runs once for each piece of data. It sees the subflows that may carry data:
//! established, not stale, and no backup while a regular one exists (RFC 8684, section 3.3.8).

mod blest;
mod ecf;
mod linux;
mod min_rtt;
mod redundant;
mod round_robin;
mod share;
mod table_one;
#[cfg(test)]
mod tests;

use crate::registry::named_enum;
use crate::{PathId, UnknownName};
use core::fmt;
use core::str::FromStr;
pub(crate) use min_rtt::MinRtt;
pub(crate) use share::Share;
use std::sync::Arc;
pub(crate) use table_one::TableOne;
pub use table_one::{Offload, Verdict, table_one};
use units::{Duration, Instant};

/// Registers schedulers, from rows of `Variant => "name", Type, "summary";`.
macro_rules! schedulers {
    ($($(#[$attribute:meta])* $variant:ident => $name:literal, $scheduler:ty, $summary:literal;)+) => {
        named_enum! {
            /// The registered schedulers.
            SchedulerKind {
                $($(#[$attribute])* $variant => $name, $summary;)+
            }
        }

        impl SchedulerKind {
            fn build(self) -> Box<dyn Scheduler> {
                match self { $(Self::$variant => Box::new(<$scheduler>::default()),)+ }
            }
        }
    };
}

schedulers! {
    #[default]
    MinRtt => "min-rtt", MinRtt, "the path with the lowest RTT that has window left";
    RoundRobin => "round-robin", round_robin::RoundRobin, "the paths with window left, in turn";
    Linux => "linux", linux::Linux, "the path that drains its queue first, as Linux does";
    Share => "share", Share, "an exact share to each path, as a policy sets it";
    Blest => "blest", blest::Blest, "as `min-rtt`, without slow paths that would block the send window";
    Ecf => "ecf", ecf::Ecf, "as `min-rtt`, without slow paths that would delay completion";
    Redundant => "redundant", redundant::Redundant, "all data over every path";
}

/// One subflow that may carry the next data.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// Path of the subflow.
    pub path: PathId,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Round-trip time variation (RTTVAR of RFC 6298).
    pub rtt_variation: Duration,
    /// Payload of a full segment, in bytes.
    pub mss: u64,
    /// Congestion window, in bytes.
    pub cwnd: u64,
    /// Slow-start threshold, in bytes.
    pub ssthresh: u64,
    /// Bytes sent and not acknowledged.
    pub in_flight: u64,
    /// Bytes in flight, and bytes assigned to the subflow that wait for its window.
    pub queued: u64,
    /// Bytes that the subflow could send at once.
    pub room: u64,
}

/// The data to be scheduled, and the state of the connection.
#[derive(Debug, Clone, Copy)]
pub struct SchedulerContext {
    /// Current time.
    pub now: Instant,
    /// Length of the next piece, in bytes.
    pub len: u64,
    /// Bytes written and not yet scheduled, the next piece included.
    pub unsent: u64,
    /// Bytes that the peer's receive window accepts beyond the data already scheduled.
    pub sendable: u64,
    /// Send window of the connection, in bytes from the first byte not acknowledged at data level:
    /// the smaller of the peer's receive window and the send buffer.
    pub window: u64,
}

/// Picks the subflow for each piece of new data of one connection.
///
/// Implementations derive `Clone` and `Debug`; only [`pick`](Self::pick) must be written.
pub trait Scheduler: CloneScheduler + fmt::Debug + Send + Sync {
    /// Returns an index into `candidates`, or `None` to wait for the next acknowledgement.
    ///
    /// A candidate whose `room` is below [`SchedulerContext::len`] may be picked: the data then
    /// waits in that subflow's own queue.
    fn pick(&mut self, candidates: &[Candidate], context: &SchedulerContext) -> Option<usize>;

    /// Notes that `len` bytes were assigned to the subflow over `path`.
    fn on_scheduled(&mut self, path: PathId, len: u64) {
        let _ = (path, len);
    }

    /// Returns the most bytes of the next chunk for the candidate picked last, at least 1: a longer
    /// chunk is cut.
    fn chunk_limit(&self) -> u64 {
        u64::MAX
    }

    /// Returns the bytes that the application may write ahead of the peer's acknowledgements, for
    /// schedulers with send buffers of their own; `None` leaves it to
    /// [`Config::send_buffer`](crate::Config::send_buffer), which is the upper bound in any case.
    fn write_limit(&self) -> Option<u64> {
        None
    }

    /// Notes that the subflow over `path` has ended. A later one over the same path is new.
    fn on_subflow_ended(&mut self, path: PathId) {
        let _ = path;
    }

    /// Notes that the connection's send window has no room for the next piece, or that a full send
    /// buffer has no more data.
    fn on_window_blocked(&mut self) {}

    /// Returns the candidate to which the next `len` bytes belong regardless of its room, for
    /// schedulers that assign data by fixed shares.
    ///
    /// With [`Config::subflow_buffer`](crate::Config::subflow_buffer) set, the application then
    /// writes only as far ahead as the queue of that subflow allows.
    fn assigned_path(&self, candidates: &[Candidate], len: u64) -> Option<usize> {
        let _ = (candidates, len);
        None
    }

    /// Takes shares by path, each at least 0, from a policy. Returns false if the scheduler ignores
    /// them.
    ///
    /// If it ignores them, each share below an equal part becomes an upper bound on its path.
    fn set_shares(&mut self, shares: &[f64]) -> bool {
        let _ = shares;
        false
    }

    /// Returns true if `pick` takes the lowest RTT among the candidates with room and does nothing
    /// else.
    ///
    /// The endpoint then schedules most data without calling the scheduler at all. Read once, when
    /// the connection is created.
    fn is_lowest_rtt_first(&self) -> bool {
        false
    }

    /// Returns true if every subflow is to carry all data: the endpoint then sends a copy of what
    /// `pick` assigned over each other subflow. Read once, when the connection is created.
    fn is_redundant(&self) -> bool {
        false
    }
}

/// Clones a boxed scheduler; implemented for every [`Scheduler`] that is `Clone`.
pub trait CloneScheduler {
    /// Returns a copy with the same state.
    fn clone_box(&self) -> Box<dyn Scheduler>;
}

impl<T: Scheduler + Clone + 'static> CloneScheduler for T {
    fn clone_box(&self) -> Box<dyn Scheduler> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Scheduler> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// Builds a scheduler from another crate, one for each connection.
pub trait SchedulerFactory: fmt::Debug + Send + Sync {
    /// Returns the name for tables and reports.
    fn name(&self) -> &str;
    /// Builds the scheduler of a new connection.
    fn build(&self) -> Box<dyn Scheduler>;
}

/// The scheduler of an endpoint: a registered one, or one from another crate.
#[derive(Debug, Clone)]
pub enum SchedulerChoice {
    /// A scheduler of this crate.
    Registered(SchedulerKind),
    /// A scheduler of another crate. Two choices are equal if they share the factory.
    Custom(Arc<dyn SchedulerFactory>),
}

impl SchedulerChoice {
    /// Returns the name in scenarios, tables and reports.
    pub fn name(&self) -> &str {
        match self {
            Self::Registered(kind) => kind.name(),
            Self::Custom(factory) => factory.name(),
        }
    }

    /// Builds the scheduler of a new connection.
    pub fn build(&self) -> Box<dyn Scheduler> {
        match self {
            Self::Registered(kind) => kind.build(),
            Self::Custom(factory) => factory.build(),
        }
    }
}

impl Default for SchedulerChoice {
    fn default() -> Self {
        Self::Registered(SchedulerKind::default())
    }
}

impl From<SchedulerKind> for SchedulerChoice {
    fn from(kind: SchedulerKind) -> Self {
        Self::Registered(kind)
    }
}

impl<F: SchedulerFactory + 'static> From<Arc<F>> for SchedulerChoice {
    fn from(factory: Arc<F>) -> Self {
        Self::Custom(factory)
    }
}

impl PartialEq for SchedulerChoice {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Registered(a), Self::Registered(b)) => a == b,
            (Self::Custom(a), Self::Custom(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl PartialEq<SchedulerKind> for SchedulerChoice {
    fn eq(&self, kind: &SchedulerKind) -> bool {
        matches!(self, Self::Registered(own) if own == kind)
    }
}

impl fmt::Display for SchedulerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SchedulerChoice {
    type Err = UnknownName;
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        name.parse().map(Self::Registered)
    }
}
