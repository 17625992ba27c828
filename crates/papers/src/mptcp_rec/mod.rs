//! Reproduction of the MPTCP-rec paper (Cao et al. 2016); see docs/background/mptcp-rec.md.
//!
//! `paper` holds the printed figures, `model` the network and the grid of losses and buffers, and
//! `schemes` the compared schemes. `measure` reads the metrics of a run, `reproduce` runs
//! everything, `grid_summary` aggregates over the grid, and `tables`, `page` and `json` present the
//! results.

mod grid_summary;
mod json;
mod measure;
pub mod model;
mod page;
pub mod paper;
mod reproduce;
pub mod schemes;
mod tables;

pub use grid_summary::Group;
pub use measure::{Metric, Run, Work};
pub use reproduce::{Options, Reproduction, Shown, reproduce};
