//! Unit types for time, data, rate, power, energy, probability and seeds.
//!
//! All of Tandem uses these types. Each holds one canonical unit. Constructors and accessors name
//! their unit (`from_millis`, `as_mbps`). [`FromStr`](core::str::FromStr) requires a unit (`"5ms"`,
//! `"2Mbps"`, `"1MB"`), and `Display` parses back.
//!
//! A [`Seed`] gives each named random source its own [`Rng`], so that a new source does not change
//! the numbers of the others.

mod data;
mod parse;
mod power;
mod probability;
mod seed;
mod spelling;
mod time;

pub use data::{Bitrate, Bytes};
pub use parse::UnitError;
pub use power::{Energy, Power};
pub use probability::Probability;
pub use seed::{Rng, Seed};
pub use time::{Duration, Instant};
