//! Types, not bare numbers: time, data, rate, power, energy, probability and seeds.
//!
//! Everything else in Tandem speaks in these. Each type has one canonical unit inside, constructors
//! and readers that name theirs (`from_millis`, `as_mbps`), a [`FromStr`](core::str::FromStr) that
//! insists on a written unit (`"5ms"`, `"2Mbps"`, `"1MB"`), and a `Display` that parses back.
//!
//! Randomness starts here too: a [`Seed`] gives each named source its own [`Rng`], so that adding
//! one source never changes the numbers that another draws.

mod data;
mod parse;
mod power;
mod probability;
mod seed;
mod time;

pub use data::{Bitrate, Bytes};
pub use parse::UnitError;
pub use power::{Energy, Power};
pub use probability::Probability;
pub use seed::{Rng, Seed};
pub use time::{Duration, Instant};
