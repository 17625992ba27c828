//! MPTCP on one side, TCP on the other, so that a device gains from Multipath TCP towards every server.
//!
//! [`Proxy::start`] starts one from a [`Config`], in threads of its own and in any network namespace; the
//! program `tandem proxy` does little else. What clients speak is read in [`front`], which does no I/O and so is
//! tested and fuzzed by itself; `connection` has one client's connection from its first byte to its last, and
//! `relay` moves bytes between two sockets.
//!
//! It is safe by default: [`Config::check`] refuses to serve everybody, and [`destination::Rules`] to lead to
//! loopback, private and other special addresses. The attacks that were thought of, each with its test, are in
//! `docs/how-to/proxy.md`.

pub mod config;
pub mod credentials;
pub mod destination;
pub mod front;
pub mod network;
pub mod status;

mod access;
mod connect;
mod connection;
mod counters;
mod error;
mod proxy;
mod relay;
mod server;

pub use config::Config;
pub use counters::Totals;
pub use error::Error;
pub use proxy::Proxy;
