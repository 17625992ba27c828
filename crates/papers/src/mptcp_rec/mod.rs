//! Reproduction of the MPTCP-rec paper (Cao et al. 2016); see docs/background/mptcp-rec.md.
//!
//! `paper` holds the printed figures, `model` and `background` the network and the grid of losses
//! and buffers, and `schemes` the compared schemes. `measure` reads the metrics of a run,
//! `reproduce` runs everything, `grid_summary` aggregates over the grid, and `tables`, `readings`,
//! `page` and `json` present the results.

mod background;
mod grid_summary;
mod json;
mod long_tables;
mod measure;
pub mod model;
mod page;
pub mod paper;
mod readings;
mod reproduce;
pub mod schemes;
mod tables;

pub use background::Background;
pub use grid_summary::Group;
pub use measure::{Metric, Run, Work};
pub use reproduce::{Options, Reproduction, Shown, reproduce, reproduce_until};
