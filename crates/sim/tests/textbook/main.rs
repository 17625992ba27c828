//! The simulator against formulas and measurements of the literature. Each test names its source
//! and its tolerance, and averages over fixed seeds.

mod alone;
mod bbr;
mod bench;
mod coupled;
mod loss;
mod receiver_driven;
mod redundant;
