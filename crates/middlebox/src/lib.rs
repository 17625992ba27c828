//! Middleboxes: what stands on a path and changes TCP segments, sans-IO.
//!
//! Multipath TCP was shaped by what such boxes do, and every kind here is one that its design names
//! (RFC 6182, section 7) or that was measured on real paths (Honda et al., "Is it still possible to
//! extend TCP?", IMC 2011):
//!
//! | [`Meddling`] | seen as | what becomes of Multipath TCP |
//! | --- | --- | --- |
//! | [`StripOptions`](Meddling::StripOptions) | firewalls that know no kind 30 | falls back at the handshake (RFC 8684, section 3.1), or later (3.7) |
//! | [`RewriteSequence`](Meddling::RewriteSequence) | firewalls that draw initial sequence numbers anew | nothing: mappings are relative (RFC 8684, section 3.3) |
//! | [`Split`](Meddling::Split) | segmentation offload | nothing: one mapping may cover several segments |
//! | [`Coalesce`](Meddling::Coalesce) | receive offload, proxies | what has lost its mapping is sent again |
//! | [`ForgetNat`](Meddling::ForgetNat) | home gateways below the two hours of RFC 5382 | the subflow dies, the connection lives |
//! | [`Corrupt`](Meddling::Corrupt) | application gateways | the data checksum fails (RFC 8684, section 3.7) |
//!
//! A [`Middlebox`] takes segments of both directions and gives back what leaves it; a [`Chain`] is
//! several on one path. Contract, as for
//! links: time never goes back; after [`push`](Middlebox::push) call [`poll`](Middlebox::poll) until
//! `None`, then ask [`next`](Middlebox::next) when to poll again. Every random draw comes from the
//! stream `middlebox` of the seed.

mod alter;
mod chain;
mod coalesce;
mod config;
mod middlebox;
mod nat;
mod options;
mod rewrite;
mod split;
mod stats;

pub use alter::Alter;
pub use chain::Chain;
pub use config::{Directions, Finding, Forgotten, Meddling, MiddleboxConfig, On};
pub use middlebox::{Middlebox, Passing};
pub use options::Options;
pub use stats::MiddleboxStats;
