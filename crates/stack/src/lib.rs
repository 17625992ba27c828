//! Multipath TCP connections over IP packets: the [`mptcp`] endpoint on a real network.
//!
//! - [`Stack`] is the sans-IO part: interfaces, listeners, connections, and the subflows behind
//!   four-tuples and tokens. Packets are bytes and time is an argument.
//! - [`Driver`] does the I/O: it moves packets between a stack and TUN devices.
//! - [`Host`] runs a driver in a thread of its own, and gives other threads sockets.
//!
//! Keys, sequence numbers and ports come from the kernel ([`Entropy::System`]) or, for tests, from a seed.

mod config;
mod connection;
mod driver;
mod entropy;
mod event;
mod half_open;
mod host;
mod input;
mod inspect;
mod memory;
mod orphan;
mod output;
mod peers;
mod ports;
mod refusal;
mod stack;
mod starved;
mod table;
mod tuple;

pub use config::{Interface, Limits};
pub use driver::{Device, Driver, Sleeper, Waker};
pub use entropy::Entropy;
pub use event::{ConnectError, ConnectionId, OpenSubflow, StackEvent, Statistics};
pub use host::{
    Host, HostConfig, Interest, Listener, Observer, PreparedHost, RunningHost, Socket, SubflowSample,
};
pub use stack::{Stack, Transmit};
pub use tuple::Tuple;
