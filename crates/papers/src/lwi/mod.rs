//! The paper on LTE-Wi-Fi integration, reproduced.
//!
//! `paper` holds its printed figures, `process` how its links vary, `model` its test bed, `calibration` what was
//! fitted and how (with the sessions of `fluid`), `measure` what is read off a run, `reproduce` the runs, `tables`,
//! `page` and `json` how they are shown; `kernel` has the same on Linux, and `browser`
//! what the player's page saw there.

mod browser;
pub mod calibration;
mod fluid;
mod json;
pub mod kernel;
mod measure;
pub mod model;
mod page;
pub mod paper;
pub mod process;
mod reproduce;
mod tables;

pub use browser::Watched;
pub use measure::{Run, mean_stall};
pub use reproduce::{Figure, Options, Plan, Reproduction, plans, reproduce};
