//! Proxy between MPTCP clients and TCP servers, so that multipath devices gain with any server.
//!
//! [`Proxy::start`] runs a proxy from a [`Config`] in its own threads. [`front`] parses client
//! protocols without I/O, `connection` runs a client session, and `relay` moves bytes.
//!
//! Safe by default: [`Config::check`] rejects open proxies and [`destination::Rules`] rejects
//! special-purpose addresses. Threats and tests: `docs/security.md`.

pub mod config;
pub mod credentials;
pub mod destination;
pub mod front;
pub mod latency;
pub mod network;
pub mod own_addresses;
pub mod status;
mod tls_stream;
pub mod users;

mod access;
mod access_log;
mod budgets;
mod check;
mod connect;
mod connection;
mod counters;
mod descriptors;
mod error;
mod failed_logins;
mod listener;
mod log_limit;
mod logins;
mod outgoing;
mod parallel;
mod permits;
mod proxy;
mod refusal;
mod relay;
mod resolve;
mod rules;
mod server;
mod special;
mod stream;
mod upstream;

pub use check::Check;
pub use config::Config;
pub use counters::Totals;
pub use descriptors::needed as descriptors_needed;
pub use error::Error;
pub use proxy::Proxy;
