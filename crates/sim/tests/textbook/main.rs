//! The simulator against formulas and measurements of the literature. Each test names its source
//! and its tolerance, and averages over fixed seeds.

mod alone;
mod bbr;
mod bench;
mod coupled;
mod delay;
mod loss;
mod receiver_driven;
mod redundant;
#[path = "../support/mod.rs"]
mod support;
