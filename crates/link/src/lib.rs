//! Links, sans-IO: what goes in at one end, and when, decides what comes out at the other, and when.
//!
//! - A [`Link`] is one direction of a link of its own: a [`Rate`] (fixed, stepped, or a [`Trace`]),
//!   a drop-tail or [`Codel`] queue, a [`Delay`], a [`Loss`], scheduled outages and [`Impairments`].
//! - A [`Cell`] is a medium that several stations share: a Wi-Fi cell, where all contend for each
//!   frame, or an LTE cell, where a scheduler shares every millisecond by proportional fairness.
//!   Stations that are only there to take their part are a [`Load`].
//! - A [`Trace`] is read from a file's text, or made by a [`ChannelModel`].
//!
//! Both machines hold items by value and follow one contract: `push(now, …)` puts a packet in,
//! `next()` says when to `poll(now)`, and `poll` is called until it returns `None`. Time never goes
//! back from call to call. At any moment a machine has at most one pending event.
//!
//! ```
//! use tandem_link::{Delay, Link, LinkConfig, Rate};
//! use units::{Duration, Seed, Time};
//!
//! let config = LinkConfig {
//!     rate: Rate::Fixed("2Mbps".parse()?),
//!     delay: Delay::Fixed(Duration::from_millis(5)),
//!     ..LinkConfig::default()
//! };
//! let mut link = Link::new(&config, Seed::new(1));
//! link.push(Time::ZERO, 1500, "a packet");
//! assert_eq!(link.next(), Some(Time::from_millis(11)));
//! assert_eq!(link.poll(Time::from_millis(11)), Some("a packet"));
//! # Ok::<(), units::UnitError>(())
//! ```
//!
//! All randomness comes from a [`Seed`](units::Seed), of which each source takes its own stream.

mod cell;
mod channel;
mod codel;
mod config;
mod impairments;
mod link;
mod loss;
mod propagation;
mod server;
mod stats;
mod trace;

pub use cell::Cell;
pub use channel::ChannelModel;
pub use config::{
    CellConfig, CellKind, Codel, Delay, Fading, Impairments, LinkConfig, Load, QueueLimit, Rate, Reorder,
    StationConfig,
};
pub use link::Link;
pub use loss::{CloneLossModel, Loss, LossModel, LossModelFactory, Transmission};
pub use stats::{LinkStats, LoadStats};
pub use trace::{OPPORTUNITY_BYTES, RatePiece, Trace, TraceError, TraceFormat, UnknownFormat};
