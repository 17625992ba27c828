//! Sans-IO middleboxes that change TCP segments on a path.
//!
//! RFC 6182, section 7, names these kinds; Honda et al. ("Is it still possible to extend TCP?", IMC
//! 2011) measured most of them on real paths. [`MiddleboxKind`] lists them, one module each.
//!
//! A [`Middlebox`] accepts segments of both directions with [`push`](Middlebox::push). After each
//! call, call [`poll`](Middlebox::poll) until it returns `None`, then [`next`](Middlebox::next) for
//! the time of the next poll. Time never goes back. A [`Chain`] is several middleboxes on one path.
//! All random draws come from the stream `middlebox` of the seed.

mod chain;
mod coalesce;
mod config;
mod corrupt;
mod middlebox;
mod nat;
mod option_set;
mod payload;
mod rewrite_sequence;
mod split;
mod stats;
mod strip_options;
mod transit;

pub use chain::Chain;
pub use config::{Directions, ExpiryAction, MiddleboxConfig, MiddleboxKind, OptionAction, SegmentFilter};
pub use middlebox::Middlebox;
pub use option_set::OptionSet;
pub use payload::EditablePayload;
pub use stats::MiddleboxStats;
pub use transit::TransitSegment;
